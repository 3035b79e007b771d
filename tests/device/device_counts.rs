use crate::common::steps::{self, SCHEMES, broad_phase, download, encoder, read, whole};
use crate::common::{Rng, TestAdapter, adapters, uniform};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, DeviceCount, DispatchArgs, GpuBroadPhase, Growth, InputError,
    NearestObject, Output, OutputOptions, Page, Queries, Query, QueryInput, QueryMode, Ray, RayHit, RayMode, Rays,
    ResultOrder, Scene, Source, Statics, StepError, StepOutput, StepResult, SweptRay, wgpu,
};

fn visitor(adapter: &TestAdapter, workgroup_rows: u32) -> wgpu::ComputePipeline {
    let source = format!(
        "
        @group(0) @binding(0) var<storage, read> args: array<u32>;
        @group(0) @binding(1) var<storage, read_write> visits: array<u32>;

        @compute @workgroup_size({workgroup_rows})
        fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
            let row = (group.y * 65535u + group.x) * {workgroup_rows}u + local;
            if (row < args[3]) {{
                visits[row] += 1u;
            }}
        }}"
    );
    let module = adapter.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    adapter
        .device
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        })
}

fn visits(
    adapter: &TestAdapter,
    mut encoder: wgpu::CommandEncoder,
    args: &wgpu::Buffer,
    workgroup_rows: u32,
    words: usize,
) -> Vec<u32> {
    let (device, queue) = (&adapter.device, &adapter.queue);
    let pipeline = visitor(adapter, workgroup_rows);
    let visits = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4 * words as u64,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[(0, args), (1, &visits)].map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        }),
    });
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups_indirect(args, 0);
    }
    queue.submit([encoder.finish()]);
    download(device, queue, &visits, visits.size())
}

struct Input {
    boxes: Vec<Aabb>,
    rays: Vec<Ray>,
}

impl Input {
    fn new(rng: &mut Rng) -> Self {
        let boxes = uniform(3000, rng);
        let rays = boxes
            .iter()
            .take(500)
            .map(|object| Ray::new(object.min, [0.3, 1.0, 0.2], 9.0))
            .collect();
        Self { boxes, rays }
    }

    fn step(&self, encoder: &mut wgpu::CommandEncoder, broad_phase: &mut GpuBroadPhase) -> StepOutput {
        let input = Scene {
            objects: Source::Host(&self.boxes),
            query: QueryInput {
                rays: Source::Host(&self.rays[..]).into(),
                queries: Queries::Boxes(Source::Host(&self.boxes[..700])),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        steps::record(broad_phase, encoder, input)
    }
}

#[test]
fn a_pipeline_of_the_callers_meets_each_row_once() {
    for adapter in adapters() {
        let input = Input::new(&mut Rng(3));
        let descriptor = |growth, pairs| BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ray_cells: true,
                growth,
                capacities: Capacities {
                    pairs,
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let kinds = [Output::Pairs, Output::RayHits, Output::RayCells, Output::QueryObjects];
        let mut args = DispatchArgs::new(None);
        for (case, rows) in kinds.into_iter().enumerate() {
            let workgroup_rows = [64, 1, 256, 100][case];
            for descriptor in [descriptor(Growth::Grow, None), descriptor(Growth::Fixed, Some(1000))] {
                let mut broad_phase = broad_phase(&adapter, &descriptor);
                let mut encoder = encoder(&adapter);
                let output = input.step(&mut encoder, &mut broad_phase);
                let args = args
                    .record(&mut encoder, &output, rows, workgroup_rows)
                    .unwrap()
                    .clone();
                let found = visits(&adapter, encoder, &args, workgroup_rows, 1 << 16);
                let result = read(&mut broad_phase);
                let expected = match rows {
                    Output::Pairs => result.pairs.len(),
                    Output::RayHits => result.ray_hits.len(),
                    Output::RayCells => result.ray_cells.len(),
                    _ => result.query_objects.len(),
                };
                assert!((1000..1 << 16).contains(&expected), "{rows:?}: {expected}");
                assert!(found[..expected].iter().all(|&visits| visits == 1), "{rows:?}");
                assert!(found[expected..].iter().all(|&visits| visits == 0), "{rows:?}");
            }
        }
    }
}

#[test]
fn a_window_has_the_rows_that_it_shows() {
    for adapter in adapters() {
        let input = Input::new(&mut Rng(4));
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ray_cells: true,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut broad_phase = broad_phase(&adapter, &descriptor);
        let mut step = || {
            let mut encoder = encoder(&adapter);
            input.step(&mut encoder, &mut broad_phase);
            adapter.queue.submit([encoder.finish()]);
            read(&mut broad_phase)
        };
        step();
        let all = step();
        assert!(all.counters.is_complete());
        let counts = [
            (Output::Pairs, all.pairs.len()),
            (Output::RayHits, all.ray_hits.len()),
            (Output::RayCells, all.ray_cells.len()),
            (Output::QueryObjects, all.query_objects.len()),
        ];
        for left in [[5u32, 90, 7, 30], [0; 4]] {
            let [pairs, hits, ray_cells, results] = [0, 1, 2, 3].map(|kind: usize| counts[kind].1 as u32 - left[kind]);
            let window = Page {
                pairs,
                hits,
                ray_cells,
                results: results + u32::from(left[3] == 0),
            };
            for ((rows, _), left) in counts.into_iter().zip(left) {
                let mut encoder = encoder(&adapter);
                let output = broad_phase.page(&mut encoder, window).unwrap();
                let mut args = DispatchArgs::new(Some("window"));
                let args = args.record(&mut encoder, &output, rows, 64).unwrap();
                let found = visits(&adapter, encoder, &args, 64, 256);
                assert_eq!(found.iter().sum::<u32>(), left, "{rows:?} on {}", adapter.name);
            }
        }
    }
}

#[test]
fn outputs_that_there_are_not_have_no_rows() {
    for adapter in adapters() {
        let mut broad_phase = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut encoder = encoder(&adapter);
        let output = broad_phase.step(&mut encoder, Scene::default()).unwrap();
        let mut args = DispatchArgs::new(None);
        for rows in [Output::RayHits, Output::RayCells, Output::QueryObjects] {
            let refused = args.record(&mut encoder, &output, rows, 64);
            assert_eq!(refused.err(), Some(StepError::NoOutput { output: rows }));
        }
        let refused = args.record(&mut encoder, &output, Output::Pairs, 0);
        let what = "rows of a workgroup";
        assert_eq!(refused.err(), Some(InputError::Zero { what }.into()));
    }
}

#[test]
fn rays_and_queries_past_a_count_on_the_device_find_nothing() {
    for adapter in adapters() {
        let mut rng = Rng(0xc1);
        let boxes = uniform(600, &mut rng);
        let rays: Vec<_> = boxes
            .iter()
            .map(|aimed| {
                Ray::new(
                    [-3.0, rng.unit() * 9.0, 1.0],
                    [0, 1, 2].map(|axis| aimed.min[axis] + 0.1),
                    900.0,
                )
            })
            .collect();
        let swept: Vec<_> = rays.iter().map(|&ray| SweptRay::from(ray)).collect();
        let asked: Vec<_> = boxes.iter().map(|near| Query::sphere(near.min, 2.3)).collect();
        let mut stale_rays = rays.clone();
        let mut stale_queries = asked.clone();
        stale_rays[77..].iter_mut().for_each(|ray| ray.origin[1] = f32::NAN);
        stale_queries[77..]
            .iter_mut()
            .for_each(|query| query.bounds.max[0] = f32::NAN);
        let buffer = |contents: &[u8]| {
            adapter.device.create_buffer_init(&BufferInitDescriptor {
                label: Some("asked on the device"),
                contents,
                usage: wgpu::BufferUsages::STORAGE,
            })
        };
        let limits = buffer(bytemuck::cast_slice(&[77u32, 0, 500, 5000]));
        let on_device = [
            buffer(bytemuck::cast_slice(&rays)),
            buffer(bytemuck::cast_slice(&swept)),
            buffer(bytemuck::cast_slice(&asked)),
            buffer(bytemuck::cast_slice(&boxes)),
        ];
        let given = boxes.len() as u32;
        let forms: [(Rays<'_>, Queries<'_>); 4] = [
            (
                Rays::Plain(Source::Host(&rays)),
                Queries::General(Source::device(&on_device[2], given)),
            ),
            (
                Rays::Plain(Source::device(&on_device[0], given)),
                Queries::Boxes(Source::Host(&boxes)),
            ),
            (
                Rays::Swept(Source::Host(&swept)),
                Queries::Boxes(Source::device(&on_device[3], given)),
            ),
            (
                Rays::Swept(Source::device(&on_device[1], given)),
                Queries::General(Source::Host(&asked)),
            ),
        ];
        for (case, scheme) in SCHEMES.into_iter().cycle().take(6).enumerate() {
            let (ray_mode, query_mode) = [
                (RayMode::All, QueryMode::All),
                (RayMode::Closest, QueryMode::Nearest(2)),
                (RayMode::Any, QueryMode::All),
            ][(case + case / 3) % 3];
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    ray_cells: case % 2 == 0,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut broad_phase = broad_phase(&adapter, &descriptor);
            for (word, (rays, queries)) in (0..4).zip(forms) {
                let limit = [77, 0, 500, 600][word as usize];
                let what = format!("{limit} asked of {descriptor:?} on {}", adapter.name);
                let input = Scene {
                    objects: Source::Host(&boxes),
                    query: QueryInput {
                        rays,
                        queries,
                        query_mode,
                        ..QueryInput::default()
                    },
                    ..Scene::default()
                };
                let all = whole(&adapter, &mut broad_phase, input);
                let count = |word| DeviceCount { buffer: &limits, word };
                let limited = Scene {
                    query: QueryInput {
                        ray_count: Some(count(word)),
                        query_count: Some(count(3 - word)),
                        ..input.query
                    },
                    ..input
                };
                let query_limit = [600, 500, 0, 77][word as usize];
                let check = |found: &StepResult| {
                    check_first(&all, found, limit, query_limit, &what);
                };
                let found = whole(&adapter, &mut broad_phase, limited);
                assert_eq!(found.pairs, all.pairs, "{what}");
                check(&found);
                let mut encoder = encoder(&adapter);
                let later = QueryInput {
                    rays,
                    ray_count: limited.query.ray_count,
                    queries,
                    query_count: limited.query.query_count,
                    query_mode,
                };
                broad_phase.query(&mut encoder, later).unwrap();
                adapter.queue.submit([encoder.finish()]);
                check(&read(&mut broad_phase));
            }
        }
        let mut broad_phase = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let limit = Some(DeviceCount {
            buffer: &limits,
            word: 0,
        });
        let input = Scene {
            objects: Source::Host(&boxes),
            query: QueryInput {
                rays: Source::Host(&stale_rays[..]).into(),
                ray_count: limit,
                queries: Source::Host(&stale_queries[..]).into(),
                query_count: limit,
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let counters = whole(&adapter, &mut broad_phase, input).counters;
        assert_eq!((counters.rays_invalid, counters.queries_invalid), (0, 0));
        let limit = Some(DeviceCount {
            buffer: &limits,
            word: 4,
        });
        for (what, ray_count, query_count) in [
            ("the number of rays", limit, None),
            ("the number of queries", None, limit),
        ] {
            let mut encoder = encoder(&adapter);
            let input = Scene {
                query: QueryInput {
                    ray_count,
                    query_count,
                    ..QueryInput::default()
                },
                ..Scene::default()
            };
            let refused = broad_phase.step(&mut encoder, input);
            let too_small = StepError::Input(InputError::BufferTooSmall {
                what,
                needed: 20,
                available: 16,
            });
            assert_eq!(refused.err(), Some(too_small));
        }
    }
}

fn check_first(all: &StepResult, found: &StepResult, rays: usize, queries: usize, what: &str) {
    let rows = |offsets: &[u32], limit: usize| {
        let ends = offsets.iter().enumerate();
        ends.map(|(row, _)| offsets[row.min(limit)]).collect::<Vec<_>>()
    };
    assert_eq!(found.ray_offsets, rows(&all.ray_offsets, rays), "{what}");
    assert_eq!(found.ray_cell_offsets, rows(&all.ray_cell_offsets, rays), "{what}");
    assert_eq!(found.query_offsets, rows(&all.query_offsets, queries), "{what}");
    assert_eq!(found.ray_cells[..], all.ray_cells[..found.ray_cells.len()], "{what}");
    assert_eq!(
        found.query_objects[..],
        all.query_objects[..found.query_objects.len()],
        "{what}"
    );
    assert_eq!(found.ray_any.len(), all.ray_any.len());
    for (ray, (found, all)) in found.ray_any.iter().zip(&all.ray_any).enumerate() {
        assert_eq!(*found, if ray < rays { *all } else { 0 }, "{what}: ray {ray}");
    }
    let is_closest = all.ray_offsets.is_empty();
    for (place, (found, all)) in found.ray_hits.iter().zip(&all.ray_hits).enumerate() {
        let expected = if is_closest && place >= rays {
            RayHit::MISS
        } else {
            *all
        };
        assert_eq!(*found, expected, "{what}: hit {place}");
    }
    for (place, (found, all)) in found.query_nearest.iter().zip(&all.query_nearest).enumerate() {
        let expected = if place / 2 < queries { *all } else { NearestObject::NONE };
        assert_eq!(*found, expected, "{what}: nearest {place}");
    }
}

#[test]
fn objects_past_a_device_count_are_ignored() {
    for adapter in adapters() {
        let mut rng = Rng(0xc0);
        let boxes = uniform(900, &mut rng);
        let statics = uniform(300, &mut rng);
        let buffer = |words: &[u32], usage| {
            adapter.device.create_buffer_init(&BufferInitDescriptor {
                label: Some("counts"),
                contents: bytemuck::cast_slice(words),
                usage,
            })
        };
        let counts = buffer(&[3, 0, 400, 900, 5000], wgpu::BufferUsages::STORAGE);
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    order: ResultOrder::Sorted,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut broad_phase = broad_phase(&adapter, &descriptor);
            for (statics, word) in (0..5).flat_map(|word| [(&[][..], word), (&statics[..], word)]) {
                let limit = [3, 0, 400, 900, 900][word as usize];
                let input = |objects, object_count| Scene {
                    objects: Source::Host(objects),
                    object_count,
                    statics: Statics {
                        objects: Source::Host(statics),
                        ..Default::default()
                    },
                    ..Default::default()
                };
                let expected = whole(&adapter, &mut broad_phase, input(&boxes[..limit], None));
                let buffer = &counts;
                let limited = input(&boxes, Some(DeviceCount { buffer, word }));
                let found = whole(&adapter, &mut broad_phase, limited);
                let what = format!("{scheme:?}, {limit} objects on {}", adapter.name);
                assert_eq!(found.pairs, expected.pairs, "{what}");
                assert_eq!(found.counters.excluded as usize, 900 - limit, "{what}");
            }
        }
        let mut broad_phase = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let plain = buffer(&[1], wgpu::BufferUsages::COPY_SRC);
        let mut refused = |buffer, word| {
            let input = Scene {
                object_count: Some(DeviceCount { buffer, word }),
                ..Default::default()
            };
            let mut encoder = encoder(&adapter);
            let step = broad_phase.step(&mut encoder, input);
            step.err()
        };
        let what = "the number of objects";
        assert_eq!(refused(&plain, 0), Some(StepError::Input(InputError::Usage { what })));
        let too_small = StepError::Input(InputError::BufferTooSmall {
            what,
            needed: 24,
            available: 20,
        });
        assert_eq!(refused(&counts, 5), Some(too_small));
    }
}

#[test]
fn dispatches_over_whole_outputs_alone_run_on_all_rows_or_none() {
    for adapter in adapters() {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 40];
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: Capacities {
                    pairs: Some(100),
                    results: Some(5_000),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut args = [DispatchArgs::new(None), DispatchArgs::new(None).complete_only()];
        for frame in 0..3 {
            let what = format!("frame {frame} on {}", adapter.name);
            let mut encoder = encoder(&adapter);
            let input = Scene {
                objects: Source::Host(&boxes),
                query: QueryInput {
                    queries: Queries::Boxes(Source::Host(&boxes)),
                    ..QueryInput::default()
                },
                ..Default::default()
            };
            let step = steps::record(&mut gpu, &mut encoder, input);
            let mut rows = |rows| {
                args.each_mut()
                    .map(|args| args.record(&mut encoder, &step, rows, 64).unwrap())
            };
            let of_pairs = rows(Output::Pairs);
            queue.submit([encoder.finish()]);
            let found: [Vec<u32>; 2] = of_pairs.map(|buffer| download(device, queue, &buffer, 16));
            let expected = match frame {
                0 => [vec![2, 1, 1, 100], vec![0; 4]],
                _ => [vec![13, 1, 1, 780], vec![13, 1, 1, 780]],
            };
            assert_eq!(found, expected, "{what}");
            let mut encoder = self::encoder(&adapter);
            let of_queries = args[1].record(&mut encoder, &step, Output::QueryObjects, 64).unwrap();
            queue.submit([encoder.finish()]);
            let found: Vec<u32> = download(device, queue, &of_queries, 16);
            assert_eq!(found, [25, 1, 1, 1_600], "{what}");
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        }
    }
}
