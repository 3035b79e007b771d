//! The step: the order of the stages, the memory that they share, and what comes back.

pub(crate) mod broad_phase;
mod budget;
mod demand;
pub(crate) mod headless;
mod inputs;
mod later;
pub(crate) mod output;
mod pair_filter;
pub(crate) mod plan;
pub(crate) mod query_set;
mod readback;
mod record;
mod recorded;
mod walk_shrink;
mod watch;
