//! One binary, so that tests share devices and pipelines, which are slow to create.

#[path = "../common/mod.rs"]
mod common;

mod allowed;
mod behaviour;
mod cancel;
mod concurrency;
mod culling;
mod debug_draw;
mod device_counts;
mod dropped;
mod empty_lists;
mod events;
mod faults;
mod golden;
mod memory;
mod nearest;
mod object_set;
mod overflow;
mod pair_filter;
mod pair_tracker;
mod prepare;
mod query_set;
mod record_read_back;
mod refusals;
mod renderer;
mod seed_pairs;
mod seed_queries;
mod seed_rays;
mod snapshot;
mod statics;
mod steps;
mod table;
mod wild;
mod worlds;
