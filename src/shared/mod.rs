//! The bottom layer: numbers out of the WGSL files, float rounding, hashes, submission tracking, threads and a watch.

pub(crate) mod bounds;
pub(crate) mod given;
pub(crate) mod lists;
pub(crate) mod murmur;
pub(crate) mod outward;
pub(crate) mod runs;
pub(crate) mod submission;
pub mod watch;
pub(crate) mod wgsl;
