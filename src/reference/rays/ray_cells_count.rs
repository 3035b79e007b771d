use super::ray::load_ray;
use super::ray_cells::{CellVisitor, walk_ray};
use crate::api::types::SweptRay;
use crate::layout::blocks::RayBlocks;
use crate::layout::grid::Grid;

struct Count(u32);

impl CellVisitor for Count {
    fn take_cells(&mut self, _level: u32, _lower: [i32; 3], _sizes: [u32; 3], count: u32) {
        self.0 = self.0.saturating_add(count);
    }
}

/// Returns the number of cells that each ray visits, saturated at 2^32 - 1, then 0.
pub fn ray_cells_count(params: &RayBlocks, grids: &[&Grid], rays: &[SweptRay]) -> Vec<u32> {
    let count = |ray: &SweptRay| {
        let mut count = Count(0);
        walk_ray(params, grids, &load_ray(params, ray), &mut count);
        count.0
    };
    rays.iter()
        .take(params.rays.count as usize)
        .map(count)
        .chain([0])
        .collect()
}
