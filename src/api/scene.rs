//! What a step is asked, on the host.

use crate::api::queries::{Neighbors, Partners, Query, QueryMode};
use crate::api::types::{Aabb, Pair, Ray, SweptRay};
use crate::shared::wgsl::number;

/// Rays on the host, in either form.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SceneRays<'a> {
    /// Lines, cast in world 0.
    Plain(&'a [Ray]),
    /// Boxes swept along lines, with starts and worlds.
    Swept(&'a [SweptRay]),
}

impl SceneRays<'_> {
    /// How many there are.
    pub const fn len(&self) -> usize {
        match self {
            Self::Plain(rays) => rays.len(),
            Self::Swept(rays) => rays.len(),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them in the wide form.
    pub(crate) fn get(&self, index: usize) -> SweptRay {
        match *self {
            Self::Plain(rays) => SweptRay::new(rays[index]),
            Self::Swept(rays) => rays[index],
        }
    }

    /// All of them in the wide form.
    pub fn iter(&self) -> impl Iterator<Item = SweptRay> {
        let (plain, swept) = match *self {
            Self::Plain(rays) => (rays, &[][..]),
            Self::Swept(rays) => (&[][..], rays),
        };
        plain.iter().copied().map(SweptRay::new).chain(swept.iter().copied())
    }
}

/// Vectors of four words that a [`Ray`] takes.
pub(crate) const RAY_STRIDE: u32 = 2;
/// Vectors of four words that a [`SweptRay`] takes: `SWEPT_STRIDE` in `shaders/rays/ray_input.wgsl`.
pub(crate) const SWEPT_STRIDE: u32 = number("rays/ray_input", "SWEPT_STRIDE");

impl Default for SceneRays<'_> {
    fn default() -> Self {
        Self::Plain(&[])
    }
}

impl<'a> From<&'a [Ray]> for SceneRays<'a> {
    fn from(rays: &'a [Ray]) -> Self {
        Self::Plain(rays)
    }
}

impl<'a> From<&'a [SweptRay]> for SceneRays<'a> {
    fn from(rays: &'a [SweptRay]) -> Self {
        Self::Swept(rays)
    }
}

/// Queries on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SceneQueries<'a> {
    /// None.
    #[default]
    None,
    /// What meets each box, in world 0.
    Boxes(&'a [Aabb]),
    /// What lies within a radius of each box, point or sphere.
    Spheres(&'a [Query]),
    /// The objects' own neighbours.
    Neighbors(Neighbors),
    /// The objects' own partners: the pairs as rows, one per object.
    Partners(Partners),
}

impl<'a> From<&'a [Aabb]> for SceneQueries<'a> {
    fn from(boxes: &'a [Aabb]) -> Self {
        Self::Boxes(boxes)
    }
}

impl<'a> From<&'a [Query]> for SceneQueries<'a> {
    fn from(queries: &'a [Query]) -> Self {
        Self::Spheres(queries)
    }
}

impl From<Neighbors> for SceneQueries<'_> {
    fn from(neighbors: Neighbors) -> Self {
        Self::Neighbors(neighbors)
    }
}

impl From<Partners> for SceneQueries<'_> {
    fn from(partners: Partners) -> Self {
        Self::Partners(partners)
    }
}

impl SceneQueries<'_> {
    /// The queries of the caller's, all in the wide form; none where the objects themselves ask.
    pub(crate) fn to_vec(self) -> Vec<Query> {
        match self {
            Self::None | Self::Neighbors(_) | Self::Partners(_) => Vec::new(),
            Self::Boxes(boxes) => boxes.iter().copied().map(Query::from).collect(),
            Self::Spheres(queries) => queries.to_vec(),
        }
    }
}

/// Static objects on the host: see [`Statics`](crate::Statics).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SceneStatics<'a> {
    /// The boxes.
    pub objects: &'a [Aabb],
    /// The world of each; empty with one world.
    pub worlds: &'a [u32],
    /// Which state of them this is.
    pub generation: u64,
}

/// The whole input of a step on the host: what [`Headless::step_scene`](crate::Headless::step_scene) and
/// [`reference::step_scene`](crate::reference::step_scene) answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scene<'a> {
    /// The boxes; where there are static ones, those that move.
    pub objects: &'a [Aabb],
    /// The world of each object; empty with one world. An object whose world does not exist is invalid.
    pub worlds: &'a [u32],
    /// The static objects; none by default.
    pub statics: SceneStatics<'a>,
    /// Pairs that are not wanted: see [`StepInput::excluded_pairs`](crate::StepInput::excluded_pairs).
    pub excluded_pairs: &'a [Pair],
    /// Words for the caller's function: see [`StepInput::pair_filter_data`](crate::StepInput::pair_filter_data). The
    /// CPU reference does not look at them.
    pub pair_filter_data: &'a [u32],
    /// The rays.
    pub rays: SceneRays<'a>,
    /// The queries.
    pub queries: SceneQueries<'a>,
    /// Which results of the queries are wanted.
    pub query_mode: QueryMode,
}

impl Scene<'_> {
    /// All objects of the scene and their worlds as one list: the static ones first and marked with [`Aabb::STATIC`],
    /// as indices in results count them.
    pub fn all_objects(&self) -> (Vec<Aabb>, Vec<u32>) {
        let marked = self
            .statics
            .objects
            .iter()
            .map(|object| object.with_owner(object.owner | Aabb::STATIC));
        let objects = marked.chain(self.objects.iter().copied()).collect();
        (objects, [self.statics.worlds, self.worlds].concat())
    }
}
