use super::ray::load_ray;
use super::ray_cells::{CellVisitor, walk_ray};
use crate::api::types::{RayCell, SweptRay};
use crate::layout::blocks::RayBlocks;
use crate::layout::grid::Grid;

struct Emit<'a> {
    place: u32,
    first: u32,
    cells: &'a mut [RayCell],
}

impl CellVisitor for Emit<'_> {
    fn take_cells(&mut self, level: u32, lower: [i32; 3], sizes: [u32; 3], count: u32) {
        let first = self.place;
        self.place = first.saturating_add(count);
        let page_end = self.first.saturating_add(self.cells.len() as u32);
        for place in first.max(self.first)..self.place.min(page_end) {
            let along_x = place - first;
            let along_y = along_x / sizes[0];
            self.cells[(place - self.first) as usize] = RayCell {
                level,
                x: lower[0] + (along_x % sizes[0]) as i32,
                y: lower[1] + (along_y % sizes[1]) as i32,
                z: lower[2] + (along_y / sizes[1]) as i32,
            };
        }
    }
}

/// Returns the visited cells in the page `first_ray_cell .. first_ray_cell + ray_cell_capacity`. Unwritten cells are
/// zero. `offsets` are the scanned counts of [`ray_cells_count`](super::ray_cells_count::ray_cells_count).
pub fn ray_cells_emit(params: &RayBlocks, grids: &[&Grid], rays: &[SweptRay], offsets: &[u32]) -> Vec<RayCell> {
    let mut cells = vec![RayCell::default(); params.rays.cell_capacity as usize];
    for (ray, &place) in rays.iter().take(params.rays.count as usize).zip(offsets) {
        let mut emit = Emit {
            place,
            first: params.rays.first_cell,
            cells: &mut cells,
        };
        walk_ray(params, grids, &load_ray(params, ray), &mut emit);
    }
    cells
}
