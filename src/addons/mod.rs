//! Optional components around a step. They prepare its inputs or read its outputs.

pub(crate) mod cell_size;
pub(crate) mod component;
pub(crate) mod cull;
pub(crate) mod dispatch;
pub(crate) mod draw;
pub(crate) mod events;
pub(crate) mod mirror;
pub(crate) mod object_set;
pub(crate) mod pair_tracker;
pub(crate) mod table_shader;
