//! The walk of the ray passes: the twin of `shaders/common/ray_walk.wgsl`, `shaders/common/ray_entry_one_cell.wgsl`
//! and `shaders/common/ray_entry_covered.wgsl`.
//!
//! A digital differential analyser in the manner of Amanatides and Woo ("A Fast Voxel Traversal Algorithm for Ray
//! Tracing", 1987) that steps along the axis of fastest motion. Each step visits one slab of cells: on the other two axes
//! the cells between where the ray enters and leaves the slab, widened by a bound on every rounding error.

use std::ops::Range;

use super::blocks::Overrides;
use super::ray::{LARGEST_FLOAT, LoadedRay, enter_box};
use super::rows::Table;
use crate::grid::{
    HOME_FLAG, ID_MASK, Level, Params, Record, SCHEME_ADAPTIVE, SCHEME_UNIFORM, axis_inverse, cell_of, flush, key_of,
    unordered,
};
use crate::types::Ray;

const TESTS_PER_STEP: i32 = 8;
const MAX_RAY_STEPS: i32 = 4096;
const RELATIVE_SLACK: f32 = 1.0 / (1u32 << 19) as f32;
const CELL_SLACK: f32 = 1.0 / (1u32 << 10) as f32;
/// 2^-80: below this speed, in cells, minor axes could flush to zero while they still matter.
const SLOWEST: f32 = f32::from_bits((127 - 80) << 23);
/// 2^100.
const FARTHEST: f32 = f32::from_bits((127 + 100) << 23);

/// What the ray passes read, in binding order.
#[derive(Clone, Copy, Debug)]
pub struct RayInput<'a> {
    /// Levels, records and cell table: bindings 1 to 3.
    pub table: Table<'a>,
    /// The rays.
    pub rays: &'a [Ray],
    /// Sorted values; read by the uniform scheme alone.
    pub values: &'a [u32],
}

/// What a ray pass does with its hits.
pub trait HitVisitor {
    /// Hits past this parameter need not be looked for.
    fn search_limit(&self) -> f32;
    /// Takes a hit; each object of a walk comes once.
    fn accept_hit(&mut self, object: u32, t: f32);
}

/// Cells of a slab and of the one before, x detailed.
struct Visit {
    lower: [i32; 3],
    upper: [i32; 3],
    previous_lower: [i32; 3],
    previous_upper: [i32; 3],
}

struct Walk<'a, V> {
    params: &'a Params,
    input: &'a RayInput<'a>,
    uniform: bool,
    ray: &'a LoadedRay,
    visitor: &'a mut V,
    candidates: u32,
}

/// Walks a ray through the grid and hands its hits to the visitor; returns the box tests, or 0 where they are not
/// counted.
pub fn walk_ray(
    params: &Params,
    input: &RayInput<'_>,
    overrides: Overrides,
    ray: &LoadedRay,
    visitor: &mut impl HitVisitor,
) -> u32 {
    if !ray.valid || ray.t_max < 0.0 {
        return 0;
    }
    let mut walk = Walk {
        params,
        input,
        uniform: params.scheme == SCHEME_UNIFORM,
        ray,
        visitor,
        candidates: 0,
    };
    walk.test_range(input.table.large(params, ray.world));
    for level in input.table.grid.occupied_levels() {
        walk.walk_level(level);
    }
    if overrides.count_candidates { walk.candidates } else { 0 }
}

fn cell_below(position: f32) -> i32 {
    position.clamp(-1_073_741_824.0, 1_073_741_824.0).floor() as i32
}

fn per_axis<T>(value: impl FnMut(usize) -> T) -> [T; 3] {
    std::array::from_fn(value)
}

impl<V: HitVisitor> Walk<'_, V> {
    fn record(&self, entry: u32) -> &Record {
        let record = if self.uniform {
            self.input.values[entry as usize] & ID_MASK
        } else {
            entry
        };
        &self.input.table.records[record as usize]
    }

    fn is_home_entry(&self, entry: u32) -> bool {
        !self.uniform || self.input.values[entry as usize] & HOME_FLAG != 0
    }

    /// One entry an object: whether the entry lies in the visited row itself rather than in one that shares its slots.
    ///
    /// Uniform: the slabs in which the walk meets an object follow one another without a gap, so it is met first in this
    /// one unless the slab before met it; within the slab the lowest covered cell counts.
    fn is_first_visit(&self, level: &Level, entry: u32, visit: &Visit, y: i32, z: i32) -> bool {
        let record = self.record(entry);
        let inverse = axis_inverse(level.inverse, self.input.table.grid.x_detail);
        let cell = |corner: [i32; 3]| cell_of(self.params.scheme, corner.map(|bound| flush(unordered(bound))), inverse);
        let lower = cell(record.low);
        if !self.uniform {
            return lower[1] == y && lower[2] == z && (visit.lower[0]..=visit.upper[0]).contains(&lower[0]);
        }
        let upper = cell(record.high);
        if (0..3).all(|axis| lower[axis] <= visit.previous_upper[axis] && visit.previous_lower[axis] <= upper[axis]) {
            return false;
        }
        let first = per_axis(|axis| lower[axis].max(visit.lower[axis]));
        // An entry in the bucket of a cell that the object does not cover is there by a chance of the hash.
        (0..3).all(|axis| first[axis] <= upper[axis].min(visit.upper[axis])) && first[1] == y && first[2] == z && {
            let key = key_of(level, first, self.ray.world) as usize;
            let starts = self.input.table.starts;
            (starts[key]..starts[key + 1]).contains(&entry)
        }
    }

    fn test_entry(&mut self, entry: u32, level: &Level, visit: &Visit, y: i32, z: i32) {
        let record = *self.record(entry);
        self.candidates = self.candidates.wrapping_add(1);
        match enter_box(self.ray, &record.low, &record.high) {
            Some(t) if record.world == self.ray.world && self.is_first_visit(level, entry, visit, y, z) => {
                self.visitor.accept_hit(record.object, t)
            }
            _ => {}
        }
    }

    /// Every object of a range of entries, without cells.
    fn test_range(&mut self, entries: Range<u32>) {
        for entry in entries {
            if self.is_home_entry(entry) {
                let record = *self.record(entry);
                self.candidates = self.candidates.wrapping_add(1);
                if let Some(t) = enter_box(self.ray, &record.low, &record.high)
                    && record.world == self.ray.world
                {
                    self.visitor.accept_hit(record.object, t);
                }
            }
        }
    }

    fn walk_level(&mut self, level: &Level) {
        let ray = self.ray;
        let table = self.input.table;
        let detail = table.grid.x_detail;
        let entries = table.level(level, ray.world);
        let reach = self.params.cell_reach();
        // Layers of the adaptive scheme are measured in half cells and shifted by one.
        let (unit, shift) = if self.params.scheme == SCHEME_ADAPTIVE {
            (0.5 * level.inverse, 0.5)
        } else {
            (level.inverse, 0.0)
        };
        let origin = ray.origin.map(|component| component * unit + shift);
        let direction = ray.direction.map(|component| flush(component * unit));
        let speed = direction.map(f32::abs);
        let cell_lower = [level.lower_x >> detail, level.lower_y, level.lower_z];
        let cell_upper = [level.upper_x >> detail, level.upper_y, level.upper_z];

        // So far out or so fast, in cells, that products could overflow, or so slow that motion is lost.
        let direct = |axis: usize| {
            origin[axis].abs() > FARTHEST || speed[axis] > FARTHEST || (ray.moves[axis] && speed[axis] == 0.0)
        };
        if (0..3).any(direct) {
            self.test_range(entries);
            return;
        }

        // The part of the ray within the bounds of what is occupied.
        let mut near = 0f32;
        let mut far = LARGEST_FLOAT;
        let inverse = direction.map(|component| 1.0 / if component == 0.0 { 1.0 } else { component });
        for axis in 0..3 {
            let low = cell_lower[axis] as f32;
            let high = (cell_upper[axis] + 1 + reach) as f32;
            let slack = (origin[axis].abs() + low.abs().max(high.abs())) * RELATIVE_SLACK + CELL_SLACK;
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
        let wanted = self.visitor.search_limit().min(ray.t_max);
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
        let slack = per_axis(|axis| (origin[axis].abs() + speed[axis] * t_end) * RELATIVE_SLACK + CELL_SLACK);
        let first = origin[major] + direction[major] * t_begin;
        let last = origin[major] + direction[major] * t_end;
        let major_lower = (cell_below(first.min(last) - slack[major]) - reach).max(cell_lower[major]);
        let major_upper = cell_below(first.max(last) + slack[major]).min(cell_upper[major]);
        let forward = inverse[major] > 0.0;
        let steps = major_upper.wrapping_sub(major_lower).wrapping_add(1);

        // Written so that a NaN, too, takes the direct way.
        let walkable = slack.iter().all(|&slack| slack <= 1.0) && (fastest == 0.0 || fastest >= SLOWEST);
        let count = entries.len().min(0x7fff_ffff) as i32;
        if !walkable || steps > MAX_RAY_STEPS || count <= steps.wrapping_mul(TESTS_PER_STEP) {
            self.test_range(entries);
            return;
        }

        let mut visit = Visit {
            // Meets no object, not even one that covers cells on both sides of zero.
            lower: [i32::MAX; 3],
            upper: [-i32::MAX; 3],
            previous_lower: [i32::MAX; 3],
            previous_upper: [-i32::MAX; 3],
        };
        for step in 0..steps {
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
            // A ray that rests is in all its few slabs at once.
            let (t_0, t_1) = if fastest == 0.0 {
                (t_begin, t_begin)
            } else {
                (
                    (enter_side * inverse[major]).max(t_begin),
                    (leave_side * inverse[major]).min(t_end),
                )
            };
            if t_0 > self.visitor.search_limit() {
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
            for z in visit.lower[2].max(level.lower_z)..=visit.upper[2].min(level.upper_z) {
                for y in visit.lower[1].max(level.lower_y)..=visit.upper[1].min(level.upper_y) {
                    for entries in table.row(level, visit.lower[0], visit.upper[0], y, z, ray.world) {
                        for entry in entries {
                            self.test_entry(entry, level, &visit, y, z);
                        }
                    }
                }
            }
        }
    }
}
