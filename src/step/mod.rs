//! The step: the order of the stages, the memory that they share, and what comes back.

pub(crate) mod broad_phase;
pub(crate) mod headless;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod readback;
pub(crate) mod reading;
pub(crate) mod walk_shrink;
pub(crate) mod watch;
