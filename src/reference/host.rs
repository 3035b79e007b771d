use std::borrow::Cow;

use crate::api::error::InputError;
use crate::api::input::{Queries, Rays};
use crate::api::queries::Query;
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::{Aabb, Pair, SweptRay};

#[derive(Clone, Default)]
pub struct HostScene<'a> {
    pub objects: &'a [Aabb],
    /// Empty with one world, as `static_worlds`.
    pub worlds: &'a [u32],
    pub static_objects: &'a [Aabb],
    pub static_worlds: &'a [u32],
    pub excluded_pairs: &'a [Pair],
    pub rays: Cow<'a, [SweptRay]>,
    /// Empty in a self-query.
    pub queries: Cow<'a, [Query]>,
    pub query_input: QueryInput<'a>,
}

impl<'a> HostScene<'a> {
    pub fn of(scene: &Scene<'a>) -> Result<Self, InputError> {
        scene.check_on_host()?;
        Ok(Self {
            objects: scene.objects.on_host(),
            worlds: scene.worlds.on_host(),
            static_objects: scene.statics.objects.on_host(),
            static_worlds: scene.statics.worlds.on_host(),
            excluded_pairs: scene.excluded_pairs.on_host(),
            rays: match scene.query.rays {
                Rays::None => Cow::default(),
                Rays::Plain(rays) => rays.on_host().iter().copied().map(SweptRay::new).collect(),
                Rays::Swept(rays) => rays.on_host().into(),
            },
            queries: match scene.query.queries {
                Queries::None | Queries::Objects(_) => Cow::default(),
                Queries::Boxes(boxes) => boxes.on_host().iter().copied().map(Query::from).collect(),
                Queries::General(queries) => queries.on_host().into(),
            },
            query_input: scene.query,
        })
    }

    /// Returns true if there are lists of rays or queries, even empty ones.
    pub fn has_queries(&self) -> bool {
        !matches!(self.query_input.rays, Rays::None) || !matches!(self.query_input.queries, Queries::None)
    }

    pub fn object_count(&self) -> usize {
        self.static_objects.len() + self.objects.len()
    }

    /// Returns all objects and their worlds, static ones first, marked with [`Aabb::STATIC`].
    pub fn all_objects(&self) -> (Vec<Aabb>, Vec<u32>) {
        let mark = |object: &Aabb| object.into_static();
        let marked = self.static_objects.iter().map(mark);
        let objects = marked.chain(self.objects.iter().copied()).collect();
        (objects, [self.static_worlds, self.worlds].concat())
    }
}
