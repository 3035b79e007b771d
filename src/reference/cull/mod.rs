pub mod cull_args;
pub mod cull_count;
pub mod cull_emit;
pub mod cull_objects;
pub mod cull_views;
pub mod plane;
pub(crate) mod visible;
