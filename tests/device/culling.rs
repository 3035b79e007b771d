//! Compares culling with exact arithmetic and brute force.

use std::collections::HashMap;

use crate::common::steps::{SCHEMES, broad_phase, download, encoder, record};
use crate::common::views::{camera, views};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, daily_or_full, is_full, lattice, uniform};
use gpu_broad_phase::internals::reference::HostScene;
use gpu_broad_phase::internals::reference::cull::plane::{Side, is_outside, side_of_common};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullDraw, CullOptions, CullOutput, Culling, DeviceCount, Dimensions, Frustum,
    GpuBroadPhase, Page, Queries, QueryInput, Rays, Scene, Source, Visible, reference, wgpu,
};
use pollster::block_on;

/// Exact sum of products of floats, in fixed point.
#[derive(Clone)]
struct Exact([i128; 32]);

impl Exact {
    const POINT: u32 = 340;

    const ZERO: Self = Self([0; 32]);

    fn add(&mut self, a: f32, b: f32, power: i32) {
        let split = |value: f32| {
            let bits = value.abs().to_bits();
            let exponent = (bits >> 23).max(1) as i32 - 150;
            let mantissa = bits & 0x7f_ffff | if bits >> 23 > 0 { 0x80_0000 } else { 0 };
            (i128::from(mantissa) * value.signum() as i128, exponent)
        };
        let ((a, a_exponent), (b, b_exponent)) = (split(a), split(b));
        let shift = u32::try_from(a_exponent + b_exponent + power + Self::POINT as i32).unwrap();
        self.0[shift as usize / 32] += (a * b) << (shift % 32);
    }

    fn is_negative(&self) -> bool {
        let mut carry = 0;
        for limb in self.0 {
            carry = (carry + limb) >> 32;
        }
        carry < 0
    }
}

/// Returns `true` if the box is outside the plane, and `true` if the slack allows culling to keep it.
fn exact(plane: [f32; 4], low: [f32; 3], high: [f32; 3]) -> (bool, bool) {
    let farthest: [f32; 3] = std::array::from_fn(|axis| match plane[axis] {
        0.0 => 0.0,
        part if part < 0.0 => low[axis],
        _ => high[axis],
    });
    let mut equation = Exact::ZERO;
    // 2^20 times the plane equation with its slack: the sizes of its terms, and 2^-99 times the largest number.
    let mut with_slack = Exact::ZERO;
    let mut size = 0.0;
    for axis in 0..3 {
        let (a, b) = (plane[axis], farthest[axis]);
        equation.add(a, b, 0);
        with_slack.add(a, b, 20);
        with_slack.add(a.abs(), b.abs(), 0);
        size += f64::from(a.abs()) * f64::from(b.abs());
    }
    let d = plane[3];
    equation.add(d, 1.0, 0);
    with_slack.add(d, 1.0, 20);
    with_slack.add(d.abs(), 1.0, 0);
    size += f64::from(d.abs());
    let bounds = low.iter().chain(&high).filter(|bound| bound.is_finite());
    let largest = bounds
        .chain(&plane[..3])
        .fold(2.0, |most: f32, part| most.max(part.abs()));
    with_slack.add(largest, 1.0, -99);
    let is_past_floats = size > 0.999_999 * f64::from(f32::MAX);
    (equation.is_negative(), is_past_floats || !with_slack.is_negative())
}

fn any_float(range: u64, rng: &mut Rng) -> f32 {
    let exponent = 127 + (rng.bits() % (2 * range + 1)) as i64 - range as i64;
    let bits = (exponent.clamp(0, 254) as u32) << 23 | rng.bits() as u32 & 0x807f_ffff;
    f32::from_bits(bits)
}

#[test]
fn no_box_that_is_inside_or_touches_is_left_out_and_others_hardly_kept() {
    let mut rng = Rng(90);
    let [mut outside, mut touching, mut kept] = [0; 3];
    for round in 0..400_000 {
        let range = [0, 3, 12, 40, 127][round % 5];
        let mut plane = [0; 4].map(|_| any_float(range, &mut rng));
        let mut low = [0; 3].map(|_| any_float(range, &mut rng));
        let mut high = low;
        for axis in 0..3 {
            match rng.below(6) {
                0 => high[axis] = f32::INFINITY,
                1 => low[axis] = f32::NEG_INFINITY,
                2 => high[axis] = low[axis],
                _ => {
                    let other = any_float(range, &mut rng);
                    (low[axis], high[axis]) = (low[axis].min(other), low[axis].max(other));
                }
            }
            if rng.below(4) == 0 {
                plane[axis] = [0.0, -0.0][rng.below(2)];
            }
        }
        let far = |axis: usize| if plane[axis] < 0.0 { low[axis] } else { high[axis] };
        let is_endless = (0..3).any(|axis| plane[axis] != 0.0 && far(axis).is_infinite());
        if is_endless {
            assert!(!is_outside(plane, low, high), "{plane:?} {low:?} {high:?}");
            continue;
        }
        // Usually moves the plane to touch the box exactly, or to miss it by a few floats.
        if round % 7 > 0 {
            let products = (0..3).filter(|&axis| plane[axis] != 0.0);
            let sum: f64 = products.map(|axis| f64::from(plane[axis]) * f64::from(far(axis))).sum();
            plane[3] = (-sum).clamp(-f64::from(f32::MAX), f64::from(f32::MAX)) as f32;
            let steps = [0, 0, 1, 2, 5, 20, 60][rng.below(7)];
            for _ in 0..steps {
                plane[3] = plane[3].next_down().max(f32::MIN);
            }
        }
        let (is_out, may_be_kept) = exact(plane, low, high);
        let is_left_out = is_outside(plane, low, high);
        let what = format!("{plane:?}, {low:?}, {high:?}");
        assert!(is_out || !is_left_out, "left out: {what}");
        assert!(may_be_kept || is_left_out, "kept: {what}");
        outside += usize::from(is_left_out);
        touching += usize::from(!is_out);
        kept += usize::from(is_out && !is_left_out);
    }
    println!("{outside} outside, {touching} inside or touching, {kept} kept beside");
    assert!(outside > 30_000 && touching > 60_000 && kept > 10_000);
}

/// Shaders first test the box around all objects of a workgroup.
#[test]
fn what_a_common_box_says_holds_for_all_boxes_in_it() {
    let mut rng = Rng(97);
    let mut sides = [0; 3];
    for round in 0..400_000 {
        let range = [0, 3, 12, 40, 127][round % 5];
        let mut plane = [0; 4].map(|_| any_float(range, &mut rng));
        let ends = [0; 2].map(|_| [0; 3].map(|_| any_float(range, &mut rng)));
        let low: [f32; 3] = std::array::from_fn(|axis| ends[0][axis].min(ends[1][axis]));
        let high: [f32; 3] = std::array::from_fn(|axis| ends[0][axis].max(ends[1][axis]));
        if rng.below(3) == 0 {
            plane[rng.below(3)] = any_float(127, &mut rng);
        }
        // Usually moves the plane until its distance to a deciding corner is about the slack.
        if round % 4 > 0 {
            let is_near = rng.below(2) == 0;
            let far = |axis: usize| {
                if (plane[axis] < 0.0) == is_near {
                    high[axis]
                } else {
                    low[axis]
                }
            };
            let terms = [0, 1, 2].map(|axis| f64::from(plane[axis]) * f64::from(far(axis)));
            let size: f64 = terms.iter().map(|term| term.abs()).sum();
            let beside = [1.0, -1.0][rng.below(2)] * f64::from(rng.unit()) * size * 2f64.powi(-18);
            let largest = f64::from(f32::MAX);
            plane[3] = (-terms.iter().sum::<f64>() - beside).clamp(-largest, largest) as f32;
        }
        let side = side_of_common(plane, low, high);
        sides[side as usize] += 1;
        for _ in 0..4 {
            let mut within = |axis: usize| match rng.below(5) {
                0 => low[axis],
                1 => high[axis],
                2 => high[axis].next_down().max(low[axis]),
                3 => low[axis].next_up().min(high[axis]),
                _ => any_float(range, &mut rng).clamp(low[axis], high[axis]),
            };
            let corners = [0; 2].map(|_| [0, 1, 2].map(&mut within));
            let member = [f32::min, f32::max]
                .map(|of: fn(f32, f32) -> f32| [0, 1, 2].map(|axis: usize| of(corners[0][axis], corners[1][axis])));
            let is_out = is_outside(plane, member[0], member[1]);
            let what = format!("{plane:?}, {low:?}, {high:?}, {member:?}");
            assert!(side != Side::Outside || is_out, "{what}");
            assert!(side != Side::Inside || !is_out, "{what}");
        }
    }
    println!("{sides:?}");
    assert!(sides.iter().all(|&count| count > 20_000));
}

#[test]
fn infinite_boxes_lie_where_their_bounds_go() {
    let infinity = f32::INFINITY;
    let everywhere = ([-infinity; 3], [infinity; 3]);
    for plane in [
        [1.0, 0.0, 0.0, -1e30],
        [0.3, -0.2, 1e-42, f32::MIN],
        [-0.0, -1e-45, 0.0, f32::MIN],
    ] {
        assert!(!is_outside(plane, everywhere.0, everywhere.1));
    }
    assert!(is_outside([0.0, -0.0, 0.0, -1.0], everywhere.0, everywhere.1));
    assert!(!is_outside([0.0, -0.0, 0.0, 0.0], everywhere.0, everywhere.1));
    let half = ([-infinity, 0.0, 0.0], [5.0, 1.0, 1.0]);
    assert!(is_outside([1.0, 0.0, 0.0, -6.0], half.0, half.1));
    assert!(!is_outside([1.0, 0.0, 0.0, -5.0], half.0, half.1));
    assert!(!is_outside([-1.0, 0.0, 0.0, -1e38], half.0, half.1));
    let beyond = ([-infinity, 0.0, 0.0], [-infinity, 1.0, infinity]);
    assert!(is_outside([1.0, 0.0, 0.0, f32::MAX], beyond.0, beyond.1));
    assert!(!is_outside([-1.0, 0.0, 0.0, f32::MIN], beyond.0, beyond.1));
    assert!(!is_outside([1.0, 0.0, 1.0, 0.0], beyond.0, beyond.1));
    assert!(is_outside([0.0, 1.0, 0.0, -2.0], beyond.0, beyond.1));
}

#[test]
fn matrices_become_the_planes_of_their_clip_space() {
    let mut rng = Rng(91);
    let [mut seen, mut unseen] = [0; 2];
    let mut counts = HashMap::new();
    for _ in 0..400 {
        let matrix = camera([0; 3].map(|_| 20.0 * rng.unit() - 10.0), 30.0, &mut rng);
        let view = Frustum::from_view_projection(matrix);
        *counts.entry(view.plane_count).or_insert(0) += 1;
        for _ in 0..200 {
            let point = [0; 3].map(|_| 80.0 * rng.unit() - 40.0);
            let clip: [f64; 4] = std::array::from_fn(|row| {
                let at = |column: usize| f64::from(matrix[column][row]) * f64::from(point[column]);
                at(0) + at(1) + at(2) + f64::from(matrix[3][row])
            });
            let [x, y, z, w] = clip;
            let gap = [w + x, w - x, w + y, w - y, z, w - z]
                .into_iter()
                .fold(f64::MAX, f64::min);
            let result = reference::cull(
                &BroadPhaseDescriptor::default(),
                &Scene {
                    objects: Source::Host(&[Aabb::point(point)]),
                    ..Scene::default()
                },
                &[view],
            );
            let is_seen = result.unwrap().objects[0].len() == 1;
            if gap.abs() > 1e-3 {
                assert_eq!(is_seen, gap > 0.0, "{point:?} {clip:?} {view:?}");
                seen += usize::from(is_seen);
                unseen += usize::from(!is_seen);
            }
        }
    }
    assert!(seen > 1000 && unseen > 1000);
    let mut counts: Vec<_> = counts.into_keys().collect();
    counts.sort_unstable();
    assert_eq!(counts, [5, 6]);
    let nan = Frustum::from_view_projection([[f32::NAN; 4]; 4]);
    let scene = Scene::default();
    let found = reference::cull(&BroadPhaseDescriptor::default(), &scene, &[nan, Frustum::default()]).unwrap();
    assert_eq!(found.invalid, 1);
}

struct Found {
    visible: Visible,
    lists: Vec<u32>,
    offsets: Vec<u32>,
    draws: Vec<u32>,
    counters: Vec<u32>,
}

fn found(
    adapter: &TestAdapter,
    culling: &mut Culling,
    output: &CullOutput,
    views: usize,
    options: CullOptions,
) -> Found {
    let words = |buffer: Option<&wgpu::Buffer>, count: usize| {
        let mut words = buffer.map_or(Vec::new(), |buffer| {
            download(&adapter.device, &adapter.queue, buffer, 4 * count.max(1) as u64)
        });
        words.truncate(count);
        words
    };
    let visible = block_on(culling.read_back()).unwrap();
    let bits: Vec<u32> = words(Some(&output.visible), views * output.words as usize);
    for (view, seen) in visible.objects.iter().enumerate() {
        let words = &bits[view * output.words as usize..][..output.words as usize];
        let set: u32 = words.iter().map(|word| word.count_ones()).sum();
        assert_eq!(set as usize, seen.len());
        assert!(
            seen.iter()
                .all(|object| words[*object as usize / 32] >> (object % 32) & 1 == 1)
        );
    }
    let draw_words = match options.draw {
        Some(CullDraw::Indices(_)) => 5,
        _ => 4,
    };
    let lists = output.lists.as_ref();
    let capacity = lists.map_or(0, |lists| lists.capacity as usize);
    Found {
        visible,
        lists: words(lists.map(|lists| &lists.buffer), capacity),
        offsets: words(lists.map(|lists| &lists.offsets), views + 1),
        draws: words(output.draws.as_ref(), draw_words * views),
        counters: words(Some(&output.counters), 40),
    }
}

fn check(found: &Found, expected: &Visible, options: CullOptions, what: &str) {
    assert!(found.visible == *expected, "{what}");
    assert_eq!(found.counters[0], expected.invalid, "{what}");
    let counts: Vec<_> = expected.objects.iter().map(|seen| seen.len() as u32).collect();
    assert_eq!(found.counters[8..][..counts.len()], counts, "{what}");
    let all = expected.objects.concat();
    let mut shown = counts.clone();
    if let Some(capacity) = options.list_capacity {
        let fits = all.len().min(capacity as usize);
        assert_eq!(found.lists[..fits], all[..fits], "{what}");
        assert_eq!(found.counters[2..4], [all.len() as u32, 0], "{what}");
        let mut offsets = vec![0];
        counts
            .iter()
            .for_each(|count| offsets.push(offsets.last().unwrap() + count));
        assert_eq!(found.offsets, offsets, "{what}");
        let room = offsets.iter().map(|&offset| offset.min(capacity)).collect::<Vec<_>>();
        shown = room.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    let draw = |&instances: &u32| match options.draw {
        None => vec![],
        Some(CullDraw::Indices(count)) => vec![count, instances, 0, 0, 0],
        Some(CullDraw::Vertices(count)) => vec![count, instances, 0, 0],
        Some(other) => panic!("{other:?}"),
    };
    let draws: Vec<_> = shown.iter().flat_map(draw).collect();
    assert_eq!(found.draws, draws, "{what}");
}

fn some_options(rng: &mut Rng) -> CullOptions {
    CullOptions {
        list_capacity: [None, Some(u32::MAX), Some(100), Some(0), Some(7)][rng.below(5)],
        draw: [None, Some(CullDraw::Vertices(36)), Some(CullDraw::Indices(14))][rng.below(3)],
    }
}

#[test]
fn views_of_wild_scenes_see_what_the_definition_says() {
    for adapter in daily_adapters() {
        let mut rng = Rng(92);
        let mut engines: HashMap<_, GpuBroadPhase> = HashMap::new();
        let mut culling = Culling::new(Some("wild"));
        let [mut scenes, mut seen, mut others, mut invalid] = [0, 0, 0, 0];
        for number in 0..daily_or_full(130, 260) {
            let descriptor = wild::descriptor(number);
            let scene = wild::scene(number, &descriptor);
            let (mut descriptor, mut scene) = (descriptor, scene.scene(number));
            // Other outputs need more pipelines, so only the weekly run computes them.
            if !is_full() {
                descriptor.pairs = false;
                scene.query.rays = Rays::default();
                scene.query.queries = Queries::None;
                scene.excluded_pairs = Source::default();
            }
            let kind = (
                std::mem::discriminant(&descriptor.scheme),
                [
                    descriptor.filters,
                    descriptor.worlds > 1,
                    descriptor.periods != [0.0; 3],
                ],
            );
            let gpu = engines
                .entry(kind)
                .or_insert_with(|| broad_phase(&adapter, &descriptor));
            gpu.set_descriptor(&descriptor).unwrap();
            let (objects, _) = HostScene::of(&scene).unwrap().all_objects();
            let count = [1, 2, 5, 32][rng.below(4)];
            let frusta = views(&objects, descriptor.worlds, count, &mut rng);
            let options = some_options(&mut rng);
            let mut encoder = encoder(&adapter);
            let step = record(gpu, &mut encoder, scene);
            let on_device = adapter.device.create_buffer_init(&BufferInitDescriptor {
                label: Some("views"),
                contents: bytemuck::cast_slice(&frusta),
                usage: wgpu::BufferUsages::STORAGE,
            });
            let source = if number % 3 == 0 {
                Source::device(&on_device, count as u32)
            } else {
                Source::Host(&frusta)
            };
            let output = culling.record(&mut encoder, &step, source, options).unwrap();
            adapter.queue.submit([encoder.finish()]);
            let expected = reference::cull(&descriptor, &scene, &frusta).unwrap();
            let what = format!("scene {number} on {}, {descriptor:?}, {options:?}", adapter.name);
            let found = found(&adapter, &mut culling, &output, count, options);
            check(&found, &expected, options, &what);
            let all = expected.objects.concat().len();
            scenes += 1;
            seen += all;
            others += count * objects.len() - all;
            invalid += expected.invalid as usize;
        }
        println!("{seen} seen, {others} not, {invalid} invalid views on {}", adapter.name);
        assert!(seen > 80 * scenes && others > 80 * scenes && 5 * invalid > scenes);
    }
}

fn scene_of(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    }
}

fn region(low: [f32; 3], high: [f32; 3]) -> Frustum {
    let mut planes = [[0.0; 4]; 6];
    for axis in 0..3 {
        (planes[axis][axis], planes[axis][3]) = (1.0, -low[axis]);
        (planes[3 + axis][axis], planes[3 + axis][3]) = (-1.0, high[axis]);
    }
    Frustum::new(planes)
}

#[test]
fn a_box_of_planes_sees_what_overlaps_it() {
    let mut rng = Rng(93);
    let objects = lattice(700, &mut rng);
    for dimensions in [Dimensions::Two, Dimensions::Three] {
        let descriptor = BroadPhaseDescriptor {
            dimensions,
            filters: false,
            ..Default::default()
        };
        for _ in 0..40 {
            let mut low = [0; 3].map(|_| rng.below(9) as f32 - 4.0);
            let mut high = low.map(|low| low + rng.below(4) as f32);
            if dimensions == Dimensions::Two {
                // In two dimensions, objects are at z = 0, which this region does not contain.
                (low[2], high[2]) = (1.0, 2.0);
                let found = reference::cull(&descriptor, &scene_of(&objects), &[region(low, high)]).unwrap();
                assert_eq!(found.objects[0], []);
                (low[2], high[2]) = (-1.0, 0.0);
            }
            let found = reference::cull(&descriptor, &scene_of(&objects), &[region(low, high)]).unwrap();
            let axes = if dimensions == Dimensions::Two { 2 } else { 3 };
            // Boxes that touch the region are seen. Boxes within 1e-4 of it may be seen.
            let meeting = |slack: f32| {
                let meets = |object: &Aabb| {
                    let is_valid =
                        object.group < Aabb::EXCLUDED && !(0..axes).any(|axis| object.max[axis] < object.min[axis]);
                    let meets =
                        |axis: usize| object.min[axis] - slack <= high[axis] && low[axis] <= object.max[axis] + slack;
                    is_valid && (0..axes).all(meets)
                };
                let objects = (0..).zip(&objects).filter(|(_, object)| meets(object));
                objects.map(|(index, _)| index).collect::<Vec<u32>>()
            };
            let [surely, perhaps] = [0.0, 1e-4].map(meeting);
            let seen = &found.objects[0];
            assert!(surely.iter().all(|object| seen.contains(object)), "{low:?} {high:?}");
            assert!(seen.iter().all(|object| perhaps.contains(object)), "{low:?} {high:?}");
        }
    }
}

#[test]
fn calls_behind_one_step_and_pages_and_queries_of_it_do_not_disturb_each_other() {
    for adapter in adapters() {
        let mut rng = Rng(94);
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut gpu = broad_phase(&adapter, &descriptor);
            let objects = uniform(3000, &mut rng);
            let scene = scene_of(&objects);
            let lots: Vec<Vec<Frustum>> = [1, 32, 4, 0].map(|count| views(&objects, 1, count, &mut rng)).into();
            let mut all: Vec<_> = (0..4).map(|_| Culling::new(None)).collect();
            for _ in 0..3 {
                let mut encoder = encoder(&adapter);
                let mut outputs = Vec::new();
                for (place, (culling, views)) in all.iter_mut().zip(&lots).enumerate() {
                    let step = match place {
                        0 => record(&mut gpu, &mut encoder, scene),
                        1 => gpu.query(&mut encoder, QueryInput::default()).unwrap(),
                        _ => gpu.page(&mut encoder, Page::default()).unwrap(),
                    };
                    let options = some_options(&mut rng);
                    let source = Source::Host(views);
                    outputs.push((options, culling.record(&mut encoder, &step, source, options).unwrap()));
                }
                adapter.queue.submit([encoder.finish()]);
                for ((culling, views), (options, output)) in all.iter_mut().zip(&lots).zip(&outputs) {
                    let expected = reference::cull(&descriptor, &scene, views).unwrap();
                    let found = found(&adapter, culling, output, views.len(), *options);
                    check(&found, &expected, *options, &adapter.name);
                }
            }
        }
    }
}

#[test]
fn objects_past_a_limit_are_not_seen() {
    for adapter in adapters() {
        let objects = uniform(900, &mut Rng(95));
        let limit = adapter.device.create_buffer_init(&BufferInitDescriptor {
            label: Some("limit"),
            contents: bytemuck::cast_slice(&[0u32, 400]),
            usage: wgpu::BufferUsages::STORAGE,
        });
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let mut gpu = broad_phase(&adapter, &descriptor);
            let mut culling = Culling::new(None);
            for (objects, limited, expected) in [
                (&objects[..], true, 400),
                (&objects[..], false, 900),
                (&[][..], false, 0),
            ] {
                let input = Scene {
                    objects: Source::Host(objects),
                    object_count: limited.then_some(DeviceCount {
                        buffer: &limit,
                        word: 1,
                    }),
                    ..Default::default()
                };
                let mut encoder = encoder(&adapter);
                let step = record(&mut gpu, &mut encoder, input);
                let options = CullOptions {
                    list_capacity: Some(u32::MAX),
                    draw: Some(CullDraw::Vertices(3)),
                };
                let all = [Frustum::default(); 2];
                let output = culling
                    .record(&mut encoder, &step, Source::Host(&all), options)
                    .unwrap();
                adapter.queue.submit([encoder.finish()]);
                let found = found(&adapter, &mut culling, &output, 2, options);
                let expected = Visible {
                    objects: vec![(0..expected).collect(); 2],
                    invalid: 0,
                };
                check(&found, &expected, options, &format!("{scheme:?} on {}", adapter.name));
            }
        }
    }
}
