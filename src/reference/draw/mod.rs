pub mod draw_boxes;
pub mod draw_cells;
pub mod draw_pairs;
pub mod draw_ray_cells;
pub(crate) mod lines;
