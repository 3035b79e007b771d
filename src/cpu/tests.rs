//! Exact arithmetic and pages of the reference passes.

mod rays;

use super::*;
use crate::api::counters::{Status, word};
use crate::api::descriptor::{Growth, Scheme};
use crate::api::input::{Rays, Source};
use crate::api::types::{Dimensions, Pair, RayCell, SweptRay};
use crate::layout::blocks::{Overrides, ScanParams, wide};
use crate::layout::grid::{self, Params, SCHEME_ADAPTIVE};
use crate::reference::rays::ray::{LoadedRay, enter_box, load_ray, reciprocal};
use crate::reference::rays::ray_cells_emit::ray_cells_emit;
use crate::reference::scan::scan;
use crate::reference::table::prepare;
use crate::reference::trace::{Trace, emit_pairs, trace};

/// The generator splitmix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u32) -> u32 {
        (((self.next() >> 32) * u64::from(limit)) >> 32) as u32
    }

    fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    fn vector(&mut self, mut component: impl FnMut(&mut Self) -> f32) -> [f32; 3] {
        std::array::from_fn(|_| component(self))
    }

    fn nudge(&mut self, value: f32) -> f32 {
        self.pick(&[value.next_up(), value.next_down(), value, value])
    }

    /// Boxes of a lattice that share faces, moved by at most one float.
    fn lattice(&mut self, count: u32) -> Vec<Aabb> {
        let cells = (count as f32).cbrt() as u32 * 2 + 3;
        let unit = self.pick(&[1.0, 0.3]);
        let edges = self.pick(&[1, 2, 8]);
        let object = |_| {
            let low = self.vector(|random| random.below(cells) as f32 - (cells / 2) as f32);
            let high = low.map(|low| low + self.below(edges + 1) as f32);
            let [min, max] = [low, high].map(|corner| corner.map(|bound| self.nudge(bound * unit)));
            Aabb::new(min, [0, 1, 2].map(|axis| max[axis].max(min[axis])))
        };
        (0..count).map(object).collect()
    }

    fn rays(&mut self, objects: &[Aabb], count: u32) -> Vec<SweptRay> {
        let ray = |_| {
            let [from, to] = [(); 2].map(|()| self.pick(objects).min);
            let mut direction: [f32; 3] = std::array::from_fn(|axis| to[axis] - from[axis]);
            if self.below(4) == 0 {
                direction[self.below(3) as usize] = 0.0;
            }
            let back = self.pick(&[0.0, 0.0, 1.0]);
            let origin = std::array::from_fn(|axis| from[axis] - back * direction[axis]);
            let ray = Ray::new(origin, direction, self.pick(&[f32::INFINITY, 1.0, 0.5, 0.0]));
            let extent = self.pick(&[0.0, 0.0, 0.3]) * self.range(0.0, 1.0);
            let t_min = self.pick(&[0.0, 0.0, 0.25]);
            SweptRay::new(ray)
                .with_half_extents([extent, extent, 0.0])
                .with_t_min(t_min)
        };
        (0..count).map(ray).collect()
    }
}

const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.3 },
    Scheme::Adaptive { min_scale: 0.7 },
];

const OVERRIDES: Overrides = Overrides {
    filters: true,
    count_candidates: false,
};

fn cells_descriptor(scheme: Scheme, dimensions: Dimensions) -> BroadPhaseDescriptor<'static> {
    let mut descriptor = BroadPhaseDescriptor::default();
    (descriptor.scheme, descriptor.dimensions) = (scheme, dimensions);
    descriptor.outputs.ray_cells = true;
    descriptor
}

fn scene<'a>(objects: &'a [Aabb], rays: &'a [SweptRay]) -> Scene<'a> {
    let mut scene = Scene::default();
    (scene.objects, scene.query.rays) = (objects.into(), Rays::Swept(Source::Host(rays)));
    scene
}

#[test]
fn pages_of_pairs_and_ray_cells_join_to_the_whole() {
    let mut random = Random(12);
    let objects = random.lattice(300);
    let rays = random.rays(&objects, 50);
    let scene = scene(&objects, &rays);
    for scheme in SCHEMES {
        let mut descriptor = cells_descriptor(scheme, Dimensions::Three);
        let whole = trace(&descriptor, &scene).unwrap();
        let reads = whole.reads();
        let mut pairs = Vec::new();
        for first in (0..whole.pairs.len()).step_by(97) {
            let mut params = whole.pair_blocks;
            params.pairs.first = first as u32;
            let mut page = vec![Pair { a: 0, b: 0 }; 97.min(whole.pairs.len() - first)];
            let (cache, offsets) = (&whole.pair_cache, &whole.pair_offsets);
            emit_pairs(&params, &reads.pairs(), OVERRIDES, cache, offsets, &mut page);
            pairs.extend(page);
        }
        assert_eq!(pairs, whole.pairs);
        let mut cells = Vec::new();
        for first in (0..whole.ray_cells.len()).step_by(97) {
            let mut params = whole.ray_blocks;
            params.rays.first_cell = first as u32;
            params.rays.cell_capacity = 97.min(whole.ray_cells.len() - first) as u32;
            cells.extend(ray_cells_emit(&params, &[&whole.grid], &rays, &whole.ray_cell_offsets));
        }
        assert_eq!(cells, whole.ray_cells);

        descriptor.outputs.growth = Growth::Fixed;
        descriptor.outputs.capacities.ray_cells = Some(100);
        let cut = step_scene(&descriptor, &scene).unwrap();
        assert_eq!(cut.ray_cells, cells[..100]);
        assert_eq!(cut.counters.status, Status::RAY_CELLS);
        assert_eq!(cut.counters.ray_cells_needed, cells.len() as u64);
    }
}

#[test]
fn totals_past_32_bits_are_counted() {
    let block = ScanParams {
        count: 5000,
        total_word: word::PAIRS_NEEDED as u32,
        capacity: 100,
        status_bit: Status::PAIRS.bits(),
    };
    let mut counters = vec![0; word::COUNT];
    let mut data = vec![3_000_000; 5000];
    scan(&block, &mut data, &mut counters);
    assert_eq!(wide(&counters, word::PAIRS_NEEDED), 15_000_000_000);
    assert_eq!(counters[word::STATUS], Status::PAIRS.bits());
    assert_eq!([0, 1, 1431].map(|row| data[row]), [0, 3_000_000, 4_293_000_000]);
    assert_eq!([1432, 4999].map(|row| data[row]), [u32::MAX; 2]);
}

fn prepared(margin: f32, [period_x, period_y]: [f32; 2], object: Aabb) -> Aabb {
    let params = Params {
        object_count: 1,
        world_count: 1,
        dimensions: 3,
        margin,
        period_x,
        period_y,
        ..Params::default()
    };
    prepare::prepare(&params, &[object], &[], &[])[0]
}

#[test]
fn a_margin_is_rounded_outward_by_no_more_than_two_floats() {
    let mut random = Random(77);
    for _ in 0..2000 {
        let low = random.vector(|random| random.range(-1e3, 1e3));
        let object = Aabb::new(low, low.map(|low| low + random.range(0.0, 10.0)));
        let margin = random.range(1e-6, 5.0);
        let grown = prepared(margin, [0.0; 2], object);
        for axis in 0..3 {
            for (grown, bound) in [
                (grown.min[axis], object.min[axis]),
                (-grown.max[axis], -object.max[axis]),
            ] {
                let exact = f64::from(bound) - f64::from(margin);
                assert!(f64::from(grown) <= exact && f64::from(grown.next_up().next_up()) >= exact);
            }
        }
    }
}

#[test]
fn finite_bounds_of_infinite_boxes_grow_and_move_as_those_of_others() {
    let mut random = Random(78);
    let bounds = |object: Aabb| [0, 1, 2].map(|axis| [object.min[axis], object.max[axis]]);
    for _ in 0..2000 {
        let low = random.vector(|random| random.range(-30.0, 30.0));
        let object = Aabb::new(low, low.map(|low| low + random.range(0.0, 3.0)));
        let margin = random.pick(&[0.0, 0.25, f32::MAX]);
        let periods = [random.pick(&[0.0, 4.0, 5.5]), 3.0];
        let axis = random.below(3) as usize;
        let mut expected = bounds(prepared(margin, periods, object));
        // An axis with an infinite bound has no period.
        expected[axis] = bounds(prepared(margin, [0.0; 2], object))[axis];
        let mut endless = object;
        if random.below(2) == 0 {
            (endless.min[axis], expected[axis][0]) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        } else {
            (endless.max[axis], expected[axis][1]) = (f32::INFINITY, f32::INFINITY);
        }
        let found = bounds(prepared(margin, periods, endless));
        assert_eq!(found, expected, "{margin}, {periods:?}, {endless:?}");
    }
}

#[test]
fn positions_are_moved_by_whole_periods_exactly() {
    let mut random = Random(36);
    for _ in 0..20_000 {
        let period = random.range(0.5, 2.0) * random.pick(&[1.0, 1e-3, 64.0]);
        let value = match random.below(5) {
            0 => random.nudge(period * 17.0),
            1 => random.nudge(period),
            2 => random.range(-9.0, 9.0) * 1e9,
            3 => f32::from_bits(random.next() as u32 & 0xbf7f_ffff),
            _ => random.range(-100.0, 100.0),
        };
        let moved = prepared(0.0, [period, 0.0], Aabb::point([value, 0.0, 0.0]));
        // Remainders of floats are exact.
        let exact = grid::flush(value) % period;
        let expected = if exact < 0.0 { period + exact } else { exact };
        let expected = if expected >= period { 0.0 } else { expected };
        assert_eq!([moved.min[0], moved.max[0]], [expected; 2], "{value} in {period}");
    }
}

#[test]
fn search_bounds_hold_in_whatever_order_floats_are_summed() {
    const SLACK: f32 = 1.0 / (1u32 << 20) as f32;
    let mut random = Random(36);
    for _ in 0..200_000 {
        let scale = 2f32.powi(random.below(120) as i32 - 60);
        let low = random.range(-1.0, 1.0) * scale;
        let radius = random.range(0.0, 1.0) * scale * random.pick(&[1.0, 1e-3, 1e-6, 1e3]);
        let period = random.pick(&[0.0, 2.0, 1e3]) * scale;
        let moved = random.pick(&[-1.0, 0.0, 1.0]) * period;
        // The slack must also cover the rounding of distances.
        let exact = f64::from(low) + f64::from(moved) - f64::from(radius);
        let rounded = 4.0 * f64::from(f32::EPSILON) * f64::from(low.abs() + moved.abs() + radius);
        let slacks = [
            low.abs() * SLACK + (period + radius) * SLACK,
            low.abs().mul_add(SLACK, (period + radius) * SLACK),
            (low.abs() + period + radius) * SLACK,
        ];
        let fused = (period + radius + low.abs()).mul_add(SLACK, radius);
        for (reach, slack) in slacks
            .map(|slack| (radius + slack, slack))
            .into_iter()
            .chain([(fused, slacks[2])])
        {
            let sums = [low + moved - reach, low + (moved - reach), low - reach + moved];
            for bound in sums.into_iter().chain([low + moved - radius - slack]) {
                assert!(f64::from(bound) <= exact - rounded, "{low} {moved} {radius}: {bound}");
            }
        }
    }
}
