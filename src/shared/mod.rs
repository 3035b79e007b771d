//! What several layers know: grid maths, uniform blocks, limits, what was submitted, and whether it is still wanted.

pub(crate) mod asked;
pub mod blocks;
pub(crate) mod bounds;
pub(crate) mod digits;
pub mod grid;
pub(crate) mod lists;
pub(crate) mod murmur;
pub(crate) mod outward;
pub(crate) mod submission;
pub mod watch;
pub(crate) mod wgsl;
