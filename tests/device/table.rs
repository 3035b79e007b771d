mod texts;

use crate::common::steps::{
    RAY_MODES, SCHEMES, broad_phase, by_object, check_hits, download, encoder, lists, read, record, whole,
};
use crate::common::{
    KINDS, Rng, TestAdapter, adapters, daily_adapters, daily_or_full, lattice, power_law, rods, scene, sweep,
};
use bytemuck::Pod;
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, GpuBroadPhase, OutputOptions, Queries, Query, QueryInput, Ray, RayHit,
    RayMode, Scene, Scheme, Source, Statics, SweptRay, TableShader, wgpu,
};
use texts::*;

struct OwnPass {
    shader: TableShader,
    table_layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl OwnPass {
    fn new(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>, own: &str) -> Self {
        Self::over(adapter, TableShader::new(descriptor, "own_", 1).unwrap(), own)
    }

    fn over(adapter: &TestAdapter, shader: TableShader, own: &str) -> Self {
        let device = &adapter.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(format!("{own}\n{}", shader.source()).into()),
        });
        let table_layout = shader.layout(device, wgpu::ShaderStages::COMPUTE);
        let entry = |binding, read_only| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let own_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[entry(0, true), entry(1, false)],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&own_layout), Some(&table_layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        Self {
            shader,
            table_layout,
            pipeline,
        }
    }

    fn run<T: Pod>(
        &self,
        adapter: &TestAdapter,
        broad_phase: &mut GpuBroadPhase,
        scene: &Scene<'_>,
        asked: &[T],
        words: usize,
    ) -> Vec<u32> {
        let device = &adapter.device;
        let asked_buffer = device.create_buffer_init(&BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(asked),
            usage: wgpu::BufferUsages::STORAGE,
        });
        let written = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * words as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let own = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[(0, &asked_buffer), (1, &written)].map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            }),
        });
        let mut encoder = encoder(adapter);
        let step = record(broad_phase, &mut encoder, *scene);
        for table in [Some(step.table), step.static_table].into_iter().flatten() {
            let table = self.shader.bind(&self.table_layout, &table).unwrap();
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &own, &[]);
            pass.set_bind_group(1, &table, &[]);
            pass.dispatch_workgroups(asked.len().div_ceil(64) as u32, 1, 1);
        }
        adapter.queue.submit([encoder.finish()]);
        download(device, &adapter.queue, &written, written.size())
    }
}

fn objects(case: usize, rng: &mut Rng) -> Vec<Aabb> {
    let mut objects = match case % 3 {
        0 => lattice(300, rng),
        1 => power_law(300, rng),
        _ => (0..300)
            .map(|_| Aabb::new([0; 3].map(|_| rng.unit()), [0; 3].map(|_| 1.0 + 2.0 * rng.unit())))
            .collect(),
    };
    for object in &mut objects {
        match rng.below(14) {
            0 => object.group = Aabb::EXCLUDED,
            1 => object.min[2] = f32::NEG_INFINITY,
            2 => object.max[0] = f32::NAN,
            3 => *object = object.with_layers(1 << rng.below(3), rng.bits() as u16),
            4 => object.max = object.min.map(|bound| bound + 300.0),
            _ => {}
        }
    }
    objects
}

fn queries(objects: &[Aabb], worlds: u32, rng: &mut Rng) -> Vec<Query> {
    // Radii equal no lattice distance, which this pipeline may round differently.
    let radii = [0.0, 0.0, 0.51234, 2.345, 1e-30, f32::INFINITY, -1.0];
    let query = |_| {
        let near = objects[rng.below(objects.len())];
        let bounds = match rng.below(6) {
            0 => near,
            1 => Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
            2 => Aabb::new(near.min.map(|bound| bound - 40.0), near.min.map(|bound| bound + 40.0)),
            3 => near.with_layers(1 << rng.below(3), rng.bits() as u16),
            _ => Aabb::point(near.min),
        };
        Query {
            radius: radii[rng.below(radii.len())],
            ..Query::overlaps(bounds).in_world(rng.below(worlds as usize + 1) as u32)
        }
    };
    (0..60).map(query).collect()
}

#[test]
fn a_callers_walk_finds_what_queries_find() {
    const OBJECTS: usize = 300;
    const SLOTS: usize = OBJECTS + 1;
    let mut found = 0;
    for adapter in adapters() {
        let mut rng = Rng(901);
        for (case, scheme) in SCHEMES.into_iter().cycle().take(12).enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                filters: case % 4 != 1,
                margin: [0.0, 0.25][case % 2],
                worlds: [1, 3][case / 3 % 2],
                dimensions: [Dimensions::Three, Dimensions::Two][case / 6],
                pairs: false,
                ..Default::default()
            };
            let own = QUERIES.replace("SLOTS", &format!("{SLOTS}u"));
            let pass = OwnPass::new(&adapter, &descriptor, &own);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            for statics in [0, 120] {
                let all = objects(case + case / 3 + statics, &mut rng);
                let asked = queries(&all, descriptor.worlds, &mut rng);
                let worlds: Vec<u32> = all
                    .iter()
                    .map(|_| rng.below(descriptor.worlds as usize) as u32)
                    .collect();
                let worlds = if descriptor.worlds > 1 { &worlds[..] } else { &[] };
                let (static_worlds, worlds) = worlds.split_at(statics.min(worlds.len()));
                let scene = Scene {
                    objects: Source::Host(&all[statics..]),
                    worlds: Source::Host(worlds),
                    statics: Statics {
                        objects: Source::Host(&all[..statics]),
                        worlds: Source::Host(static_worlds),
                        generation: 1,
                    },
                    query: QueryInput {
                        queries: asked[..].into(),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let what = format!("case {case}, {statics} static, {descriptor:?} on {}", adapter.name);
                let expected = lists(&whole(&adapter, &mut on_gpu, scene));
                let words = pass.run(&adapter, &mut on_gpu, &scene, &asked, asked.len() * SLOTS);
                for (query, (words, expected)) in words.chunks(SLOTS).zip(&expected).enumerate() {
                    let mut list = words[1..][..words[0] as usize].to_vec();
                    list.sort_unstable();
                    assert_eq!(list, *expected, "{what}: {:?}", asked[query]);
                    found += list.len();
                }
            }
        }
    }
    assert!(found > 20_000, "{found} are few");
}

#[test]
fn every_object_is_in_the_cell_of_its_corner() {
    for adapter in daily_adapters() {
        let mut rng = Rng(902);
        for (case, scheme) in SCHEMES.into_iter().cycle().take(6).enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                ..Default::default()
            };
            let pass = OwnPass::new(&adapter, &descriptor, CELLS);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let objects: Vec<_> = objects(case, &mut rng)
                .into_iter()
                .filter(|object| object.group == 0 && object.layers == Aabb::ALL_LAYERS && object.max[0] > 0.0)
                .collect();
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            whole(&adapter, &mut on_gpu, scene);
            let words = pass.run(&adapter, &mut on_gpu, &scene, &objects, 3 * objects.len());
            let counters = read(&mut on_gpu).counters;
            let rows: Vec<_> = words.chunks(3).collect();
            let in_cells: u32 = rows.iter().map(|met| met[0]).sum();
            let what = format!("{scheme:?} on {}", adapter.name);
            assert_eq!(in_cells, counters.objects - counters.invalid - counters.large, "{what}");
            for (met, object) in rows.iter().zip(&objects) {
                let is_finite = object.min[2].is_finite();
                assert!(met[0] <= 1 && is_finite || met[0] == 0, "{what}: {met:?} {object:?}");
                let is_valid = !object.max[0].is_nan();
                assert_eq!(met[1..], [u32::from(is_valid); 2], "{what}: {object:?}");
            }
        }
    }
}

/// Mesa's software drivers end the longest of these searches early.
#[test]
fn walks_tell_whether_they_came_to_their_end() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                ..Default::default()
            };
            let mut rng = Rng(903);
            let corner = |rng: &mut Rng| [0; 3].map(|_| 40.0 * rng.unit());
            let objects: Vec<_> = (0..70_000)
                .map(|_| corner(&mut rng))
                .map(|at| Aabb::new(at, at.map(|bound| bound + 1.0)))
                .collect();
            let asked = [
                Query::overlaps(Aabb::new([-1.0; 3], [50.0; 3])),
                Query::overlaps(objects[7]),
                Query::point([-9.0; 3]),
                Query::sphere([20.0; 3], -1.0),
                Query::point([1.0; 3]).in_world(1),
            ];
            let meets = |query: &Query| {
                let bounds = query.bounds;
                let meets = |object: &&Aabb| {
                    (0..3).all(|axis| object.min[axis] <= bounds.max[axis] && bounds.min[axis] <= object.max[axis])
                };
                let answers = query.radius == 0.0 && query.world == 0;
                if answers {
                    objects.iter().filter(meets).count()
                } else {
                    0
                }
            };
            let pass = OwnPass::new(&adapter, &descriptor, WHOLE);
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            whole(&adapter, &mut on_gpu, scene);
            let mut told = pass.run(&adapter, &mut on_gpu, &scene, &asked[..1], 3);
            told.extend(pass.run(&adapter, &mut on_gpu, &scene, &asked[1..], 3 * (asked.len() - 1)));
            for (query, told) in asked.iter().zip(told.chunks(3)) {
                let what = format!("{told:?}, {query:?}, {scheme:?} on {}", adapter.name);
                let expected = meets(query);
                assert_eq!(told[1] == 1, told[0] as usize == expected, "{what}");
                assert_eq!(told[2] == 1, expected == 0, "{what}");
                if expected < objects.len() {
                    assert_eq!(told[0] as usize, expected, "{what}");
                } else {
                    let is_cut = adapter.name.contains("llvmpipe");
                    assert!(told[1] == u32::from(!is_cut), "{what}");
                }
            }
        }
    }
}

#[test]
fn casts_tell_whether_they_came_to_their_end() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                ..Default::default()
            };
            let mut rng = Rng(906);
            let objects: Vec<_> = (0..70_000)
                .map(|_| [0; 3].map(|_| 40.0 * rng.unit()))
                .map(|at| Aabb::new(at, at.map(|bound| bound + 1.0)))
                .collect();
            let diagonal = Ray::new([-1.0; 3], [1.0; 3], 50.0);
            let asked = [
                SweptRay::new(diagonal).with_half_extents([60.0; 3]),
                SweptRay::new(Ray::new([-1.0, 20.0, 20.0], [1.0, 0.0, 0.0], f32::INFINITY)),
                SweptRay::new(diagonal),
                SweptRay::new(Ray::new([-1.0; 3], [-1.0; 3], 50.0)),
                SweptRay::new(Ray::new([f32::NAN; 3], [1.0; 3], 50.0)),
                SweptRay::new(Ray::new([20.0; 3], [1.0; 3], -1.0)),
                SweptRay::new(diagonal).with_world(1),
            ];
            let shader = TableShader::with_swept_rays(&descriptor, "own_", 1).unwrap();
            let pass = OwnPass::over(&adapter, shader, WHOLE_CASTS);
            let scene = Scene {
                objects: Source::Host(&objects),
                query: QueryInput {
                    rays: asked[..].into(),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let expected = brute_force::scene_rays(&descriptor, &scene).unwrap();
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            whole(&adapter, &mut on_gpu, scene);
            let mut told = pass.run(&adapter, &mut on_gpu, &scene, &asked[..1], 8);
            told.extend(pass.run(&adapter, &mut on_gpu, &scene, &asked[1..], 8 * (asked.len() - 1)));
            for ((ray, told), expected) in asked.iter().zip(told.chunks(8)).zip(&expected) {
                let what = format!("{told:?}, {ray:?}, {scheme:?} on {}", adapter.name);
                let count = expected.len();
                assert_eq!(told[1] == 1, told[0] as usize == count, "{what}");
                assert_eq!(told[6] == 1, count == 0, "{what}");
                let is_hit = u32::from(count > 0);
                assert_eq!(told[4..6], [is_hit, 1], "{what}");
                let is_cut = count == objects.len() && adapter.name.contains("llvmpipe");
                assert_eq!(told[1..4], [u32::from(!is_cut), is_hit, u32::from(!is_cut)], "{what}");
                assert_eq!(told[7], u32::from(!is_cut), "{what}");
            }
            assert_eq!(expected[0].len(), objects.len());
            assert!(expected[1].len() > 10 && expected[3..].iter().all(Vec::is_empty));
        }
    }
}

/// The level has a million cells for two objects, so walks test the objects instead.
#[test]
fn walks_through_more_rows_than_objects_are_walks_of_objects() {
    let objects = [Aabb::point([-1.0, 0.0, 1000.0]), Aabb::point([1.0, 100.0, 1000.0])];
    let asked = [
        Query::overlaps(Aabb::new([-0.5, 10.0, 1000.0], [0.5, 90.0, 1000.0])),
        Query::overlaps(Aabb::new([-1.0, 0.0, 1000.0], [0.5, 90.0, 1000.0])),
        Query::sphere([0.0, 50.0, 1000.0], 60.0),
    ];
    let rays = [
        SweptRay::new(Ray::new([-0.5, 10.0, 1000.0], [1.0, 80.0, 0.0], 1.0)),
        SweptRay::new(Ray::new([0.0, 50.0, 0.0], [0.0, 0.0, 1.0], f32::INFINITY)).with_half_extents([60.0; 3]),
    ];
    for adapter in daily_adapters() {
        for scheme in [
            Scheme::Adaptive { min_scale: 1e-5 },
            Scheme::Uniform { cell_size: 1e-5 },
            Scheme::Hierarchical,
        ] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let pass = OwnPass::new(&adapter, &descriptor, WHOLE);
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let told = pass.run(&adapter, &mut on_gpu, &scene, &asked, 9);
            assert_eq!(told, [0, 1, 1, 1, 1, 0, 2, 1, 0], "{scheme:?} on {}", adapter.name);

            let shader = TableShader::with_swept_rays(&descriptor, "own_", 1).unwrap();
            let pass = OwnPass::over(&adapter, shader, WHOLE_CASTS);
            let told = pass.run(&adapter, &mut on_gpu, &scene, &rays, 16);
            let expected = [[0, 1, 0, 1, 0, 1, 1, 1], [2, 1, 1, 1, 1, 1, 0, 1]];
            assert_eq!(told, expected.as_flattened(), "{scheme:?} on {}", adapter.name);
        }
    }
}

/// Runs one shader over both tables. Returns its buffer, which begins with `asked`.
fn run_beside<T: Pod>(
    adapter: &TestAdapter,
    broad_phase: &mut GpuBroadPhase,
    shader: &TableShader,
    own: &str,
    scene: &Scene<'_>,
    asked: &[T],
    words: usize,
) -> Vec<u32> {
    let device = &adapter.device;
    let beside = shader.second_table("static_", 2).unwrap();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(format!("{own}\n{}{}", shader.source(), beside.source()).into()),
    });
    let own_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: false },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        }],
    });
    let layouts = [shader, &beside].map(|shader| shader.layout(device, wgpu::ShaderStages::COMPUTE));
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&own_layout), Some(&layouts[0]), Some(&layouts[1])],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: Some(&layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let mut data: Vec<u32> = bytemuck::cast_slice(asked).to_vec();
    data.resize(data.len() + words, 0);
    let data = device.create_buffer_init(&BufferInitDescriptor {
        label: None,
        contents: bytemuck::cast_slice(&data),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &own_layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: data.as_entire_binding(),
        }],
    });
    let mut encoder = encoder(adapter);
    let step = record(broad_phase, &mut encoder, *scene);
    let tables = [step.table, step.static_table.unwrap()];
    let groups =
        [(shader, 0), (&beside, 1)].map(|(shader, index)| shader.bind(&layouts[index], &tables[index]).unwrap());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.set_bind_group(1, &groups[0], &[]);
    pass.set_bind_group(2, &groups[1], &[]);
    pass.dispatch_workgroups(asked.len().div_ceil(64) as u32, 1, 1);
    drop(pass);
    adapter.queue.submit([encoder.finish()]);
    download(device, &adapter.queue, &data, data.size())
}

/// Devices allow eight storage buffers per stage.
#[test]
fn both_tables_fit_into_one_shader_with_a_buffer_of_the_callers() {
    const OBJECTS: usize = 300;
    const STATICS: usize = 120;
    const SLOTS: usize = OBJECTS + 1;
    for adapter in daily_adapters() {
        assert_eq!(adapter.device.limits().max_storage_buffers_per_shader_stage, 8);
        let mut rng = Rng(904);
        for (case, scheme) in SCHEMES.into_iter().enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                ..Default::default()
            };
            let all = objects(case, &mut rng);
            let asked = queries(&all, 1, &mut rng);
            let own = BOTH
                .replace("SLOTS", &format!("{SLOTS}u"))
                .replace("QUERIES", &format!("{}u", asked.len()));
            let shader = TableShader::new(&descriptor, "own_", 1).unwrap();
            let scene = Scene {
                objects: Source::Host(&all[STATICS..]),
                statics: Statics {
                    objects: Source::Host(&all[..STATICS]),
                    generation: 1,
                    ..Default::default()
                },
                query: QueryInput {
                    queries: asked[..].into(),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let expected = lists(&whole(&adapter, &mut on_gpu, scene));
            let words = run_beside(
                &adapter,
                &mut on_gpu,
                &shader,
                &own,
                &scene,
                &asked,
                SLOTS * asked.len(),
            );
            let found = words[12 * asked.len()..].chunks(SLOTS).map(|words| {
                let mut list = words[1..][..words[0] as usize].to_vec();
                list.sort_unstable();
                list
            });
            assert!(found.eq(expected), "{scheme:?} on {}", adapter.name);
        }
    }
}

fn check_casts(words: &[u32], stride: usize, tables: u32, expected: &[Vec<RayHit>], what: &str) {
    assert_eq!(words.len(), stride * expected.len());
    for (ray, (told, expected)) in words.chunks(stride).zip(expected).enumerate() {
        let what = format!("{what}: ray {ray}");
        let closest = brute_force::closest(expected);
        let is_hit = u32::from(!expected.is_empty());
        assert_eq!((told[0], told[3]), (is_hit, is_hit), "{what}");
        if is_hit == 1 {
            assert_eq!((told[1], told[2]), (closest.object, closest.t.to_bits()), "{what}");
        }
        assert_eq!(told[4], tables, "{what}");
        let mut hits: Vec<_> = told[6..].chunks(2).map(|hit| (hit[0], hit[1])).collect();
        hits.truncate(told[5] as usize);
        hits.sort_unstable();
        assert_eq!(hits, by_object(expected), "{what}");
    }
}

fn all_hits(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Vec<Vec<RayHit>> {
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..descriptor.outputs
        },
        ..*descriptor
    };
    let result = cpu::step_scene(&descriptor, scene).unwrap();
    let ranges = result.ray_offsets.windows(2);
    let hits = ranges.map(|ends| {
        let mut hits = result.ray_hits[ends[0] as usize..ends[1] as usize].to_vec();
        hits.sort_unstable_by_key(|hit| hit.object);
        hits
    });
    hits.collect()
}

#[test]
fn a_callers_rays_hit_what_rays_hit() {
    let [mut hits, mut ran] = [0; 2];
    for adapter in daily_adapters() {
        for (case, scheme) in SCHEMES.into_iter().cycle().take(18).enumerate() {
            let mut rng = Rng(905 + case as u64);
            // Each case compiles its own shaders, which takes a second.
            if case % 5 >= daily_or_full(1, 5) {
                continue;
            }
            ran += 1;
            let descriptor = BroadPhaseDescriptor {
                scheme,
                filters: case % 4 != 1,
                margin: [0.0, 0.25][case % 2],
                worlds: [1, 3][case / 3 % 2],
                dimensions: [Dimensions::Three, Dimensions::Two][case / 6 % 2],
                periods: [[0.0; 3], [40.0, 0.0, 9.5]][case / 9],
                outputs: OutputOptions {
                    ray_mode: RAY_MODES[case / 3 % 3],
                    ..Default::default()
                },
                pairs: case % 5 == 0,
                ..Default::default()
            };
            let kind = (case + case / 3) % (KINDS + 1);
            let (objects, mut rays) = if kind == KINDS {
                rods(700, 60, &mut rng)
            } else {
                let scene = scene(kind, [300, 1000][case % 2], 60, &mut rng);
                (scene.objects, scene.rays)
            };
            rays.truncate(60);
            let given = sweep(&rays, descriptor.worlds, &mut rng);
            let of_worlds = |_: &Aabb| rng.below(descriptor.worlds as usize) as u32;
            let worlds: Vec<u32> = objects.iter().map(of_worlds).collect();
            let worlds = if descriptor.worlds > 1 { &worlds[..] } else { &[] };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let stride = 6 + 2 * objects.len();
            let own = |text: &str| text.replace("STRIDE", &format!("{stride}u"));
            let sweeps = case / 2 % 2 == 1;
            let make = if sweeps {
                TableShader::with_swept_rays
            } else {
                TableShader::with_rays
            };
            let shader = make(&descriptor, "own_", 1).unwrap();
            let source = own(&format!("{RAYS}\n{}", CAST.replace("TABLE", "own")));
            let pass = OwnPass::over(&adapter, shader.clone(), &source);
            let half_extents = |ray: &SweptRay| if sweeps { ray.half_extents } else { [0.0; 3] };
            let counting: Vec<_> = given
                .iter()
                .map(|ray| ray.with_half_extents(half_extents(ray)))
                .collect();
            for statics in [0, objects.len() / 3] {
                let (static_worlds, worlds) = worlds.split_at(statics.min(worlds.len()));
                let scene = Scene {
                    objects: Source::Host(&objects[statics..]),
                    worlds: Source::Host(worlds),
                    statics: Statics {
                        objects: Source::Host(&objects[..statics]),
                        worlds: Source::Host(static_worlds),
                        generation: 1,
                    },
                    query: QueryInput {
                        rays: counting[..].into(),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let what = format!(
                    "case {case}, {} objects of kind {kind}, {statics} static, {descriptor:?} on {}",
                    objects.len(),
                    adapter.name
                );
                let expected = all_hits(&descriptor, &scene);
                if descriptor.periods == [0.0; 3] {
                    assert_eq!(
                        expected,
                        brute_force::scene_rays(&descriptor, &scene).unwrap(),
                        "{what}"
                    );
                }
                let result = whole(&adapter, &mut on_gpu, scene);
                check_hits(&result, descriptor.outputs.ray_mode, &expected, &what);
                let tables = if statics > 0 { 2 } else { 1 };
                let words = stride * given.len();
                let told = pass.run(&adapter, &mut on_gpu, &scene, &given, words);
                check_casts(&told, stride, tables, &expected, &what);
                if statics > 0 {
                    let through_both = ["own", "static"].map(|table| CAST.replace("TABLE", table)).concat();
                    let source = own(&format!("{RAYS_OF_BOTH}\n{through_both}"))
                        .replace("RAY_COUNT", &format!("{}u", given.len()));
                    let told = run_beside(&adapter, &mut on_gpu, &shader, &source, &scene, &given, words);
                    check_casts(
                        &told[16 * given.len()..],
                        stride,
                        2,
                        &expected,
                        &format!("{what}, in one"),
                    );
                }
                hits += expected.iter().map(Vec::len).sum::<usize>();
            }
        }
    }
    assert!(hits > 1_000 * ran, "{hits} hits of {ran} cases are few");
}

#[test]
fn tables_outlive_queries_and_may_be_empty() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let pass = OwnPass::new(&adapter, &descriptor, &QUERIES.replace("SLOTS", "4u"));
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let empty = pass.run(&adapter, &mut on_gpu, &Scene::default(), &[Query::point([0.0; 3])], 4);
            assert_eq!(empty, [0; 4]);
            let shader = TableShader::with_rays(&descriptor, "own_", 1).unwrap();
            let casts = OwnPass::over(&adapter, shader, WHOLE_CASTS);
            let ray = SweptRay::new(Ray::new([0.0; 3], [1.0; 3], f32::INFINITY));
            let empty = casts.run(&adapter, &mut on_gpu, &Scene::default(), &[ray], 8);
            assert_eq!(empty, [0, 1, 0, 1, 0, 1, 1, 1]);

            let boxes = [Aabb::new([0.0; 3], [1.0; 3])];
            let mut encoder = encoder(&adapter);
            let input = Scene {
                objects: Source::Host(&boxes),
                ..Default::default()
            };
            record(&mut on_gpu, &mut encoder, input);
            let asked = [Query::point([0.5; 3]), Query::point([2.0; 3])];
            let input = QueryInput {
                queries: Queries::General(Source::Host(&asked)),
                ..Default::default()
            };
            let output = on_gpu.query(&mut encoder, input).unwrap();
            pass.shader.bind(&pass.table_layout, &output.table).unwrap();
            adapter.queue.submit([encoder.finish()]);
            assert_eq!(lists(&read(&mut on_gpu)), [vec![0], vec![]]);
        }
    }
}
