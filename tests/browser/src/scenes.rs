//! Scenes compared with the CPU engine, brute force, and the hashes of the native tests.

use std::collections::BTreeSet;

use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::{self, brute_force};
use gpu_broad_phase::{
    Aabb, Backend, BoxLayout, BoxWords, BroadPhase, BroadPhaseDescriptor, CullOptions, Culling, Frustum, NONE,
    ObjectNames, ObjectSet, Output, OutputOptions, PairEvents, Queries, Query, QueryInput, QueryMode, RayHit, RayMode,
    Rays, Scene, SelfQuery, Source, Statics, StepResult, TableShader, Uses, wgpu,
};
use wgpu::util::{BufferInitDescriptor, DeviceExt};

use crate::Say;
use crate::golden::{self, Golden, defined_rows, event_rows, hash, hashes};
use crate::gpu::Gpu;
use wild::Expected;
use wild::answers::{SCHEMES, counted};

fn check_reference(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, expected: &Golden, found: &StepResult) {
    let on_cpu = cpu::step_scene(descriptor, scene).expect("an answer of the reference");
    let mode = descriptor.outputs.ray_mode;
    assert_eq!(
        hashes(scene, &on_cpu, mode, expected),
        *expected,
        "the reference, {descriptor:?}"
    );
    assert_eq!(counted(&found.counters), counted(&on_cpu.counters), "{descriptor:?}");
}

pub async fn fixed(gpu: &Gpu, ray_modes: &[RayMode], say: Say<'_>) {
    for case in golden::cases() {
        let (scene, expected) = (&case.scene(), case.expected);
        let mut rows = [0; 3];
        for (scheme, &ray_mode) in SCHEMES
            .iter()
            .flat_map(|scheme| ray_modes.iter().map(move |mode| (*scheme, mode)))
        {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    timestamps: gpu.has_timestamps(),
                    ..case.descriptor.outputs
                },
                ..case.descriptor
            };
            let found = gpu.whole(&mut gpu.broad_phase(&descriptor), *scene).await;
            let what = format!("{}, {descriptor:?}", case.name);
            assert_eq!(hashes(scene, &found, ray_mode, &expected), expected, "{what}");
            assert_eq!(found.timings.is_empty(), !gpu.has_timestamps(), "{what}");
            check_reference(&descriptor, scene, &expected, &found);
            for (rows, count) in
                rows.iter_mut()
                    .zip([found.pairs.len(), found.ray_hits.len(), found.query_objects.len()])
            {
                *rows = count.max(*rows);
            }
        }
        let [pairs, hits, results] = rows;
        let Golden {
            pairs: a,
            closest: b,
            any: c,
            all: d,
            queries: e,
            ..
        } = expected;
        say(&format!(
            "{:?} device, {}: {pairs} pairs, {hits} hits, {results} results; 3 schemes, ray modes {ray_modes:?}, 0 \
             differences from \
             the reference; hashes as native: {a:016x} {b:016x} {c:016x} {d:016x} {e:016x}",
            gpu.kind, case.name,
        ));
    }
}

pub async fn events(gpu: &Gpu, say: Say<'_>) {
    let film = golden::moving_boxes();
    for scheme in SCHEMES {
        let mut set = ObjectSet::new();
        let handles: Vec<_> = film.frames[0].iter().map(|&object| set.insert(object)).collect();
        let mut broad_phase = gpu.broad_phase(&film.descriptor(scheme));
        let mut events = PairEvents::new(None);
        let mut before = BTreeSet::new();
        let mut rows = Vec::new();
        for (frame, objects) in (0..).zip(&film.frames) {
            for (&handle, &object) in handles.iter().zip(objects) {
                set.set(handle, object).expect("a handle of the set");
            }
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            let input = set.upload(&gpu.device, &mut encoder).expect("an upload");
            let step = broad_phase.step(&mut encoder, input).expect("a step");
            events.record(&mut encoder, &step, set.names()).expect("events");
            gpu.queue.submit([encoder.finish()]);
            let found = events.read_back().await.expect("events");
            let now = brute_force::pairs(objects).into_iter().collect();
            let of_frame = event_rows(frame, &found);
            let what = format!("frame {frame}, {scheme:?}");
            assert_eq!(of_frame, defined_rows(frame, [&before, &now]), "{what}");
            rows.extend(of_frame);
            before = now;
        }
        let count = rows.len();
        let found = hash(rows.into_iter().flatten());
        assert_eq!(found, film.expected, "{scheme:?}");
        say(&format!(
            "{:?} device, events of an object set, {scheme:?}: {count} in {} frames, hash as native: {found:016x}",
            gpu.kind,
            film.frames.len()
        ));
    }
}

async fn check(gpu: &Gpu, descriptor: BroadPhaseDescriptor<'_>, scene: &Scene<'_>, what: &str, say: Say<'_>) {
    check_source(gpu, descriptor, [scene, scene], what, say).await;
}

async fn check_source(
    gpu: &Gpu,
    descriptor: BroadPhaseDescriptor<'_>,
    [scene, given]: [&Scene<'_>; 2],
    what: &str,
    say: Say<'_>,
) {
    let expected = Expected::of(&descriptor, scene);
    let mut most = 0;
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor { scheme, ..descriptor };
        let found = gpu.whole(&mut gpu.broad_phase(&descriptor), *given).await;
        wild::check(&descriptor, scene, &expected, &found, &format!("{what}, {scheme:?}"));
        most = found.pairs.len() + found.query_objects.len() + found.query_nearest.len();
        assert!(most > 100, "{what}: {most} rows say little");
    }
    say(&format!("{:?} device, {what}: {most} rows, as by definition", gpu.kind));
}

pub async fn queries(gpu: &Gpu, say: Say<'_>) {
    let case = golden::power_law();
    let scene = case.scene();
    let spheres: Vec<_> = scene.objects.elements().unwrap()[..300]
        .iter()
        .enumerate()
        .map(|(index, object)| Query::sphere(object.min, 0.01 * index as f32))
        .collect();
    let descriptor = BroadPhaseDescriptor {
        pairs: false,
        ..BroadPhaseDescriptor::default()
    };
    let asked: [(&str, Queries<'_>, QueryMode); 4] = [
        ("spheres", spheres[..].into(), QueryMode::All),
        ("nearest objects", spheres[..].into(), QueryMode::Nearest(5)),
        ("neighbours", SelfQuery::within(2.5).into(), QueryMode::All),
        ("partners", SelfQuery::Overlaps { half: false }.into(), QueryMode::All),
    ];
    for (what, queries, query_mode) in asked {
        let scene = Scene {
            query: QueryInput {
                queries,
                query_mode,
                rays: Default::default(),
                ..scene.query
            },
            ..scene
        };
        check(gpu, descriptor, &scene, what, say).await;
    }
    let periodic = BroadPhaseDescriptor {
        periods: [72.0, 0.0, 72.0],
        ..descriptor
    };
    let scene = Scene {
        query: QueryInput {
            queries: SelfQuery::within(2.5).into(),
            rays: Default::default(),
            ..scene.query
        },
        ..scene
    };
    check(gpu, periodic, &scene, "neighbours in a periodic world", say).await;
}

pub async fn statics(gpu: &Gpu, say: Say<'_>) {
    let case = golden::uniform_boxes();
    let scene = case.scene();
    let (fixed, objects) = scene.objects.elements().unwrap().split_at(700);
    let scene = Scene {
        objects: Source::Host(objects),
        statics: Statics {
            objects: Source::Host(fixed),
            ..Statics::default()
        },
        ..scene
    };
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..case.descriptor.outputs
        },
        ..case.descriptor
    };
    check(gpu, descriptor, &scene, "static boxes", say).await;
}

struct Fields {
    buffer: wgpu::Buffer,
    count: u32,
    stride: u32,
}

impl Fields {
    const BEFORE: u32 = 20;

    fn of<T>(gpu: &Gpu, elements: &[T], words: impl Fn(&T) -> Vec<u32>) -> Self {
        let structure = |element: &T| {
            let noise = [u32::MAX, 0x7fc0_0000, 7, 0, 0x3f80_0000];
            [noise.to_vec(), words(element), vec![3, u32::MAX]].concat()
        };
        let structures: Vec<_> = elements.iter().map(structure).collect();
        let contents = structures.concat();
        Self {
            buffer: gpu.device.create_buffer_init(&BufferInitDescriptor {
                label: Some("structures"),
                contents: bytemuck::cast_slice(&contents),
                usage: wgpu::BufferUsages::STORAGE,
            }),
            count: elements.len() as u32,
            stride: 4 * structures[0].len() as u32,
        }
    }

    fn source<T>(&self) -> Source<'_, T> {
        let whole = Source::device(&self.buffer, self.count);
        whole.at(Self::BEFORE.into()).stride(self.stride)
    }
}

/// Inputs in larger structures, also boxes as centre and half extents without filter words.
pub async fn strided(gpu: &Gpu, say: Say<'_>) {
    let case = golden::uniform_boxes();
    let scene = case.scene();
    let boxes = scene.objects.elements().unwrap();
    let of_center = |at: &Aabb| {
        let of = |of: fn(f32, f32) -> f32| [0, 1, 2].map(|axis| of(at.min[axis], at.max[axis]));
        [of(|low, high| 0.5 * (low + high)), of(|low, high| 0.5 * (high - low))]
    };
    let plain: Vec<_> = boxes
        .iter()
        .map(of_center)
        .map(|[center, half]| Aabb::from_center_half(center, half))
        .collect();
    let Rays::Plain(Source::Host(rays)) = scene.query.rays else {
        panic!("plain rays on the host");
    };
    let Queries::Boxes(Source::Host(queries)) = scene.query.queries else {
        panic!("boxes on the host");
    };
    let in_centers = Fields::of(gpu, boxes, |at| {
        let [center, half] = of_center(at).map(|vector| vector.map(f32::to_bits));
        // These words must not be read as filters.
        [&center[..], &[0], &half, &[Aabb::EXCLUDED]].concat()
    });
    let in_rays = Fields::of(gpu, rays, |ray| bytemuck::cast_slice(bytemuck::bytes_of(ray)).to_vec());
    let in_corners = Fields::of(gpu, queries, |at| {
        [at.min, at.max].as_flattened().iter().map(|at| at.to_bits()).collect()
    });
    let plain = Scene {
        objects: Source::Host(&plain),
        ..scene
    };
    let given = Scene {
        objects: in_centers.source().layout(BoxLayout::CenterHalf, BoxWords::Padding),
        query: QueryInput {
            rays: Rays::Plain(in_rays.source()),
            queries: in_corners.source().layout(BoxLayout::MinMax, BoxWords::Tight).into(),
            ..scene.query
        },
        ..scene
    };
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..case.descriptor.outputs
        },
        ..case.descriptor
    };
    check_source(gpu, descriptor, [&plain, &given], "fields of structures", say).await;
}

pub async fn parted(gpu: &Gpu, say: Say<'_>) {
    let case = golden::uniform_boxes();
    let scene = case.scene();
    let all = brute_force::scene_pairs(&case.descriptor, &scene).unwrap();
    let excluded: Vec<_> = all.iter().step_by(3).copied().collect();
    let listed = Scene {
        excluded_pairs: Source::Host(&excluded),
        ..scene
    };
    check(gpu, case.descriptor, &listed, "pairs without those of a list", say).await;
    let admits = |a: u32, b: u32| !(a ^ b).is_multiple_of(5);
    let expected: BTreeSet<_> = all.iter().filter(|pair| admits(pair.a, pair.b)).copied().collect();
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            pair_filter: Some("fn admits_pair(a: u32, b: u32) -> bool {\n    return (a ^ b) % 5u != 0u;\n}\n"),
            ..case.descriptor
        };
        let found = gpu.whole(&mut gpu.broad_phase(&descriptor), scene).await;
        let found: BTreeSet<_> = found.pairs.into_iter().collect();
        assert!(
            found == expected,
            "{scheme:?}: {} of {} pairs",
            found.len(),
            expected.len()
        );
    }
    say(&format!(
        "{:?} device, pairs that a function admits: {} of {}, as by definition",
        gpu.kind,
        expected.len(),
        all.len()
    ));
}

pub async fn culling(gpu: &Gpu, say: Say<'_>) {
    let case = golden::power_law();
    let scene = case.scene();
    let views: Vec<_> = (0..7)
        .map(|turn| {
            let [x, y] = [(turn as f32).cos(), (turn as f32).sin()];
            Frustum::new([
                [x, y, 0.25, -9.0 * turn as f32],
                [y, -x, 0.0, 30.0],
                [0.0, 0.0, -1.0, 40.0],
            ])
        })
        .chain([Frustum::new([[f32::NAN, 0.0, 0.0, 0.0]])])
        .collect();
    let mut culling = Culling::new(None);
    let mut rows = 0;
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..case.descriptor
        };
        let mut broad_phase = gpu.broad_phase(&descriptor);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let step = broad_phase.step(&mut encoder, scene).expect("a step");
        let culled = culling.record(&mut encoder, &step, Source::Host(&views), CullOptions::default());
        culled.expect("views");
        gpu.queue.submit([encoder.finish()]);
        let seen = culling.read_back().await.expect("culling results");
        let defined = reference::cull(&descriptor, &scene, &views).expect("views");
        assert!(seen == defined, "{scheme:?}");
        assert_eq!(seen.invalid, 1);
        rows = seen.objects.iter().map(Vec::len).sum();
        assert!(rows > 1000, "{rows} rows say little");
    }
    say(&format!(
        "{:?} device, culling by 8 views: {rows} rows, as by definition",
        gpu.kind
    ));
}

const OWN_SHADER: &str = "
@group(0) @binding(0) var<storage, read> rays: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> hits: array<vec2u>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x >= arrayLength(&hits)) {
        return;
    }
    let hit = bp_closest_hit(bp_ray_of(rays[2u * id.x], rays[2u * id.x + 1u], vec4u(), 0u));
    hits[id.x] = vec2u(hit.object, select(0u, bitcast<u32>(hit.t), hit.is_hit && hit.is_complete));
}
";

pub async fn own_shader(gpu: &Gpu, say: Say<'_>) {
    let case = golden::uniform_boxes();
    let scene = case.scene();
    let Rays::Plain(Source::Host(rays)) = scene.query.rays else {
        panic!("plain rays on the host");
    };
    let mut count = 0;
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                ray_mode: RayMode::Closest,
                ..case.descriptor.outputs
            },
            ..case.descriptor
        };
        let shader = TableShader::with_rays(&descriptor, "bp_", 1).expect("a prefix");
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("shader of the caller's"),
            source: wgpu::ShaderSource::Wgsl(format!("{}{OWN_SHADER}", shader.source()).into()),
        });
        let own_layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[true, false].map(|read_only| wgpu::BindGroupLayoutEntry {
                binding: u32::from(!read_only),
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            }),
        });
        let layout = shader.layout(&gpu.device, wgpu::ShaderStages::COMPUTE);
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("shader of the caller's"),
            layout: Some(&gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&own_layout), Some(&layout)],
                immediate_size: 0,
            })),
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let given = gpu.device.create_buffer_init(&BufferInitDescriptor {
            label: Some("rays"),
            contents: bytemuck::cast_slice(rays),
            usage: wgpu::BufferUsages::STORAGE,
        });
        let hits = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("hits"),
            size: 8 * rays.len() as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let own = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &own_layout,
            entries: &[(0, &given), (1, &hits)].map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            }),
        });
        let mut broad_phase = gpu.broad_phase(&descriptor);
        let expected = gpu.whole(&mut broad_phase, scene).await.ray_hits;
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let step = broad_phase.step(&mut encoder, scene).expect("a step");
        let table = shader.bind(&layout, &step.table).expect("a table of this descriptor");
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &own, &[]);
        pass.set_bind_group(1, &table, &[]);
        pass.dispatch_workgroups(rays.len().div_ceil(64) as u32, 1, 1);
        drop(pass);
        gpu.queue.submit([encoder.finish()]);
        let bits = |hit: &RayHit| match hit.object {
            NONE => [NONE, 0],
            object => [object, hit.t.to_bits()],
        };
        let words: Vec<_> = expected.iter().flat_map(bits).collect();
        assert!(gpu.download(&hits).await == words, "{scheme:?}");
        count = expected.iter().filter(|hit| hit.object != NONE).count();
        assert!(count > 20, "{count} hits say little");
    }
    say(&format!(
        "{:?} device, rays of a caller's shader: {count} hits, as those of the step",
        gpu.kind
    ));
}

/// Read-backs recorded in a frame's encoder and awaited frames later.
pub async fn later(gpu: &Gpu, say: Say<'_>) {
    let film = golden::moving_boxes();
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..film.descriptor(scheme).outputs
            },
            ..film.descriptor(scheme)
        };
        let mut broad_phase = gpu.broad_phase(&descriptor);
        broad_phase.prepare(Uses::ALL).run().expect("pipelines");
        let mut set = broad_phase.query_set("set", &descriptor.outputs).expect("options");
        let mut events = PairEvents::new(None);
        let mut asked = Vec::new();
        for objects in &film.frames {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            let input = Scene {
                objects: Source::Host(objects),
                ..Scene::default()
            };
            let step = broad_phase.step(&mut encoder, input).expect("a step");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            let queries = QueryInput {
                queries: Queries::Boxes(Source::Host(&objects[..100])),
                ..QueryInput::default()
            };
            set.record(&mut encoder, &step, queries).expect("a set");
            asked.push((
                broad_phase
                    .record_read_back(&mut encoder, Output::ALL)
                    .expect("a handle"),
                set.record_read_back(&mut encoder, Output::ALL).expect("a handle"),
                events.record_read_back(&mut encoder).expect("a handle"),
            ));
            gpu.queue.submit([encoder.finish()]);
        }
        gpu.poll();
        let mut before = BTreeSet::new();
        let mut rows = 0;
        for ((frame, objects), (step, set, events)) in (0..).zip(&film.frames).zip(asked) {
            let what = format!("frame {frame}, {scheme:?}");
            let (step, set, events) = (step.await, set.await, events.await);
            let (step, set, events) = (step.expect(&what), set.expect(&what), events.expect(&what));
            let now: BTreeSet<_> = brute_force::pairs(objects).into_iter().collect();
            assert!(step.pairs.iter().copied().collect::<BTreeSet<_>>() == now, "{what}");
            let scene = Scene {
                objects: Source::Host(objects),
                query: QueryInput {
                    queries: Queries::Boxes(Source::Host(&objects[..100])),
                    ..QueryInput::default()
                },
                ..Scene::default()
            };
            let expected = brute_force::scene_queries(&descriptor, &scene).unwrap();
            let found = set.query_offsets.windows(2).map(|ends| ends[1] - ends[0]);
            assert!(
                found.eq(expected.iter().map(|found| found.surely.len() as u32)),
                "{what}"
            );
            let changes: Vec<_> = [events.begun.len(), events.ended.len()].into();
            let defined = [now.difference(&before).count(), before.difference(&now).count()];
            assert_eq!(changes, defined, "{what}");
            rows += step.pairs.len() + set.query_objects.len() + changes.iter().sum::<usize>();
            before = now;
        }
        say(&format!(
            "{:?} device, answers awaited {} frames later, {scheme:?}: {rows} rows, as by definition",
            gpu.kind,
            film.frames.len()
        ));
    }
}

pub async fn headless(say: Say<'_>) {
    let case = golden::uniform_boxes();
    let scene = case.scene();
    let mut headless = BroadPhase::with_backend(&BroadPhaseDescriptor::default(), Backend::Gpu(wgpu::Backends::all()))
        .await
        .expect("a broad phase");
    assert!(headless.gpu().is_some(), "the CPU answers");
    let found = headless.step_scene(&scene).await.expect("an answer");
    let expected = case.expected;
    assert_eq!(hashes(&scene, &found, RayMode::Closest, &expected), expected);
    say(&format!("BroadPhase: {} pairs, hashes as native", found.pairs.len()));
}
