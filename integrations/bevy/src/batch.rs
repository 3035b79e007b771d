use std::collections::VecDeque;

use bevy::ecs::entity::Entity;
use gpu_broad_phase::{Query, QueryInput, Ray, StepResult};

use crate::objects::ObjectEntities;

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub number: u64,
    pub rays: Vec<Ray>,
    pub queries: Vec<Query>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.rays.is_empty() && self.queries.is_empty()
    }

    pub fn input(&self) -> QueryInput<'_> {
        QueryInput {
            rays: self.rays[..].into(),
            queries: self.queries[..].into(),
            ..QueryInput::default()
        }
    }

    pub fn begin_next(&mut self) {
        self.number += 1;
        self.rays.clear();
        self.queries.clear();
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub number: u64,
    /// Hits of each ray, sorted by distance.
    #[cfg_attr(not(feature = "picking"), allow(dead_code, reason = "nothing else casts rays"))]
    pub of_rays: Vec<Vec<(Entity, f32)>>,
    pub of_queries: Vec<Vec<Entity>>,
}

impl Answer {
    /// `entities` are those of the step that was queried.
    pub fn new(number: u64, result: &StepResult, entities: &ObjectEntities) -> Self {
        let of_ray = |range: &[u32]| {
            let hits = &result.ray_hits[range[0] as usize..range[1] as usize];
            let mut hits: Vec<_> = hits
                .iter()
                .filter_map(|hit| Some((entities.entity(hit.object)?, hit.t)))
                .collect();
            hits.sort_by(|(_, one), (_, other)| one.total_cmp(other));
            hits
        };
        let of_query = |range: &[u32]| {
            let objects = &result.query_objects[range[0] as usize..range[1] as usize];
            let mut found: Vec<_> = objects.iter().filter_map(|&object| entities.entity(object)).collect();
            found.sort_unstable();
            found
        };
        Self {
            number,
            of_rays: result.ray_offsets.windows(2).map(of_ray).collect(),
            of_queries: result.query_offsets.windows(2).map(of_query).collect(),
        }
    }
}

/// Context of each pending batch, by batch number.
#[derive(Debug)]
pub(crate) struct PendingBatches<T>(VecDeque<(u64, T)>);

impl<T> PendingBatches<T> {
    /// Limit on pending batches. A batch remains pending if a busy device skips it or the device is lost.
    const MOST: usize = 64;

    pub fn push(&mut self, number: u64, about: T) {
        self.0.push_back((number, about));
        if self.0.len() > Self::MOST {
            self.0.pop_front();
        }
    }

    /// Drops the contexts of older batches.
    pub fn take(&mut self, number: u64) -> Option<T> {
        let mut about = None;
        while let Some((pending, its)) = self.0.pop_front_if(|(pending, _)| *pending <= number) {
            about = (pending == number).then_some(its);
        }
        about
    }
}

impl<T> Default for PendingBatches<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_known_by_its_number() {
        let mut pending = PendingBatches::default();
        for number in [3, 4, 7] {
            pending.push(number, number);
        }
        assert_eq!(pending.take(2), None);
        assert_eq!(pending.take(4), Some(4));
        assert_eq!(pending.take(3), None);
        assert_eq!(pending.take(5), None);
        assert_eq!(pending.take(8), None);
        assert_eq!(pending.take(7), None);
        (0..1000).for_each(|number| pending.push(number, number));
        assert_eq!(pending.take(999), Some(999));
        assert!(pending.0.is_empty());
    }
}
