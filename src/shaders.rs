//! The pass table: all compute passes and their WGSL.
//!
//! A pass is a concatenation of files under `shaders/`, without preprocessing. [`Pass::source`] returns the text
//! that a profiler shows.

use crate::addons::{cull, dispatch, draw, events, mirror};
#[doc(hidden)]
pub use crate::gpu::shader::Binding;
pub use crate::gpu::shader::Pass;
use crate::step::samples;

/// Returns all passes by stage, in the order in which a step may run them.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    // An `ObjectSet` moves its boxes before a step, so its passes come first.
    let beside = [events::PASSES, draw::PASSES, dispatch::PASSES, cull::PASSES];
    let beside = beside.into_iter().flatten().copied();
    mirror::PASSES.iter().copied().chain(samples::passes()).chain(beside)
}

#[cfg(test)]
mod tests;
