//! Slack of ray walks.

use crate::api::types::{Ray, SweptRay};
use crate::layout::grid::{Grid, Level, Params, SCHEME_ADAPTIVE, SCHEME_HIERARCHICAL, packed_stretch};
use crate::reference::rays::ray::load_ray;
use crate::reference::rays::ray_walk::{SlabVisitor, Visit, walk_levels};

/// The generator splitmix64 (Steele, Lea and Flood, 2014).
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((z ^ (z >> 31)) >> 32) * u64::from(limit)) >> 32) as u32
    }

    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.below(1 << 24) as f32 / (1u32 << 24) as f32
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }
}

#[derive(Default)]
struct Visited {
    slabs: Vec<[[i32; 3]; 2]>,
    is_without_cells: bool,
}

impl SlabVisitor for Visited {
    const COARSE_FIRST: bool = false;

    fn search_limit(&self) -> f32 {
        f32::MAX
    }

    fn walk_pays(&mut self, _: &Level, _: i32, _: [f32; 3], _: [f32; 3]) -> bool {
        true
    }

    fn without_cells(&mut self, _: &Level) {
        self.is_without_cells = true;
    }

    fn visit_slab(&mut self, _: &Level, visit: &Visit) {
        self.slabs.push([visit.lower, visit.upper]);
    }
}

/// Compilers may sum floats in another order, fuse products, and divide within two floats, so a shader's walk differs
/// from the reference by a few roundings. The reference must therefore visit the cells of all points that a box test
/// may accept, and of points that differ from them by twice as many roundings.
#[test]
fn walks_visit_the_cells_of_a_ray_in_whatever_order_floats_are_summed() {
    const BOX_TEST: f64 = 1.0 / (1 << 20) as f64;
    const ROUNDINGS: f64 = 4.0 / (1 << 24) as f64;
    let mut random = Random(91);
    let mut walked = 0;
    for case in 0..40_000 {
        let (scheme, detail, reach) = random.pick(&[(SCHEME_HIERARCHICAL, 2, 1), (SCHEME_ADAPTIVE, 0, 0)]);
        let unit = random.pick(&[1.0f32, 1.5, 1.25 * 2f32.powi(-30), 1.75 * 2f32.powi(40)]);
        let longer = random
            .pick(&[[0; 3], [3, 0, 1], [0, 6, 2]])
            .map(|octaves| if reach == 0 { 0 } else { octaves });
        let units = longer.map(|octaves| unit * (1 << octaves) as f32);
        let far = random.pick(&[1.0, 30.0, 3000.0, 100_000.0]);
        let origin = units.map(|unit| random.range(-far, far) * unit);
        let steep = random.pick(&[1.0, 1e-3, 1e-6]);
        let mut direction = units.map(|unit| random.range(-1.0, 1.0) * steep * unit);
        let fast = random.below(3) as usize;
        direction[fast] = random.pick(&[1.0, -0.3]) * units[fast];
        let half = random.pick(&[0.0, 0.0, 0.3, 4.0]) * unit;
        let length = random.pick(&[1.0, 100.0, 3000.0]);
        let t = f64::from(random.range(0.0, length));
        // Points on the border of a cell need the slack.
        let (shift, is_on_border) = (if reach == 0 { 0.5 } else { 0.0 }, random.below(2) == 0);
        let origin = [0, 1, 2].map(|axis| {
            let (unit, along) = (f64::from(units[axis]), t * f64::from(direction[axis]));
            let place = (f64::from(origin[axis]) + along) / unit + shift;
            let place = if is_on_border { place.round() } else { place };
            ((place - shift) * unit - along) as f32
        });
        let swept = SweptRay::new(Ray::new(origin, direction, length)).with_half_extents([half; 3]);

        let sizes = [0, 1, 2].map(|axis| f64::from(origin[axis].abs() + direction[axis].abs() * length + half));
        let in_cells = |sizes: [f64; 3]| [0, 1, 2].map(|axis| sizes[axis] / f64::from(units[axis]));
        let largest = |sizes: [f64; 3]| in_cells(sizes).into_iter().fold(0.0, f64::max);
        let fastest = largest(direction.map(|along| f64::from(along.abs())));
        let rounded = largest(sizes) * ROUNDINGS / fastest;
        let t = (t + random.pick(&[-1.0, 0.0, 1.0]) * rounded).clamp(0.0, f64::from(length));
        let begins_in_front = random.below(4) == 0;
        let cell = [0, 1, 2].map(|axis| {
            let along = t * f64::from(direction[axis]);
            let side = f64::from(random.range(-1.0, 1.0)) * f64::from(half);
            let beside = random.pick(&[-1.0, 0.0, 1.0]) * (along.abs() * BOX_TEST + sizes[axis] * ROUNDINGS);
            let point = (f64::from(origin[axis]) + along + beside + side) / f64::from(units[axis]) + shift;
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
        // Walks of the adaptive scheme pass cells of twice the size.
        let inverse = (2 - reach) as f32 / unit;
        let mut level = Level {
            inverse,
            ..Level::default()
        };
        [level.lower_x, level.lower_y, level.lower_z] = lower;
        [level.upper_x, level.upper_y, level.upper_z] = upper;
        let mut grid = Grid::default();
        (grid.occupied, grid.levels[0], grid.stretch) = (1, level, packed_stretch(longer));
        let params = Params {
            world_count: 1,
            dimensions: 3,
            scheme,
            ..Params::default()
        };
        let mut visited = Visited::default();
        walk_levels(&params, &grid, &load_ray(&params, &swept), &mut visited);
        let has_cell =
            |[lower, upper]: &[[i32; 3]; 2]| (0..3).all(|axis| (lower[axis]..=upper[axis]).contains(&cell[axis]));
        assert!(
            visited.is_without_cells || visited.slabs.iter().any(has_cell),
            "case {case}: {swept:?} in {level:?}: {cell:?} at {t}"
        );
        walked += usize::from(!visited.is_without_cells);
    }
    assert!(walked > 10_000, "{walked}");
}
