//! Plans and records steps, and reads their results back.

pub(crate) mod broad_phase;
mod budget;
mod counter_readback;
mod demand;
mod inputs;
pub(crate) mod output;
pub(crate) mod pair_filter;
pub(crate) mod plan;
pub(crate) mod query_set;
mod readback;
mod record;
mod record_read_back;
mod recorded;
mod walk_shrink;
pub(crate) mod warnings;
pub(crate) mod whole;
