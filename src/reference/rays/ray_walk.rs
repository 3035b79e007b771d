//! Reference passes of `shaders/rays/ray_passage.wgsl` and `shaders/rays/ray_walk.wgsl`.

use super::ray::{LARGEST_FLOAT, LoadedRay};
use crate::layout::grid::{Grid, Level, Params, SCHEME_ADAPTIVE, SCHEME_HIERARCHICAL, flush};

pub(crate) const MAX_RAY_STEPS: i32 = 4096;
const RELATIVE_SLACK: f32 = 1.0 / (1u32 << 19) as f32;
const CELL_SLACK: f32 = 1.0 / (1u32 << 10) as f32;
const SLOWEST: f32 = f32::from_bits((127 - 80) << 23);
const FARTHEST: f32 = f32::from_bits((127 + 100) << 23);

pub(crate) struct Visit {
    pub level: u32,
    pub lower: [i32; 3],
    pub upper: [i32; 3],
    pub previous_lower: [i32; 3],
    pub previous_upper: [i32; 3],
}

pub(crate) trait SlabVisitor {
    const COARSE_FIRST: bool;
    fn search_limit(&self) -> f32;
    /// True to walk a level by cells: in `steps` slabs of about `breadth` and at most `most` cells per axis. If false,
    /// [`without_cells`](Self::without_cells) is called.
    fn walk_pays(&mut self, level: &Level, steps: i32, breadth: [f32; 3], most: [f32; 3]) -> bool;
    fn without_cells(&mut self, level: &Level);
    fn visit_slab(&mut self, level: &Level, visit: &Visit);
    fn drops_level(&self) -> bool {
        false
    }
    fn walks_again(&mut self) -> bool {
        false
    }
}

fn cell_below(position: f32) -> i32 {
    position.clamp(-1_073_741_824.0, 1_073_741_824.0).floor() as i32
}

pub(crate) fn per_axis<T>(value: impl FnMut(usize) -> T) -> [T; 3] {
    std::array::from_fn(value)
}

pub(crate) fn walk_levels<V: SlabVisitor>(params: &Params, grid: &Grid, ray: &LoadedRay, visitor: &mut V) {
    let mut walk = |(index, level)| walk_level(params, grid.x_detail, ray, index, level, visitor);
    if V::COARSE_FIRST && params.scheme == SCHEME_HIERARCHICAL {
        grid.occupied_levels().rev().for_each(&mut walk);
    } else {
        grid.occupied_levels().for_each(&mut walk);
    }
}

fn walk_level(
    params: &Params,
    detail: u32,
    ray: &LoadedRay,
    index: u32,
    level: &Level,
    visitor: &mut impl SlabVisitor,
) {
    let reach = params.cell_reach();
    let (unit, shift) = if params.scheme == SCHEME_ADAPTIVE {
        (0.5 * level.inverse, 0.5)
    } else {
        (level.inverse, 0.0)
    };
    let origin = ray.origin.map(|component| component * unit + shift);
    let direction = ray.direction.map(|component| flush(component * unit));
    let speed = direction.map(f32::abs);
    let extent = ray.half_extents.map(|component| component * unit);
    let cell_lower = [level.lower_x >> detail, level.lower_y, level.lower_z];
    let cell_upper = [level.upper_x >> detail, level.upper_y, level.upper_z];

    let direct = |axis: usize| {
        origin[axis].abs().max(speed[axis]).max(extent[axis]) > FARTHEST || (ray.moves[axis] && speed[axis] == 0.0)
    };
    if (0..3).any(direct) {
        visitor.without_cells(level);
        return;
    }

    let is_endless = |axis: usize| {
        let bounds = [cell_lower[axis] as f32, (cell_upper[axis] + 1 + reach) as f32];
        let grown = extent[axis] + bounds[0].abs().max(bounds[1].abs());
        extent[axis] > 0.0 && grown >= f32::from_bits(254 << 23) * unit
    };
    if (0..3).any(is_endless) {
        visitor.without_cells(level);
        return;
    }

    let mut near = ray.t_min;
    let mut far = LARGEST_FLOAT;
    let inverse = direction.map(|component| 1.0 / if component == 0.0 { 1.0 } else { component });
    for axis in 0..3 {
        let low = cell_lower[axis] as f32;
        let high = (cell_upper[axis] + 1 + reach) as f32;
        let size = origin[axis].abs() + extent[axis] + low.abs().max(high.abs());
        let slack = size * RELATIVE_SLACK + CELL_SLACK + extent[axis];
        if speed[axis] > 0.0 {
            let at_low = (low - slack - origin[axis]) * inverse[axis];
            let at_high = (high + slack - origin[axis]) * inverse[axis];
            near = near.max(at_low.min(at_high));
            far = far.min(at_low.max(at_high));
        } else if !(origin[axis] >= low - slack && origin[axis] <= high + slack) {
            far = far.min(-1.0);
        }
    }
    let t_begin = near * (1.0 - RELATIVE_SLACK);
    let wanted = visitor.search_limit().min(ray.t_max);
    let t_end = (far.min(wanted) * (1.0 + RELATIVE_SLACK)).min(LARGEST_FLOAT);
    if t_begin.partial_cmp(&t_end).is_none_or(std::cmp::Ordering::is_gt) {
        return;
    }

    let mut major = 0;
    for axis in 1..3 {
        if speed[axis] > speed[major] {
            major = axis;
        }
    }
    let fastest = speed[major];
    let rounding =
        per_axis(|axis| (origin[axis].abs() + speed[axis] * t_end + extent[axis]) * RELATIVE_SLACK + CELL_SLACK);
    let slack = per_axis(|axis| rounding[axis] + extent[axis]);
    let first = origin[major] + direction[major] * t_begin;
    let last = origin[major] + direction[major] * t_end;
    let major_lower = (cell_below(first.min(last) - slack[major]) - reach).max(cell_lower[major]);
    let major_upper = cell_below(first.max(last) + slack[major]).min(cell_upper[major]);
    let forward = inverse[major] > 0.0;
    let steps = major_upper.wrapping_sub(major_lower).wrapping_add(1);

    let breadth = per_axis(|axis| {
        let widened = 1.0 + 2.0 * (extent[axis] + speed[axis] * (extent[major] * inverse[major].abs()));
        let cells = cell_upper[axis].wrapping_sub(cell_lower[axis]).wrapping_add(1) as f32;
        if axis == major { 1.0 } else { widened.min(cells) }
    });
    let crossing = ((1 + reach) as f32 + 2.0 * slack[major]) * inverse[major].abs();
    let most = per_axis(|axis| {
        let along = if speed[axis] > 0.0 { speed[axis] * crossing } else { 0.0 };
        let crossed = along + 2.0 * slack[axis] + (2 + reach) as f32;
        let cells = cell_upper[axis].wrapping_sub(cell_lower[axis]).wrapping_add(1) as f32;
        if axis == major { 1.0 } else { crossed.min(cells) }
    });
    let walkable = rounding.iter().all(|&rounding| rounding <= 1.0) && (fastest == 0.0 || fastest >= SLOWEST);
    if !walkable || !visitor.walk_pays(level, steps, breadth, most) {
        visitor.without_cells(level);
        return;
    }

    loop {
        let mut visit = Visit {
            level: index,
            // An empty range of cells. Even boxes with cells on both sides of 0 do not meet it.
            lower: [i32::MAX; 3],
            upper: [-i32::MAX; 3],
            previous_lower: [i32::MAX; 3],
            previous_upper: [-i32::MAX; 3],
        };
        for step in 0..steps.min(MAX_RAY_STEPS) {
            let slab = if forward {
                major_lower + step
            } else {
                major_upper - step
            };
            let side_low = slab as f32 - slack[major] - origin[major];
            let side_high = (slab + 1 + reach) as f32 + slack[major] - origin[major];
            let (enter_side, leave_side) = if forward {
                (side_low, side_high)
            } else {
                (side_high, side_low)
            };
            let (t_0, t_1) = if fastest == 0.0 {
                (t_begin, t_begin)
            } else {
                (
                    (enter_side * inverse[major]).max(t_begin),
                    (leave_side * inverse[major]).min(t_end),
                )
            };
            if t_0 > visitor.search_limit() || visitor.drops_level() {
                break;
            }
            if t_0 > t_1 {
                continue;
            }
            visit.previous_lower = visit.lower;
            visit.previous_upper = visit.upper;
            for axis in 0..3 {
                let shift = if axis == 0 { detail } else { 0 };
                if axis == major {
                    visit.lower[axis] = slab << shift;
                    visit.upper[axis] = (slab << shift) + (1 << shift) - 1;
                } else {
                    let p_0 = origin[axis] + direction[axis] * t_0;
                    let p_1 = origin[axis] + direction[axis] * t_1;
                    let factor = (1u32 << shift) as f32;
                    visit.lower[axis] = cell_below((p_0.min(p_1) - slack[axis]) * factor) - (reach << shift);
                    visit.upper[axis] = cell_below((p_0.max(p_1) + slack[axis]) * factor);
                }
            }
            visitor.visit_slab(level, &visit);
        }
        if !visitor.walks_again() {
            break;
        }
    }
    if visitor.drops_level() {
        visitor.without_cells(level);
    }
}
