use super::*;
use crate::reference::rays::ray_walk::{SlabVisitor, Visit, walk_levels};

#[test]
fn reciprocals_are_correctly_rounded() {
    let mut random = Random(8);
    let powers = [0x0080_0000u32, 0x3f80_0000, 0x4000_0000, 0x7e80_0000];
    let edges = powers.into_iter().flat_map(|bits| [bits, bits - 1, bits + 1]);
    let edges = edges.filter(|bits| (0x0080_0000..=0x7e80_0000).contains(bits));
    let any = (0..2_000_000).map(|_| (0x0080_0000 + random.below(0x7e00_0000)) | (random.below(2) << 31));
    for bits in edges.chain(any) {
        let exact = 1.0 / f32::from_bits(bits);
        assert_eq!(reciprocal(bits).to_bits(), exact.to_bits(), "{bits:#x}");
    }
}

/// Coordinates are multiples of 1/8, so that cross-multiplication compares fractions exactly.
#[test]
fn every_exact_hit_is_found_and_t_is_close() {
    let mut random = Random(9);
    let params = Params {
        world_count: 1,
        ..Params::default()
    };
    let mut hits = [0; 4];
    for case in 0..1_000_000 {
        let (kind, size) = (case % 4, [4, 1000, 4, 1 << 20][case % 4]);
        let is_swept = kind > 1;
        let shift = if size > 1000 { 1i64 << 22 } else { 0 };
        let mut integer = |limit: i64| i64::from(random.below(2 * limit as u32 + 1)) - limit;
        let origin = [0; 3].map(|_| 8 * (shift + integer(size)));
        let direction = [0; 3].map(|_| integer(size.min(1000)));
        let low = [0, 1, 2].map(|axis| match size {
            4 => 8 * integer(size),
            1000 => origin[axis] + 8 * (direction[axis] * 3 + integer(3)),
            _ => origin[axis] + 8 * (direction[axis] * 100 + integer(20_000)),
        });
        let high = low.map(|low| low + 8 * integer(2).max(0));
        let widest = if is_swept { size.min(8 * 7000) / 2 } else { 0 };
        let half = [0; 3].map(|_| integer(widest).max(0));
        // Fractions in eighths, with positive denominators.
        let (mut near, mut far) = ((0i64, 1i64), (1i64 << 30, 1i64));
        let mut meets = true;
        for axis in 0..3 {
            let [a, b] = [low[axis] - half[axis], high[axis] + half[axis]].map(|bound| bound - origin[axis]);
            let d = direction[axis];
            if d == 0 {
                meets &= a <= 0 && b >= 0;
                continue;
            }
            let (a, b, d) = if d > 0 { (a, b, d) } else { (-b, -a, -d) };
            if a * near.1 > near.0 * d {
                near = (a, d);
            }
            if b * far.1 < far.0 * d {
                far = (b, d);
            }
        }
        meets &= near.0 * far.1 <= far.0 * near.1;
        let eighths = |vector: [i64; 3]| vector.map(|v| v as f32 / 8.0);
        let ray = Ray::new(eighths(origin), direction.map(|v| v as f32), f32::INFINITY);
        let ray = load_ray(&params, &SweptRay::new(ray).with_half_extents(eighths(half)));
        let t = enter_box(
            &ray,
            &eighths(low).map(grid::ordered),
            &eighths(high).map(grid::ordered),
        );
        let [exact, leave] = [near, far].map(|(a, d)| a as f64 / d as f64 / 8.0);
        if meets {
            hits[kind] += 1;
            let t = f64::from(t.expect("a hit of exact arithmetic is lost"));
            // Rounding extends a grown box by up to three floats.
            let rounding = 3.0 * f64::from(f32::EPSILON) * (2.0 * shift as f64 + 64.0);
            let reach = if is_swept { rounding } else { 0.0 };
            assert!((t - exact).abs() <= exact * 2e-7 + reach, "{t} {exact}");
        } else if t.is_some() && !is_swept {
            assert!(leave >= 0.0 && exact <= leave * (1.0 + 1e-6), "{exact} {leave}");
        }
    }
    assert!(hits.iter().all(|&hits| hits > 250), "{hits:?}");
}

fn segment_meets(ray: &SweptRay, dimensions: usize, bounds: [[f64; 2]; 3]) -> bool {
    let (mut near, mut far) = (f64::from(ray.t_min.max(0.0)), f64::from(ray.ray.t_max));
    for (axis, bound) in bounds.iter().enumerate().take(dimensions) {
        let half = f64::from(ray.half_extents[axis]);
        let (origin, direction) = (f64::from(ray.ray.origin[axis]), f64::from(ray.ray.direction[axis]));
        let [low, high] = [bound[0] - half - origin, bound[1] + half - origin];
        if direction == 0.0 {
            if low > 0.0 || high < 0.0 {
                return false;
            }
        } else {
            near = near.max((low / direction).min(high / direction));
            far = far.min((low / direction).max(high / direction));
        }
    }
    near <= far
}

#[test]
fn rays_list_all_cells_on_their_way_once_and_in_order() {
    let mut random = Random(16);
    let mut cells = 0;
    for case in 0..60 {
        let dimensions = [Dimensions::Two, Dimensions::Three][case % 2];
        let objects = random.lattice([5, 60, 300][case % 3]);
        let rays = random.rays(&objects, 30);
        for scheme in SCHEMES {
            let trace = trace(&cells_descriptor(scheme, dimensions), &scene(&objects, &rays)).unwrap();
            let needed = wide(&trace.counters, word::RAY_CELLS_NEEDED);
            assert_eq!(needed, trace.ray_cells.len() as u64);
            cells += trace.ray_cells.len();
            for (ray, ends) in rays.iter().zip(trace.ray_cell_offsets.windows(2)) {
                let visited = &trace.ray_cells[ends[0] as usize..ends[1] as usize];
                let what = format!("case {case}, {dimensions:?}, {scheme:?}, {ray:?}: {visited:?}");
                check_cells(&trace, ray, dimensions.count() as usize, visited, &what);
            }
        }
    }
    assert!(cells > 20_000, "{cells}");
}

fn check_cells(trace: &Trace, ray: &SweptRay, dimensions: usize, visited: &[RayCell], what: &str) {
    let mut seen = visited.to_vec();
    seen.sort_unstable();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "a cell twice: {what}");
    assert!(visited.is_sorted_by_key(|cell| cell.level), "{what}");
    for (index, level) in trace.grid.occupied_levels() {
        let (unit, shift) = match trace.params.scheme {
            SCHEME_ADAPTIVE => (0.5 * level.inverse, 0.5),
            _ => (level.inverse, 0.0),
        };
        let mut direction = ray.ray.direction.map(|component| grid::flush(component * unit));
        direction[dimensions..].fill(0.0);
        let major = major_axis(direction.map(f32::abs));
        let sign = if direction[major] < 0.0 { -1 } else { 1 };
        let of_level = visited.iter().filter(|cell| cell.level == index);
        let slabs: Vec<i32> = of_level.map(|cell| [cell.x, cell.y, cell.z][major]).collect();
        let moves_on = |pair: &[i32]| (0..=1).contains(&(sign * (pair[1] - pair[0])));
        assert!(slabs.windows(2).all(moves_on), "{what}");

        let detail = trace.grid.x_detail;
        let side = 1.0 / f64::from(unit);
        let bounds = |cell: i32| [0.0, 1.0].map(|end| (f64::from(cell) - shift + end) * side);
        for z in level.lower_z..=level.upper_z {
            for y in level.lower_y..=level.upper_y {
                for x in level.lower_x >> detail..=level.upper_x >> detail {
                    let cell = RayCell { level: index, x, y, z };
                    let is_listed = seen.binary_search(&cell).is_ok();
                    let is_met = || segment_meets(ray, dimensions, [x, y, z].map(bounds));
                    assert!(is_listed || !is_met(), "{cell:?} is missing, {what}");
                }
            }
        }
    }
}

fn major_axis(speed: [f32; 3]) -> usize {
    (1..3).fold(0, |major, axis| if speed[axis] > speed[major] { axis } else { major })
}

#[derive(Clone, Copy, Debug)]
struct Order(u32);

impl Order {
    const ALL: u32 = 162;

    fn sum(self, a: f32, b: f32, c: f32) -> f32 {
        [(a + b) + c, a + (b + c), (a + c) + b][self.0 as usize % 3]
    }

    /// `a * b + c`
    fn fused(self, a: f32, b: f32, c: f32) -> f32 {
        [a * b + c, a.mul_add(b, c)][self.0 as usize / 3 % 2]
    }

    /// `(a + b + c) * d`
    fn scaled(self, a: f32, b: f32, c: f32, d: f32) -> f32 {
        match self.0 / 6 % 3 {
            0 => self.sum(a, b, c) * d,
            1 => self.fused(a, d, (b + c) * d),
            _ => self.fused(a + b, d, c * d),
        }
    }

    /// `a * b + c + d`
    fn moved(self, a: f32, b: f32, c: f32, d: f32) -> f32 {
        match self.0 / 18 % 3 {
            0 => self.fused(a, b, c) + d,
            1 => self.fused(a, b, c + d),
            _ => self.fused(a, b, d) + c,
        }
    }

    /// `1 / a` within two floats, which is the accuracy of device divisions; 1 without motion.
    fn inverse(self, a: f32) -> f32 {
        let inverse = if a == 0.0 { 1.0 } else { 1.0 / a };
        let [up, down] = [inverse.next_up().next_up(), inverse.next_down().next_down()];
        [inverse, up, down][self.0 as usize / 54 % 3]
    }
}

/// Cells of each slab, by the expressions of `shaders/rays/ray_passage.wgsl`. `None` if walks skip the level.
fn slabs_of(order: Order, detail: u32, reach: i32, level: &grid::Level, ray: &LoadedRay) -> Option<Vec<[[i32; 3]; 2]>> {
    const RELATIVE: f32 = 1.0 / (1u32 << 19) as f32;
    const CELL: f32 = 1.0 / (1u32 << 10) as f32;
    let below = |position: f32| position.clamp(-1_073_741_824.0, 1_073_741_824.0).floor() as i32;
    let shift = if detail == 0 && reach == 0 { 0.5 } else { 0.0 };
    let origin = ray.origin.map(|origin| order.fused(origin, level.inverse, shift));
    let direction = ray.direction.map(|direction| direction * level.inverse);
    let extent = ray.half_extents.map(|extent| extent * level.inverse);
    let speed = direction.map(f32::abs);
    let inverse = direction.map(|direction| order.inverse(direction));
    let lower = [level.lower_x >> detail, level.lower_y, level.lower_z];
    let upper = [level.upper_x >> detail, level.upper_y, level.upper_z];
    let (mut near, mut far) = (ray.t_min, f32::MAX);
    for axis in 0..3 {
        let (low, high) = (lower[axis] as f32, (upper[axis] + 1 + reach) as f32);
        let size = order.sum(origin[axis].abs(), extent[axis], low.abs().max(high.abs()));
        let slack = order.moved(size, RELATIVE, CELL, extent[axis]);
        if speed[axis] > 0.0 {
            let at_low = order.scaled(low, -slack, -origin[axis], inverse[axis]);
            let at_high = order.scaled(high, slack, -origin[axis], inverse[axis]);
            near = near.max(at_low.min(at_high));
            far = far.min(at_low.max(at_high));
        } else if !(origin[axis] >= low - slack && origin[axis] <= high + slack) {
            far = -1.0;
        }
    }
    let (t_begin, wanted) = (order.fused(near, -RELATIVE, near), far.min(ray.t_max));
    let t_end = order.fused(wanted, RELATIVE, wanted).min(f32::MAX);
    if t_begin > t_end {
        return Some(Vec::new());
    }
    let major = major_axis(speed);
    let rounding = [0, 1, 2].map(|axis| {
        let way = order.moved(speed[axis], t_end, origin[axis].abs(), extent[axis]);
        order.fused(way, RELATIVE, CELL)
    });
    if rounding.iter().any(|&rounding| rounding > 1.0) || speed[major] == 0.0 {
        return None;
    }
    let slack = [0, 1, 2].map(|axis| rounding[axis] + extent[axis]);
    // Positions along an axis between two parameters, with the slack.
    let span = |axis: usize, ts: [f32; 2]| {
        let at = |t: f32, side: f32| order.moved(direction[axis], t, origin[axis], side * slack[axis]);
        let [first, second] = ts.map(|t| [at(t, -1.0), at(t, 1.0)]);
        [first[0].min(second[0]), first[1].max(second[1])]
    };
    let [first, last] = span(major, [t_begin, t_end]).map(below);
    let mut slabs = Vec::new();
    for slab in (first - reach).max(lower[major])..=last.min(upper[major]) {
        let low = order.scaled(slab as f32, -slack[major], -origin[major], inverse[major]);
        let high = order.scaled((slab + 1 + reach) as f32, slack[major], -origin[major], inverse[major]);
        let ts = [low.min(high).max(t_begin), low.max(high).min(t_end)];
        if ts[0] > ts[1] {
            continue;
        }
        let cells = [0, 1, 2].map(|axis| {
            let shift = if axis == 0 { detail } else { 0 };
            if axis == major {
                return [slab << shift, (slab << shift) + (1 << shift) - 1];
            }
            let [low, high] = span(axis, ts).map(|position| below(position * (1 << shift) as f32));
            [low - (reach << shift), high]
        });
        slabs.push([0, 1].map(|side| cells.map(|cells| cells[side])));
    }
    Some(slabs)
}

#[derive(Default)]
struct Visited(Vec<[[i32; 3]; 2]>);

impl SlabVisitor for Visited {
    const COARSE_FIRST: bool = false;

    fn search_limit(&self) -> f32 {
        f32::MAX
    }

    fn walk_pays(&mut self, _: &grid::Level, _: i32, _: [f32; 3], _: [f32; 3]) -> bool {
        true
    }

    fn without_cells(&mut self, _: &grid::Level) {}

    fn visit_slab(&mut self, _: &grid::Level, visit: &Visit) {
        self.0.push([visit.lower, visit.upper]);
    }
}

/// The slack of walks must exceed the rounding of any evaluation order plus the tolerance of the box test. Walks then
/// visit the cells of all points that a box test may accept.
#[test]
fn walks_visit_the_cells_of_a_ray_in_whatever_order_floats_are_summed() {
    let mut random = Random(91);
    let (mut walked, mut differing) = (0, 0);
    let params = Params {
        world_count: 1,
        dimensions: 3,
        ..Params::default()
    };
    for case in 0..4000 {
        let (detail, reach) = random.pick(&[(2, 1), (0, 0)]);
        let unit = random.pick(&[1.0f32, 1.5, 1.25 * 2f32.powi(-30), 1.75 * 2f32.powi(40)]);
        let inverse = 1.0 / unit;
        let far = random.pick(&[1.0, 30.0, 3000.0, 100_000.0]);
        let origin = random.vector(|random| random.range(-far, far) * unit);
        let steep = random.pick(&[1.0, 1e-3, 1e-6]);
        let mut direction = random.vector(|random| random.range(-1.0, 1.0) * steep * unit);
        direction[random.below(3) as usize] = random.pick(&[1.0, -0.3]) * unit;
        let half = random.pick(&[0.0, 0.0, 0.3, 4.0]) * unit;
        let length = random.pick(&[1.0, 100.0, 3000.0]);
        let swept = SweptRay::new(Ray::new(origin, direction, length)).with_half_extents([half; 3]);
        let ray = load_ray(&params, &swept);
        let t = random.range(0.0, length);
        // The cell of a point on the way, or as far from it as box tests tolerate.
        let begins_in_front = random.below(4) == 0;
        let cell = [0, 1, 2].map(|axis| {
            let along = f64::from(t) * f64::from(direction[axis]);
            let side = f64::from(random.range(-1.0, 1.0)) * f64::from(half);
            let beside = random.pick(&[-1.0, 0.0, 1.0]) * along.abs() * 2f64.powi(-20);
            let shift = if reach == 0 { 0.5 } else { 0.0 };
            let point = (f64::from(origin[axis]) + along + beside + side) * f64::from(inverse) + shift;
            let factor = if axis == 0 { f64::from(1 << detail) } else { 1.0 };
            // Boxes may begin this far in front of the point.
            let corner = if begins_in_front {
                (point * factor).floor() / factor - f64::from(reach)
            } else {
                point - random.pick(&[0.0, 0.5, 1.0]) * f64::from(reach)
            };
            (corner * factor).floor() as i32
        });
        let [lower, upper] = [-1, 1].map(|sign| cell.map(|cell| cell + sign * random.below(5000) as i32));
        let mut level = grid::Level {
            inverse,
            ..grid::Level::default()
        };
        [level.lower_x, level.lower_y, level.lower_z] = lower;
        [level.upper_x, level.upper_y, level.upper_z] = upper;
        let what = format!("case {case}: {swept:?} in {level:?}");
        let mut seen = Vec::new();
        for order in [0; 6].map(|_| Order(random.below(Order::ALL))) {
            let Some(slabs) = slabs_of(order, detail, reach, &level, &ray) else {
                continue;
            };
            let has_cell = |[lower, upper]: &[[i32; 3]; 2]| {
                (0..3).all(|axis| lower[axis] <= cell[axis] && cell[axis] <= upper[axis])
            };
            assert!(slabs.iter().any(has_cell), "{what}: {order:?}: {cell:?} at {t}");
            seen.push(slabs);
        }
        // The expressions of this test are those of the pass.
        if let (Some(slabs), 1) = (slabs_of(Order(0), detail, reach, &level, &ray), reach) {
            let mut grid = grid::Grid::default();
            (grid.x_detail, grid.occupied, grid.levels[0]) = (detail, 1, level);
            let mut visited = Visited::default();
            walk_levels(&params, &grid, &ray, &mut visited);
            let visited = visited.0;
            assert!(visited.len().abs_diff(slabs.len()) <= 2, "{what}");
            let shared = visited.iter().filter(|cells| slabs.contains(cells)).count();
            assert!(
                shared + 4 >= visited.len() || shared * 10 >= visited.len() * 9,
                "{what}"
            );
        }
        walked += seen.len();
        differing += usize::from(seen.windows(2).any(|two| two[0] != two[1]));
    }
    assert!(walked > 10_000 && differing > 100, "{walked}, {differing}");
}
