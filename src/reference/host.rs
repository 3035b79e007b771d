//! A scene as the reference reads it.

use std::borrow::Cow;

use crate::api::error::InputError;
use crate::api::input::{Queries, Rays};
use crate::api::queries::Query;
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::{Aabb, Pair, SweptRay};

/// The parts of a scene that lies on the host.
#[derive(Clone, Default)]
pub struct HostScene<'a> {
    /// The boxes that move.
    pub objects: &'a [Aabb],
    /// Their worlds; none with one world.
    pub worlds: &'a [u32],
    /// The static boxes, as they were given.
    pub static_objects: &'a [Aabb],
    /// Their worlds; none with one world.
    pub static_worlds: &'a [u32],
    /// The list, as it was given.
    pub excluded_pairs: &'a [Pair],
    /// In the wide form, whatever they were given in.
    pub rays: Cow<'a, [SweptRay]>,
    /// In the wide form; none where the objects themselves ask.
    pub queries: Cow<'a, [Query]>,
    /// What is asked, as it was given.
    pub query_input: QueryInput<'a>,
}

impl<'a> HostScene<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// Where part of it lies on a device.
    pub fn of(scene: &Scene<'a>) -> Result<Self, InputError> {
        scene.check_on_host()?;
        Ok(Self {
            objects: scene.objects.on_host(),
            worlds: scene.worlds.on_host(),
            static_objects: scene.statics.objects.on_host(),
            static_worlds: scene.statics.worlds.on_host(),
            excluded_pairs: scene.excluded_pairs.on_host(),
            rays: match scene.rays {
                Rays::None => Cow::default(),
                Rays::Plain(rays) => rays.on_host().iter().copied().map(SweptRay::new).collect(),
                Rays::Swept(rays) => rays.on_host().into(),
            },
            queries: match scene.queries {
                Queries::None | Queries::Objects(_) => Cow::default(),
                Queries::Boxes(boxes) => boxes.on_host().iter().copied().map(Query::from).collect(),
                Queries::General(queries) => queries.on_host().into(),
            },
            query_input: scene.query_input(),
        })
    }

    /// How many objects there are, static ones among them.
    pub fn object_count(&self) -> usize {
        self.static_objects.len() + self.objects.len()
    }

    /// All objects and their worlds, static ones first and marked with [`Aabb::STATIC`], as results count them.
    pub fn all_objects(&self) -> (Vec<Aabb>, Vec<u32>) {
        let mark = |object: &Aabb| object.into_static();
        let marked = self.static_objects.iter().map(mark);
        let objects = marked.chain(self.objects.iter().copied()).collect();
        (objects, [self.static_worlds, self.worlds].concat())
    }
}
