//! The bottom layer: numbers from WGSL files, float rounding, hashes, dropped encoders, threads, cancellation.

pub(crate) mod bounds;
pub mod cancel;
pub(crate) mod lists;
pub(crate) mod murmur;
pub(crate) mod outward;
pub(crate) mod recording;
pub(crate) mod runs;
pub(crate) mod source;
pub(crate) mod wgsl;
