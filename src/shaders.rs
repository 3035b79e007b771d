//! The pass table: every compute pass, and the WGSL that it is joined from.
//!
//! A pass is a plain concatenation of files under `shaders/`. Nothing is preprocessed, so what [`Pass::source`] returns
//! is what a profiler shows. Tests validate each pass.

use crate::addons::{cull, dispatch, draw, events, mirror};
#[doc(hidden)]
pub use crate::gpu::shader::Binding;
pub use crate::gpu::shader::Pass;
use crate::step::broad_phase;

/// All passes, those of a stage together and in the order in which a step may run them.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    // An `ObjectSet` moves its boxes ahead of a step.
    let beside = [events::PASSES, draw::PASSES, dispatch::PASSES, cull::PASSES];
    let beside = beside.into_iter().flatten().copied();
    mirror::PASSES
        .iter()
        .copied()
        .chain(broad_phase::passes())
        .chain(beside)
}

#[cfg(test)]
mod tests;
