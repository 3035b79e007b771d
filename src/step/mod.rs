//! The step: the order of the stages, the memory that they share, and what comes back.

pub(crate) mod broad_phase;
mod budget;
mod counter_readback;
mod demand;
mod inputs;
mod later;
pub(crate) mod output;
pub(crate) mod pair_filter;
pub(crate) mod plan;
pub(crate) mod query_set;
mod readback;
mod record;
mod recorded;
mod walk_shrink;
pub(crate) mod warnings;
pub(crate) mod whole;
