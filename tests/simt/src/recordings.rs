//! Whole steps recorded through the public API and run on the interpreter.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use gpu_broad_phase::internals::reference::HostScene;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, CullOptions, Culling, DebugDraw, DebugLines, DeviceCount, DispatchArgs,
    Growth, Handle, ObjectSet, Output, OutputOptions, PairEvent, PairEvents, Queries, Query, QueryInput, QueryMode,
    Ray, RayMode, ResultOrder, Scene, Scheme, SortStrategy, Source, TableShader, cpu, reference, wgpu,
};
use pollster::block_on;

use crate::common::steps::{self, SCHEMES, broad_phase, download, encoder, lists, sorted};
use crate::common::views::views;
use crate::common::{Rng, TestAdapter, uniform};
use crate::wgpu_backend::{DispatchLog, open};
use wild::Expected;
use wild::{check_definition, check_later, check_reference};

pub fn device(lanes: usize, by_chance: bool) -> (TestAdapter, DispatchLog) {
    let order = if by_chance { "by chance" } else { "in order" };
    adapter(format!("warps of {lanes}, {order}"), open(lanes, by_chance, true))
}

pub fn unwatched_device() -> (TestAdapter, DispatchLog) {
    adapter("warps of 32".to_owned(), open(32, false, false))
}

fn adapter(name: String, (device, queue, log): (wgpu::Device, wgpu::Queue, DispatchLog)) -> (TestAdapter, DispatchLog) {
    (TestAdapter::new(name, 0, wgpu::Backends::empty(), device, queue), log)
}

pub fn check_all(adapter: &TestAdapter) {
    check_growth(adapter);
    check_rounds(adapter);
    check_pair_filter(adapter);
    check_events(adapter);
    check_many_rays(adapter);
    check_rows_of_a_caller(adapter);
    check_views_and_lines(adapter);
    check_table_shader(adapter);
}

pub fn check_wild(adapter: &TestAdapter, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(number);
        let what = format!("scene {number} on {}", adapter.name);
        let mut gpu = broad_phase(adapter, &descriptor);
        let result = if descriptor.outputs.growth == Growth::Fixed {
            steps::submit(adapter, &mut gpu, scene);
            steps::read(&mut gpu)
        } else {
            steps::whole(adapter, &mut gpu, scene)
        };
        let expected = cpu::step_scene(&descriptor, &scene).unwrap();
        check_definition(&descriptor, &scene, &Expected::of(&descriptor, &scene), &result, &what);
        check_reference(&descriptor, &scene, &result, &expected);
        let Some(later) = wild.later_input() else {
            continue;
        };
        let first = steps::query(adapter, &mut gpu, later);
        let is_complete = first.counters.is_complete() || descriptor.outputs.growth == Growth::Fixed;
        let result = if is_complete {
            first
        } else {
            steps::query(adapter, &mut gpu, later)
        };
        check_later(&descriptor, &scene, &later, &result);
    }
}

/// Earlier steps must not change the bytes of a result. Without counted candidates, two invocations share the walk of a
/// box, and passes change with the scenes of earlier steps.
pub fn check_used(adapter: &TestAdapter, numbers: Range<u64>) {
    let mut used = HashMap::new();
    let mut pairs = 0;
    for number in numbers {
        let given = wild::descriptor(number);
        let descriptor = BroadPhaseDescriptor {
            pairs: true,
            count_candidates: false,
            outputs: OutputOptions {
                order: ResultOrder::Deterministic,
                capacities: Capacities::default(),
                growth: Growth::Grow,
                ..given.outputs
            },
            ..given
        };
        let gpu = used
            .entry(std::mem::discriminant(&descriptor.scheme))
            .or_insert_with(|| broad_phase(adapter, &descriptor));
        gpu.set_descriptor(&descriptor).unwrap();
        let wild = wild::scene(number, &descriptor);
        let mut answers =
            [gpu, &mut broad_phase(adapter, &descriptor)].map(|gpu| steps::whole(adapter, gpu, wild.scene(number)));
        pairs += answers[0].pairs.len();
        // Capacities and rounds depend on earlier steps.
        answers[0].counters = answers[1].counters;
        assert!(answers[0] == answers[1], "scene {number} on {}", adapter.name);
    }
    assert!(pairs > 100, "{pairs}");
}

/// Searches that need a second dispatch, because a dispatch limits the tests of a walk.
fn check_rounds(adapter: &TestAdapter) {
    let objects = uniform(100, &mut Rng(5));
    let asked = [objects[7].into(), Query::point([9.0; 3])];
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            queries: asked[..].into(),
            query_mode: QueryMode::Nearest(1_024),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let result = steps::whole(adapter, &mut broad_phase(adapter, &descriptor), scene);
        assert!(result.counters.rounds_needed > 1, "{scheme:?} on {}", adapter.name);
        check_reference(
            &descriptor,
            &scene,
            &result,
            &cpu::step_scene(&descriptor, &scene).unwrap(),
        );
    }
}

fn check_pair_filter(adapter: &TestAdapter) {
    let objects = uniform(150, &mut Rng(3));
    let data = [1, 0, 3];
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            pair_filter: Some(
                "fn admits_pair(a: u32, b: u32) -> bool { return (pair_data(a % pair_data_count()) & 1u) != (b & 1u); }",
            ),
            ..BroadPhaseDescriptor::default()
        };
        let scene = Scene {
            objects: Source::Host(&objects),
            pair_filter_data: Source::Host(&data),
            ..Scene::default()
        };
        let result = steps::whole(adapter, &mut broad_phase(adapter, &descriptor), scene);
        let admits = |a: u32, b: u32| data[a as usize % 3] & 1 != b & 1;
        let expected = cpu::step_scene_where(&descriptor, &scene, &admits).unwrap();
        assert!(!expected.pairs.is_empty());
        check_reference(&descriptor, &scene, &result, &expected);
    }
}

fn check_events(adapter: &TestAdapter) {
    let rng = &mut Rng(31);
    let mut gpu = broad_phase(adapter, &BroadPhaseDescriptor::default());
    let mut events = PairEvents::new(None);
    let mut set = ObjectSet::new();
    let mut handles: Vec<_> = uniform(150, rng).into_iter().map(|object| set.insert(object)).collect();
    let mut before = BTreeSet::new();
    for step in 0..6 {
        match step {
            1 => handles[..2]
                .iter()
                .for_each(|&handle| set.move_to(handle, [2.0; 3], [3.5; 3]).unwrap()),
            3 => handles.drain(1..).for_each(|handle| _ = set.remove(handle).unwrap()),
            4 => handles.extend(uniform(90, rng).into_iter().map(|object| set.insert(object))),
            _ => {}
        }
        // Grows the buffers first, since events of a step that overflows are incomplete.
        let mut encoder = encoder(adapter);
        let scene = set.upload(&adapter.device, &mut encoder).unwrap();
        adapter.queue.submit([encoder.finish()]);
        steps::whole(adapter, &mut gpu, scene);
        let mut encoder = steps::encoder(adapter);
        let scene = set.upload(&adapter.device, &mut encoder).unwrap();
        let output = steps::record(&mut gpu, &mut encoder, scene);
        events.record(&mut encoder, &output, set.names()).unwrap();
        let (handles, boxes): (Vec<_>, Vec<_>) = set.iter().map(|(handle, &object)| (handle, object)).unzip();
        let now: BTreeSet<_> = brute_force::pairs(&boxes)
            .into_iter()
            .map(|pair| touch([pair.a, pair.b].map(|at| handles[at as usize])))
            .collect();
        let later = (step % 2 == 1).then(|| events.record_read_back(&mut encoder).unwrap());
        adapter.queue.submit([encoder.finish()]);
        let what = format!("step {step} on {}", adapter.name);
        let of = |events: &[PairEvent]| events.iter().map(|&event| touch(event.into())).collect::<BTreeSet<_>>();
        let found = match later {
            Some(mut later) => {
                adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
                later.take().unwrap().unwrap()
            }
            None => {
                let found = block_on(events.read_back()).unwrap();
                assert_eq!(of(&found.persisting), &now & &before, "{what}: persisting");
                found
            }
        };
        assert_eq!(of(&found.begun), &now - &before, "{what}: begun");
        assert_eq!(of(&found.ended), &before - &now, "{what}: ended");
        before = now;
    }
}

fn touch(mut touch: [Handle; 2]) -> [Handle; 2] {
    touch.sort_unstable();
    touch
}

fn check_many_rays(adapter: &TestAdapter) {
    let rng = &mut Rng(21);
    let objects = uniform(60, rng);
    let rays: Vec<_> = (0..4_200)
        .map(|_| Ray::new([0; 3].map(|_| 6.0 * rng.unit()), [0; 3].map(|_| rng.unit() - 0.5), 2.0))
        .collect();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays[..].into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    for sort in [SortStrategy::SerialTiles, SortStrategy::Subgroups] {
        let descriptor = BroadPhaseDescriptor {
            sort,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ray_cells: true,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let mut gpu = broad_phase(adapter, &descriptor);
        let result = steps::whole(adapter, &mut gpu, scene);
        let expected = cpu::step_scene(&descriptor, &scene).unwrap();
        check_reference(&descriptor, &scene, &result, &expected);
        let what = format!("{sort:?} on {}", adapter.name);
        assert!(
            result.ray_cell_offsets == expected.ray_cell_offsets && result.ray_cells == expected.ray_cells,
            "{what}"
        );
        let mut encoder = encoder(adapter);
        let step = steps::record(&mut gpu, &mut encoder, scene);
        let lines = DebugDraw::new(&descriptor, None)
            .record(&mut encoder, &step, DebugLines::RayCells, [1; 4], 500)
            .unwrap();
        adapter.queue.submit([encoder.finish()]);
        let drawn: Vec<u32> = download(&adapter.device, &adapter.queue, &lines.args, 4);
        assert!(drawn[0] > 0, "{what}");
    }
}

fn check_rows_of_a_caller(adapter: &TestAdapter) {
    const ROW: usize = 12;
    let objects = uniform(140, &mut Rng(8));
    let mut words = vec![7u32; ROW * objects.len()];
    for (row, object) in words.chunks_exact_mut(ROW).zip(&objects) {
        row[..8].copy_from_slice(bytemuck::cast_slice(std::slice::from_ref(object)));
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let make = |words: &[u32]| {
        let contents = bytemuck::cast_slice(words);
        adapter.device.create_buffer_init(&BufferInitDescriptor {
            label: None,
            contents,
            usage,
        })
    };
    let (rows, counts) = (make(&words), make(&[130, 20]));
    let count = |word| Some(DeviceCount { buffer: &counts, word });
    let strided = Source::device(&rows, 140).stride(4 * ROW as u32);
    for (scheme, queries) in SCHEMES.into_iter().zip([strided, Source::Host(&objects), strided]) {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let scene = Scene {
            objects: strided,
            object_count: count(0),
            query: QueryInput {
                queries: Queries::Boxes(queries),
                query_count: count(1),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let result = steps::whole(adapter, &mut broad_phase(adapter, &descriptor), scene);
        let alike = Scene {
            objects: Source::Host(&objects[..130]),
            query: QueryInput {
                queries: Queries::Boxes(Source::Host(&objects[..20])),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let expected = cpu::step_scene(&descriptor, &alike).unwrap();
        assert_eq!(
            sorted(result.pairs.clone()),
            sorted(expected.pairs.clone()),
            "{scheme:?} on {}",
            adapter.name
        );
        assert_eq!(lists(&result)[..20], lists(&expected), "{scheme:?} on {}", adapter.name);
    }
}

fn check_views_and_lines(adapter: &TestAdapter) {
    let mut rng = Rng(9);
    let objects = uniform(170, &mut rng);
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Scene::default()
    };
    for scheme in SCHEMES {
        let what = format!("{scheme:?} on {}", adapter.name);
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let mut gpu = broad_phase(adapter, &descriptor);
        let pairs = steps::whole(adapter, &mut gpu, scene).pairs;
        let all = HostScene::of(&scene).unwrap().all_objects().0;
        let frusta = views(&all, 1, 5, &mut rng);
        let mut culling = Culling::new(None);
        let mut args = DispatchArgs::new(None);
        let mut encoder = encoder(adapter);
        let step = steps::record(&mut gpu, &mut encoder, scene);
        let options = CullOptions {
            list_capacity: Some(u32::MAX),
            ..CullOptions::default()
        };
        culling
            .record(&mut encoder, &step, Source::Host(&frusta), options)
            .unwrap();
        let args = args.record(&mut encoder, &step, Output::Pairs, 64).unwrap();
        let drawn = [
            DebugLines::Boxes,
            DebugLines::Pairs,
            DebugLines::Cells { levels: u32::MAX },
        ]
        .map(|lines| {
            let mut draw = DebugDraw::new(&descriptor, None);
            draw.record(&mut encoder, &step, lines, [1; 4], 10_000).unwrap().args
        });
        adapter.queue.submit([encoder.finish()]);
        let seen = block_on(culling.read_back()).unwrap();
        assert!(seen == reference::cull(&descriptor, &scene, &frusta).unwrap(), "{what}");
        let words = |buffer: &wgpu::Buffer| download::<u32>(&adapter.device, &adapter.queue, buffer, 16);
        assert_eq!(
            words(&args),
            [pairs.len().div_ceil(64) as u32, 1, 1, pairs.len() as u32],
            "{what}"
        );
        let vertices: Vec<u32> = drawn.iter().map(|args| words(args)[0]).collect();
        assert_eq!(
            vertices[..2],
            [24 * objects.len() as u32, 2 * pairs.len() as u32],
            "{what}"
        );
        assert!(vertices[2] > 0, "{what}");
    }
}

const OWN: &str = "
@group(0) @binding(0) var<storage, read> asked: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> found: array<vec2u>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= arrayLength(&asked)) {
        return;
    }
    let eye = asked[id.x].xyz;
    let hit = own_closest_hit(own_ray(eye, vec3f(0.5, 0.25, 1.0), 1000.0));
    var count = 0u;
    var walk = own_begin_walk(own_sphere_query(eye, 0.0));
    while (own_next_object(&walk)) {
        count += 1u;
    }
    found[id.x] = vec2u(hit.object, count);
}";

fn check_table_shader(adapter: &TestAdapter) {
    let mut rng = Rng(12);
    let objects = uniform(160, &mut rng);
    let asked: Vec<[f32; 4]> = (objects.iter().step_by(2))
        .map(|object| [object.min[0], object.min[1], object.min[2], 0.0])
        .collect();
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let device = &adapter.device;
        let shader = TableShader::with_rays(&descriptor, "own_", 1).unwrap();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(format!("{OWN}\n{}", shader.source()).into()),
        });
        let layout = shader.layout(device, wgpu::ShaderStages::COMPUTE);
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("a caller's shader"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let make = |contents: &[u8]| {
            device.create_buffer_init(&BufferInitDescriptor {
                label: None,
                contents,
                usage,
            })
        };
        let (input, output) = (make(bytemuck::cast_slice(&asked)), make(&vec![0; 8 * asked.len()]));
        let own = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[(0, &input), (1, &output)].map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            }),
        });
        let scene = Scene {
            objects: Source::Host(&objects),
            ..Scene::default()
        };
        let mut gpu = broad_phase(adapter, &descriptor);
        // The first uniform step overflows, and its table is incomplete.
        steps::whole(adapter, &mut gpu, scene);
        let mut encoder = encoder(adapter);
        let step = steps::record(&mut gpu, &mut encoder, scene);
        let table = shader.bind(&layout, &step.table).unwrap();
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &own, &[]);
            pass.set_bind_group(1, &table, &[]);
            pass.dispatch_workgroups(asked.len().div_ceil(64) as u32, 1, 1);
        }
        adapter.queue.submit([encoder.finish()]);
        let found: Vec<[u32; 2]> = download(device, &adapter.queue, &output, 8 * asked.len() as u64);
        let at = |&[x, y, z, _]: &[f32; 4]| [x, y, z];
        let rays: Vec<_> = asked
            .iter()
            .map(|eye| Ray::new(at(eye), [0.5, 0.25, 1.0], 1000.0))
            .collect();
        let points: Vec<_> = asked.iter().map(|eye| Aabb::point(at(eye))).collect();
        let scene = Scene {
            query: QueryInput {
                rays: rays[..].into(),
                queries: points[..].into(),
                ..scene.query
            },
            ..scene
        };
        let answer = cpu::step_scene(&descriptor, &scene).unwrap();
        let counts = answer.query_offsets.windows(2).map(|ends| ends[1] - ends[0]);
        let expected: Vec<[u32; 2]> = answer
            .ray_hits
            .iter()
            .zip(counts)
            .map(|(hit, count)| [hit.object, count])
            .collect();
        assert_eq!(found, expected, "{scheme:?} on {}", adapter.name);
    }
}

fn check_growth(adapter: &TestAdapter) {
    let objects = vec![Aabb::new([0.0; 3], [1.0; 3]); 120];
    let scene = Scene {
        objects: Source::Host(&objects),
        ..Scene::default()
    };
    for scheme in [SCHEMES[0], Scheme::Uniform { cell_size: 0.4 }] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let mut gpu = broad_phase(adapter, &descriptor);
        steps::submit(adapter, &mut gpu, scene);
        let first = steps::read(&mut gpu);
        assert!(!first.counters.is_complete(), "{scheme:?} on {}", adapter.name);
        let all = sorted(steps::whole(adapter, &mut gpu, scene).pairs);
        assert_eq!(all.len(), 120 * 119 / 2);
    }
}
