//! Reference passes alone, which other tests compare with, against exact arithmetic.

use gpu_broad_phase::internals::blocks::ScanParams;
use gpu_broad_phase::internals::counters::{COUNT, PAIRS_NEEDED, STATUS};
use gpu_broad_phase::internals::grid::Params;
use gpu_broad_phase::internals::reference::rays::ray::reciprocal;
use gpu_broad_phase::internals::reference::scan::scan;
use gpu_broad_phase::internals::reference::table::prepare::prepare;
use gpu_broad_phase::internals::reference::{Trace, trace};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Ray, RayCell, Rays, Scene, Scheme, Source, SweptRay};
use wild::Rng;
use wild::answers::SCHEMES;
use wild::sized::lattice;

#[test]
fn reciprocals_are_correctly_rounded() {
    let rng = &mut Rng(8);
    let powers = [0x0080_0000u32, 0x3f80_0000, 0x4000_0000, 0x7e80_0000];
    let edges = powers.into_iter().flat_map(|bits| [bits, bits - 1, bits + 1]);
    let edges = edges.filter(|bits| (0x0080_0000..=0x7e80_0000).contains(bits));
    let any = (0..2_000_000).map(|_| (0x0080_0000 + rng.below(0x7e00_0000) as u32) | (rng.below(2) as u32) << 31);
    for bits in edges.chain(any) {
        let exact = 1.0 / f32::from_bits(bits);
        assert_eq!(reciprocal(bits).to_bits(), exact.to_bits(), "{bits:#x}");
    }
}

#[test]
fn totals_past_32_bits_are_counted() {
    let block = ScanParams {
        count: 5000,
        total_word: PAIRS_NEEDED as u32,
        capacity: 100,
        status_bit: 4,
    };
    let (mut counters, mut data) = (vec![0; COUNT], vec![3_000_000; 5000]);
    scan(&block, &mut data, &mut counters);
    let total = counters[PAIRS_NEEDED..][..2].iter().copied().map(u64::from);
    assert_eq!(total.rev().fold(0, |total, word| total << 32 | word), 15_000_000_000);
    assert_eq!(counters[STATUS], 4);
    assert_eq!([0, 1, 1431].map(|row| data[row]), [0, 3_000_000, 4_293_000_000]);
    assert_eq!([1432, 4999].map(|row| data[row]), [u32::MAX; 2]);
}

/// A random box, whose sides are at most a tenth of `reach`.
fn some_box(reach: f64, rng: &mut Rng) -> Aabb {
    let low = [0; 3].map(|_| rng.between(-reach, reach) as f32);
    Aabb::new(low, low.map(|low| low + rng.between(0.0, 0.1 * reach) as f32))
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
    prepare(&params, &[object], &[], &[])[0]
}

#[test]
fn a_margin_is_rounded_outward_by_no_more_than_two_floats() {
    let rng = &mut Rng(77);
    for _ in 0..2000 {
        let (object, margin) = (some_box(100.0, rng), rng.between(1e-6, 5.0) as f32);
        let grown = prepared(margin, [0.0; 2], object);
        let sides = [
            (grown.min, object.min),
            (grown.max.map(|high| -high), object.max.map(|high| -high)),
        ];
        for (grown, bound) in sides
            .into_iter()
            .flat_map(|(grown, bound)| grown.into_iter().zip(bound))
        {
            let exact = f64::from(bound) - f64::from(margin);
            assert!(f64::from(grown) <= exact && f64::from(grown.next_up().next_up()) >= exact);
        }
    }
}

#[test]
fn finite_bounds_of_infinite_boxes_grow_and_move_as_those_of_others() {
    let rng = &mut Rng(78);
    let bounds = |object: Aabb| [0, 1, 2].map(|axis| [object.min[axis], object.max[axis]]);
    for _ in 0..2000 {
        let (object, margin) = (some_box(30.0, rng), rng.one_of(&[0.0, 0.25, f32::MAX]));
        let (periods, axis) = ([rng.one_of(&[0.0, 4.0, 5.5]), 3.0], rng.below(3));
        let mut expected = bounds(prepared(margin, periods, object));
        // An axis with an infinite bound has no period.
        expected[axis] = bounds(prepared(margin, [0.0; 2], object))[axis];
        let mut endless = object;
        if rng.once_in(2) {
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
    let rng = &mut Rng(36);
    for _ in 0..20_000 {
        let period = (rng.between(0.5, 2.0) * rng.one_of(&[1.0, 1e-3, 64.0])) as f32;
        let near = period * rng.one_of(&[1.0, 17.0]);
        let value = match rng.below(5) {
            0 => rng.one_of(&[near, near.next_up(), near.next_down()]),
            1 => rng.between(-9e9, 9e9) as f32,
            2 => f32::from_bits(rng.bits() as u32 & 0xbf7f_ffff),
            _ => rng.between(-100.0, 100.0) as f32,
        };
        let moved = prepared(0.0, [period, 0.0], Aabb::point([value, 0.0, 0.0]));
        // Remainders of floats are exact.
        let exact = if value.is_subnormal() { 0.0 } else { value % period };
        let expected = if exact < 0.0 { period + exact } else { exact };
        let expected = if expected >= period { 0.0 } else { expected };
        assert_eq!([moved.min[0], moved.max[0]], [expected; 2], "{value} in {period}");
    }
}

#[test]
fn search_bounds_hold_in_whatever_order_floats_are_summed() {
    const SLACK: f32 = 1.0 / (1u32 << 20) as f32;
    let rng = &mut Rng(36);
    for _ in 0..200_000 {
        let scale = 2f32.powi(rng.below(120) as i32 - 60);
        let low = rng.between(-1.0, 1.0) as f32 * scale;
        let radius = rng.unit() * scale * rng.one_of(&[1.0, 1e-3, 1e-6, 1e3]);
        let period = rng.one_of(&[0.0, 2.0, 1e3]) * scale;
        let moved = rng.one_of(&[-1.0, 0.0, 1.0]) * period;
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

fn segment_meets(ray: &SweptRay, dimensions: usize, bounds: [[f64; 2]; 3]) -> bool {
    let (mut near, mut far) = (f64::from(ray.t_min.max(0.0)), f64::from(ray.ray.t_max));
    for (axis, bound) in bounds.iter().enumerate().take(dimensions) {
        let half = f64::from(ray.half_extents[axis]);
        let (origin, direction) = (f64::from(ray.ray.origin[axis]), f64::from(ray.ray.direction[axis]));
        let [low, high] = [bound[0] - half - origin, bound[1] + half - origin];
        if direction != 0.0 {
            near = near.max((low / direction).min(high / direction));
            far = far.min((low / direction).max(high / direction));
        } else if low > 0.0 || high < 0.0 {
            return false;
        }
    }
    near <= far
}

fn some_rays(objects: &[Aabb], count: usize, rng: &mut Rng) -> Vec<SweptRay> {
    let ray = |_| {
        let [from, to] = [(); 2].map(|()| rng.one_of(objects).min);
        let mut direction = [0, 1, 2].map(|axis| to[axis] - from[axis]);
        if rng.once_in(4) {
            direction[rng.below(3)] = 0.0;
        }
        let back = rng.one_of(&[0.0, 0.0, 1.0]);
        let origin = [0, 1, 2].map(|axis| from[axis] - back * direction[axis]);
        let ray = Ray::new(origin, direction, rng.one_of(&[f32::INFINITY, 1.0, 0.5, 0.0]));
        let extent = rng.one_of(&[0.0, 0.0, 0.3]) * rng.unit();
        let swept = SweptRay::new(ray).with_half_extents([extent, extent, 0.0]);
        swept.with_t_min(rng.one_of(&[0.0, 0.0, 0.25]))
    };
    (0..count).map(ray).collect()
}

#[test]
fn rays_list_all_cells_on_their_way_once_and_in_order() {
    let (rng, mut cells) = (&mut Rng(16), 0);
    for case in 0..60 {
        let objects = lattice([5, 60, 300][case % 3], rng);
        let rays = some_rays(&objects, 30, rng);
        let mut scene = Scene::default();
        (scene.objects, scene.query.rays) = (objects[..].into(), Rays::Swept(Source::Host(&rays)));
        let mut descriptor = BroadPhaseDescriptor::default();
        let dimensions = [Dimensions::Two, Dimensions::Three][case % 2];
        (descriptor.dimensions, descriptor.outputs.ray_cells) = (dimensions, true);
        for scheme in SCHEMES {
            descriptor.scheme = scheme;
            let trace = trace(&descriptor, &scene).unwrap();
            cells += trace.ray_cells.len();
            for (ray, ends) in rays.iter().zip(trace.ray_cell_offsets.windows(2)) {
                let visited = &trace.ray_cells[ends[0] as usize..ends[1] as usize];
                let what = format!("case {case}, {descriptor:?}, {ray:?}: {visited:?}");
                check_cells(&trace, &descriptor, ray, visited, &what);
            }
        }
    }
    assert!(cells > 20_000, "{cells}");
}

fn check_cells(trace: &Trace, descriptor: &BroadPhaseDescriptor<'_>, ray: &SweptRay, visited: &[RayCell], what: &str) {
    let dimensions = descriptor.dimensions.count() as usize;
    let mut seen = visited.to_vec();
    seen.sort_unstable();
    assert!(seen.is_sorted_by(|a, b| a < b), "a cell twice: {what}");
    let levels = (0..).zip(&trace.grid.levels);
    let longer = [0, 8, 16].map(|shift| (trace.grid.stretch >> shift & 0xff) as i32);
    for (index, level) in levels.filter(|(index, _)| trace.grid.occupied >> index & 1 == 1) {
        let (unit, shift) = match descriptor.scheme {
            Scheme::Adaptive { .. } => (0.5 * level.inverse, 0.5),
            _ => (level.inverse, 0.0),
        };
        let units = longer.map(|octaves| unit * 2f32.powi(-octaves));
        let flushed = |along: f32| if along.is_normal() { along } else { 0.0 };
        let mut direction = [0, 1, 2].map(|axis| flushed(ray.ray.direction[axis] * units[axis]));
        direction[dimensions..].fill(0.0);
        let fastest = direction.map(f32::abs).into_iter().fold(0.0, f32::max);
        let major = direction.iter().position(|along| along.abs() == fastest).unwrap();
        let sign = if direction[major] < 0.0 { -1 } else { 1 };
        let of_level = visited.iter().filter(|cell| cell.level == index);
        let slabs: Vec<i32> = of_level.map(|cell| [cell.x, cell.y, cell.z][major]).collect();
        let moves_on = |pair: &[i32]| (0..=1).contains(&(sign * (pair[1] - pair[0])));
        assert!(slabs.windows(2).all(moves_on), "{what}");

        let detail = if descriptor.scheme == Scheme::Hierarchical {
            2
        } else {
            0
        };
        let bounds =
            |axis: usize, cell: i32| [0.0, 1.0].map(|end| (f64::from(cell) - shift + end) / f64::from(units[axis]));
        for z in level.lower_z..=level.upper_z {
            for y in level.lower_y..=level.upper_y {
                for x in level.lower_x >> detail..=level.upper_x >> detail {
                    let cell = RayCell { level: index, x, y, z };
                    let is_listed = seen.binary_search(&cell).is_ok();
                    let is_met = || segment_meets(ray, dimensions, [bounds(0, x), bounds(1, y), bounds(2, z)]);
                    assert!(is_listed || !is_met(), "{cell:?} is missing, {what}");
                }
            }
        }
    }
}
