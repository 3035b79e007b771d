pub mod query;
pub mod query_count;
pub mod query_emit;
pub mod query_nearest;
pub(crate) mod query_rings;
pub mod query_walk;
