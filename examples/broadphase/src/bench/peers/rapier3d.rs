//! `rapier3d`: the broad phase of a physics engine, which keeps pairs from frame to frame and tells what changes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use gpu_broad_phase::Aabb;
use rapier3d::geometry::{
    ActiveCollisionTypes, BroadPhaseBvh, BroadPhasePairEvent, ColliderBuilder, ColliderHandle, ColliderSet,
};
use rapier3d::prelude::{IntegrationParameters, RigidBodySet};
use rayon::ThreadPool;

use super::RAPIER;
use super::parry3d::leaves;
use crate::bench::answer::Answer;
use crate::bench::moving::Follower;

/// Boxes are told one by one, as its pipeline does at the end of a step. Its boxes have a margin of 0.04, so it keeps a
/// few more pairs than there are. Those are sorted out by an exact test, which is not timed.
pub struct Rapier {
    pool: Arc<ThreadPool>,
    parameters: IntegrationParameters,
    bodies: RigidBodySet,
    /// They only have names and may meet each other: no shape is looked at.
    colliders: ColliderSet,
    handles: Vec<ColliderHandle>,
    broad_phase: BroadPhaseBvh,
    /// What was told so far and still holds.
    pairs: HashSet<[u32; 2]>,
}

impl Rapier {
    pub fn new(pool: &Arc<ThreadPool>) -> Self {
        Self {
            pool: Arc::clone(pool),
            parameters: IntegrationParameters::default(),
            bodies: RigidBodySet::new(),
            colliders: ColliderSet::new(),
            handles: Vec::new(),
            broad_phase: BroadPhaseBvh::new(),
            pairs: HashSet::new(),
        }
    }

    fn apply(&mut self, events: Vec<BroadPhasePairEvent>) {
        for event in events {
            let (BroadPhasePairEvent::AddPair(pair) | BroadPhasePairEvent::DeletePair(pair)) = &event;
            let [a, b] = [pair.collider1, pair.collider2].map(|handle| handle.into_raw_parts().0);
            let pair = [a.min(b), a.max(b)];
            if matches!(event, BroadPhasePairEvent::AddPair(_)) {
                self.pairs.insert(pair);
            } else {
                self.pairs.remove(&pair);
            }
        }
    }
}

impl Follower for Rapier {
    fn engine(&self) -> &'static str {
        RAPIER
    }

    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    fn frame(&mut self, boxes: &[Aabb]) -> Result<(f64, Answer)> {
        while self.handles.len() < boxes.len() {
            let named = ColliderBuilder::ball(1.0).active_collision_types(ActiveCollisionTypes::all());
            self.handles.push(self.colliders.insert(named));
        }
        let bounds = leaves(boxes);
        let mut events = Vec::new();
        let Self {
            pool,
            parameters,
            bodies,
            colliders,
            handles,
            broad_phase,
            ..
        } = self;
        let time = pool.install(|| {
            let start = Instant::now();
            for (&handle, bounds) in handles.iter().zip(bounds) {
                broad_phase.set_aabb(parameters, handle, bounds);
            }
            broad_phase.update(parameters, colliders, bodies, &[], &[], &mut events);
            start.elapsed().as_secs_f64() * 1e3
        });
        self.apply(events);
        let meets = |&[a, b]: &[u32; 2]| {
            let (one, other) = (&boxes[a as usize], &boxes[b as usize]);
            (0..3).all(|axis| one.min[axis] <= other.max[axis] && other.min[axis] <= one.max[axis])
        };
        let rows = self.pairs.iter().copied().filter(meets).collect();
        Ok((time, Answer::of_pairs(&vec![rows])))
    }
}
