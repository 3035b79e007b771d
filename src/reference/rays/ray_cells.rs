use super::ray::{LARGEST_FLOAT, LoadedRay};
use super::ray_walk::{MAX_RAY_STEPS, SlabVisitor, Visit, per_axis, walk_levels};
use crate::layout::blocks::Iterations;
use crate::layout::grid::{Grid, Level, MAX_LEVELS, Params};

pub(crate) trait CellVisitor {
    /// Takes the cells from `lower` on, `sizes` per axis. `count` is their number, saturated at 2^32 - 1.
    fn take_cells(&mut self, level: u32, lower: [i32; 3], sizes: [u32; 3], count: u32);
}

struct Walk<'a, V> {
    x_detail: u32,
    first_level: u32,
    visitor: &'a mut V,
    iterations: Iterations,
}

/// Walks the grid of all or the moving objects, then that of the static ones.
pub(crate) fn walk_ray(params: &Params, grids: &[&Grid], ray: &LoadedRay, visitor: &mut impl CellVisitor) {
    for (first_level, grid) in (0..).step_by(MAX_LEVELS as usize).zip(grids) {
        if ray.valid && ray.t_max >= 0.0 {
            let mut walk = Walk {
                x_detail: params.x_detail(),
                first_level,
                visitor: &mut *visitor,
                iterations: Iterations::default(),
            };
            walk_levels(params, grid, ray, &mut walk);
        }
    }
}

impl<V: CellVisitor> SlabVisitor for Walk<'_, V> {
    const COARSE_FIRST: bool = false;

    fn search_limit(&self) -> f32 {
        LARGEST_FLOAT
    }

    fn walk_pays(&mut self, _level: &Level, steps: i32, _breadth: [f32; 3], _most: [f32; 3]) -> bool {
        self.iterations.take(steps.min(MAX_RAY_STEPS) as f32)
    }

    fn without_cells(&mut self, _level: &Level) {}

    fn visit_slab(&mut self, level: &Level, visit: &Visit) {
        let whole = [self.x_detail, 0, 0];
        let [lowest, highest] = level.bounds();
        let lower = per_axis(|axis| visit.lower[axis].max(lowest[axis]) >> whole[axis]);
        let upper = per_axis(|axis| visit.upper[axis].min(highest[axis]) >> whole[axis]);
        if (0..3).all(|axis| lower[axis] <= upper[axis]) {
            let sizes = per_axis(|axis| upper[axis].wrapping_sub(lower[axis]) as u32 + 1);
            let count = sizes.iter().fold(1, |count: u32, &size| count.saturating_mul(size));
            self.visitor
                .take_cells(self.first_level + visit.level, lower, sizes, count);
        }
    }
}
