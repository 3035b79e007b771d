//! The CPU reference: every compute pass once more in plain Rust.
//!
//! `pairs::pair_count` in `pairs/pair_count.rs` is the twin of the pass in `shaders/pairs/pair_count.wgsl`, and so on
//! in the folder of each stage. It returns or fills what the pass writes, with the same bytes: tests run each pass on the
//! output of the reference passes before it and compare buffers. Some things may differ and are not compared byte for
//! byte: box tests of rays, the order of a ray's hits under
//! [`Scheme::Uniform`](crate::Scheme::Uniform) and the cells of rays, since the cells that a ray's walk visits are
//! chosen in floating point with a margin, and words that a pass leaves unwritten. The order of pairs, hits and results
//! differs where `max_bytes` or the size of a binding leaves a device no room for the table of larger objects or for
//! the boxes of clusters, which the reference has.
//!
//! [`step`] is what a GPU step answers, without a GPU, and serves where no adapter exists. It finds pairs and all hits
//! by one walk of each row, where the passes walk once to count and once to write; the answer is the same. With the
//! feature `rayon` walks run on all threads of the pool of rayon that it is called from. [`CpuBroadPhase`] keeps the
//! table of a step for further rays and queries. A [`Watch`] tells how far any of this is, and ends it early.
//! A trace runs all passes and keeps every buffer in between. [`brute_force`] is the answer by definition, which tests
//! hold both to.
//! [`cull()`] says what views see, by the definition. [`why()`] says of two objects why they are a pair or not.

pub mod brute_force;
mod cpu;
pub(crate) mod cull;
pub(crate) mod dispatch;
pub(crate) mod draw;
pub(crate) mod events;
pub(crate) mod given;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod lists;
pub(crate) mod look;
pub(crate) mod order;
pub(crate) mod pairs;
pub(crate) mod queries;
pub(crate) mod rays;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod table;
pub(crate) mod trace;
pub mod why;

pub use cpu::CpuBroadPhase;
pub use cull::visible::cull;
pub use runs::Watch;
pub use why::why;

use pairs::pair_excludes::Admits;
use trace::run;

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::ReferenceError;
use crate::api::result::StepResult;
use crate::api::scene::Scene;
use crate::api::types::{Aabb, Ray};
use crate::reference::host::HostScene;

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
) -> Result<StepResult, ReferenceError> {
    step_scene(
        descriptor,
        &Scene {
            objects: objects.into(),
            rays: rays.into(),
            ..Scene::default()
        },
    )
}

/// As [`step`], for all that a scene can hold. A [`pair_filter`](BroadPhaseDescriptor::pair_filter) does not run here:
/// [`step_scene_where`] takes its place.
///
/// # Errors
///
/// As [`step`], where worlds are missing, and [`ReferenceError::NotOnHost`] where part of it lies on a device.
pub fn step_scene(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<StepResult, ReferenceError> {
    step_with(descriptor, scene, None)
}

/// As [`step_scene`], with a function that says which objects may pair: what
/// [`pair_filter`](BroadPhaseDescriptor::pair_filter) is on a device, whose text the reference cannot run. It is called
/// with the smaller index first.
///
/// # Errors
///
/// As [`step_scene`].
pub fn step_scene_where(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    admits_pair: &(dyn Fn(u32, u32) -> bool + Sync),
) -> Result<StepResult, ReferenceError> {
    step_with(descriptor, scene, Some(admits_pair))
}

/// The boxes of a scene as passes compare them, static ones first: flat in two dimensions, grown by the margin, moved
/// into the periods, and invalid where their world does not exist. Cut these when you divide a world between devices.
///
/// # Errors
///
/// As [`step_scene`].
pub fn compared_objects(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<Vec<Aabb>, ReferenceError> {
    let (_, objects) = trace::prepared(descriptor, &HostScene::of(scene)?)?;
    Ok(objects)
}

fn step_with(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    admits_pair: Option<&Admits<'_>>,
) -> Result<StepResult, ReferenceError> {
    let mut trace = run(descriptor, &HostScene::of(scene)?, admits_pair, false)?;
    Ok(trace.take_result())
}
