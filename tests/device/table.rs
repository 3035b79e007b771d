mod shape_scenes;
mod shapes;
mod texts;

use std::collections::HashMap;

use crate::common::steps::{
    SCHEMES, bind, broad_phase, compute_pipeline, descriptor, download, encoder, hits_by_ray, read, record, scene_of,
    upload, whole,
};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, power_law};
use bytemuck::Pod;
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, GpuBroadPhase, Queries, Query, QueryInput, Ray, RayHit, RayMode, Rays, Scene, Scheme,
    SweptRay, TableShader, wgpu,
};
use texts::*;
use wild::Wild;

/// A pass over one table per dispatch, or over both in one.
struct OwnPass {
    tables: Vec<(TableShader, wgpu::BindGroupLayout)>,
    own_layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
    output_words: usize,
}

impl OwnPass {
    /// `text` runs for each `T`, and writes `output_words` words (see [`HEAD`]).
    fn new<T>(adapter: &TestAdapter, shaders: Vec<TableShader>, text: &str, output_words: usize) -> Self {
        let device = &adapter.device;
        let words = size_of::<T>() / 4;
        let mut source = format!("const INPUT = {words}u;\nconst OUTPUT = {output_words}u;\n{HEAD}{text}");
        shaders.iter().for_each(|shader| source += shader.source());
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
        let with_layout = |shader: TableShader| {
            let layout = shader.layout(device, wgpu::ShaderStages::COMPUTE);
            (shader, layout)
        };
        let tables: Vec<_> = shaders.into_iter().map(with_layout).collect();
        let mut layouts = vec![Some(&own_layout)];
        layouts.extend(tables.iter().map(|(_, layout)| Some(layout)));
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &layouts,
            immediate_size: 0,
        });
        let pipeline = compute_pipeline(device, Some(&layout), source);
        Self {
            tables,
            own_layout,
            pipeline,
            output_words,
        }
    }

    fn run<T: Pod>(
        &self,
        adapter: &TestAdapter,
        on_gpu: &mut GpuBroadPhase,
        scene: Scene<'_>,
        inputs: &[T],
    ) -> Vec<Vec<u32>> {
        self.run_with(adapter, on_gpu, scene, inputs, &[])
    }

    /// `extra` follows all outputs.
    fn run_with<T: Pod>(
        &self,
        adapter: &TestAdapter,
        on_gpu: &mut GpuBroadPhase,
        scene: Scene<'_>,
        inputs: &[T],
        extra: &[u32],
    ) -> Vec<Vec<u32>> {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut words = vec![inputs.len() as u32];
        words.extend(bytemuck::cast_slice::<T, u32>(inputs));
        let first_output = words.len();
        let end = first_output + self.output_words * inputs.len();
        words.resize(end, 0);
        words.extend(extra);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let data = upload(device, &words, usage);
        let own = bind(device, &self.own_layout, &[&data]);
        let mut encoder = encoder(adapter);
        let mut step = record(on_gpu, &mut encoder, scene);
        if inputs.len().is_multiple_of(2) {
            // A later query has the same tables.
            step = on_gpu.query(&mut encoder, QueryInput::default()).unwrap();
        }
        let tables: Vec<_> = [Some(step.table), step.static_table].into_iter().flatten().collect();
        for tables in tables.chunks(self.tables.len()) {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &own, &[]);
            for (group, ((shader, layout), table)) in (1..).zip(self.tables.iter().zip(tables)) {
                pass.set_bind_group(group, &shader.bind(layout, table).unwrap(), &[]);
            }
            pass.dispatch_workgroups(inputs.len().div_ceil(64) as u32, 1, 1);
        }
        queue.submit([encoder.finish()]);
        let words = download::<u32>(device, queue, &data, data.size());
        let outputs = words[first_output..end].chunks(self.output_words);
        outputs.map(<[u32]>::to_vec).collect()
    }
}

fn with_scheme(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    descriptor(|all| (all.scheme, all.pairs) = (scheme, false))
}

const MOST_OBJECTS: usize = 600;

fn scenes(count: u64, has_periods: bool) -> impl Iterator<Item = (u64, BroadPhaseDescriptor<'static>, Wild)> {
    let numbers = (0..count).filter(|&number| wild::is_daily(&wild::descriptor(number)));
    numbers.filter_map(move |number| {
        let mut descriptor = wild::descriptor(number);
        (descriptor.pairs, descriptor.count_candidates) = (false, false);
        (descriptor.outputs, descriptor.sort) = Default::default();
        if !has_periods {
            descriptor.periods = [0.0; 3];
        }
        let wild = wild::scene(number, &descriptor);
        let is_small = wild.objects.len() <= MOST_OBJECTS;
        is_small.then_some((number, descriptor, wild))
    })
}

/// By scheme and filters, on which the text depends.
type Passes = HashMap<(std::mem::Discriminant<Scheme>, bool), (OwnPass, GpuBroadPhase)>;

fn run_alike<T: Pod>(
    adapter: &TestAdapter,
    passes: &mut Passes,
    descriptor: &BroadPhaseDescriptor<'_>,
    mut scene: Scene<'_>,
    inputs: &[T],
    extra: &[u32],
    make: impl Fn() -> OwnPass,
) -> Vec<Vec<u32>> {
    scene.query = QueryInput::default();
    let kind = (std::mem::discriminant(&descriptor.scheme), descriptor.filters);
    let (pass, on_gpu) = passes
        .entry(kind)
        .or_insert_with(|| (make(), broad_phase(adapter, descriptor)));
    on_gpu.set_descriptor(descriptor).unwrap();
    whole(adapter, on_gpu, scene);
    pass.run_with(adapter, on_gpu, scene, inputs, extra)
}

#[test]
fn walks_find_what_queries_find() {
    let mut results = 0;
    for adapter in adapters() {
        let mut passes = Passes::new();
        for (number, descriptor, wild) in scenes(200, false).filter(|(number, ..)| adapter.runs(*number as usize)) {
            let mut scene = wild.scene(number);
            let queries: Vec<_> = match scene.query.queries {
                Queries::Boxes(boxes) => boxes.elements().unwrap().iter().map(|&of| of.into()).collect(),
                Queries::General(queries) => queries.elements().unwrap().to_vec(),
                _ => continue,
            };
            if queries.is_empty() {
                continue;
            }
            scene.query.queries = queries[..].into();
            let expected = brute_force::scene_queries(&descriptor, &scene).unwrap();
            let outputs = run_alike(&adapter, &mut passes, &descriptor, scene, &queries, &[], || {
                let shader = TableShader::new(&descriptor, "own_", 1).unwrap();
                OwnPass::new::<Query>(&adapter, vec![shader], WALK, 3 + MOST_OBJECTS)
            });
            let tables = 1 + u32::from(wild.statics > 0);
            for ((query, expected), words) in queries.iter().zip(expected).zip(outputs) {
                let what = format!("{query:?} of scene {number}, {descriptor:?} on {}", adapter.name);
                assert_eq!(words[0], tables, "{what}: complete walks");
                let mut list = words[3..][..words[2] as usize].to_vec();
                list.sort_unstable();
                assert!(list.is_sorted_by(|a, b| a < b), "{what}: {list:?}");
                let is_possible = |object: &u32| {
                    let mut possible = expected.surely.iter().chain(&expected.perhaps);
                    possible.any(|row| row.0 == *object)
                };
                assert!(list.iter().all(is_possible), "{what}: {list:?}");
                assert!(
                    expected.surely.iter().all(|row| list.contains(&row.0)),
                    "{what}: {list:?}"
                );
                results += list.len();
            }
        }
    }
    assert!(results > 1000, "{results} results are few");
}

type HitsOfRays = Vec<Vec<(u32, u32)>>;

/// Returns true for swept rays, the rays, and their hits.
fn rays_and_hits(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: Scene<'_>,
    wild: &Wild,
) -> (bool, Vec<SweptRay>, HitsOfRays) {
    let is_swept = descriptor.filters != matches!(descriptor.scheme, Scheme::Adaptive { .. });
    let mut rays = wild.rays.clone();
    if !is_swept {
        rays.iter_mut().for_each(|ray| ray.half_extents = [0.0; 3]);
    }
    let scene = Scene {
        query: QueryInput {
            rays: Rays::Swept(rays[..].into()),
            ..Default::default()
        },
        ..scene
    };
    let mut all = *descriptor;
    all.outputs.ray_mode = RayMode::All;
    let hits = hits_by_ray(&cpu::step_scene(&all, &scene).unwrap());
    (is_swept, rays, hits)
}

/// Both tables and the caller's buffer need the eight storage buffers that devices allow.
#[test]
fn casts_through_both_tables_hit_what_rays_hit() {
    let mut hits = 0;
    for adapter in daily_adapters() {
        assert_eq!(adapter.device.limits().max_storage_buffers_per_shader_stage, 8);
        let mut passes = Passes::new();
        for (number, descriptor, wild) in scenes(200, true) {
            if wild.statics == 0 || wild.rays.is_empty() {
                continue;
            }
            let scene = wild.scene(number);
            let (is_swept, rays, expected) = rays_and_hits(&descriptor, scene, &wild);
            let outputs = run_alike(&adapter, &mut passes, &descriptor, scene, &wild.rays, &[], || {
                let make = [TableShader::with_rays, TableShader::with_swept_rays][usize::from(is_swept)];
                let first = make(&descriptor, "own_", 1).unwrap();
                let second = first.second_table("static_", 2).unwrap();
                let text = ["own", "static"].map(|table| CAST.replace("TABLE", table)).concat() + CAST_BOTH;
                OwnPass::new::<SweptRay>(&adapter, vec![first, second], &text, 6 + 2 * MOST_OBJECTS)
            });
            for ((ray, expected), words) in rays.iter().zip(expected).zip(outputs) {
                let what = format!("{ray:?} in scene {number}, {descriptor:?} on {}", adapter.name);
                assert_eq!(words[0], 2, "{what}: complete and consistent casts");
                let is_hit = u32::from(!expected.is_empty());
                assert_eq!(words[1..3], [is_hit; 2], "{what}");
                let rows = expected.iter().map(|&(object, t)| RayHit {
                    object,
                    t: f32::from_bits(t),
                });
                let closest = brute_force::closest(&rows.collect::<Vec<_>>());
                if is_hit == 1 {
                    assert_eq!(
                        (words[3], f32::from_bits(words[4])),
                        (closest.object, closest.t),
                        "{what}"
                    );
                }
                let mut found: Vec<_> = words[6..].chunks(2).map(|hit| (hit[0], hit[1])).collect();
                found.truncate(words[5] as usize);
                found.sort_unstable();
                assert_eq!(found, expected, "{what}");
                hits += found.len();
            }
        }
    }
    assert!(hits > 200, "{hits} hits are few");
}

#[test]
fn every_object_is_in_the_cell_of_its_corner() {
    for adapter in daily_adapters() {
        let mut objects = power_law(300, &mut Rng(902));
        for (index, object) in objects.iter_mut().enumerate() {
            match index % 14 {
                1 => object.min[2] = f32::NEG_INFINITY,
                2 => object.max[0] = f32::NAN,
                4 => object.max = object.min.map(|bound| bound + 300.0),
                _ => {}
            }
        }
        for scheme in SCHEMES {
            let what = format!("{scheme:?} on {}", adapter.name);
            let shader = TableShader::new(&with_scheme(scheme), "own_", 1).unwrap();
            let pass = OwnPass::new::<Aabb>(&adapter, vec![shader], CELLS, 3);
            let mut on_gpu = broad_phase(&adapter, &with_scheme(scheme));
            whole(&adapter, &mut on_gpu, scene_of(&objects));
            let met = pass.run(&adapter, &mut on_gpu, scene_of(&objects), &objects);
            let counters = read(&mut on_gpu).counters;
            let in_cells: u32 = met.iter().map(|met| met[0]).sum();
            assert_eq!(in_cells, counters.objects - counters.invalid - counters.large, "{what}");
            for (met, object) in met.iter().zip(&objects) {
                let is_valid = !object.max[0].is_nan();
                let has_cell = is_valid && object.min[2].is_finite();
                assert!(met[0] <= u32::from(has_cell), "{what}: {met:?} {object:?}");
                assert_eq!(met[1..], [u32::from(is_valid); 2], "{what}: {object:?}");
            }
        }
    }
}

/// Mesa's software drivers end the longest searches early.
#[test]
fn walks_and_casts_report_if_they_are_complete() {
    let mut rng = Rng(903);
    let objects: Vec<_> = (0..70_000)
        .map(|_| rng.point(40.0))
        .map(|low| Aabb::new(low, low.map(|bound| bound + 1.0)))
        .collect();
    // The first of each finds all objects.
    let queries = [
        Query::overlaps(Aabb::new([-1.0; 3], [50.0; 3])),
        Query::overlaps(objects[7]),
        Query::point([-9.0; 3]),
        Query::sphere([20.0; 3], -1.0),
        Query::point([1.0; 3]).in_world(1),
    ];
    let diagonal = Ray::new([-1.0; 3], [1.0; 3], 50.0);
    let rays = [
        SweptRay::new(diagonal).with_half_extents([60.0; 3]),
        SweptRay::new(Ray::new([-1.0, 20.0, 20.0], [1.0, 0.0, 0.0], f32::INFINITY)),
        SweptRay::new(diagonal),
        SweptRay::new(Ray::new([-1.0; 3], [-1.0; 3], 50.0)),
        SweptRay::new(Ray::new([f32::NAN; 3], [1.0; 3], 50.0)),
        SweptRay::new(Ray::new([20.0; 3], [1.0; 3], -1.0)),
        SweptRay::new(diagonal).with_world(1),
    ];
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = with_scheme(scheme);
            let what = format!("{scheme:?} on {}", adapter.name);
            let walk = TableShader::new(&descriptor, "own_", 1).unwrap();
            let walk = OwnPass::new::<Query>(&adapter, vec![walk], WALK, 3 + objects.len());
            let cast = TableShader::with_swept_rays(&descriptor, "own_", 1).unwrap();
            let cast = OwnPass::new::<SweptRay>(&adapter, vec![cast], CAST_ENDS, 8);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let empty = Scene::default();
            assert_eq!(walk.run(&adapter, &mut on_gpu, empty, &queries[..1])[0][..3], [1, 1, 0]);
            assert_eq!(
                cast.run(&adapter, &mut on_gpu, empty, &rays[..1]),
                [[0, 1, 0, 1, 0, 1, 1, 1]]
            );

            let mut scene = scene_of(&objects);
            whole(&adapter, &mut on_gpu, scene);
            let mut walks = walk.run(&adapter, &mut on_gpu, scene, &queries[..1]);
            walks.extend(walk.run(&adapter, &mut on_gpu, scene, &queries[1..]));
            let mut casts = cast.run(&adapter, &mut on_gpu, scene, &rays[..1]);
            casts.extend(cast.run(&adapter, &mut on_gpu, scene, &rays[1..]));
            scene.query.queries = queries[..].into();
            scene.query.rays = rays[..].into();
            let found = brute_force::scene_queries(&descriptor, &scene).unwrap();
            let counts = found.iter().map(|found| (found.surely.len(), found.perhaps.len()));
            let counts: Vec<_> = counts.collect();
            assert!(counts[0] == (70_000, 0) && counts[1].0 > 1 && counts[2..] == [(0, 0); 3]);
            for (words, (count, _)) in walks.iter().zip(counts) {
                let is_complete = count < objects.len() || !adapter.name.contains("llvmpipe");
                assert_eq!(words[..2], [is_complete, count == 0].map(u32::from), "{what}");
                assert_eq!(words[2] as usize == count, is_complete, "{what}");
            }
            let hits = brute_force::scene_rays(&descriptor, &scene).unwrap();
            assert!(hits[0].len() == 70_000 && hits[1].len() > 10 && hits[3..].iter().all(Vec::is_empty));
            for (words, count) in casts.iter().zip(hits.iter().map(Vec::len)) {
                let is_complete = count < objects.len() || !adapter.name.contains("llvmpipe");
                let [is_whole, is_hit, is_none] = [is_complete, count > 0, count == 0].map(u32::from);
                let expected = [is_whole, is_hit, is_whole, is_hit, 1, is_none, is_whole];
                assert_eq!(words[1..], expected, "{what}");
                assert_eq!(words[0] as usize == count, is_complete, "{what}");
            }
        }
    }
}
