use crate::common::steps::{RAY_MODES, SCHEMES, UNIT, check_hits, check_lists, sorted};
use crate::common::{Rng, TestAdapter, daily_adapters, is_full, uniform};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CreateError, CullDraw, CullOptions, Culling, DebugDraw, DebugLines, DescriptorError,
    DeviceCount, Dimensions, DispatchArgs, Frustum, GpuBroadPhase, ObjectNames, ObjectSet, Output, OutputOptions, Pair,
    PairEvents, Queries, QueryInput, QueryMode, Ray, RayMode, ResultOrder, Scene, Scheme, SelfQuery, SortStrategy,
    Source, Statics, SweptRay, Uses, adapters as all_adapters, reference::brute_force, wgpu,
};
use pollster::block_on;

fn own_device(adapter: &TestAdapter) -> (wgpu::Device, wgpu::Queue) {
    let own = block_on(all_adapters(adapter.backends))
        .into_iter()
        .next()
        .expect("an adapter");
    block_on(own.request_device(&GpuBroadPhase::device_descriptor(&own))).expect("a device")
}

fn pipelines(device: &wgpu::Device) -> isize {
    device.get_internal_counters().hal.compute_pipelines.read()
}

struct Inputs {
    boxes: [Vec<Aabb>; 2],
    statics: Vec<Aabb>,
    rays: Vec<Ray>,
    swept: Vec<SweptRay>,
    counts: wgpu::Buffer,
    /// Both lists of boxes, and the rays, each after an unused word.
    strided: [wgpu::Buffer; 3],
}

impl Inputs {
    fn new(device: &wgpu::Device) -> Self {
        let mut rng = Rng(31);
        let boxes = uniform(400, &mut rng);
        let rays: Vec<_> = boxes
            .iter()
            .cycle()
            .take(5000)
            .map(|of| Ray::new(of.min, [0.2, 1.0, 0.1], 3.0))
            .collect();
        let boxes = [boxes, vec![UNIT; 120]];
        let behind_a_word = |bytes: &[u8]| {
            device.create_buffer_init(&BufferInitDescriptor {
                label: Some("behind a word"),
                contents: &[&[0; 4], bytes].concat(),
                usage: wgpu::BufferUsages::STORAGE,
            })
        };
        Self {
            strided: [
                behind_a_word(bytemuck::cast_slice(&boxes[0])),
                behind_a_word(bytemuck::cast_slice(&boxes[1])),
                behind_a_word(bytemuck::cast_slice(&rays)),
            ],
            statics: uniform(100, &mut rng),
            swept: rays
                .iter()
                .map(|&ray| SweptRay::new(ray).with_half_extents([0.1; 3]))
                .collect(),
            boxes,
            rays,
            counts: device.create_buffer_init(&BufferInitDescriptor {
                label: Some("counts"),
                contents: bytemuck::cast_slice(&[90u32, 300]),
                usage: wgpu::BufferUsages::STORAGE,
            }),
        }
    }

    /// Runs six frames, since counters of earlier ones change the passes of later ones. Returns passes that were never
    /// dispatched.
    fn run(
        &self,
        queue: &wgpu::Queue,
        device: &wgpu::Device,
        gpu: &mut GpuBroadPhase,
        uses: Uses,
    ) -> Vec<&'static str> {
        let mut unused = gpu.unused_passes(Some(uses));
        let count = |word| {
            uses.device_counts.then_some(DeviceCount {
                buffer: &self.counts,
                word,
            })
        };
        for turn in 0..6 {
            let boxes = &self.boxes[turn / 3];
            let worlds = vec![1; boxes.len()];
            let static_worlds = vec![1; self.statics.len()];
            let has_worlds = gpu.descriptor().worlds > 1;
            let no_worlds = |worlds: &'_ [u32]| if has_worlds { worlds.len() } else { 0 };
            let mut encoder = device.create_command_encoder(&Default::default());
            let is_strided = uses.strided && turn % 2 == 0;
            let input = Scene {
                objects: if is_strided {
                    Source::device(&self.strided[turn / 3], boxes.len() as u32).at(4)
                } else {
                    Source::Host(boxes)
                },
                object_count: count(0),
                worlds: Source::Host(&worlds[..no_worlds(&worlds)]),
                statics: if uses.statics {
                    Statics {
                        objects: Source::Host(&self.statics),
                        worlds: Source::Host(&static_worlds[..no_worlds(&static_worlds)]),
                        generation: 1,
                    }
                } else {
                    Statics::default()
                },
                query: QueryInput {
                    rays: if uses.rays && is_strided {
                        Source::<Ray>::device(&self.strided[2], self.rays.len() as u32)
                            .at(4)
                            .into()
                    } else if uses.rays {
                        Source::Host(&self.rays[..]).into()
                    } else {
                        Default::default()
                    },
                    ray_count: count(1).filter(|_| uses.rays),
                    queries: if uses.queries {
                        Queries::Boxes(Source::Host(boxes))
                    } else {
                        Queries::None
                    },
                    query_count: count(0).filter(|_| uses.queries),
                    query_mode: QueryMode::All,
                },
                ..Scene::default()
            };
            gpu.step(&mut encoder, input).expect("a step");
            let query = QueryInput {
                rays: if uses.swept_rays {
                    Source::Host(&self.swept[..]).into()
                } else {
                    Default::default()
                },
                queries: if uses.nearest {
                    Queries::Boxes(Source::Host(boxes))
                } else {
                    Queries::None
                },
                query_mode: QueryMode::Nearest(3),
                ..QueryInput::default()
            };
            queue.submit([encoder.finish()]);
            block_on(gpu.read_back()).expect("a result");
            let mut encoder = device.create_command_encoder(&Default::default());
            gpu.query(&mut encoder, query).expect("a query");
            queue.submit([encoder.finish()]);
            block_on(gpu.read_back()).expect("a result");
            let still = gpu.unused_passes(Some(uses));
            unused.retain(|pass| still.contains(pass));
            for nearest in [false, true].into_iter().filter(|_| uses.excluded_pairs) {
                let asks = if nearest { uses.nearest } else { uses.queries };
                let mut encoder = device.create_command_encoder(&Default::default());
                let listing = Scene {
                    excluded_pairs: Source::Host(&[Pair { a: 0, b: 1 }]),
                    pair_filter_data: Source::Host(&[7]),
                    query: QueryInput {
                        queries: if asks {
                            SelfQuery::Overlaps { half: false }.into()
                        } else {
                            Queries::None
                        },
                        query_count: None,
                        query_mode: if nearest { QueryMode::Nearest(3) } else { QueryMode::All },
                        ..input.query
                    },
                    ..input
                };
                gpu.step(&mut encoder, listing).expect("a step");
                queue.submit([encoder.finish()]);
                block_on(gpu.read_back()).expect("a result");
                let still = gpu.unused_passes(Some(uses));
                unused.retain(|pass| still.contains(pass));
            }
        }
        unused
    }
}

/// Bounds what a first call waits for. The encoders are dropped, so no driver compiles at a dispatch.
#[test]
fn a_first_step_makes_no_more_pipelines_than_it_runs() {
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let boxes = uniform(400, &mut Rng(7));
        let rays = [Ray::new([0.0; 3], [1.0; 3], 1.0)];
        let made = |pairs, scene: Scene<'_>| {
            let descriptor = BroadPhaseDescriptor {
                pairs,
                sort: SortStrategy::SerialTiles,
                ..Default::default()
            };
            let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            let mut encoder = device.create_command_encoder(&Default::default());
            let objects = Source::Host(&boxes);
            gpu.step(&mut encoder, Scene { objects, ..scene }).expect("a step");
            gpu.pipelines_made()
        };
        let closest = Scene {
            query: QueryInput {
                rays: Source::Host(&rays[..]).into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let nearest = Scene {
            query: QueryInput {
                queries: Queries::Boxes(Source::Host(&boxes)),
                query_mode: QueryMode::Nearest(8),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let all = [
            made(true, Scene::default()),
            made(false, Scene::default()),
            made(false, closest),
            made(false, nearest),
        ];
        assert_eq!(all, [12, 8, 9, 9], "{}", adapter.name);
    }
}

#[test]
fn what_was_prepared_makes_no_pipeline_later_and_all_of_it_is_used() {
    // For each choice of `uses`, the index of the case that compiles it in daily runs.
    const ALONE: [usize; 5] = [4, 8, 0, 7, 3];
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let asked = Inputs::new(&device);
        let modes = SCHEMES.iter().flat_map(|&scheme| RAY_MODES.map(|mode| (scheme, mode)));
        for (number, (scheme, ray_mode)) in modes.enumerate() {
            let is_all = ray_mode == RayMode::All;
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode,
                    ray_cells: is_all,
                    order: if is_all {
                        ResultOrder::Sorted
                    } else {
                        ResultOrder::Deterministic
                    },
                    ..Default::default()
                },
                worlds: if is_all { 2 } else { 1 },
                pairs: ray_mode != RayMode::Any,
                ..Default::default()
            };
            let some = [
                Uses::default(),
                Uses {
                    rays: true,
                    ..Uses::default()
                },
                Uses {
                    statics: true,
                    queries: true,
                    ..Uses::default()
                },
                Uses {
                    nearest: true,
                    swept_rays: true,
                    ..Uses::default()
                },
                Uses {
                    excluded_pairs: true,
                    queries: true,
                    ..Uses::default()
                },
                Uses::ALL,
            ];
            for (kind, uses) in some.into_iter().enumerate() {
                let is_tried = if is_full() {
                    (number / 3 + number + kind).is_multiple_of(3)
                } else {
                    ALONE.get(kind) == Some(&number)
                };
                if uses != Uses::ALL && !is_tried {
                    continue;
                }
                let what = format!("{}, {scheme:?}, {ray_mode:?}, {uses:?}", adapter.name);
                let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
                let made = pipelines(&device);
                gpu.prepare(uses).run().expect("pipelines");
                let prepared = pipelines(&device);
                assert!(prepared > made || uses == Uses::default(), "{what}");
                let again = gpu.prepare(uses);
                std::thread::spawn(move || again.run())
                    .join()
                    .expect("a thread")
                    .expect("pipelines");
                assert_eq!(pipelines(&device), prepared, "{what}");
                let unused = asked.run(&queue, &device, &mut gpu, uses);
                assert_eq!(pipelines(&device), prepared, "{what}");
                assert_eq!(unused, [""; 0], "{what}");
            }
        }
    }
}

#[test]
fn broad_phases_of_a_device_share_their_pipelines() {
    const TEXTS: [&str; 2] = ["a < b", "b < a"];
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        // wgpu has pipelines of its own.
        let none = pipelines(&device);
        let what = &adapter.name;
        let make = |descriptor: &BroadPhaseDescriptor<'_>| {
            let gpu = GpuBroadPhase::new(&device, &queue, descriptor).expect("a broad phase");
            gpu.prepare(Uses::ALL).run().expect("pipelines");
            gpu
        };
        let first = make(&BroadPhaseDescriptor::default());
        let all = pipelines(&device);
        let second = make(&BroadPhaseDescriptor {
            margin: 0.5,
            ..BroadPhaseDescriptor::default()
        });
        assert_eq!(pipelines(&device), all, "{what}: another margin");
        drop(first);
        let (other_device, other_queue) = own_device(&adapter);
        let elsewhere = GpuBroadPhase::new(&other_device, &other_queue, &BroadPhaseDescriptor::default());
        assert_eq!(pipelines(&device), all, "{what}: another device");
        assert!(pipelines(&other_device) > none, "{what}");
        drop(elsewhere);
        let texts = TEXTS.map(|condition| format!("fn admits_pair(a: u32, b: u32) -> bool {{ return {condition}; }}"));
        let with_text = |text: &'static str| {
            make(&BroadPhaseDescriptor {
                pair_filter: Some(text),
                ..BroadPhaseDescriptor::default()
            })
        };
        let [one, two] = texts.map(|text| &*text.leak());
        let filtered = with_text(one);
        let of_one = pipelines(&device) - all;
        assert!(of_one > 0, "{what}");
        let again = with_text(one);
        assert_eq!(pipelines(&device), all + of_one, "{what}: the same text");
        drop((filtered, again));
        let filtered = with_text(two);
        assert_eq!(pipelines(&device), all + of_one, "{what}: the other text");
        drop((filtered, second));
        assert_eq!(pipelines(&device), none, "{what}: nobody is left");
    }
}

#[test]
fn what_stands_beside_the_step_can_be_prepared_too() {
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let descriptor = BroadPhaseDescriptor::default();
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
        let mut events = PairEvents::new(None);
        let mut draw = DebugDraw::new(&descriptor, None);
        let mut args = DispatchArgs::new(None);
        let mut culling = Culling::new(None);
        let beside = [
            events.prepare(&gpu),
            draw.prepare(&gpu),
            args.prepare(&gpu),
            culling.prepare(&gpu),
        ];
        for preparation in beside {
            preparation.run().expect("pipelines");
        }
        let mut set = ObjectSet::new();
        let handles: Vec<_> = uniform(100, &mut Rng(4)).iter().map(|&of| set.insert(of)).collect();
        set.prepare(&gpu).run().expect("pipelines");
        let prepared = pipelines(&device);
        let boxes = uniform(200, &mut Rng(2));
        for _ in 0..3 {
            let mut encoder = device.create_command_encoder(&Default::default());
            set.set(handles[7], boxes[9]).expect("a handle");
            let input = set.upload(&device, &mut encoder).expect("an upload");
            let step = gpu.step(&mut encoder, input).expect("a step");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            drop(events.record_read_back(&mut encoder).expect("a handle"));
            args.record(&mut encoder, &step, Output::Pairs, 64).expect("arguments");
            let options = CullOptions {
                list_capacity: Some(10),
                draw: Some(CullDraw::Vertices(36)),
            };
            culling
                .record(&mut encoder, &step, Source::Host(&[Frustum::default()]), options)
                .expect("what a view sees");
            for lines in [DebugLines::Boxes, DebugLines::Pairs, DebugLines::Cells { levels: !0 }] {
                draw.record(&mut encoder, &step, lines, [255; 4], 1000).expect("lines");
            }
            queue.submit([encoder.finish()]);
        }
        assert_eq!(pipelines(&device), prepared, "{}", adapter.name);
    }
}

#[test]
fn another_descriptor_costs_what_differs_and_answers_as_a_new_one() {
    let base = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..Default::default()
        },
        ..Default::default()
    };
    // (Descriptor, `true` if it rebuilds pipelines).
    let settings = [
        (BroadPhaseDescriptor { margin: 0.25, ..base }, false),
        (
            BroadPhaseDescriptor {
                dimensions: Dimensions::Two,
                ..base
            },
            false,
        ),
        (
            BroadPhaseDescriptor {
                outputs: OutputOptions {
                    capacities: gpu_broad_phase::Capacities {
                        pairs: Some(1 << 16),
                        ..Default::default()
                    },
                    max_bytes: Some(200 << 20),
                    ..base.outputs
                },
                ..base
            },
            false,
        ),
        (BroadPhaseDescriptor { pairs: false, ..base }, false),
        (base, false),
        (BroadPhaseDescriptor { filters: false, ..base }, true),
        (
            BroadPhaseDescriptor {
                scheme: Scheme::Adaptive { min_scale: 0.7 },
                ..base
            },
            true,
        ),
        (
            BroadPhaseDescriptor {
                scheme: Scheme::Uniform { cell_size: 1.3 },
                ..base
            },
            true,
        ),
        (
            BroadPhaseDescriptor {
                scheme: Scheme::Uniform { cell_size: 2.0 },
                ..base
            },
            false,
        ),
        (base, true),
    ];
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &base).expect("a broad phase");
        gpu.prepare(Uses::ALL).run().expect("pipelines");
        let all = pipelines(&device);
        let mut rng = Rng(5);
        for (turn, (descriptor, is_dear)) in settings.iter().enumerate() {
            let what = format!("{}, {turn}: {descriptor:?}", adapter.name);
            let before = pipelines(&device);
            gpu.set_descriptor(descriptor).expect("a descriptor that works");
            assert_eq!(gpu.descriptor().margin, descriptor.margin);
            let kept = pipelines(&device);
            assert!(*is_dear || kept == before, "{what}: {before} pipelines, then {kept}");
            assert!(
                kept - before < all * 4 / 5,
                "{what}: {kept} after {before}, {all} at first"
            );
            let mut encoder = device.create_command_encoder(&Default::default());
            assert!(
                gpu.record_read_back(&mut encoder, Default::default()).is_err(),
                "{what}"
            );
            let boxes = uniform(300, &mut rng);
            let rays = boxes[..40].iter().map(|of| Ray::new(of.min, [0.3, 1.0, 0.2], 9.0));
            let scene_rays: Vec<_> = rays.collect();
            let scene = Scene {
                objects: Source::Host(&boxes),
                query: QueryInput {
                    rays: scene_rays[..].into(),
                    queries: Queries::Boxes(Source::Host(&boxes[..70])),
                    ..QueryInput::default()
                },
                ..Scene::default()
            };
            gpu.step(&mut encoder, scene).expect("a step");
            queue.submit([encoder.finish()]);
            let mut result = block_on(gpu.read_back()).expect("a result");
            if !result.counters.is_complete() {
                let mut encoder = device.create_command_encoder(&Default::default());
                gpu.step(&mut encoder, scene).expect("a step");
                queue.submit([encoder.finish()]);
                result = block_on(gpu.read_back()).expect("a result");
            }
            assert!(result.counters.is_complete(), "{what}");
            if descriptor.pairs {
                assert_eq!(
                    sorted(result.pairs.clone()),
                    brute_force::scene_pairs(descriptor, &scene).unwrap(),
                    "{what}"
                );
            }
            check_hits(
                &result,
                RayMode::All,
                &brute_force::scene_rays(descriptor, &scene).unwrap(),
                &what,
            );
            check_lists(&result, &brute_force::scene_queries(descriptor, &scene).unwrap(), &what);
        }
        let bad = BroadPhaseDescriptor { margin: -1.0, ..base };
        let told = gpu.set_descriptor(&bad).err();
        assert_eq!(told, Some(CreateError::Descriptor(DescriptorError::Margin(-1.0))));
        assert_eq!(gpu.descriptor().margin, 0.0);
        let mut encoder = device.create_command_encoder(&Default::default());
        drop(
            gpu.record_read_back(&mut encoder, Default::default())
                .expect("the last step is still there"),
        );
    }
}

#[test]
fn sets_are_prepared_for_another_descriptor_too() {
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let descriptor = BroadPhaseDescriptor::default();
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
        let mut set = gpu.query_set("set", &descriptor.outputs).expect("options");
        let boxes = uniform(200, &mut Rng(8));
        let rays = [Ray::new([0.0; 3], [1.0, 0.5, 0.25], 90.0); 9];
        let uses = Uses {
            rays: true,
            queries: true,
            ..Uses::default()
        };
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor { scheme, ..descriptor };
            gpu.set_descriptor(&descriptor).expect("a descriptor that works");
            set.prepare(&gpu, uses).run().expect("pipelines");
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            let prepared = pipelines(&device);
            let mut encoder = device.create_command_encoder(&Default::default());
            let input = Scene {
                objects: boxes[..].into(),
                ..Default::default()
            };
            let step = gpu.step(&mut encoder, input).expect("a step");
            let asked = QueryInput {
                rays: rays[..].into(),
                queries: boxes[..30].into(),
                ..Default::default()
            };
            set.record(&mut encoder, &step, asked).expect("a set");
            queue.submit([encoder.finish()]);
            assert_eq!(pipelines(&device), prepared, "{}, {scheme:?}", adapter.name);
        }
    }
}
