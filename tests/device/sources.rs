//! Inputs at any offset, stride and layout give the same results as packed ones.

use std::fmt::Debug;

use crate::common::steps::{RAY_MODES, SCHEMES, broad_phase, encoder, read, record, submit, whole};
use crate::common::{Rng, TestAdapter, adapters, daily_or_full, lattice, sweep};
use bytemuck::Pod;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BoxLayout, BoxWords, BroadPhaseDescriptor, CullOptions, Culling, DeviceCount, Dimensions, Frustum,
    GpuBroadPhase, InputError, ObjectNames, OutputOptions, Pair, PairEvents, Queries, Query, QueryInput, QueryMode,
    Ray, Rays, Scene, Source, Statics, StepError, StepResult, SweptRay, wgpu,
};
use pollster::block_on;

const FORMS: [BoxLayout; 2] = [BoxLayout::MinMax, BoxLayout::CenterHalf];
const WORDS: [BoxWords; 3] = [BoxWords::Filters, BoxWords::Padding, BoxWords::Tight];

fn buffer(adapter: &TestAdapter, words: &[u32]) -> wgpu::Buffer {
    adapter.device.create_buffer_init(&BufferInitDescriptor {
        label: Some("a caller's"),
        contents: bytemuck::cast_slice(words),
        usage: wgpu::BufferUsages::STORAGE,
    })
}

/// Elements at any offset and stride. The last one ends the buffer.
struct StridedBuffer {
    buffer: wgpu::Buffer,
    count: u32,
    offset: u64,
    stride: Option<u32>,
}

impl StridedBuffer {
    fn new(adapter: &TestAdapter, elements: &[Vec<u32>], rng: &mut Rng) -> Self {
        let element = elements.first().map_or(0, Vec::len);
        let stride = [None, Some(element), Some(element + 1), Some(element + rng.below(12))][rng.below(4)];
        let stride = stride.filter(|_| !elements.is_empty());
        let alignment = adapter.device.limits().min_storage_buffer_offset_alignment as usize / 4;
        let first = [0, 1, 4, alignment, 3 * alignment, alignment + 4, rng.below(500)][rng.below(7)];
        let mut words: Vec<u32> = (0..first).map(|_| rng.bits() as u32).collect();
        for (index, row) in elements.iter().enumerate() {
            words.extend_from_slice(row);
            if index + 1 < elements.len() {
                words.extend((element..stride.unwrap_or(element)).map(|_| rng.bits() as u32));
            }
        }
        words.resize(words.len().max(4), 0);
        Self {
            buffer: buffer(adapter, &words),
            count: elements.len() as u32,
            offset: 4 * first as u64,
            stride: stride.map(|words| 4 * words as u32),
        }
    }

    fn of<T: Pod>(adapter: &TestAdapter, elements: &[T], rng: &mut Rng) -> Self {
        let rows: Vec<_> = elements
            .iter()
            .map(|element| bytemuck::pod_collect_to_vec(bytemuck::bytes_of(element)))
            .collect();
        Self::new(adapter, &rows, rng)
    }

    fn source<T>(&self) -> Source<'_, T> {
        let source = Source::device(&self.buffer, self.count).at(self.offset);
        match self.stride {
            Some(stride) => source.stride(stride),
            None => source,
        }
    }
}

struct Boxes {
    strided: StridedBuffer,
    form: BoxLayout,
    words: BoxWords,
    plain: Vec<Aabb>,
}

impl Boxes {
    fn new(adapter: &TestAdapter, boxes: &[Aabb], form: BoxLayout, words: BoxWords, rng: &mut Rng) -> Self {
        let mut plain = Vec::new();
        let mut rows = Vec::new();
        for given in boxes {
            let (first, second, bounds) = match form {
                BoxLayout::CenterHalf => {
                    let half = [0, 1, 2].map(|axis| 0.5 * given.max[axis] - 0.5 * given.min[axis]);
                    let center = given
                        .min
                        .map(|low| if low.is_finite() { low * 1.1 } else { rng.unit() });
                    (center, half, Aabb::from_center_half(center, half))
                }
                _ => (given.min, given.max, Aabb::new(given.min, given.max)),
            };
            let (layers, group) = match words {
                BoxWords::Filters => (given.layers, given.group),
                _ => (Aabb::ALL_LAYERS, 0),
            };
            plain.push(Aabb {
                layers,
                group,
                ..bounds
            });
            let mut row: Vec<u32> = first.map(f32::to_bits).into();
            row.extend(match words {
                BoxWords::Filters => Some(layers),
                BoxWords::Padding => Some(rng.bits() as u32),
                _ => None,
            });
            row.extend(second.map(f32::to_bits));
            row.extend(match words {
                BoxWords::Filters => Some(group),
                BoxWords::Padding => Some(rng.bits() as u32),
                _ => None,
            });
            rows.push(row);
        }
        Self {
            strided: StridedBuffer::new(adapter, &rows, rng),
            form,
            words,
            plain,
        }
    }

    fn of_any_form(adapter: &TestAdapter, boxes: &[Aabb], rng: &mut Rng) -> Self {
        let (form, words) = (FORMS[rng.below(2)], WORDS[rng.below(3)]);
        Self::new(adapter, boxes, form, words, rng)
    }

    fn source(&self) -> Source<'_, Aabb> {
        self.strided.source().layout(self.form, self.words)
    }
}

fn boxes(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let mut boxes = lattice(count, rng);
    let odd = [
        Aabb::new([2.0, 2.0, f32::NEG_INFINITY], [3.0, 3.0, f32::INFINITY]),
        Aabb::new([f32::NAN, 0.0, 0.0], [1.0; 3]),
        Aabb::new([1.0; 3], [0.0; 3]),
        Aabb::new([0.0, 0.0, f32::NAN], [4.0; 3]),
        Aabb::new([0.0; 3], [4.0; 3]).with_group(Aabb::EXCLUDED),
        Aabb::new([0.5; 3], [40.0; 3]),
        Aabb::point([3.0; 3]),
    ];
    for (index, object) in boxes.iter_mut().enumerate() {
        if index % 23 == 7 {
            *object = odd[rng.below(odd.len())];
        }
        if rng.below(4) == 0 {
            *object = object.with_layers(1 << rng.below(3), 0b110 | rng.below(2) as u16);
        }
        object.group |= [0, 0, 0, 1, 2, Aabb::STATIC][rng.below(6)];
    }
    boxes
}

fn rows(result: &StepResult) -> [Box<dyn Debug + '_>; 9] {
    [
        Box::new(&result.pairs),
        Box::new(&result.world_pairs),
        Box::new(&result.ray_hits),
        Box::new(&result.ray_any),
        Box::new(&result.ray_offsets),
        Box::new(&result.query_objects),
        Box::new(&result.query_offsets),
        Box::new(&result.query_nearest),
        Box::new(&result.counters),
    ]
}

fn check_same(found: &StepResult, expected: &StepResult, what: &str) {
    for (found, expected) in rows(found).into_iter().zip(rows(expected)) {
        // Compared as text, since a NaN is not equal to itself.
        let [found, expected] = [format!("{found:?}"), format!("{expected:?}")];
        assert!(
            found == expected,
            "{what}:\n{found:.2000}\nin place of\n{expected:.2000}"
        );
    }
}

fn check_answers(found: &StepResult, expected: &StepResult, what: &str) {
    let [found, expected] = [found, expected].map(|result| {
        let rays = (&result.ray_hits, &result.ray_any, &result.ray_offsets);
        let queries = (&result.query_objects, &result.query_offsets, &result.query_nearest);
        format!("{rays:?}, {queries:?}")
    });
    assert!(
        found == expected,
        "{what}:\n{found:.2000}\nin place of\n{expected:.2000}"
    );
}

fn check_case(adapter: &TestAdapter, case: usize) -> [usize; 3] {
    let rng = &mut Rng(900 + case as u64);
    let worlds = [1, 1, 3][rng.below(3)];
    let descriptor = BroadPhaseDescriptor {
        scheme: SCHEMES[case % 3],
        dimensions: [Dimensions::Two, Dimensions::Three, Dimensions::Three][rng.below(3)],
        margin: [0.0, 0.0, 0.25][rng.below(3)],
        periods: [[0.0; 3], [0.0; 3], [16.0, 0.0, 16.0]][rng.below(3)],
        filters: rng.below(3) > 0,
        worlds,
        outputs: OutputOptions {
            ray_mode: RAY_MODES[case / 3 % 3],
            ..Default::default()
        },
        ..Default::default()
    };
    let count = [1, 60, 257, 400][rng.below(4)];
    let moving = Boxes::of_any_form(adapter, &boxes(count, rng), rng);
    let statics = [0, 0, 1, 130][rng.below(4)];
    let statics = Boxes::of_any_form(adapter, &boxes(statics, rng), rng);
    let mut world_of = |boxes: &Boxes| -> Vec<u32> {
        let count = if worlds > 1 { boxes.plain.len() } else { 0 };
        (0..count).map(|_| rng.below(worlds as usize + 1) as u32).collect()
    };
    let [moving_worlds, static_worlds] = [world_of(&moving), world_of(&statics)];
    let [strided_worlds, strided_static_worlds] =
        [&moving_worlds, &static_worlds].map(|worlds| StridedBuffer::of(adapter, worlds, rng));
    let rays = crate::common::scene(2, 10, 70, rng).rays;
    let swept: Vec<SweptRay> = sweep(&rays, worlds, rng);
    let [strided_rays, strided_swept] = [
        StridedBuffer::of::<Ray>(adapter, &rays, rng),
        StridedBuffer::of(adapter, &swept, rng),
    ];
    let asked = Boxes::of_any_form(adapter, &boxes(50, rng), rng);
    let spheres: Vec<_> = boxes(50, rng)
        .into_iter()
        .map(|bounds| Query {
            bounds,
            radius: [0.0, 0.7, 2.3][rng.below(3)],
            world: rng.below(worlds as usize) as u32,
            reserved: [0; 2],
        })
        .collect();
    let strided_spheres = StridedBuffer::of(adapter, &spheres, rng);
    let limits = buffer(adapter, &[33, 20, 7, 0]);
    let mut limit = |word| (rng.below(3) == 0).then_some(DeviceCount { buffer: &limits, word });
    let [object_count, ray_count, query_count] = [limit(0), limit(1), limit(2)];
    let (is_swept, has_spheres) = (rng.below(2) == 0, rng.below(2) == 0);
    let plain = Scene {
        objects: Source::Host(&moving.plain),
        object_count,
        worlds: Source::Host(&moving_worlds),
        statics: Statics {
            objects: Source::Host(&statics.plain),
            worlds: Source::Host(&static_worlds),
            generation: 1,
        },
        query: QueryInput {
            rays: if is_swept {
                Rays::Swept(Source::Host(&swept))
            } else {
                Rays::Plain(Source::Host(&rays))
            },
            ray_count,
            queries: if has_spheres {
                Queries::General(Source::Host(&spheres))
            } else {
                Queries::Boxes(Source::Host(&asked.plain))
            },
            query_count,
            query_mode: [QueryMode::All, QueryMode::Nearest(3)][rng.below(2)],
        },
        ..Scene::default()
    };
    let strided = Scene {
        objects: moving.source(),
        worlds: strided_worlds.source(),
        statics: Statics {
            objects: statics.source(),
            worlds: strided_static_worlds.source(),
            generation: 2,
        },
        query: QueryInput {
            rays: if is_swept {
                Rays::Swept(strided_swept.source())
            } else {
                Rays::Plain(strided_rays.source())
            },
            queries: if has_spheres {
                Queries::General(strided_spheres.source())
            } else {
                Queries::Boxes(asked.source())
            },
            ..plain.query
        },
        ..plain
    };
    let what = format!("case {case} on {}: {descriptor:?}, {strided:?}", adapter.name);
    let mut on_gpu = broad_phase(adapter, &descriptor);
    whole(adapter, &mut on_gpu, plain);
    let expected = whole(adapter, &mut on_gpu, plain);
    check_same(&whole(adapter, &mut on_gpu, strided), &expected, &what);
    let mut encoder = encoder(adapter);
    let Scene {
        query:
            QueryInput {
                rays,
                ray_count,
                queries,
                query_count,
                query_mode,
            },
        ..
    } = strided;
    let later = QueryInput {
        rays,
        ray_count,
        queries,
        query_count,
        query_mode,
    };
    let step = on_gpu.query(&mut encoder, later).unwrap();
    adapter.queue.submit([encoder.finish()]);
    check_answers(&read(&mut on_gpu), &expected, &what);
    let mut set = on_gpu.query_set("set", &descriptor.outputs).expect("options");
    for turn in 0.. {
        let mut encoder = crate::common::steps::encoder(adapter);
        set.record(&mut encoder, &step, later).unwrap();
        adapter.queue.submit([encoder.finish()]);
        let found = block_on(set.read_back()).unwrap();
        if found.counters.is_complete() {
            check_answers(&found, &expected, &what);
            break;
        }
        assert!(turn < 4, "{what}: never whole");
    }
    check_same(&whole(adapter, &mut on_gpu, strided), &expected, &what);
    let met = expected.ray_hits.len() + expected.ray_any.iter().sum::<u32>() as usize;
    let results = expected.query_objects.len() + expected.query_nearest.len();
    [expected.pairs.len(), met, results]
}

#[test]
fn elements_anywhere_in_a_buffer_give_the_answer_of_plain_ones() {
    for adapter in adapters() {
        let mut found = [0; 3];
        let numbers: Vec<_> = (0..daily_or_full(12, 24)).filter(|&case| adapter.runs(case)).collect();
        for &case in &numbers {
            let of_case = check_case(&adapter, case);
            found = [0, 1, 2].map(|kind| found[kind] + of_case[kind]);
        }
        assert!(found.iter().all(|&rows| rows > 20 * numbers.len()), "{found:?}");
    }
}

fn dispatches(adapter: &TestAdapter, on_gpu: &mut GpuBroadPhase, input: Scene<'_>) -> u32 {
    let before = on_gpu.dispatches();
    submit(adapter, on_gpu, input);
    on_gpu.dispatches() - before
}

#[test]
fn what_lies_as_passes_read_it_is_bound_in_place() {
    for adapter in adapters() {
        let alignment = adapter.device.limits().min_storage_buffer_offset_alignment;
        let pool = buffer(&adapter, &vec![0; 40_000]);
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                worlds: 2,
                ..Default::default()
            };
            let mut two_worlds = broad_phase(&adapter, &descriptor);
            let mut one_world = broad_phase(
                &adapter,
                &BroadPhaseDescriptor {
                    worlds: 1,
                    ..descriptor
                },
            );
            let mut count = |at: u64, stride: [u32; 4]| {
                let input = Scene {
                    objects: Source::device(&pool, 100).at(at).stride(stride[0]),
                    worlds: Source::device(&pool, 100).at(at).stride(stride[1]),
                    query: QueryInput {
                        rays: Rays::Swept(Source::device(&pool, 100).at(at).stride(stride[2])),
                        queries: Queries::General(Source::device(&pool, 100).at(at).stride(stride[3])),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                [&mut one_world, &mut two_worlds].map(|on_gpu| dispatches(&adapter, on_gpu, input))
            };
            count(0, [32, 4, 64, 48]);
            adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            let [one, two] = count(0, [32, 4, 64, 48]);
            assert_eq!(count(u64::from(alignment), [32, 4, 64, 48]), [one, two], "{scheme:?}");
            // Boxes, rays and queries take one copying pass each. With worlds, boxes have a pass anyway, and worlds
            // take the third.
            assert_eq!(count(4, [32, 4, 64, 48]), [one + 3, two + 3], "{scheme:?}");
            assert_eq!(count(0, [36, 4, 64, 48]), [one + 1, two], "{scheme:?}");
            assert_eq!(count(0, [32, 8, 64, 48]), [one, two + 1], "{scheme:?}");
            assert_eq!(count(0, [32, 4, 80, 48]), [one + 1, two + 1], "{scheme:?}");
            assert_eq!(count(0, [32, 4, 64, 52]), [one + 1, two + 1], "{scheme:?}");
        }
    }
}

#[test]
fn boxes_by_their_centre_contain_all_of_their_points() {
    let bounds = Aabb::from_center_half([1.0, 0.1, 1e30], [0.5, 0.3, 1.0]);
    assert_eq!([bounds.min[0], bounds.max[0]], [0.5, 1.5]);
    // These sums are exact in doubles.
    assert!(f64::from(bounds.min[1]) <= f64::from(0.1f32) - f64::from(0.3f32));
    assert!(f64::from(bounds.max[1]) >= f64::from(0.1f32) + f64::from(0.3f32));
    assert_eq!([bounds.min[2], bounds.max[2]], [1e30f32.next_down(), 1e30f32.next_up()]);
    assert!(bounds.max[1].next_down() < 0.4f32.next_up());
    assert!(Aabb::from_center_half([0.0; 3], [1.0, -1.0, 1.0]).min[1].is_nan());
    let endless = Aabb::from_center_half([7.0; 3], [f32::INFINITY; 3]);
    assert_eq!([endless.min, endless.max], [[f32::NEG_INFINITY; 3], [f32::INFINITY; 3]]);
}

#[test]
fn names_may_lie_anywhere() {
    for adapter in adapters() {
        let mut rng = Rng(5);
        let mut on_gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut events = [PairEvents::new(None), PairEvents::new(None)];
        let (moving, fixed) = (lattice(200, &mut rng), lattice(50, &mut rng));
        let mut generations = [vec![0u32; 50], vec![0u32; 200]];
        let mut changes = 0;
        for step in 0..6 {
            for words in &mut generations {
                let place = rng.below(words.len());
                words[place] += 1;
            }
            let strided = [0, 1].map(|of| StridedBuffer::of(&adapter, &generations[of], &mut rng));
            let input = Scene {
                objects: Source::Host(&moving),
                statics: Statics {
                    objects: Source::Host(&fixed),
                    worlds: Source::default(),
                    generation: 1,
                },
                ..Default::default()
            };
            let plain = ObjectNames {
                static_count: 50,
                static_generations: Source::Host(&generations[0]),
                generations: Source::Host(&generations[1]),
            };
            let names = ObjectNames {
                static_generations: strided[0].source(),
                generations: strided[1].source(),
                ..plain
            };
            let mut encoder = encoder(&adapter);
            let output = record(&mut on_gpu, &mut encoder, input);
            for (events, names) in events.iter_mut().zip([plain, names]) {
                events.record(&mut encoder, &output, names).unwrap();
            }
            adapter.queue.submit([encoder.finish()]);
            let [expected, found] = [0, 1].map(|of| block_on(events[of].read_back()).unwrap());
            assert_eq!(found, expected, "step {step} on {}", adapter.name);
            changes += expected.ended.len();
            read(&mut on_gpu);
        }
        assert!(changes > 10, "{changes}");
    }
}

#[test]
fn lists_and_views_are_bound_as_they_lie() {
    for adapter in adapters() {
        let alignment = adapter.device.limits().min_storage_buffer_offset_alignment;
        let words = alignment as usize / 4;
        let excluded = buffer(&adapter, &[vec![7; words], vec![1, 0, 9, 9]].concat());
        let frusta = [Frustum::new([[1.0, 0.0, 0.0, -0.5]]); 2];
        let frusta: Vec<u32> = [vec![0xffff_ffff; words], bytemuck::pod_collect_to_vec(&frusta)].concat();
        let frusta = buffer(&adapter, &frusta);
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut culling = Culling::new(None);
        let boxes = [
            Aabb::new([0.0; 3], [1.0; 3]),
            Aabb::new([0.0; 3], [0.25; 3]),
            Aabb::new([0.5; 3], [2.0; 3]),
        ];
        let mut step = |excluded, views| {
            let mut encoder = adapter.device.create_command_encoder(&Default::default());
            let input = Scene {
                objects: Source::Host(&boxes),
                excluded_pairs: excluded,
                ..Scene::default()
            };
            let step = gpu.step(&mut encoder, input).map_err(|error| (error, 0))?;
            let culled = culling.record(&mut encoder, &step, views, CullOptions::default());
            culled.map_err(|error| (error, 1))?;
            adapter.queue.submit([encoder.finish()]);
            let found = pollster::block_on(gpu.read_back()).expect("a result");
            let seen = pollster::block_on(culling.read_back()).expect("culling results");
            Ok((found.pairs, seen.objects))
        };
        let (list, views) = (Source::device(&excluded, 2), Source::<Frustum>::device(&frusta, 2));
        let in_place = step(list.at(alignment.into()), views.at(alignment.into()));
        let expected = (vec![Pair { a: 0, b: 2 }], vec![vec![0, 2]; 2]);
        assert_eq!(in_place, Ok(expected), "{}", adapter.name);
        let refused = |what| StepError::Input(InputError::NotInPlace { what, alignment });
        for list in [list.at(4), list.stride(16)] {
            assert_eq!(
                step(list, Source::default()),
                Err((refused("excluded pairs"), 0)),
                "{}",
                adapter.name
            );
        }
        for views in [views.at(16), Source::<Frustum>::device(&frusta, 1).at(4)] {
            assert_eq!(
                step(Source::default(), views),
                Err((refused("views"), 1)),
                "{}",
                adapter.name
            );
        }
    }
}
