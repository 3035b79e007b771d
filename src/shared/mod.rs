//! What several layers know: grid maths, uniform blocks, limits, and what was submitted.

pub mod blocks;
pub mod grid;
pub(crate) mod submission;
