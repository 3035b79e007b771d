//! Reference passes of rays: hits, and visited cells.

pub mod ray;
pub mod ray_any;
pub(crate) mod ray_cells;
pub mod ray_cells_count;
pub mod ray_cells_emit;
pub mod ray_closest;
pub mod ray_count;
pub mod ray_emit;
pub mod ray_hits;
pub mod ray_keys;
pub(crate) mod ray_walk;
