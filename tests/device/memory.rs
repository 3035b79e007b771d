use crate::common::{Rng, TestAdapter, adapters, daily_adapters, uniform};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, BroadPhaseError, Capacities, CreateError, CullDraw, CullOptions,
    Culling, DebugDraw, DebugLines, DispatchArgs, Frustum, GpuBroadPhase, Growth, MemoryUse, ObjectNames, ObjectSet,
    Output, OutputOptions, Pair, PairEvents, Queries, QueryInput, Ray, RayMode, ResultOrder, Scene, Scheme, Source,
    Statics, Status, StepResult, adapters as all_adapters, wgpu,
};
use pollster::block_on;

fn step(device: &wgpu::Device, queue: &wgpu::Queue, gpu: &mut GpuBroadPhase, objects: &[Aabb]) -> StepResult {
    let mut encoder = device.create_command_encoder(&Default::default());
    let rays = [Ray::new([0.0; 3], [1.0, 0.5, 0.25], f32::INFINITY)];
    let input = Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: Source::Host(&rays).into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    gpu.step(&mut encoder, input).expect("a step");
    queue.submit([encoder.finish()]);
    block_on(gpu.read_back()).expect("a result")
}

#[test]
fn objects_take_at_most_160_bytes_and_pairs_8() {
    let mut rng = Rng(3);
    let count = 50_000;
    let objects = uniform(count, &mut rng);
    for adapter in daily_adapters() {
        let (device, queue) = (&adapter.device, &adapter.queue);
        let mut gpu = GpuBroadPhase::new(device, queue, &BroadPhaseDescriptor::default()).unwrap();
        let pairs = step(device, queue, &mut gpu, &objects).counters.pairs_needed;
        let exact = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    pairs: Some(pairs as u32),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = GpuBroadPhase::new(device, queue, &exact).unwrap();
        assert_eq!(gpu.memory().total(), 0);
        assert_eq!(step(device, queue, &mut gpu, &objects).pairs.len() as u64, pairs);
        let memory = gpu.memory();
        let each = memory.objects as f64 / count as f64;
        println!("{each:.1} bytes an object beside {memory:?} on {}", adapter.name);
        assert!((60.0..=160.0).contains(&each), "{each} bytes an object");
        assert_eq!(memory.pairs, (8 * pairs).next_multiple_of(16));
        let boxes_and_ray = 32 * (count as u64 + 1);
        assert!((boxes_and_ray..=boxes_and_ray + 64).contains(&memory.inputs));
        assert_eq!(memory.order, 0);

        let mut sorted = GpuBroadPhase::new(
            device,
            queue,
            &BroadPhaseDescriptor {
                outputs: OutputOptions {
                    order: ResultOrder::Sorted,
                    ray_mode: RayMode::All,
                    ..exact.outputs
                },
                ..exact
            },
        )
        .unwrap();
        step(device, queue, &mut sorted, &objects);
        assert!(sorted.memory().order >= 24 * pairs && sorted.memory().results > 0);
    }
}

fn own_device(adapter: &TestAdapter) -> (wgpu::Device, wgpu::Queue) {
    let own = block_on(all_adapters(adapter.backends)).into_iter().next();
    let request = wgpu::DeviceDescriptor {
        required_limits: GpuBroadPhase::required_limits(),
        ..Default::default()
    };
    block_on(own.expect("an adapter").request_device(&request)).expect("a device")
}

fn created(device: &wgpu::Device) -> [isize; 2] {
    let counters = device.get_internal_counters().hal;
    [counters.bind_groups.read(), counters.buffers.read()]
}

/// Objects are counted before the encoder finishes, which frees temporary ones.
#[test]
fn a_steady_step_creates_no_bind_group_and_no_buffer() {
    let mut rng = Rng(5);
    let (moving, fixed) = (uniform(2000, &mut rng), uniform(500, &mut rng));
    let rays = [Ray::new([0.0; 3], [1.0, 0.5, 0.25], f32::INFINITY); 20];
    let listed = [Pair { a: 7, b: 700 }; 30];
    for adapter in adapters() {
        let (device, queue) = own_device(&adapter);
        let [objects, statics] = [&moving, &fixed].map(|boxes| {
            device.create_buffer_init(&BufferInitDescriptor {
                label: Some("boxes of the caller"),
                contents: bytemuck::cast_slice(boxes),
                usage: wgpu::BufferUsages::STORAGE,
            })
        });
        let caller_owned = Scene {
            objects: Source::device(&objects, moving.len() as u32),
            ..Default::default()
        };
        let with_statics = Scene {
            statics: Statics {
                objects: Source::device(&statics, fixed.len() as u32),
                ..Default::default()
            },
            ..caller_owned
        };
        let from_host = Scene {
            objects: Source::Host(&moving),
            query: QueryInput {
                rays: Source::Host(&rays).into(),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let excluding = Scene {
            excluded_pairs: Source::Host(&listed),
            ..with_statics
        };
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                order: ResultOrder::Sorted,
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        };
        let query = QueryInput {
            queries: Queries::Boxes(Source::Host(&fixed)),
            ..Default::default()
        };
        // The second step replaces outputs by larger ones. The old buffers are freed after eight recordings, which are
        // four steps with queries.
        for (what, input, queries, steady) in [
            ("caller_owned", caller_owned, false, 3),
            ("statics", with_statics, false, 3),
            ("host", from_host, false, 3),
            ("excluded", excluding, false, 3),
            ("queries", from_host, true, 7),
        ] {
            let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            for step in 1..=9 {
                device
                    .poll(wgpu::PollType::wait_indefinitely())
                    .expect("an idle device");
                let [groups, buffers] = created(&device);
                let mut encoder = device.create_command_encoder(&Default::default());
                gpu.step(&mut encoder, input).expect("a step");
                if queries {
                    gpu.query(&mut encoder, query).expect("a query");
                }
                let [all_groups, all_buffers] = created(&device);
                let made = (all_groups - groups, all_buffers - buffers);
                let what = format!("{made:?} in step {step}, {what}, on {}", adapter.name);
                if step == 1 {
                    assert!(made.0 > 20 && made.1 > 15, "{what}");
                } else if step >= steady {
                    assert_eq!(made, (0, 0), "{what}");
                }
                queue.submit([encoder.finish()]);
            }
        }
    }
}

#[test]
fn excluded_pairs_of_another_length_create_no_bind_group_and_no_buffer() {
    let objects = uniform(2000, &mut Rng(8));
    let listed: Vec<_> = (0..128).map(|object| Pair::new(object, object + 1)).collect();
    let words = vec![u32::MAX; 1280];
    let text = "fn admits_pair(a: u32, b: u32) -> bool { return pair_data(a + b) != 0u; }";
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        for (pair_filter, data) in [(None, 0), (Some(text), 1)] {
            let descriptor = BroadPhaseDescriptor {
                pair_filter,
                ..Default::default()
            };
            let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            let lengths = [
                (128, 1280),
                (65, 641),
                (127, 1279),
                (99, 700),
                (0, 0),
                (100, 1001),
                (0, 0),
                (66, 901),
            ];
            for (step, (list, words_given)) in lengths.into_iter().enumerate() {
                device
                    .poll(wgpu::PollType::wait_indefinitely())
                    .expect("an idle device");
                let before = created(&device);
                let mut encoder = device.create_command_encoder(&Default::default());
                let input = Scene {
                    objects: Source::Host(&objects),
                    excluded_pairs: Source::Host(&listed[..list]),
                    pair_filter_data: Source::Host(&words[..data * words_given]),
                    ..Default::default()
                };
                gpu.step(&mut encoder, input).expect("a step");
                // Step 1 is the first to know counters. Step 4 may have neither list nor filter. Both run passes that
                // are new.
                if step > 1 && !(step == 4 && data == 0) {
                    let what = format!("{data}, step {step} on {}", adapter.name);
                    assert_eq!(created(&device), before, "{what}");
                }
                queue.submit([encoder.finish()]);
            }
        }
    }
}

#[test]
fn steady_culling_creates_no_bind_group_and_no_buffer() {
    let mut rng = Rng(7);
    let (moving, fixed) = (uniform(2000, &mut rng), uniform(500, &mut rng));
    let descriptor = BroadPhaseDescriptor {
        pairs: false,
        ..Default::default()
    };
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
        let mut culling = Culling::new(None);
        let options = CullOptions {
            list_capacity: Some(u32::MAX),
            draw: Some(CullDraw::Vertices(36)),
        };
        let input = Scene {
            objects: Source::Host(&moving),
            statics: Statics {
                objects: Source::Host(&fixed),
                ..Default::default()
            },
            ..Default::default()
        };
        for step in 1..=6 {
            let views = [Frustum::new([[1.0, 0.0, 0.0, step as f32]]); 3];
            let mut encoder = device.create_command_encoder(&Default::default());
            let output = gpu.step(&mut encoder, input).expect("a step");
            queue.submit([encoder.finish()]);
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            let [groups, buffers] = created(&device);
            let mut encoder = device.create_command_encoder(&Default::default());
            culling
                .record(&mut encoder, &output, Source::Host(&views), options)
                .expect("culling");
            let [all_groups, all_buffers] = created(&device);
            let made = (all_groups - groups, all_buffers - buffers);
            let what = format!("{made:?} in step {step} on {}", adapter.name);
            if step == 1 {
                assert!(made.0 > 7 && made.1 > 8, "{what}");
            } else if step > 2 {
                assert_eq!(made, (0, 0), "{what}");
            }
            queue.submit([encoder.finish()]);
        }
        let words = 3 * 2500u64.div_ceil(32);
        let rows = 3 * 2500;
        let bytes = 4 * (2 * words + rows);
        let memory = culling.memory().total();
        assert!(
            (bytes..bytes + 2000).contains(&memory),
            "{memory} bytes, {bytes} at least"
        );
        culling.trim();
        assert_eq!(culling.memory().total(), 0);
    }
}

#[test]
fn a_steady_update_of_a_set_creates_no_bind_group_and_no_buffer() {
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut set = ObjectSet::new();
        let handles: Vec<_> = (0..1000).map(|_| set.insert(Aabb::new([0.0; 3], [1.0; 3]))).collect();
        for (what, moving) in [("some", 100), ("most", 900)] {
            for step in 1..=6 {
                for handle in &handles[..moving] {
                    set.move_to(*handle, [step as f32; 3], [step as f32 + 1.0; 3])
                        .expect("an object");
                }
                device
                    .poll(wgpu::PollType::wait_indefinitely())
                    .expect("an idle device");
                let before = created(&device);
                let mut encoder = device.create_command_encoder(&Default::default());
                set.upload(&device, &mut encoder).expect("an update");
                if step > 2 {
                    assert_eq!(created(&device), before, "{what}, {step} on {}", adapter.name);
                }
                queue.submit([encoder.finish()]);
            }
        }
    }
}

#[test]
fn memory_is_given_back_with_what_was_bound_and_staged() {
    let objects = uniform(5000, &mut Rng(6));
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let rays = [Ray::new([0.0; 3], [1.0, 0.5, 0.25], f32::INFINITY)];
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        let idle = || {
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            created(&device)
        };
        let before = idle();
        step(&device, &queue, &mut gpu, &objects);
        let caller_owned = device.create_buffer_init(&BufferInitDescriptor {
            label: Some("a ray of the caller"),
            contents: bytemuck::cast_slice(&rays),
            usage: wgpu::BufferUsages::STORAGE,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = QueryInput {
            rays: Source::<Ray>::device(&caller_owned, 1).into(),
            ..Default::default()
        };
        gpu.query(&mut encoder, input).expect("a query");
        queue.submit([encoder.finish()]);
        drop(caller_owned);
        let held = idle();
        for _ in 0..10 {
            step(&device, &queue, &mut gpu, &objects);
        }
        let [groups, buffers] = idle();
        assert!(
            groups < held[0] && buffers < held[1],
            "{groups} of {held:?} on {}",
            adapter.name
        );

        let mut larger = objects.clone();
        larger.extend_from_slice(&objects);
        step(&device, &queue, &mut gpu, &larger);
        step(&device, &queue, &mut gpu, &larger);
        let grown = idle();
        let what = format!("{grown:?} after {buffers} buffers on {}", adapter.name);
        assert!(grown[1] <= buffers + 6, "{what}");
        gpu.trim();
        let [groups, buffers] = idle();
        assert!(
            groups <= before[0] && buffers <= before[1],
            "{groups} and {buffers}, before {before:?} on {}",
            adapter.name
        );
    }
}

#[test]
fn memory_that_steps_do_without_is_given_back() {
    const MANY: usize = 60_000;
    let objects = uniform(MANY, &mut Rng(7));
    let few = &objects[..10];
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        for (scheme, statics) in [
            (Scheme::Hierarchical, 0),
            (Scheme::Uniform { cell_size: 2.0 }, 0),
            (Scheme::Hierarchical, 40),
        ] {
            let what = format!("{scheme:?}, {statics} static on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let fixed = &objects[MANY - statics..];
            let step_of = |gpu: &mut GpuBroadPhase, moving: &[Aabb]| {
                let mut encoder = device.create_command_encoder(&Default::default());
                let input = Scene {
                    objects: Source::Host(moving),
                    statics: Statics {
                        objects: Source::Host(fixed),
                        generation: 1,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                gpu.step(&mut encoder, input).expect("a step");
                queue.submit([encoder.finish()]);
                block_on(gpu.read_back()).expect("a result")
            };
            let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            let first = step_of(&mut gpu, few);
            let small = gpu.memory().total();
            let large = step_of(&mut gpu, &objects).pairs;
            let held = gpu.memory().total();
            assert!(held > small + 64 * MANY as u64, "{what}: {held} after {small}");
            for _ in 0..8 {
                assert_eq!(step_of(&mut gpu, few).pairs, first.pairs, "{what}");
                assert_eq!(gpu.memory().total(), held, "{what}");
            }
            for _ in 0..3 {
                assert_eq!(step_of(&mut gpu, &objects).pairs, large, "{what}");
                for _ in 0..7 {
                    step_of(&mut gpu, few);
                    assert_eq!(gpu.memory().total(), held, "{what}");
                }
            }
            let [_, buffers] = created(&device);
            for _ in 0..2 {
                assert_eq!(step_of(&mut gpu, few).pairs, first.pairs, "{what}");
            }
            assert!(
                gpu.memory().total() <= 2 * small,
                "{what}: {} after {small}",
                gpu.memory().total()
            );
            let [_, after] = created(&device);
            assert!(after <= buffers + 3, "{what}: {after} buffers after {buffers}");
            let again = step_of(&mut gpu, few);
            assert_eq!((again.pairs, again.counters), (first.pairs, first.counters), "{what}");
            assert_eq!(step_of(&mut gpu, &objects).pairs, large, "{what}");
        }
    }
}

#[test]
fn what_is_asked_between_steps_keeps_its_memory() {
    let objects = uniform(2000, &mut Rng(8));
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        let query = QueryInput {
            queries: Queries::Boxes(Source::Host(&objects)),
            ..Default::default()
        };
        let mut held = Vec::new();
        for frame in 0..30 {
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            let before = created(&device)[1];
            let boxes = if frame == 3 { &objects } else { &objects[..50] };
            let mut encoder = device.create_command_encoder(&Default::default());
            let input = Scene {
                objects: Source::Host(boxes),
                ..Default::default()
            };
            gpu.step(&mut encoder, input).expect("a step");
            for _ in 0..2 {
                gpu.query(&mut encoder, query).expect("a query");
            }
            let made = created(&device)[1] - before;
            assert!(made == 0 || frame < 14, "{made} in frame {frame} on {}", adapter.name);
            queue.submit([encoder.finish()]);
            let result = block_on(gpu.read_back()).expect("results");
            assert_eq!(result.query_offsets.len(), objects.len() + 1, "{}", adapter.name);
            held.push(gpu.memory());
        }
        assert!(4 * held[20].objects < held[10].objects, "{held:?} on {}", adapter.name);
        assert_eq!(held[20].results, held[10].results, "{}", adapter.name);
    }
}

#[test]
fn outputs_that_grew_shrink_again() {
    let crowd = vec![Aabb::new([0.0; 3], [1.0; 3]); 700];
    let few = &crowd[..20];
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        for _ in 0..2 {
            step(&device, &queue, &mut gpu, &crowd);
        }
        let grown = gpu.memory().pairs;
        assert!(grown >= 8 * 244_650, "{grown} on {}", adapter.name);
        for _ in 0..60 {
            assert_eq!(step(&device, &queue, &mut gpu, few).pairs.len(), 190);
        }
        assert_eq!(gpu.memory().pairs, grown, "{}", adapter.name);
        for _ in 60..140 {
            assert_eq!(step(&device, &queue, &mut gpu, few).pairs.len(), 190);
        }
        let held = gpu.memory().pairs;
        assert!(held <= 8 << 16, "{held} on {}", adapter.name);
        let cut = step(&device, &queue, &mut gpu, &crowd).counters;
        assert_eq!(
            (cut.pairs_needed, cut.status),
            (244_650, Status::PAIRS),
            "{}",
            adapter.name
        );
        assert!(
            step(&device, &queue, &mut gpu, &crowd).counters.is_complete(),
            "{}",
            adapter.name
        );
    }
}

#[test]
fn memory_of_static_objects_goes_with_them() {
    let objects = uniform(30_000, &mut Rng(9));
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default()).expect("a broad phase");
        let mut held = Vec::new();
        for frame in 0..20 {
            let fixed = if frame == 1 { &objects } else { &objects[..100] };
            let input = Scene {
                objects: Source::Host(&objects[..50]),
                statics: Statics {
                    objects: Source::Host(fixed),
                    generation: 2 - u64::from(frame == 1),
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut encoder = device.create_command_encoder(&Default::default());
            gpu.step(&mut encoder, input).expect("a step");
            queue.submit([encoder.finish()]);
            held.push(gpu.memory().total());
        }
        assert!(
            held[1] > held[0] + 60 * objects.len() as u64,
            "{held:?} on {}",
            adapter.name
        );
        assert!(held[19] <= held[0] + held[0] / 4, "{held:?} on {}", adapter.name);
    }
}

#[test]
fn pipelines_are_put_into_a_cache_and_come_out_of_it() {
    let objects = uniform(500, &mut Rng(4));
    let with_caches = block_on(all_adapters(wgpu::Backends::VULKAN))
        .into_iter()
        .filter(|adapter| adapter.features().contains(wgpu::Features::PIPELINE_CACHE));
    for adapter in with_caches {
        let request = wgpu::DeviceDescriptor {
            required_features: wgpu::Features::PIPELINE_CACHE,
            required_limits: GpuBroadPhase::required_limits(),
            ..Default::default()
        };
        let (device, queue) = block_on(adapter.request_device(&request)).unwrap();
        let cache = |data| {
            let descriptor = wgpu::PipelineCacheDescriptor {
                label: None,
                data,
                fallback: true,
            };
            // SAFETY: the data is `None` or comes from a cache of this adapter.
            unsafe { device.create_pipeline_cache(&descriptor) }
        };
        let first = cache(None);
        let empty = first.get_data().unwrap_or_default().len();
        let descriptor = BroadPhaseDescriptor::default();
        let mut gpu = GpuBroadPhase::with_pipeline_cache(&device, &queue, &descriptor, &first).unwrap();
        let expected = step(&device, &queue, &mut gpu, &objects);
        let data = first.get_data().expect("a cache with contents");
        assert!(data.len() >= empty, "{} bytes", data.len());

        let second = cache(Some(&data));
        let mut gpu = GpuBroadPhase::with_pipeline_cache(&device, &queue, &descriptor, &second).unwrap();
        let found = step(&device, &queue, &mut gpu, &objects);
        assert!(found.pairs == expected.pairs && found.ray_hits == expected.ray_hits);
    }
}

#[test]
fn a_cache_that_the_device_refuses_counts_as_none() {
    let objects = uniform(500, &mut Rng(4));
    let descriptor = BroadPhaseDescriptor::default();
    let answer = |data: Option<&[u8]>| {
        let mut cache = None;
        let made = block_on(BroadPhase::with_pipeline_cache(
            &descriptor,
            Backend::Gpu(wgpu::Backends::VULKAN),
            |_, device| {
                let descriptor = wgpu::PipelineCacheDescriptor {
                    label: None,
                    data,
                    fallback: true,
                };
                // SAFETY: the data comes from a cache of this adapter, or its header is refused.
                cache = Some(unsafe { device.create_pipeline_cache(&descriptor) });
                cache.clone()
            },
        ));
        let pairs = block_on(made?.step(&objects, &[]))?.pairs;
        Ok::<_, BroadPhaseError>((pairs, cache.and_then(|cache| cache.get_data())))
    };
    let (expected, data) = match answer(None) {
        Err(BroadPhaseError::NoAdapter { .. }) => return,
        answer => answer.expect("an answer"),
    };
    let Some(data) = data else { return };
    let changed = |at: usize| {
        let mut data = data.clone();
        data[at] ^= 1;
        data
    };
    let [format, adapter, driver] = [0, 20, 35].map(changed);
    for (data, is_taken) in [
        (&data[..], true),
        (&data[..data.len() - 1], true),
        (&[], true),
        (&format, true),
        (&driver, true),
        (&adapter, false),
    ] {
        let (pairs, data) = answer(Some(data)).expect("an answer");
        assert!(pairs == expected && data.is_some() == is_taken);
    }
}

#[test]
fn a_cache_of_another_device_object_is_an_error_and_no_panic() {
    let with_caches = block_on(all_adapters(wgpu::Backends::VULKAN))
        .into_iter()
        .filter(|adapter| adapter.features().contains(wgpu::Features::PIPELINE_CACHE));
    for adapter in with_caches {
        let [(device, queue), (other, _)] = [(); 2].map(|()| {
            let request = GpuBroadPhase::device_descriptor(&adapter);
            block_on(adapter.request_device(&request)).unwrap()
        });
        let descriptor = wgpu::PipelineCacheDescriptor {
            label: None,
            data: None,
            fallback: true,
        };
        // SAFETY: there is no data.
        let cache = unsafe { other.create_pipeline_cache(&descriptor) };
        let made = GpuBroadPhase::with_pipeline_cache(&device, &queue, &BroadPhaseDescriptor::default(), &cache);
        assert!(matches!(made.err(), Some(CreateError::Device(_))));
    }
}

/// `memory` reports everything but uniform blocks and staging buffers.
#[test]
fn memory_is_what_the_device_holds() {
    let mut rng = Rng(15);
    let boxes = uniform(3000, &mut rng);
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let on_device = || device.get_internal_counters().hal.buffer_memory.read() as u64;
        for (turn, statics) in [0, 700].into_iter().enumerate() {
            let what = format!("{statics} static on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    capacities: Capacities {
                        pairs: Some([1 << 14, 1 << 15][turn]),
                        ..Capacities::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut set = ObjectSet::new();
            let handles: Vec<_> = boxes.iter().map(|&of| set.insert(of)).collect();
            for &of in &boxes[..statics as usize] {
                set.insert_static(of);
            }
            assert_eq!(set.memory().total(), 0, "{what}");
            let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            let [mut events, mut unnamed] = [(); 2].map(|()| PairEvents::new(None));
            let mut culling = Culling::new(None);
            let views = [Frustum::new([[1.0, 0.0, 0.0, 0.0]]); 5];
            let options = CullOptions {
                list_capacity: [None, Some(10_000)][turn],
                draw: Some(CullDraw::Indices(36)),
            };
            let mut lines = DebugDraw::new(&descriptor, None);
            let mut args = DispatchArgs::new(None);
            let before = on_device();
            for step in 0..3 {
                for handle in handles.iter().take(100 * step) {
                    set.move_to(*handle, [step as f32; 3], [step as f32 + 1.0; 3])
                        .expect("an object");
                }
                let mut encoder = device.create_command_encoder(&Default::default());
                let input = set.upload(&device, &mut encoder).expect("an update");
                let output = gpu.step(&mut encoder, input).expect("a step");
                events.record(&mut encoder, &output, set.names()).expect("events");
                unnamed
                    .record(&mut encoder, &output, ObjectNames::default())
                    .expect("events");
                culling
                    .record(&mut encoder, &output, Source::Host(&views), options)
                    .expect("views");
                lines
                    .record(&mut encoder, &output, DebugLines::Boxes, [0; 4], 1000)
                    .expect("lines");
                args.record(&mut encoder, &output, Output::Pairs, 64)
                    .expect("arguments");
                queue.submit([encoder.finish()]);
            }
            // A box has twelve lines of two 16-byte vertices.
            assert_eq!(lines.memory().results, 16 * 2 * 12 * (1000 / 12), "{what}");
            assert_eq!((lines.memory().fixed, args.memory().total()), (32, 16), "{what}");
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            let own = [
                set.memory(),
                gpu.memory(),
                events.memory(),
                unnamed.memory(),
                culling.memory(),
                lines.memory(),
                args.memory(),
            ];
            let own: u64 = own.iter().map(MemoryUse::total).sum();
            // wgpu does not count buffers of GL.
            let made = on_device() - before;
            assert!(
                adapter.backends == wgpu::Backends::GL || (own..own + own / 10).contains(&made),
                "{what}: {made} bytes, {own} of them our own"
            );
        }
    }
}
