//! Compares culling with exact arithmetic and its definition.

use crate::common::steps::{SCHEMES, broad_phase, descriptor, download, encoder, record, scene_of, upload};
use crate::common::views::{camera, views};
use crate::common::{Rng, TestAdapter, adapters, uniform};
use gpu_broad_phase::internals::reference::cull::plane::{Side, is_outside, side_of_common};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullDraw, CullOptions, CullOutput, Culling, DeviceCount, Dimensions, Frustum, Page,
    QueryInput, Scene, Source, Visible, reference, wgpu,
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
fn boxes_that_are_inside_or_touch_are_kept_and_others_up_to_the_slack() {
    let mut rng = Rng(90);
    let [mut outside, mut touching, mut within_slack] = [0; 3];
    for round in 0..100_000 {
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
        within_slack += usize::from(is_out && !is_left_out);
    }
    assert!(outside > 7_500 && touching > 15_000 && within_slack > 2_500);
}

/// Shaders first test the box around all objects of a workgroup.
#[test]
fn sides_of_a_common_box_hold_for_all_boxes_in_it() {
    let mut rng = Rng(97);
    let mut sides = [0; 3];
    for round in 0..100_000 {
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
    assert!(sides.iter().all(|&count| count > 5_000));
}

#[test]
fn infinite_boxes_extend_to_where_their_bounds_go() {
    const INFINITY: f32 = f32::INFINITY;
    let everywhere = ([-INFINITY; 3], [INFINITY; 3]);
    let half = ([-INFINITY, 0.0, 0.0], [5.0, 1.0, 1.0]);
    let beyond = ([-INFINITY, 0.0, 0.0], [-INFINITY, 1.0, INFINITY]);
    for (plane, (low, high), expected) in [
        ([-0.0, -1e-45, 0.0, f32::MIN], everywhere, false),
        ([0.0, -0.0, 0.0, -1.0], everywhere, true),
        ([1.0, 0.0, 0.0, -6.0], half, true),
        ([1.0, 0.0, 0.0, -5.0], half, false),
        ([-1.0, 0.0, 0.0, -1e38], half, false),
        ([1.0, 0.0, 0.0, f32::MAX], beyond, true),
        ([-1.0, 0.0, 0.0, f32::MIN], beyond, false),
        ([1.0, 0.0, 1.0, 0.0], beyond, false),
        ([0.0, 1.0, 0.0, -2.0], beyond, true),
    ] {
        assert_eq!(is_outside(plane, low, high), expected, "{plane:?} {low:?} {high:?}");
    }
}

/// In two dimensions, objects are at z = 0.
#[test]
fn matrices_become_the_planes_of_their_clip_space() {
    let mut rng = Rng(91);
    let mut counts = [0; 2];
    for round in 0..400 {
        let matrix = camera([0; 3].map(|_| 20.0 * rng.unit() - 10.0), 30.0, &mut rng);
        let view = Frustum::from_view_projection(matrix);
        assert!([5, 6].contains(&view.plane_count));
        let descriptor = descriptor(|all| all.dimensions = [Dimensions::Two, Dimensions::Three][round % 2]);
        let points: Vec<_> = (0..200).map(|_| rng.point(80.0).map(|bound| bound - 40.0)).collect();
        let objects: Vec<_> = points.iter().map(|&point| Aabb::point(point)).collect();
        let seen = reference::cull(&descriptor, &scene_of(&objects), &[view])
            .unwrap()
            .objects;
        for (index, &[x, y, z]) in (0..).zip(&points) {
            let point = [x, y, if round % 2 == 0 { 0.0 } else { z }, 1.0].map(f64::from);
            let [x, y, z, w] = [0, 1, 2, 3].map(|row: usize| {
                let products = (0..4).map(|column| f64::from(matrix[column][row]) * point[column]);
                products.sum::<f64>()
            });
            let gaps = [w + x, w - x, w + y, w - y, z, w - z];
            let gap = gaps.into_iter().fold(f64::MAX, f64::min);
            let is_seen = seen[0].contains(&index);
            assert!(is_seen == (gap > 0.0) || gap.abs() < 1e-3, "{point:?} {view:?}");
            counts[usize::from(is_seen)] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 1000), "{counts:?}");
    let nan = [Frustum::from_view_projection([[f32::NAN; 4]; 4]), Frustum::default()];
    let found = reference::cull(&BroadPhaseDescriptor::default(), &Scene::default(), &nan).unwrap();
    assert_eq!(found.invalid, 1);
}

fn check(
    adapter: &TestAdapter,
    culling: &mut Culling,
    output: &CullOutput,
    expected: &Visible,
    options: CullOptions,
    what: &str,
) {
    let words = |buffer: &wgpu::Buffer, count: usize| -> Vec<u32> {
        let bytes = 4 * count.max(1) as u64;
        download(&adapter.device, &adapter.queue, buffer, bytes)[..count].to_vec()
    };
    assert!(block_on(culling.read_back()).unwrap() == *expected, "{what}");
    let (views, row) = (expected.objects.len(), output.words as usize);
    let bits = words(&output.visible, views * row);
    for (view, seen) in expected.objects.iter().enumerate() {
        let mut expected = vec![0; row];
        seen.iter()
            .for_each(|object| expected[*object as usize / 32] |= 1 << (object % 32));
        assert_eq!(bits[view * row..][..row], expected, "{what}");
    }
    let all = expected.objects.concat();
    let mut shown: Vec<_> = expected.objects.iter().map(|seen| seen.len() as u32).collect();
    let counters = words(&output.counters, 40);
    assert_eq!(counters[0], expected.invalid, "{what}");
    assert_eq!(counters[8..][..views], shown, "{what}");
    if let Some(capacity) = options.list_capacity {
        let mut offsets = vec![0; views + 1];
        for view in 0..views {
            offsets[view + 1] = offsets[view] + shown[view];
            shown[view] = offsets[view + 1].min(capacity) - offsets[view].min(capacity);
        }
        let lists = output.lists.as_ref().unwrap();
        assert_eq!(words(&lists.offsets, views + 1), offsets, "{what}");
        let fits = all.len().min(capacity as usize);
        assert_eq!(words(&lists.buffer, fits), all[..fits], "{what}");
        assert_eq!(counters[2..4], [all.len() as u32, 0], "{what}");
    }
    let (count, size) = match options.draw {
        None => return,
        Some(CullDraw::Indices(count)) => (count, 5),
        Some(CullDraw::Vertices(count)) => (count, 4),
        Some(other) => panic!("{other:?}"),
    };
    let draws = shown
        .iter()
        .flat_map(|&seen| [count, seen, 0, 0, 0].into_iter().take(size));
    let found = words(output.draws.as_ref().unwrap(), size * views);
    assert!(draws.eq(found), "{what}");
}

/// Calls behind one step, query and pages do not disturb each other.
#[test]
fn steps_queries_and_pages_are_culled_as_defined() {
    for adapter in adapters() {
        let mut rng = Rng(94);
        let limit = upload(&adapter.device, &[0u32, 2_400], wgpu::BufferUsages::STORAGE);
        for scheme in SCHEMES {
            let descriptor = descriptor(|all| all.scheme = scheme);
            let mut gpu = broad_phase(&adapter, &descriptor);
            let objects = uniform(3000, &mut rng);
            let lots: [Vec<Frustum>; 4] = [1, 32, 4, 0].map(|count| views(&objects, 1, count, &mut rng));
            let mut all = [0; 4].map(|_| Culling::new(None));
            for round in 0..3 {
                let mut scene = scene_of(&objects);
                scene.object_count = [None, Some(1), Some(0)][round].map(|word| DeviceCount { buffer: &limit, word });
                let is_used = &objects[..[3000, 2400, 0][round]];
                let mut encoder = encoder(&adapter);
                let mut outputs = Vec::new();
                for (place, (culling, views)) in all.iter_mut().zip(&lots).enumerate() {
                    let step = match place {
                        0 => record(&mut gpu, &mut encoder, scene),
                        1 => gpu.query(&mut encoder, QueryInput::default()).unwrap(),
                        _ => gpu.page(&mut encoder, Page::default()).unwrap(),
                    };
                    let options = CullOptions {
                        list_capacity: [None, Some(u32::MAX), Some(100), Some(0), Some(7)][rng.below(5)],
                        draw: [None, Some(CullDraw::Vertices(36)), Some(CullDraw::Indices(14))][rng.below(3)],
                    };
                    let on_device = upload(&adapter.device, views, wgpu::BufferUsages::STORAGE);
                    let source = match place {
                        1 => Source::device(&on_device, views.len() as u32),
                        _ => Source::Host(&views[..]),
                    };
                    outputs.push((options, culling.record(&mut encoder, &step, source, options).unwrap()));
                }
                adapter.queue.submit([encoder.finish()]);
                for ((culling, views), (options, output)) in all.iter_mut().zip(&lots).zip(&outputs) {
                    let expected = reference::cull(&descriptor, &scene_of(is_used), views).unwrap();
                    let what = format!("round {round}, {options:?}, {scheme:?} on {}", adapter.name);
                    check(&adapter, culling, output, &expected, *options, &what);
                }
            }
        }
    }
}
