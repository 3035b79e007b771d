//! Forecasts of memory are what is then taken.

use super::*;

/// Before anything is made: what steps then have, to the byte, and once outputs grew, nearly.
#[test]
fn what_steps_take_is_forecast() {
    let mut rng = Rng(13);
    let boxes = uniform(3000, &mut rng);
    // Each covers some hundred cells.
    let statics: Vec<_> = uniform(700, &mut rng)
        .iter()
        .map(|of| Aabb::new(of.min, of.min.map(|low| low + 9.0)))
        .collect();
    let rays: Vec<_> = boxes.iter().map(|of| Ray::new(of.min, [0.5, 0.25, 1.0], 9.0)).collect();
    for adapter in daily_adapters() {
        for scheme in [
            Scheme::Hierarchical,
            Scheme::Uniform { cell_size: 2.0 },
            Scheme::Adaptive { min_scale: 1.0 },
        ] {
            for (turn, pair_order) in [PairOrder::Deterministic, PairOrder::Sorted].into_iter().enumerate() {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    pair_order,
                    ray_mode: RayMode::All,
                    ray_cells: turn == 0,
                    margin: 0.25 * turn as f32,
                    pair_filter: [None, Some("fn admits_pair(a: u32, b: u32) -> bool { return a != 9u; }")][turn],
                    ..Default::default()
                };
                let listed = vec![Pair { a: 0, b: 1 }; [0, 300][turn]];
                let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
                let mut counts = StepCounts {
                    objects: boxes.len() as u32,
                    statics: if turn == 0 { 0 } else { statics.len() as u32 },
                    rays: rays.len() as u32,
                    queries: 500,
                    excluded_pairs: listed.len() as u32,
                    pair_filter_data: 70,
                    ..StepCounts::default()
                };
                let forecast =
                    |counts| GpuBroadPhase::forecast(&adapter.device, &descriptor, &counts).expect("a step that fits");
                for step in 0..4 {
                    let what = format!("{}, {scheme:?}, {pair_order:?}, step {step}", adapter.name);
                    let mut encoder = adapter.device.create_command_encoder(&Default::default());
                    let input = Scene {
                        objects: Source::Host(&boxes),
                        statics: Statics {
                            objects: Source::Host(if turn == 0 { &[] } else { &statics }),
                            ..Default::default()
                        },
                        rays: Source::Host(&rays[..]).into(),
                        queries: Queries::Boxes(Source::Host(&boxes[..500])),
                        excluded_pairs: Source::Host(&listed),
                        pair_filter_data: Source::Host(&[7; 70]),
                        ..Default::default()
                    };
                    gpu.step(&mut encoder, input).expect("a step");
                    if step == 0 {
                        assert_eq!(gpu.memory(), forecast(counts), "{what}");
                    }
                    adapter.queue.submit([encoder.finish()]);
                    let found = block_on(gpu.read_back()).expect("a result").counters;
                    counts.pairs = found.pairs_needed as u32;
                    counts.hits = found.hits_needed as u32;
                    counts.results = found.results_needed as u32;
                    counts.entries = found.entries_needed as u32;
                    counts.static_entries = found.static_entries_needed as u32;
                    counts.ray_cells = found.ray_cells_needed as u32;
                }
                let (used, said) = (gpu.memory(), forecast(counts));
                let what = format!("{}, {scheme:?}: {used:?} of {said:?}", adapter.name);
                assert_eq!((used.inputs, used.fixed), (said.inputs, said.fixed), "{what}");
                // Room to spare depends on what the steps before needed, and so do the hits that counting keeps, and
                // the sums of the sorts, which count as objects.
                assert!(1000 * used.objects.abs_diff(said.objects) <= said.objects, "{what}");
                assert!(
                    used.total() * 10 >= said.total() * 9 && used.total() * 9 <= said.total() * 10,
                    "{what}"
                );
            }
        }
        let tight = BroadPhaseDescriptor {
            max_bytes: Some(1 << 20),
            ..Default::default()
        };
        let counts = StepCounts {
            objects: 1_000_000,
            ..StepCounts::default()
        };
        let refused = GpuBroadPhase::forecast(&adapter.device, &tight, &counts).err();
        assert!(
            matches!(
                refused,
                Some(DescriptorError::StepTooLarge(InputError::MemoryLimit { limit, .. })) if limit == 1 << 20
            ),
            "{refused:?}"
        );
        let bad = BroadPhaseDescriptor {
            margin: f32::NAN,
            ..tight
        };
        let refused = GpuBroadPhase::forecast(&adapter.device, &bad, &counts).err();
        assert!(matches!(refused, Some(DescriptorError::Margin(_))), "{refused:?}");
    }
}

/// As of steps, of what several parts of a program ask.
#[test]
fn what_sets_of_queries_take_is_forecast() {
    let mut rng = Rng(14);
    let boxes = uniform(3000, &mut rng);
    let statics = uniform(700, &mut rng);
    let spheres: Vec<_> = boxes[..500].iter().map(|of| Query::sphere(of.min, 1.0)).collect();
    let rays: Vec<_> = boxes.iter().map(|of| Ray::new(of.min, [0.5, 0.25, 1.0], 9.0)).collect();
    for adapter in daily_adapters() {
        let choices = [
            (RayMode::All, QueryKind::Boxes, QueryMode::All),
            (RayMode::Closest, QueryKind::Partners, QueryMode::All),
            (RayMode::Any, QueryKind::Spheres, QueryMode::Nearest(3)),
            (RayMode::Any, QueryKind::Neighbors, QueryMode::All),
            (RayMode::All, QueryKind::Neighbors, QueryMode::Nearest(2)),
        ];
        for (turn, (ray_mode, query_kind, query_mode)) in choices.into_iter().enumerate() {
            let descriptor = BroadPhaseDescriptor {
                scheme: [Scheme::Hierarchical, Scheme::Uniform { cell_size: 2.0 }][turn % 2],
                ..Default::default()
            };
            let of_set = BroadPhaseDescriptor {
                ray_mode,
                ray_cells: turn == 1,
                pair_order: [PairOrder::Sorted, PairOrder::Deterministic][turn % 2],
                ..descriptor
            };
            let mut gpu = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).expect("a broad phase");
            let mut set = gpu.query_set("set", &of_set);
            let mut counts = StepCounts {
                objects: boxes.len() as u32,
                statics: if turn % 2 == 0 { 0 } else { statics.len() as u32 },
                rays: rays.len() as u32,
                queries: spheres.len() as u32,
                query_kind,
                query_mode,
                ..StepCounts::default()
            };
            let forecast =
                |counts| QuerySet::forecast(&adapter.device, &of_set, &counts).expect("a set of queries that fits");
            for step in 0..4 {
                let mut encoder = adapter.device.create_command_encoder(&Default::default());
                let input = Scene {
                    objects: Source::Host(&boxes),
                    statics: Statics {
                        objects: Source::Host(&statics[..counts.statics as usize]),
                        ..Default::default()
                    },
                    ..Default::default()
                };
                gpu.step(&mut encoder, input).expect("a step");
                let asked = QueryInput {
                    rays: Source::Host(&rays[..]).into(),
                    queries: match query_kind {
                        QueryKind::Boxes => Queries::Boxes(Source::Host(&boxes[..500])),
                        QueryKind::Spheres => Queries::Spheres(Source::Host(&spheres)),
                        QueryKind::Neighbors => Neighbors::within(2.0).into(),
                        _ => Partners::default().into(),
                    },
                    query_mode,
                    ..Default::default()
                };
                set.record(&mut encoder, &gpu, asked).expect("a set");
                if step == 0 {
                    let what = format!("{}, {ray_mode:?}", adapter.name);
                    assert_eq!(set.memory(), forecast(counts), "{what}");
                }
                adapter.queue.submit([encoder.finish()]);
                let found = block_on(set.read_back()).expect("a result").counters;
                counts.hits = found.hits_needed as u32;
                counts.results = found.results_needed as u32;
                counts.ray_cells = found.ray_cells_needed as u32;
            }
            let (used, said) = (set.memory(), forecast(counts));
            let what = format!("{}, {ray_mode:?}: {used:?} of {said:?}", adapter.name);
            assert_eq!((used.inputs, used.fixed), (said.inputs, said.fixed), "{what}");
            assert!(said.answers > 10_000 && said.pairs == 0, "{what}");
            assert!(
                used.total() * 10 >= said.total() * 9 && used.total() * 9 <= said.total() * 10,
                "{what}"
            );
        }
        let tight = BroadPhaseDescriptor {
            max_bytes: Some(1 << 16),
            ..Default::default()
        };
        let counts = StepCounts {
            objects: 1000,
            rays: 1_000_000,
            ..StepCounts::default()
        };
        let refused = QuerySet::forecast(&adapter.device, &tight, &counts).err();
        assert!(
            matches!(
                refused,
                Some(DescriptorError::StepTooLarge(InputError::MemoryLimit { limit, .. })) if limit == 1 << 16
            ),
            "{refused:?}"
        );
    }
}

/// What is made beside steps, to the byte; and wgpu counts no less on the device.
#[test]
fn what_stands_beside_the_step_is_forecast() {
    let mut rng = Rng(15);
    let boxes = uniform(3000, &mut rng);
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let on_device = || device.get_internal_counters().hal.buffer_memory.read() as u64;
        for (turn, statics) in [0, 700].into_iter().enumerate() {
            let what = format!("{statics} static on {}", adapter.name);
            let descriptor = BroadPhaseDescriptor {
                capacities: Capacities {
                    pairs: Some([1 << 14, 1 << 15][turn]),
                    ..Capacities::default()
                },
                ..Default::default()
            };
            let counts = StepCounts {
                objects: boxes.len() as u32,
                statics,
                pairs: 9000,
                ..StepCounts::default()
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
                let input = set.record(&device, &mut encoder).expect("an update");
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
                args.record(&mut encoder, &output, OutputRows::Pairs, 64)
                    .expect("arguments");
                queue.submit([encoder.finish()]);
                if step > 0 {
                    // What the update before took is still there.
                    let of_set = ObjectSet::forecast(&device, &counts, 100 * step as u32).expect("a set that fits");
                    let more = set.memory().total() - of_set.total();
                    assert!(if step == 1 { more == 0 } else { more < 4096 }, "{what}: {more}");
                    for (events, has_generations) in [(&events, true), (&unnamed, false)] {
                        assert_eq!(
                            Ok(events.memory()),
                            PairEvents::forecast(&device, &descriptor, &counts, has_generations),
                            "{what}"
                        );
                    }
                }
                assert_eq!(
                    Ok(culling.memory()),
                    Culling::forecast(&device, &counts, views.len() as u32, options),
                    "{what}"
                );
            }
            // Whole boxes of twelve lines each, and an indirect draw; four words.
            assert_eq!(lines.memory().answers, 16 * 2 * 12 * (1000 / 12), "{what}");
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
            // Beside uniform blocks and what uploads pass through. wgpu does not tell of GL.
            let made = on_device() - before;
            assert!(
                adapter.backends == wgpu::Backends::GL || (own..own + own / 10).contains(&made),
                "{what}: {made} bytes, {own} of them our own"
            );
        }
        let counts = StepCounts {
            objects: u32::MAX,
            ..StepCounts::default()
        };
        let refused = ObjectSet::forecast(&device, &counts, 0);
        assert!(matches!(refused, Err(InputError::TooMany { .. })), "{refused:?}");
        let refused = Culling::forecast(&device, &counts, 33, CullOptions::default());
        assert!(
            matches!(refused, Err(InputError::TooMany { what: "views", .. })),
            "{refused:?}"
        );
        let counts = StepCounts {
            objects: 100_000_000,
            ..StepCounts::default()
        };
        let refused = Culling::forecast(&device, &counts, 32, CullOptions::default());
        assert!(matches!(refused, Err(InputError::BufferTooLarge { .. })), "{refused:?}");
    }
}
