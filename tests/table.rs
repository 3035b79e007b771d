//! The table of a step in a caller's own shader: a pipeline over the text of `TableShader` finds what `query` finds, and every object
//! in the cell that it is entered in.

mod common;

use bytemuck::Pod;
use common::steps::{SCHEMES, broad_phase, download, encoder, lists, read, record, whole};
use common::{Rng, TestAdapter, adapters, lattice, power_law};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, GpuBroadPhase, Queries, Query, QueryInput, Scene, SceneStatics, Scheme,
    Source, StepError, StepInput, TableShader, wgpu,
};

/// Each query's list: how many, then which. `SLOTS` words a query.
const QUERIES: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> lists: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (3u * id.x >= arrayLength(&asked)) {
            return;
        }
        let rest = asked[3u * id.x + 2u];
        var walk = own_begin_walk(own_query_of(asked[3u * id.x], asked[3u * id.x + 1u], rest.x, rest.y));
        while (own_next_object(&walk)) {
            let place = lists[SLOTS * id.x] + 1u;
            lists[SLOTS * id.x] = place;
            lists[SLOTS * id.x + place] = walk.object;
        }
    }";

/// How often each object is met in the cell of its lower corner, over all levels; and how often a box around the corner and a point
/// at it find it.
const CELLS: &str = "
    @group(0) @binding(0) var<storage, read> asked: array<vec4<u32>>;
    @group(0) @binding(1) var<storage, read_write> met: array<u32>;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (2u * id.x >= arrayLength(&asked)) {
            return;
        }
        let corner = bitcast<vec3<f32>>(asked[2u * id.x].xyz);
        for (var level = own_first_level(); level != own_NO_LEVEL; level = own_level_after(level)) {
            let cell = own_cell_at(level, corner);
            let entries = own_cell_entries(level, cell, 0u);
            for (var entry = entries.x; entry < entries.y; entry += 1u) {
                let record = own_entry_record(entry);
                if (own_record_object(record) == id.x && own_is_in_cell(level, entry, cell, 0u)) {
                    let is_there = all(own_record_min(record) == corner);
                    let fits = all(own_record_max(record) - corner <= 64.0 * own_cell_size(level));
                    met[3u * id.x] += select(1000u, 1u, is_there && fits);
                }
            }
        }
        var in_box = own_begin_walk(own_box_query(corner - vec3<f32>(0.5), corner + vec3<f32>(0.5)));
        while (own_next_object(&in_box)) {
            met[3u * id.x + 1u] += select(0u, 1u, in_box.object == id.x);
        }
        var at_point = own_begin_walk(own_sphere_query(corner, 0.0));
        while (own_next_object(&at_point)) {
            met[3u * id.x + 2u] += select(0u, 1u, at_point.object == id.x && at_point.squared_distance == 0.0);
        }
    }";

/// A caller's pipeline over a table.
struct OwnPass {
    shader: TableShader,
    table_layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl OwnPass {
    fn new(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>, own: &str) -> Self {
        let device = &adapter.device;
        let shader = TableShader::new(descriptor, "own_", 1);
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

    /// Runs a step and, in the same encoder, the pass over its tables; returns the words that the pass writes.
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
        let step = record(adapter, broad_phase, &mut encoder, scene.into());
        for table in [Some(step.table), step.static_table].into_iter().flatten() {
            let table = self.shader.bind(device, &self.table_layout, &table).unwrap();
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

/// Lattices, sizes of all kinds, crowds, and what takes no part.
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
            0 => object.owner = Aabb::EXCLUDED,
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
    // Off every lattice: a pipeline of its own may round in another way.
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
                let all = objects(case + statics, &mut rng);
                let asked = queries(&all, descriptor.worlds, &mut rng);
                let worlds: Vec<u32> = all
                    .iter()
                    .map(|_| rng.below(descriptor.worlds as usize) as u32)
                    .collect();
                let worlds = if descriptor.worlds > 1 { &worlds[..] } else { &[] };
                let (static_worlds, worlds) = worlds.split_at(statics.min(worlds.len()));
                let scene = Scene {
                    objects: &all[statics..],
                    worlds,
                    statics: SceneStatics {
                        objects: &all[..statics],
                        worlds: static_worlds,
                        generation: 1,
                    },
                    queries: asked[..].into(),
                    ..Default::default()
                };
                let what = format!("case {case}, {statics} static, {descriptor:?} on {}", adapter.name);
                let expected = lists(&whole(&adapter, &mut on_gpu, (&scene).into()));
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
    for adapter in adapters() {
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
                .filter(|object| object.owner == 0 && object.layers == Aabb::ALL_LAYERS && object.max[0] > 0.0)
                .collect();
            let scene = Scene {
                objects: &objects,
                ..Default::default()
            };
            whole(&adapter, &mut on_gpu, (&scene).into());
            let words = pass.run(&adapter, &mut on_gpu, &scene, &objects, 3 * objects.len());
            let counters = read(&adapter, &mut on_gpu).counters;
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

/// Later rays and queries keep the table, and empty steps have one.
#[test]
fn tables_outlive_queries_and_may_be_empty() {
    for adapter in adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let pass = OwnPass::new(&adapter, &descriptor, &QUERIES.replace("SLOTS", "4u"));
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let empty = pass.run(&adapter, &mut on_gpu, &Scene::default(), &[Query::point([0.0; 3])], 4);
            assert_eq!(empty, [0; 4]);

            let boxes = [Aabb::new([0.0; 3], [1.0; 3])];
            let mut encoder = encoder(&adapter);
            let input = StepInput {
                objects: Source::Host(&boxes),
                ..Default::default()
            };
            record(&adapter, &mut on_gpu, &mut encoder, input);
            let asked = [Query::point([0.5; 3]), Query::point([2.0; 3])];
            let input = QueryInput {
                queries: Queries::Rounded(Source::Host(&asked)),
                ..Default::default()
            };
            let output = on_gpu
                .query(&adapter.device, &adapter.queue, &mut encoder, input)
                .unwrap();
            pass.shader
                .bind(&adapter.device, &pass.table_layout, &output.table)
                .unwrap();
            adapter.queue.submit([encoder.finish()]);
            assert_eq!(lists(&read(&adapter, &mut on_gpu)), [vec![0], vec![]]);
        }
    }
}

#[test]
fn a_table_of_another_kind_is_refused() {
    let Some(adapter) = adapters().into_iter().next() else {
        return;
    };
    let descriptor = BroadPhaseDescriptor::default();
    let mut on_gpu = broad_phase(&adapter, &descriptor);
    let mut encoder = encoder(&adapter);
    let step = record(&adapter, &mut on_gpu, &mut encoder, StepInput::default());
    let others = [
        BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 1.0 },
            ..descriptor
        },
        BroadPhaseDescriptor {
            filters: false,
            ..descriptor
        },
    ];
    for other in others {
        let shader = TableShader::new(&other, "bp_", 0);
        let layout = shader.layout(&adapter.device, wgpu::ShaderStages::COMPUTE);
        let refused = shader.bind(&adapter.device, &layout, &step.table).unwrap_err();
        assert_eq!(refused, StepError::OtherTable);
        assert_eq!(
            refused.to_string(),
            "this was made for another scheme or choice of filters: make it from the descriptor of this broad phase"
        );
    }
}
