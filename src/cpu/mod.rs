//! The broad phase on the CPU: the same results as on a GPU.
//!
//! [`step`] and [`step_scene`] are blocking functions. A [`BroadPhase`](crate::BroadPhase) with
//! [`Backend::Cpu`](crate::Backend::Cpu) searches trees that steps refit, and reuses candidate pairs while objects move
//! little. A [`CancelToken`] reports progress and stops work early.
//!
//! Pairs are sorted by `a`, then by `b`, before a capacity cuts them; only then by world. Other rows may be in another
//! order than a GPU's without [`ResultOrder::Sorted`](crate::ResultOrder::Sorted), and query distances may differ by 4
//! ulps. The CPU ignores [`max_bytes`](crate::OutputOptions::max_bytes). With the feature `rayon`, walks use all
//! threads of the current rayon pool.

mod answers;
mod ascending;
mod boxes;
mod broad_phase;
mod candidate_cache;
mod candidates;
mod last_step;
mod lists;
mod nearest;
mod object_counts;
mod pairs;
mod query_lists;
mod query_walk;
mod ray_search;
mod shapes;
mod skin;
mod step_trees;
mod trees;

pub use broad_phase::CpuBroadPhase;

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::result::StepResult;
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::{Aabb, Ray};
use crate::reference::host::HostScene;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::prepared;
pub use crate::shared::cancel::CancelToken;

/// Runs a step on the CPU.
///
/// The result is complete with [`Growth::Grow`](crate::Growth::Grow), or if the descriptor sets no capacity. With
/// [`Growth::Fixed`](crate::Growth::Fixed) and a capacity, each output is cut at its capacity, and the counters have
/// the number of rows needed.
///
/// # Errors
/// If the descriptor is invalid, or objects, rays or results exceed 32-bit indices.
pub fn step(
    descriptor: &BroadPhaseDescriptor<'_>,
    objects: &[Aabb],
    rays: &[Ray],
) -> Result<StepResult, BroadPhaseError> {
    step_scene(
        descriptor,
        &Scene {
            objects: objects.into(),
            query: QueryInput {
                rays: rays.into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        },
    )
}

/// Like [`step`], for a complete scene.
///
/// # Errors
/// - As [`step`], and if worlds are missing.
/// - [`InputError::NotOnHost`](crate::InputError::NotOnHost): input is on a device.
/// - [`BroadPhaseError::PairFilterOnCpu`]: the descriptor has a [`pair_filter`](BroadPhaseDescriptor::pair_filter); use
///   [`step_scene_where`].
pub fn step_scene(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<StepResult, BroadPhaseError> {
    step_with(descriptor, scene, None)
}

/// Like [`step_scene`], with a function in place of [`pair_filter`](BroadPhaseDescriptor::pair_filter). Its first
/// argument is the smaller index.
///
/// # Errors
/// As [`step_scene`].
#[doc(hidden)]
pub fn step_scene_where(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    admits_pair: &(dyn Fn(u32, u32) -> bool + Sync),
) -> Result<StepResult, BroadPhaseError> {
    step_with(descriptor, scene, Some(admits_pair))
}

/// Returns the boxes as passes compare them, static ones first: flat in 2D, grown by the margin, wrapped into the
/// periods, invalid if their world does not exist. For programs that divide a world between devices.
///
/// # Errors
/// As [`step_scene`].
#[doc(hidden)]
pub fn compared_objects(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
) -> Result<Vec<Aabb>, BroadPhaseError> {
    let (_, objects) = prepared(descriptor, &HostScene::of(scene)?)?;
    Ok(objects)
}

fn step_with(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    admits_pair: Option<&Admits<'_>>,
) -> Result<StepResult, BroadPhaseError> {
    CpuBroadPhase::of(descriptor).step(scene, admits_pair)
}

#[cfg(test)]
mod tests;
