//! Reference passes of pairs.

pub mod pair_count;
pub mod pair_emit;
pub mod pair_emit_cached;
pub mod pair_exclude;
pub mod pair_excludes;
pub mod pair_replay;
pub mod pair_static;
pub mod pair_static_count;
pub mod pair_static_emit;
pub mod pair_sums;
pub mod pair_walk;
pub mod world_pairs;
