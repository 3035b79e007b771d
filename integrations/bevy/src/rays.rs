//! Rays to cast, and what they hit.

use bevy::ecs::entity::Entity;
use gpu_broad_phase::{Ray, StepResult};

use crate::objects::ObjectEntities;

/// The hits of a batch of rays: each ray's, nearest first.
#[derive(Debug)]
#[cfg_attr(not(feature = "picking"), allow(dead_code, reason = "nothing else casts rays"))]
pub(crate) struct Hits {
    /// The number that the batch was asked with.
    pub batch: u64,
    pub of_rays: Vec<Vec<(Entity, f32)>>,
}

impl Hits {
    /// `entities` are those of the step that was asked.
    pub fn new(batch: u64, result: &StepResult, entities: &ObjectEntities) -> Self {
        let of_ray = |range: &[u32]| {
            let hits = &result.ray_hits[range[0] as usize..range[1] as usize];
            let mut hits: Vec<_> = hits
                .iter()
                .filter_map(|hit| Some((entities.entity(hit.object)?, hit.t)))
                .collect();
            hits.sort_by(|(_, one), (_, other)| one.total_cmp(other));
            hits
        };
        Self {
            batch,
            of_rays: result.ray_offsets.windows(2).map(of_ray).collect(),
        }
    }
}

/// Rays to cast in the next step, and the number of the batch.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub number: u64,
    pub rays: Vec<Ray>,
}
