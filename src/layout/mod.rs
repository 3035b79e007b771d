//! Layouts that host and device share: grid maths, uniform blocks, digits of a sort, words of counters.

pub(crate) mod asked;
pub mod blocks;
pub(crate) mod counters;
pub(crate) mod digits;
pub mod grid;
