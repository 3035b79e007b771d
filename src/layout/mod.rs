//! Layouts that host and device share: grid maths, uniform blocks, digits of a sort, words of counters.

pub mod blocks;
pub(crate) mod counters;
pub(crate) mod digits;
pub mod grid;
pub(crate) mod query_sizes;
