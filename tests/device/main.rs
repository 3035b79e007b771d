//! One binary, so that tests share devices and pipelines, which are slow to create.

#[path = "../common/mod.rs"]
mod common;

mod bad_calls;
mod bad_input;
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
mod hunt;
mod many_rays;
mod memory;
mod misuse;
mod mixed_sizes;
mod nearest;
mod object_set;
mod order;
mod overflow;
mod pair_filter;
mod pair_tracker;
mod prepare;
mod properties;
mod queries;
mod query_set;
mod record_read_back;
mod renderer;
mod scenes;
mod seed_pairs;
mod seed_queries;
mod seed_rays;
mod snapshot;
mod sources;
mod statics;
mod step;
mod table;
