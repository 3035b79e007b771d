//! Reference passes of `shaders/rays/ray_passage.wgsl` and `shaders/rays/ray_walk.wgsl`.

use super::ray::{LARGEST_FLOAT, LoadedRay};
use crate::layout::grid::{Grid, Level, Params, SCHEME_ADAPTIVE, SCHEME_HIERARCHICAL, flush, whole_cell_inverse};

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
    let mut walk = |(index, level)| walk_level(params, grid.stretch, ray, index, level, visitor);
    if V::COARSE_FIRST && params.scheme == SCHEME_HIERARCHICAL {
        grid.occupied_levels().rev().for_each(&mut walk);
    } else {
        grid.occupied_levels().for_each(&mut walk);
    }
}

/// A ray and a level's bounds, in cells.
struct CellRay {
    detail: u32,
    reach: i32,
    origin: [f32; 3],
    direction: [f32; 3],
    inverse: [f32; 3],
    speed: [f32; 3],
    extent: [f32; 3],
    lower: [i32; 3],
    upper: [i32; 3],
}

impl CellRay {
    /// `None` if the level must be tested without cells.
    fn of(params: &Params, stretch: u32, ray: &LoadedRay, level: &Level) -> Option<Self> {
        let (part, shift) = if params.scheme == SCHEME_ADAPTIVE {
            (0.5, 0.5)
        } else {
            (1.0, 0.0)
        };
        let unit = whole_cell_inverse(part * level.inverse, stretch);
        let detail = params.x_detail();
        let in_cells = |vector: &[f32; 3], axis: usize| vector[axis] * unit[axis];
        let direction = per_axis(|axis| flush(in_cells(&ray.direction, axis)));
        let of = Self {
            detail,
            reach: params.cell_reach(),
            origin: per_axis(|axis| in_cells(&ray.origin, axis) + shift),
            direction,
            inverse: direction.map(|component| 1.0 / if component == 0.0 { 1.0 } else { component }),
            speed: direction.map(f32::abs),
            extent: per_axis(|axis| in_cells(&ray.half_extents, axis)),
            lower: [level.lower_x >> detail, level.lower_y, level.lower_z],
            upper: [level.upper_x >> detail, level.upper_y, level.upper_z],
        };
        let is_direct = |axis: usize| {
            let largest = of.origin[axis].abs().max(of.speed[axis]).max(of.extent[axis]);
            largest > FARTHEST || (ray.moves[axis] && of.speed[axis] == 0.0)
        };
        let is_endless = |axis: usize| {
            let [low, high] = of.bounds(axis);
            let grown = of.extent[axis] + low.abs().max(high.abs());
            of.extent[axis] > 0.0 && grown >= f32::from_bits(254 << 23) * unit[axis]
        };
        (!(0..3).any(is_direct) && !(0..3).any(is_endless)).then_some(of)
    }

    fn bounds(&self, axis: usize) -> [f32; 2] {
        let [lower, upper] = [self.lower[axis], self.upper[axis] + 1 + self.reach];
        [lower as f32, upper as f32]
    }

    /// Parameters between `t_min` and `wanted` at which the ray enters and leaves the level.
    fn clipped(&self, t_min: f32, wanted: f32) -> [f32; 2] {
        let [mut near, mut far] = [t_min, LARGEST_FLOAT];
        for axis in 0..3 {
            let [low, high] = self.bounds(axis);
            let (origin, inverse) = (self.origin[axis], self.inverse[axis]);
            let size = origin.abs() + self.extent[axis] + low.abs().max(high.abs());
            let slack = size * RELATIVE_SLACK + CELL_SLACK + self.extent[axis];
            if self.speed[axis] > 0.0 {
                let at_low = (low - slack - origin) * inverse;
                let at_high = (high + slack - origin) * inverse;
                near = near.max(at_low.min(at_high));
                far = far.min(at_low.max(at_high));
            } else if !(origin >= low - slack && origin <= high + slack) {
                far = far.min(-1.0);
            }
        }
        let t_end = (far.min(wanted) * (1.0 + RELATIVE_SLACK)).min(LARGEST_FLOAT);
        [near * (1.0 - RELATIVE_SLACK), t_end]
    }
}

/// Slabs of cells that a ray passes between `t_begin` and `t_end`, along the axis of fastest motion.
struct Passage {
    ray: CellRay,
    t_begin: f32,
    t_end: f32,
    major: usize,
    slack: [f32; 3],
    lower: i32,
    upper: i32,
}

impl Passage {
    /// `None` if rounding errors are too large for cells.
    fn of(ray: CellRay, [t_begin, t_end]: [f32; 2]) -> Option<Self> {
        let CellRay { origin, speed, .. } = ray;
        let major = (1..3).fold(0, |major, axis| if speed[axis] > speed[major] { axis } else { major });
        let rounding = per_axis(|axis| {
            (origin[axis].abs() + speed[axis] * t_end + ray.extent[axis]) * RELATIVE_SLACK + CELL_SLACK
        });
        let fastest = speed[major];
        // A NaN also rejects the ray.
        if !(rounding.iter().all(|&rounding| rounding <= 1.0) && (fastest == 0.0 || fastest >= SLOWEST)) {
            return None;
        }
        let slack = per_axis(|axis| rounding[axis] + ray.extent[axis]);
        let first = origin[major] + ray.direction[major] * t_begin;
        let last = origin[major] + ray.direction[major] * t_end;
        Some(Self {
            t_begin,
            t_end,
            major,
            slack,
            lower: (cell_below(first.min(last) - slack[major]) - ray.reach).max(ray.lower[major]),
            upper: cell_below(first.max(last) + slack[major]).min(ray.upper[major]),
            ray,
        })
    }

    fn steps(&self) -> i32 {
        self.upper.wrapping_sub(self.lower).wrapping_add(1)
    }

    fn is_forward(&self) -> bool {
        self.ray.inverse[self.major] > 0.0
    }

    fn walk_pays(&self, level: &Level, visitor: &mut impl SlabVisitor) -> bool {
        let (ray, major) = (&self.ray, self.major);
        let inverse = ray.inverse[major].abs();
        let of_level = |axis: usize, wanted: f32| {
            let cells = ray.upper[axis].wrapping_sub(ray.lower[axis]).wrapping_add(1) as f32;
            if axis == major { 1.0 } else { wanted.min(cells) }
        };
        let breadth = per_axis(|axis| {
            let widened = 1.0 + 2.0 * (ray.extent[axis] + ray.speed[axis] * (ray.extent[major] * inverse));
            of_level(axis, widened)
        });
        let crossing = ((1 + ray.reach) as f32 + 2.0 * self.slack[major]) * inverse;
        let most = per_axis(|axis| {
            let speed = ray.speed[axis];
            let along = if speed > 0.0 { speed * crossing } else { 0.0 };
            of_level(axis, along + 2.0 * self.slack[axis] + (2 + ray.reach) as f32)
        });
        visitor.walk_pays(level, self.steps(), breadth, most)
    }

    /// Parameters at which the ray enters and leaves a slab.
    fn way_through(&self, slab: i32) -> [f32; 2] {
        let (ray, major) = (&self.ray, self.major);
        if ray.speed[major] == 0.0 {
            return [self.t_begin; 2];
        }
        let side_low = slab as f32 - self.slack[major] - ray.origin[major];
        let side_high = (slab + 1 + ray.reach) as f32 + self.slack[major] - ray.origin[major];
        let mut sides = [side_low, side_high];
        if !self.is_forward() {
            sides.reverse();
        }
        let [enter, leave] = sides.map(|side| side * ray.inverse[major]);
        [enter.max(self.t_begin), leave.min(self.t_end)]
    }

    fn cells_through(&self, slab: i32, through: [f32; 2]) -> [[i32; 3]; 2] {
        let ray = &self.ray;
        let cells = per_axis(|axis| {
            let shift = if axis == 0 { ray.detail } else { 0 };
            if axis == self.major {
                return [slab << shift, (slab << shift) + (1 << shift) - 1];
            }
            let [p_0, p_1] = through.map(|t| ray.origin[axis] + ray.direction[axis] * t);
            let factor = (1u32 << shift) as f32;
            let lower = cell_below((p_0.min(p_1) - self.slack[axis]) * factor);
            let upper = cell_below((p_0.max(p_1) + self.slack[axis]) * factor);
            [lower - (ray.reach << shift), upper]
        });
        [0, 1].map(|side| cells.map(|cells| cells[side]))
    }
}

fn walk_level(
    params: &Params,
    stretch: u32,
    ray: &LoadedRay,
    index: u32,
    level: &Level,
    visitor: &mut impl SlabVisitor,
) {
    let Some(path) = CellRay::of(params, stretch, ray, level) else {
        return visitor.without_cells(level);
    };
    let way = path.clipped(ray.t_min, visitor.search_limit().min(ray.t_max));
    if way[0].partial_cmp(&way[1]).is_none_or(std::cmp::Ordering::is_gt) {
        return;
    }
    let passage = Passage::of(path, way).filter(|passage| passage.walk_pays(level, visitor));
    let Some(passage) = passage else {
        return visitor.without_cells(level);
    };
    loop {
        let mut visit = Visit {
            level: index,
            // An empty range of cells. Even boxes with cells on both sides of 0 do not meet it.
            lower: [i32::MAX; 3],
            upper: [-i32::MAX; 3],
            previous_lower: [i32::MAX; 3],
            previous_upper: [-i32::MAX; 3],
        };
        for step in 0..passage.steps().min(MAX_RAY_STEPS) {
            let slab = match passage.is_forward() {
                true => passage.lower + step,
                false => passage.upper - step,
            };
            let [t_0, t_1] = passage.way_through(slab);
            if t_0 > visitor.search_limit() || visitor.drops_level() {
                break;
            }
            if t_0 > t_1 {
                continue;
            }
            (visit.previous_lower, visit.previous_upper) = (visit.lower, visit.upper);
            [visit.lower, visit.upper] = passage.cells_through(slab, [t_0, t_1]);
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
