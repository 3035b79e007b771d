//! Compares all schemes with brute force on seeded scenes. Half are lattices with offsets of one ulp, where boxes share
//! faces; continuous random boxes never touch.

mod box_tests;
mod queries;
mod rays;

use super::*;
use crate::api::counters::{Status, word};
use crate::api::descriptor::{Growth, OutputOptions, RayMode, Scheme};
use crate::api::error::InputError;
use crate::api::input::{Rays, Source};
use crate::api::types::{Dimensions, Pair, RayCell, RayHit, SweptRay};
use crate::layout::blocks::{Overrides, ScanParams, wide};
use crate::layout::grid::{self, Params, SCHEME_ADAPTIVE};
use crate::reference::brute_force;
use crate::reference::rays::ray::{LoadedRay, enter_box, load_ray, reciprocal};
use crate::reference::rays::ray_cells_emit;
use crate::reference::scan::scan;
use crate::reference::table::prepare;
use crate::reference::trace::{Trace, emit_pairs, trace};
use crate::{Counters, Ray, StepResult};

struct SplitMix(u64);

impl SplitMix {
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

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }

    fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    fn one_in(&mut self, chances: u32) -> bool {
        self.below(chances) == 0
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    fn vector(&mut self, mut component: impl FnMut(&mut Self) -> f32) -> [f32; 3] {
        std::array::from_fn(|_| component(self))
    }
}

fn nudge(random: &mut SplitMix, value: f32) -> f32 {
    match random.below(4) {
        0 => value.next_up(),
        1 => value.next_down(),
        2 if value == 0.0 => -0.0,
        _ => value,
    }
}

const KINDS: u32 = 14;

fn lattice(random: &mut SplitMix, unit: f32, cells: u32, edges: u32, origin: f32) -> Aabb {
    let low = random.vector(|random| random.below(cells) as f32 - (cells / 2) as f32);
    let high = low.map(|low| low + random.below(edges + 1) as f32);
    let min = low.map(|low| nudge(random, origin + low * unit));
    let max = high.map(|high| nudge(random, origin + high * unit));
    Aabb::new(min, std::array::from_fn(|axis| max[axis].max(min[axis])))
}

fn centred(random: &mut SplitMix, side: f32, edge: f32) -> Aabb {
    let centre = random.vector(|random| random.range(-side, side));
    let half = random.vector(|random| edge * random.range(0.25, 0.75));
    Aabb::new(
        std::array::from_fn(|axis| centre[axis] - half[axis]),
        std::array::from_fn(|axis| centre[axis] + half[axis]),
    )
}

fn scene(random: &mut SplitMix, kind: u32, count: usize) -> Vec<Aabb> {
    let side = (count.max(1) as f32).cbrt();
    let cells = side as u32 * 2 + 3;
    let unit = random.pick(&[1.0, 0.1, 0.3, 3.7, 1e-3, 1e4, 0.5]);
    (0..count)
        .map(|_| match kind {
            // Lattices with shared faces, one-ulp offsets and zeros of both signs.
            0 => lattice(random, unit, cells, 1, 0.0),
            1 => lattice(random, unit, cells, 3, 0.0),
            2 => lattice(random, unit, cells, 2, 1e5 * unit),
            3 => lattice(random, unit, cells, 0, 0.0),
            4 => {
                let edges = 1 << random.below(7);
                lattice(random, unit, 4 * cells, edges, 0.0)
            }
            5 => lattice(random, f32::MIN_POSITIVE * 0.25, cells, 4, 0.0),
            6 => {
                let unit = 2f32.powi(-126 + random.below(250) as i32);
                lattice(random, unit, cells, 2, 0.0)
            }
            7 => {
                let mut object = lattice(random, unit, 4 * cells, 2, 0.0);
                (object.min[2], object.max[2]) = (0.0, 0.0);
                object
            }
            8 => centred(random, side, 1.0),
            9 => {
                let edge = 1.0 / (1.0 - random.range(0.0, 1.0 - 1.0 / 65536.0)).sqrt();
                centred(random, 3.0 * side, edge)
            }
            10 => {
                let far = random.vector(|random| random.pick(&[-1e6, 0.0, 1e7, 3e4]));
                let object = centred(random, 2.0, 1.0);
                Aabb::new(
                    std::array::from_fn(|axis| object.min[axis] + far[axis]),
                    std::array::from_fn(|axis| object.max[axis] + far[axis]),
                )
            }
            11 => {
                let edge = 10f32.powf(random.range(-30.0, 30.0));
                let side = edge * random.range(0.0, 20.0);
                centred(random, side, edge)
            }
            12 => {
                let mut object = centred(random, side, 0.1);
                let axis = random.below(3) as usize;
                object.max[axis] += side * random.unit();
                object
            }
            _ => {
                let mut object = centred(random, 1.5 * side, 1.0);
                if random.one_in(20) {
                    let edge = 10f32.powf(random.range(0.0, 38.0));
                    object = centred(random, side, edge);
                }
                object
            }
        })
        .collect()
}

fn benchmark(random: &mut SplitMix, count: usize) -> Vec<Aabb> {
    let side = (8.0 * count as f32 / 6.0).cbrt();
    (0..count)
        .map(|_| {
            let centre = random.vector(|random| random.range(0.0, side));
            let half = random.vector(|random| random.range(0.25, 0.75));
            Aabb::new(
                std::array::from_fn(|axis| centre[axis] - half[axis]),
                std::array::from_fn(|axis| centre[axis] + half[axis]),
            )
        })
        .collect()
}

/// Adds giants, infinite and invalid boxes, huge coordinates and filters.
fn spoil(random: &mut SplitMix, objects: &mut [Aabb]) {
    for object in objects {
        let axis = random.below(3) as usize;
        match random.below(40) {
            0 => object.max[axis] = f32::INFINITY,
            1 => object.min[axis] = f32::NEG_INFINITY,
            2 => object.min[axis] = f32::NAN,
            3 => object.max[axis] = -f32::NAN,
            4 => std::mem::swap(&mut object.min, &mut object.max),
            5 => object.max[axis] = random.pick(&[1e38, f32::MAX, 1e30]),
            6 => object.min[axis] = random.pick(&[-1e38, f32::MIN, -1e30]),
            7 => (object.min[axis], object.max[axis]) = (3e38, 3.1e38),
            8 => (object.min[axis], object.max[axis]) = (f32::INFINITY, f32::INFINITY),
            9 => object.group |= Aabb::EXCLUDED,
            10 => (object.min, object.max) = ([-0.0; 3], [0.0; 3]),
            11 => (object.min, object.max) = ([0.0; 3], [-0.0; 3]),
            12 => (object.min[axis], object.max[axis]) = (1e-45, 1e-40),
            _ => {}
        }
        if random.one_in(3) {
            object.group |= random.below(6);
        }
        if random.one_in(4) {
            object.group |= Aabb::STATIC;
        }
        if random.one_in(4) {
            *object = object.with_layers(1 << random.below(3), random.next() as u16 | 1);
        }
    }
}

/// Rays from on, in and outside boxes, through corners, along edges, and random ones.
fn rays(random: &mut SplitMix, objects: &[Aabb], count: usize) -> Vec<Ray> {
    let finite = |value: f32| if value.is_finite() { value } else { 0.0 };
    let point = |random: &mut SplitMix| {
        let Some(object) = objects.get(random.below(objects.len().max(1) as u32) as usize) else {
            return random.vector(|random| random.range(-2.0, 2.0));
        };
        std::array::from_fn(|axis| {
            let (low, high) = (finite(object.min[axis]), finite(object.max[axis]));
            let value = match random.below(6) {
                0 | 1 => low,
                2 | 3 => high,
                4 => low * 0.5 + high * 0.5,
                _ => low - (high - low),
            };
            finite(if random.one_in(3) { nudge(random, value) } else { value })
        })
    };
    (0..count)
        .map(|_| {
            let origin = point(random);
            let target = point(random);
            let mut origin = if random.one_in(4) {
                origin.map(|c| finite(c * 3.0))
            } else {
                origin
            };
            let mut direction: [f32; 3] = std::array::from_fn(|axis| {
                let difference = target[axis] - origin[axis];
                if difference.abs() <= 2f32.powi(126) {
                    difference
                } else {
                    1.0
                }
            });
            match random.below(12) {
                0 => direction = [0.0; 3],
                1 | 2 => {
                    let axis = random.below(3) as usize;
                    let sign = random.pick(&[1.0, -1.0, 1e-3, 1e6]);
                    direction = std::array::from_fn(|other| if other == axis { sign } else { 0.0 });
                }
                3 => direction = random.vector(|random| random.pick(&[1.0, -1.0, 0.0, -0.0, 2.0, 0.5])),
                4 => direction = random.vector(|random| random.range(-1.0, 1.0)),
                5 => {
                    direction[random.below(3) as usize] =
                        random.pick(&[1e-45, -1e-40, 1.2e-38, -2e-38, 1e-30, 1e37, 8.507_059e37]);
                }
                6 => {
                    let speed = random.pick(&[1.2e-38, 1e-37, 1e-36, 1e-30, 1e-20, 1e20, 1e37]);
                    direction = direction.map(|component| component.clamp(-1.0, 1.0) * speed);
                }
                _ => {}
            }
            let mut t_max = random.pick(&[
                f32::INFINITY,
                f32::INFINITY,
                1.0,
                0.5,
                16.0,
                0.0,
                -0.0,
                f32::MAX,
                1e-40,
                1e20,
            ]);
            match random.below(40) {
                0 => t_max = -1.0,
                1 => t_max = f32::NAN,
                2 => t_max = -1e-45,
                3 => origin[0] = f32::INFINITY,
                4 => direction[1] = f32::NAN,
                5 => direction[2] = f32::MAX,
                6 => origin = random.vector(|random| random.pick(&[1e38, -3e38, 0.0, 1e30])),
                7 => t_max = f32::NEG_INFINITY,
                _ => {}
            }
            Ray::new(origin, direction, t_max)
        })
        .collect()
}

fn schemes(random: &mut SplitMix, objects: &[Aabb]) -> Vec<Scheme> {
    let finite = |object: &&Aabb| object.min.iter().chain(&object.max).all(|value| value.abs() < 1e30);
    let edge = objects
        .iter()
        .filter(finite)
        .map(|object| object.max[0] - object.min[0])
        .fold(0.0, f32::max);
    let edge = if edge > 1e-25 { edge } else { 1.0 };
    let factor = random.pick(&[0.3, 1.0, 1.01, 0.6, 2.0, 7.0, 1e-3, 1e4]);
    let scheme = Scheme::Uniform {
        cell_size: (edge * factor).clamp(1e-30, 1e30),
    };
    let adaptive = Scheme::Adaptive {
        min_scale: (edge * random.pick(&[0.1, 1.0, 1e-4, 8.0])).clamp(1e-30, 1e26),
    };
    vec![Scheme::Hierarchical, scheme, adaptive]
}

fn only(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    }
}

fn sorted_hits(hits: &[RayHit]) -> Vec<(u32, u32)> {
    let mut hits: Vec<_> = hits.iter().map(bits).collect();
    hits.sort_unstable();
    hits
}

fn bits(hit: &RayHit) -> (u32, u32) {
    (hit.object, hit.t.to_bits())
}

/// Returns the result of the mode `Closest`, after checking all ray modes.
fn check_rays(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, what: &str) -> StepResult {
    let run = |ray_mode, pairs| {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode,
                ..descriptor.outputs
            },
            pairs,
            ..*descriptor
        };
        let result = step_scene(&descriptor, scene).unwrap();
        assert_eq!(result.counters.status, Status::default(), "{what}");
        result
    };
    let closest = run(RayMode::Closest, descriptor.pairs);
    let any = run(RayMode::Any, false);
    let all = run(RayMode::All, false);
    let expected = brute_force::scene_rays(descriptor, scene).unwrap();
    assert!(expected.is_empty() || closest.ray_hits.len() == expected.len() && any.ray_any.len() == expected.len());
    for (index, (expected, ray)) in expected.iter().zip(&*HostScene::of(scene).unwrap().rays).enumerate() {
        let range = all.ray_offsets[index] as usize..all.ray_offsets[index + 1] as usize;
        assert_eq!(
            sorted_hits(&all.ray_hits[range]),
            sorted_hits(expected),
            "{what}: hits of {index}: {ray:?}"
        );
        assert_eq!(
            bits(&closest.ray_hits[index]),
            bits(&brute_force::closest(expected)),
            "{what}: closest of {index}: {ray:?}"
        );
        assert_eq!(
            any.ray_any[index],
            u32::from(!expected.is_empty()),
            "{what}: any of {index}: {ray:?}"
        );
    }
    assert_eq!(all.counters.hits_needed, all.ray_hits.len() as u64);
    closest
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, objects: &[Aabb], rays: &[Ray], what: &str) -> Counters {
    let scene = Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: rays.into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let closest = check_rays(descriptor, &scene, what);
    let mut pairs = closest.pairs;
    pairs.sort_unstable();
    assert!(pairs.windows(2).all(|pair| pair[0] != pair[1]), "a pair twice: {what}");
    let expected = brute_force::pairs(objects);
    if pairs != expected {
        let missing = expected.iter().find(|pair| pairs.binary_search(pair).is_err());
        let excess = pairs.iter().find(|pair| expected.binary_search(pair).is_err());
        panic!(
            "{what}: {} pairs of {}, missing {missing:?}, excess {excess:?}",
            pairs.len(),
            expected.len()
        );
    }
    closest.counters
}

fn check_scene(seed: u64, kind: u32, count: usize, ray_count: usize, spoiled: bool) {
    let mut random = SplitMix(seed);
    let mut objects = scene(&mut random, kind, count);
    if spoiled {
        spoil(&mut random, &mut objects);
    }
    let rays = rays(&mut random, &objects, ray_count);
    for scheme in schemes(&mut random, &objects) {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let what = format!("seed {seed} kind {kind} count {count} spoiled {spoiled} {scheme:?}");
        check(&descriptor, &objects, &rays, &what);
    }
}

#[test]
fn small_scenes_agree_with_brute_force() {
    for seed in 0..60 {
        for kind in 0..KINDS {
            let count = [0, 1, 2, 3, 5, 9, 20, 33, 64, 127, 128, 129, 200, 255, 257][seed as usize % 15];
            check_scene(seed * 100 + u64::from(kind), kind, count, 40, seed % 2 == 1);
        }
    }
}

#[test]
fn larger_scenes_agree_with_brute_force() {
    for kind in 0..KINDS {
        for (seed, count) in [(1u64, 1000), (2, 1921), (3, 3000), (4, 2049)] {
            check_scene(seed * 1000 + u64::from(kind), kind, count, 100, seed % 2 == 1);
        }
    }
}

#[test]
fn filters_can_be_left_out() {
    let mut random = SplitMix(5);
    let mut objects = scene(&mut random, 1, 400);
    spoil(&mut random, &mut objects);
    let plain: Vec<Aabb> = objects
        .iter()
        .map(|object| Aabb::new(object.min, object.max).with_group(object.group & Aabb::EXCLUDED))
        .collect();
    for scheme in [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 1.0 },
        Scheme::Adaptive { min_scale: 1.0 },
    ] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            filters: false,
            ..BroadPhaseDescriptor::default()
        };
        let mut pairs = step(&descriptor, &objects, &[]).unwrap().pairs;
        pairs.sort_unstable();
        assert_eq!(pairs, brute_force::pairs(&plain));
    }
}

#[test]
fn fixed_capacities_give_a_prefix_and_exact_counts() {
    let mut random = SplitMix(6);
    let objects = scene(&mut random, 1, 500);
    let rays = rays(&mut random, &objects, 50);
    for scheme in [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 1.0 },
        Scheme::Adaptive { min_scale: 1.0 },
    ] {
        let whole = BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let all = step(&whole, &objects, &rays).unwrap();
        let mut part = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                ..whole.outputs
            },
            ..whole
        };
        part.outputs.capacities.pairs = Some(100);
        part.outputs.capacities.hits = Some(30);
        let cut = step(&part, &objects, &rays).unwrap();
        assert_eq!(cut.pairs, all.pairs[..100]);
        let scene = Scene {
            query: QueryInput {
                rays: Rays::Plain(Source::Host(&rays)),
                ..QueryInput::default()
            },
            ..only(&objects)
        };
        let walked = trace(&part, &scene).unwrap();
        assert_eq!(cut.ray_hits, walked.ray_hits[..30]);
        assert_eq!(cut.counters.pairs_needed, all.pairs.len() as u64);
        assert_eq!(cut.counters.hits_needed, all.ray_hits.len() as u64);
        assert_eq!(cut.counters.status, Status::PAIRS | Status::HITS);
        assert_eq!((cut.counters.pairs_capacity, cut.counters.hits_capacity), (100, 30));
    }
}

#[test]
fn too_few_entries_give_valid_pairs_and_hits() {
    let mut random = SplitMix(7);
    let mut objects = scene(&mut random, 4, 600);
    spoil(&mut random, &mut objects);
    let rays = rays(&mut random, &objects, 60);
    for capacity in [1, 2, 50, 600, 1500] {
        let mut descriptor = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 1.0 },
            outputs: OutputOptions {
                growth: Growth::Fixed,
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        descriptor.outputs.capacities.entries = Some(capacity);
        let result = step(&descriptor, &objects, &rays).unwrap();
        let mut pairs = result.pairs;
        pairs.sort_unstable();
        let expected = brute_force::pairs(&objects);
        assert!(pairs.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(pairs.iter().all(|pair| expected.binary_search(pair).is_ok()));
        for (index, expected) in brute_force::rays_all(&objects, &rays).iter().enumerate() {
            let range = result.ray_offsets[index] as usize..result.ray_offsets[index + 1] as usize;
            let found = sorted_hits(&result.ray_hits[range]);
            let expected = sorted_hits(expected);
            assert!(found.windows(2).all(|hit| hit[0] != hit[1]));
            assert!(found.iter().all(|hit| expected.binary_search(hit).is_ok()));
        }
        assert_eq!(
            result.counters.status.has(Status::ENTRIES),
            result.counters.entries_needed > u64::from(capacity)
        );
    }
}

#[test]
fn all_objects_in_one_cell_pair_with_one_another() {
    for count in [2, 100, 1500] {
        let objects = vec![Aabb::new([1.0; 3], [2.0; 3]); count];
        for scheme in [Scheme::Hierarchical, Scheme::Uniform { cell_size: 0.5 }] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..BroadPhaseDescriptor::default()
            };
            check(&descriptor, &objects, &[], "one cell");
        }
    }
}

#[test]
fn windows_of_pairs_join_to_the_whole() {
    let mut random = SplitMix(12);
    let objects = scene(&mut random, 1, 300);
    for scheme in [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 1.0 },
        Scheme::Adaptive { min_scale: 1.0 },
    ] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let trace = trace(&descriptor, &only(&objects)).unwrap();
        let input = trace.reads().pairs();
        let overrides = Overrides {
            filters: true,
            count_candidates: false,
        };
        let mut joined = Vec::new();
        for first in (0..trace.pairs.len()).step_by(97) {
            let mut params = trace.pair_blocks;
            params.pairs.first = first as u32;
            let mut page = vec![Pair { a: 0, b: 0 }; 97.min(trace.pairs.len() - first)];
            let (cache, offsets) = (&trace.pair_cache, &trace.pair_offsets);
            emit_pairs(&params, &input, overrides, cache, offsets, &mut page);
            joined.extend(page);
        }
        assert_eq!(joined, trace.pairs);
    }
}

#[test]
fn traces_hold_what_the_passes_promise() {
    let mut random = SplitMix(13);
    for kind in 0..KINDS {
        let mut objects = scene(&mut random, kind, 700);
        spoil(&mut random, &mut objects);
        for scheme in schemes(&mut random, &objects) {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..BroadPhaseDescriptor::default()
            };
            let trace = trace(&descriptor, &only(&objects)).unwrap();
            assert!(trace.grid.table_cells <= trace.params.table_capacity);
            let entries = trace.grid.entry_count as usize;
            let mut sorted: Vec<_> = trace.keys[..entries].iter().zip(&trace.values[..entries]).collect();
            let mut expected: Vec<_> = trace.unsorted_keys[..entries]
                .iter()
                .zip(&trace.unsorted_values[..entries])
                .collect();
            expected.sort_by_key(|entry| entry.0);
            if trace.grid.is_crowded == 1 {
                // Clusters of a crowded scene reorder a cell's entries, so order is not compared.
                sorted.sort_unstable();
                expected.sort_unstable();
            }
            assert!(sorted == expected, "{scheme:?}");
            for (key, &start) in (0..).zip(&trace.starts) {
                assert_eq!(
                    start as usize,
                    trace.keys[..entries].partition_point(|&other| other < key)
                );
            }
            let counts = &trace.counters;
            let in_levels: u32 = trace.grid.occupied_levels().map(|(_, level)| level.count).sum();
            let all = in_levels + counts[word::LARGE] + counts[word::INVALID] + counts[word::EXCLUDED];
            assert_eq!(all as usize, objects.len());
        }
    }
}

#[test]
fn small_boxes_are_seen_wherever_they_lie_in_the_list() {
    let mut random = SplitMix(29);
    let boxes = |count: usize, side: f32, world: f32, random: &mut SplitMix| -> Vec<Aabb> {
        let one = |_| {
            let low = [(); 3].map(|()| world * random.unit());
            Aabb::new(low, low.map(|low| low + side))
        };
        (0..count).map(one).collect()
    };
    let large = boxes(16_384, 10.0, 1000.0, &mut random);
    let small = boxes(16_000, 0.1, 10.0, &mut random);
    let behind = [&large[..], &small].concat();
    let mixed: Vec<_> = large[..5000]
        .iter()
        .zip(small.chunks(3))
        .flat_map(|(large, small)| [&[*large], small].concat())
        .collect();
    let descriptor = BroadPhaseDescriptor {
        count_candidates: true,
        ..BroadPhaseDescriptor::default()
    };
    for objects in [behind, mixed] {
        let counters = step(&descriptor, &objects, &[]).unwrap().counters;
        let each = counters.pair_candidates as f64 / objects.len() as f64;
        assert!(each < 200.0, "{each} box tests an object");
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
    assert_eq!(
        (data[0], data[1], data[1431], data[1432], data[4999]),
        (0, 3_000_000, 4_293_000_000, u32::MAX, u32::MAX)
    );
}

fn variants(scheme: Scheme) -> [BroadPhaseDescriptor<'static>; 5] {
    let base = BroadPhaseDescriptor {
        scheme,
        ..Default::default()
    };
    let flat = BroadPhaseDescriptor {
        dimensions: Dimensions::Two,
        ..base
    };
    let grown = BroadPhaseDescriptor { margin: 0.3, ..base };
    let worlds = BroadPhaseDescriptor { worlds: 5, ..base };
    let all = BroadPhaseDescriptor {
        margin: 1.5,
        worlds: 300,
        ..flat
    };
    [
        flat,
        grown,
        worlds,
        all,
        BroadPhaseDescriptor {
            worlds: 1 << 20,
            ..base
        },
    ]
}

#[test]
fn dimensions_margin_and_worlds_agree_with_brute_force() {
    let mut random = SplitMix(2028);
    for kind in 0..KINDS {
        for count in [1, 60, 300] {
            let mut objects = scene(&mut random, kind, count);
            spoil(&mut random, &mut objects);
            for scheme in schemes(&mut random, &objects) {
                for descriptor in variants(scheme) {
                    let worlds: Vec<_> = objects
                        .iter()
                        // Few distinct worlds, some of which do not exist.
                        .map(|_| {
                            [0, 1, 3, 4, 299, descriptor.worlds - 1, descriptor.worlds, u32::MAX]
                                [random.below(8) as usize]
                        })
                        .collect();
                    let scene = Scene {
                        worlds: Source::Host(if descriptor.worlds > 1 { &worlds[..] } else { &[] }),
                        ..only(&objects)
                    };
                    let result = step_scene(&descriptor, &scene).unwrap();
                    let mut pairs = result.pairs;
                    pairs.sort_unstable();
                    let expected = brute_force::scene_pairs(&descriptor, &scene).unwrap();
                    assert!(
                        pairs == expected,
                        "kind {kind} count {count} {descriptor:?}: {} pairs, {} expected",
                        pairs.len(),
                        expected.len()
                    );
                    if descriptor.worlds > 1 {
                        let mut of_world = vec![0; descriptor.worlds as usize];
                        expected
                            .iter()
                            .for_each(|pair| of_world[worlds[pair.a as usize] as usize] += 1);
                        assert!(
                            result.world_pairs == of_world,
                            "kind {kind} count {count} {descriptor:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_margin_is_rounded_outward_by_no_more_than_two_floats() {
    let mut random = SplitMix(77);
    for _ in 0..2000 {
        let low = random.vector(|random| random.range(-1e3, 1e3));
        let edges = random.vector(|random| random.range(0.0, 10.0));
        let object = Aabb::new(low, [0, 1, 2].map(|axis| low[axis] + edges[axis]));
        let params = Params {
            object_count: 1,
            world_count: 1,
            dimensions: 3,
            margin: random.range(1e-6, 5.0),
            ..Params::default()
        };
        let grown = prepare::prepare(&params, &[object], &[], &[])[0];
        for axis in 0..3 {
            let exact_low = f64::from(object.min[axis]) - f64::from(params.margin);
            let exact_high = f64::from(object.max[axis]) + f64::from(params.margin);
            assert!(f64::from(grown.min[axis]) <= exact_low && f64::from(grown.max[axis]) >= exact_high);
            assert!(f64::from(grown.min[axis].next_up().next_up()) >= exact_low);
            assert!(f64::from(grown.max[axis].next_down().next_down()) <= exact_high);
        }
    }
}

#[test]
fn the_finite_axes_of_infinite_boxes_are_prepared_as_those_of_others() {
    let mut random = SplitMix(78);
    let params = Params {
        object_count: 1,
        world_count: 1,
        dimensions: 3,
        ..Params::default()
    };
    for _ in 0..2000 {
        let low = random.vector(|random| random.range(-30.0, 30.0));
        let edges = random.vector(|random| random.range(0.0, 3.0));
        let object = Aabb::new(low, [0, 1, 2].map(|axis| low[axis] + edges[axis]));
        let params = Params {
            margin: random.pick(&[0.0, 0.25, f32::MAX]),
            period_x: random.pick(&[0.0, 4.0, 5.5]),
            period_y: 3.0,
            ..params
        };
        let prepared = |object| prepare::prepare(&params, &[object], &[], &[])[0];
        let expected = prepared(object);
        let axis = random.below(3) as usize;
        let mut endless = object;
        if random.one_in(2) {
            endless.min[axis] = f32::NEG_INFINITY;
        } else {
            endless.max[axis] = f32::INFINITY;
        }
        let found = prepared(endless);
        for other in (0..3).filter(|&other| other != axis) {
            let bounds = |object: &Aabb| [object.min[other], object.max[other]];
            assert_eq!(bounds(&found), bounds(&expected), "{params:?}, {endless:?}");
        }
        // Finite bounds grow by the margin but are not wrapped into the period.
        let unmoved = Params {
            period_x: 0.0,
            period_y: 0.0,
            ..params
        };
        let grown = prepare::prepare(&unmoved, &[object], &[], &[])[0];
        let bounds = if endless.min[axis].is_infinite() {
            [f32::NEG_INFINITY, grown.max[axis]]
        } else {
            [grown.min[axis], f32::INFINITY]
        };
        assert_eq!([found.min[axis], found.max[axis]], bounds, "{params:?}, {endless:?}");
    }
}

#[test]
fn work_does_not_grow_with_empty_worlds() {
    let mut random = SplitMix(3);
    let objects = benchmark(&mut random, 4000);
    let worlds: Vec<_> = (0..4000u32).map(|object| object % 64).collect();
    for scheme in [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 1.5 },
        Scheme::Adaptive { min_scale: 1.0 },
    ] {
        let [few, many] = [64, 1_000_000].map(|count| {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                worlds: count,
                count_candidates: true,
                ..Default::default()
            };
            let scene = Scene {
                worlds: Source::Host(&worlds),
                ..only(&objects)
            };
            step_scene(&descriptor, &scene).unwrap().counters
        });
        assert_eq!(few.pairs_needed, many.pairs_needed);
        assert!(
            many.pair_candidates <= 2 * few.pair_candidates + 4000,
            "{scheme:?}: {few:?} {many:?}"
        );
        assert!(many.table_cells <= 4 * 4 * 4000 + 1024, "{scheme:?}: {many:?}");
    }
}
