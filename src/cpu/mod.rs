//! The broad phase on the CPU: what a GPU step answers, without a GPU.
//!
//! [`step`] and [`step_scene`] answer a scene, without a future. A [`BroadPhase`](crate::BroadPhase) with
//! [`Backend::Cpu`](crate::Backend::Cpu) keeps the table of a step for further rays and queries. A [`CancelToken`] reports
//! the progress and ends the work early. Answers are those of a GPU step. Without
//! [`PairOrder::Sorted`](crate::PairOrder::Sorted) rows may come in another order, and distances of queries may differ
//! by 4 ulps. The CPU ignores [`max_bytes`](crate::OutputOptions::max_bytes).
//!
//! Most rows are walked once, where the passes walk once to count and once to write. With the feature `rayon` walks run
//! on all threads of the rayon pool that calls them.

mod answers;
mod broad_phase;
mod lists;
mod query_lists;
mod table;
mod walks;

#[doc(hidden)]
pub use broad_phase::CpuBroadPhase;

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::result::StepResult;
use crate::api::scene::Scene;
use crate::api::types::{Aabb, Ray};
use crate::reference::host::HostScene;
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::prepared;
pub use crate::shared::cancel::CancelToken;

/// The answer of a step on the CPU.
///
/// With [`Growth::Grow`](crate::Growth::Grow), and with [`Growth::Fixed`](crate::Growth::Fixed) where the descriptor
/// names no capacity, the answer is whole; with a fixed capacity it is a prefix of that many pairs, hits or entries,
/// and the counters say what was needed.
///
/// # Errors
///
/// Where the descriptor cannot work, or where objects, rays or an answer are more than indices can name.
pub fn step(
    descriptor: &BroadPhaseDescriptor<'_>,
    objects: &[Aabb],
    rays: &[Ray],
) -> Result<StepResult, BroadPhaseError> {
    step_scene(
        descriptor,
        &Scene {
            objects: objects.into(),
            rays: rays.into(),
            ..Scene::default()
        },
    )
}

/// As [`step`], for all that a scene can hold.
///
/// # Errors
///
/// As [`step`], if worlds are missing, [`InputError::NotOnHost`](crate::InputError::NotOnHost) for input on a device,
/// and [`BroadPhaseError::PairFilterOnCpu`] for a descriptor with a [`pair_filter`](BroadPhaseDescriptor::pair_filter):
/// [`step_scene_where`] takes the rule as a function.
pub fn step_scene(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<StepResult, BroadPhaseError> {
    step_with(descriptor, scene, None)
}

/// As [`step_scene`], with a function that says which objects may pair: what
/// [`pair_filter`](BroadPhaseDescriptor::pair_filter) is on a device, whose text the CPU cannot run. It is called
/// with the smaller index first.
///
/// # Errors
///
/// As [`step_scene`].
#[doc(hidden)]
pub fn step_scene_where(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    admits_pair: &(dyn Fn(u32, u32) -> bool + Sync),
) -> Result<StepResult, BroadPhaseError> {
    step_with(descriptor, scene, Some(admits_pair))
}

/// The boxes of a scene as passes compare them, static ones first: flat in two dimensions, grown by the margin, moved
/// into the periods, and invalid where their world does not exist. Cut these when you divide a world between devices.
///
/// # Errors
///
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
