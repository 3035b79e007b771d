//! Layouts shared with the device: grid maths, uniform blocks, sort digits, counter words.

pub mod blocks;
pub(crate) mod counters;
pub(crate) mod digits;
pub mod grid;
pub(crate) mod query_sizes;
pub mod worlds;
