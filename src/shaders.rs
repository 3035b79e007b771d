//! The pass table: every compute pass, and the WGSL that it is joined from.
//!
//! A pass is a plain concatenation of files under `shaders/`. Nothing is preprocessed, so what [`Pass::source`] returns
//! is what a profiler shows. Tests validate each pass.

use crate::beside::{dispatch, draw, events, mirror};
pub use crate::gpu::shader::{Binding, Pass};
use crate::stages::{limits, order, pairs, queries, rays, scan, sort, table};

/// All passes, in the order in which a step may run them.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    let of_step = [
        table::PASSES,
        scan::PASSES,
        sort::PASSES,
        pairs::PASSES,
        limits::PASSES,
        rays::PASSES,
        queries::PASSES,
        order::PASSES,
    ];
    let beside = [mirror::PASSES, events::PASSES, draw::PASSES, dispatch::PASSES];
    of_step.into_iter().chain(beside).flatten().copied()
}

#[cfg(test)]
mod tests;
