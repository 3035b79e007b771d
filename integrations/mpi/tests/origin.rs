//! Boxes, rays and queries of `f64`, far from zero, on ranks with a common origin.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../tests/wild/src/rng.rs"]
mod rng;

use gpu_broad_phase::{LocalOrigin, Query};
use gpu_broad_phase_mpi::{Communicator as _, Device, Owned, Ranks, RanksDescriptor, Threads, common_sample};
use rng::Rng;

type Bounds = [[f64; 3]; 2];

const CORNER: [f64; 3] = [500_000.0, 4_500_000.0, 100.0];
const EXTENT: [f64; 3] = [20.0, 20.0, 6.0];

fn unit(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 * (-53f64).exp2()
}

fn point(rng: &mut Rng) -> [f64; 3] {
    std::array::from_fn(|axis| CORNER[axis] + EXTENT[axis] * unit(rng))
}

/// Boxes of 0.1 at UTM coordinates.
fn boxes(count: usize) -> Vec<Bounds> {
    let mut rng = Rng(66);
    (0..count)
        .map(|_| point(&mut rng))
        .map(|low| [low, low.map(|low| low + 0.1)])
        .collect()
}

fn brute_force(boxes: &[Bounds]) -> Vec<[u64; 2]> {
    let meets = |a: &Bounds, b: &Bounds| (0..3).all(|axis| a[0][axis] <= b[1][axis] && b[0][axis] <= a[1][axis]);
    let mut pairs = Vec::new();
    for (b, of_b) in boxes.iter().enumerate() {
        for (a, of_a) in boxes[..b].iter().enumerate() {
            if meets(of_a, of_b) {
                pairs.push([a as u64, b as u64]);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Highest box that a vertical line passes, if any.
fn highest(boxes: &[Bounds], at: [f64; 3]) -> Option<u64> {
    let passes = |[low, high]: &Bounds| (0..2).all(|axis| low[axis] <= at[axis] && at[axis] <= high[axis]);
    let passed = (0..).zip(boxes).filter(|(_, bounds)| passes(bounds));
    passed
        .max_by(|(_, a), (_, b)| a[1][2].total_cmp(&b[1][2]))
        .map(|(id, _)| id)
}

fn nearest(boxes: &[Bounds], to: [f64; 3]) -> u64 {
    let squared = |[low, high]: &Bounds| {
        let away = |axis: usize| (low[axis] - to[axis]).max(to[axis] - high[axis]).max(0.0);
        (0..3).map(|axis| away(axis) * away(axis)).sum::<f64>()
    };
    let distances = (0..).zip(boxes).map(|(id, bounds)| (squared(bounds), id));
    distances.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are boxes").1
}

#[test]
fn ranks_with_a_common_origin_find_what_f64_has() {
    let world = boxes(2000);
    let expected = brute_force(&world);
    assert!((3..20).contains(&expected.len()), "{expected:?}");
    let mut rng = Rng(1);
    let places: Vec<_> = (0..500).map(|_| point(&mut rng)).collect();
    let above = |place: &[f64; 3]| [place[0], place[1], CORNER[2] + 50.0];
    let slanted: Vec<_> = world
        .iter()
        .map(|bounds| {
            let from: [f64; 3] = std::array::from_fn(|axis| CORNER[axis] + 100.0 * unit(&mut rng) - 50.0);
            let target: [f64; 3] = std::array::from_fn(|axis| (bounds[0][axis] + bounds[1][axis]) / 2.0);
            (from, std::array::from_fn(|axis| target[axis] - from[axis]))
        })
        .collect();
    for size in [1, 2, 4, 7] {
        let found = Threads::run(size, |threads| {
            let rank = threads.rank();
            let own = |count: usize| rank * count / size..(rank + 1) * count / size;
            let of_rank = own(world.len());
            let sample = common_sample(&threads, world[of_rank.clone()].iter().copied());
            let origin = LocalOrigin::for_boxes(sample.iter().copied(), None);
            assert_eq!(origin, LocalOrigin::for_boxes(world.iter().copied(), None));
            assert_eq!(origin.coarse_step(sample), None);
            let descriptor = RanksDescriptor {
                device: Device::Cpu,
                ..RanksDescriptor::default()
            };
            let mut ranks = Ranks::new(threads, &descriptor).unwrap();
            let mut owned = Owned::default();
            owned.moving.ids = of_rank.clone().map(|id| id as u64).collect();
            owned.moving.boxes = world[of_rank.clone()]
                .iter()
                .map(|[min, max]| origin.aabb(*min, *max))
                .collect();
            ranks.balance(&mut owned).unwrap();
            let pairs = ranks.step(&owned).unwrap().pairs;

            let places = &places[own(places.len())];
            let down: Vec<_> = places
                .iter()
                .map(|place| origin.swept_ray(above(place), [0.0, 0.0, -1.0], f64::INFINITY))
                .collect();
            let hits = ranks.closest_hits(&down).unwrap();
            let of_places = places.iter().zip(hits);
            let wrong_hits = of_places.filter(|(place, hit)| highest(&world, **place) != hit.map(|hit| hit.id));

            let aimed: Vec<_> = slanted[of_rank]
                .iter()
                .map(|(from, way)| origin.swept_ray(*from, *way, 1.0))
                .collect();
            let any = ranks.any_hits(&aimed).unwrap();
            let misses = any.iter().filter(|&&hit| !hit).count();

            let queries: Vec<_> = places
                .iter()
                .map(|place| Query {
                    radius: f32::MAX,
                    ..Query::overlaps(origin.aabb(*place, *place))
                })
                .collect();
            let near = ranks.nearest(&queries, 1).unwrap();
            let wrong_nearest = places.iter().zip(&near.rows);
            let wrong_nearest = wrong_nearest.filter(|(place, near)| nearest(&world, **place) != near.id);
            (pairs, [wrong_hits.count(), misses, wrong_nearest.count()])
        });
        let wrong: Vec<_> = found.iter().map(|(_, wrong)| *wrong).collect();
        assert_eq!(wrong, vec![[0; 3]; size]);
        let mut pairs: Vec<_> = found.into_iter().flat_map(|(pairs, _)| pairs).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, expected, "{size} ranks");
    }
}

#[test]
fn a_sample_is_the_same_on_all_ranks_for_any_shares() {
    for (count, size) in [(0, 3), (5, 1), (5, 8), (16_384, 4), (50_000, 5)] {
        let world = boxes(count);
        let mut rows: Vec<_> = LocalOrigin::sample(count).collect();
        rows.sort_unstable();
        rows.dedup();
        let expected: Vec<_> = rows.into_iter().map(|row| world[row]).collect();
        let samples = Threads::run(size, |ranks| {
            // Shares differ, and the last rank may have none.
            let first = |rank: usize| (rank * rank * count / (size * size).max(1)).min(count);
            let own = match ranks.rank() + 1 {
                last if last == size => first(size - 1)..count,
                next => first(next - 1)..first(next),
            };
            common_sample(&ranks, world[own].iter().copied())
        });
        assert!(samples.iter().all(|sample| *sample == expected), "{count} on {size}");
    }
}
