//! Invalid fields of descriptors, and values at their limits.

use super::*;

fn refusal(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> DescriptorError {
    match GpuBroadPhase::new(&adapter.device, &adapter.queue, descriptor) {
        Err(CreateError::Descriptor(error)) => {
            assert_eq!(
                cpu::step(descriptor, &[], &[]).unwrap_err().to_string(),
                error.to_string()
            );
            error
        }
        Err(other) => panic!("{descriptor:?}: {other}"),
        Ok(_) => panic!("{descriptor:?} is taken"),
    }
}

const NO_LENGTHS: [f32; 8] = [-1.0, -1e-45, 1e-45, 1e-40, f32::MAX, INFINITY, -INFINITY, f32::NAN];

#[test]
fn cell_sizes_scales_margins_and_periods_that_are_no_lengths_are_refused() {
    for adapter in daily_adapters() {
        for length in NO_LENGTHS.into_iter().chain([0.0, -0.0]) {
            let cell_size = BroadPhaseDescriptor {
                scheme: Scheme::Uniform { cell_size: length },
                ..Default::default()
            };
            let min_scale = BroadPhaseDescriptor {
                scheme: Scheme::Adaptive { min_scale: length },
                ..Default::default()
            };
            let bits = length.to_bits();
            let error = refusal(&adapter, &cell_size);
            assert!(
                matches!(error, DescriptorError::CellSize(named) if named.to_bits() == bits),
                "{error}"
            );
            let error = refusal(&adapter, &min_scale);
            assert!(
                matches!(error, DescriptorError::MinScale(named) if named.to_bits() == bits),
                "{error}"
            );
        }
        for scheme in SCHEMES {
            for length in [-1.0, -1e-45, INFINITY, -INFINITY, f32::NAN] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    margin: length,
                    ..Default::default()
                };
                let error = refusal(&adapter, &descriptor);
                let named = |named: f32| named.to_bits() == length.to_bits();
                assert!(
                    matches!(error, DescriptorError::Margin(margin) if named(margin)),
                    "{error}"
                );
            }
            for headroom in [-0.1, 16.1, INFINITY, f32::NAN] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    outputs: OutputOptions {
                        headroom,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                let error = refusal(&adapter, &descriptor);
                let DescriptorError::Headroom(named) = error else {
                    panic!("{error}");
                };
                assert_eq!(named.to_bits(), headroom.to_bits());
            }
            for (axis, length) in NO_LENGTHS.into_iter().enumerate() {
                let mut periods = [0.0, -0.0, 1.0];
                periods[axis % 3] = length;
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    periods,
                    ..Default::default()
                };
                let error = refusal(&adapter, &descriptor);
                let named = |named: f32| named.to_bits() == length.to_bits();
                assert!(
                    matches!(error, DescriptorError::Period(period) if named(period)),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn no_worlds_and_capacities_of_nothing_are_refused() {
    let none = Some(0);
    let all = Capacities::default();
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                worlds: 0,
                ..Default::default()
            };
            assert_eq!(refusal(&adapter, &descriptor), DescriptorError::NoWorlds);
            for growth in [Growth::Grow, Growth::Fixed] {
                for (what, capacities) in [
                    ("pairs", Capacities { pairs: none, ..all }),
                    ("hits", Capacities { hits: none, ..all }),
                    ("entries", Capacities { entries: none, ..all }),
                    ("ray cells", Capacities { ray_cells: none, ..all }),
                    ("results of queries", Capacities { results: none, ..all }),
                ] {
                    let descriptor = BroadPhaseDescriptor {
                        scheme,
                        outputs: OutputOptions {
                            growth,
                            capacities,
                            ..Default::default()
                        },
                        ..Default::default()
                    };
                    assert_eq!(refusal(&adapter, &descriptor), DescriptorError::ZeroCapacity { what });
                }
            }
        }
    }
}

#[test]
fn descriptors_that_no_step_fits_are_refused_before_any_step() {
    for adapter in daily_adapters() {
        let limits = adapter.device.limits();
        let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15;
        let refused = |descriptor: &BroadPhaseDescriptor<'_>| match GpuBroadPhase::new(
            &adapter.device,
            &adapter.queue,
            descriptor,
        ) {
            Err(CreateError::Descriptor(error)) => error,
            Err(other) => panic!("{descriptor:?}: {other}"),
            Ok(_) => panic!("{descriptor:?} is taken on {}", adapter.name),
        };
        for scheme in SCHEMES {
            let all = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let worlds = |worlds| BroadPhaseDescriptor { worlds, ..all };
            let most = limit / 4;
            for count in [u32::MAX, u32::try_from(most + 1).unwrap_or(u32::MAX)] {
                let expected = DescriptorError::TooMany {
                    what: "worlds",
                    count: count.into(),
                    limit: most.min((1 << 29) - 1),
                };
                assert_eq!(refused(&worlds(count)), expected);
            }
            let on_cpu = cpu::step(&worlds(u32::MAX), &[], &[]).unwrap_err();
            assert_eq!(on_cpu.to_string(), "4294967295 worlds: the maximum is 536870911");
            let without_pairs = BroadPhaseDescriptor {
                pairs: false,
                ..worlds(u32::MAX)
            };
            broad_phase(&adapter, &without_pairs);

            let limited = |max_bytes| BroadPhaseDescriptor {
                outputs: OutputOptions {
                    max_bytes: Some(max_bytes),
                    ..all.outputs
                },
                ..all
            };
            let mut least = 0;
            for bytes in [0, 1, 1000] {
                let error = refused(&limited(bytes));
                let DescriptorError::NoStepFits(InputError::MemoryLimit { needed, limit }) = error else {
                    panic!("{error}");
                };
                assert_eq!(limit, bytes);
                assert!(cpu::step(&limited(bytes), &[], &[]).is_ok());
                least = needed;
            }
            assert!(matches!(
                refused(&limited(least - 1)),
                DescriptorError::NoStepFits(InputError::MemoryLimit { .. })
            ));
            let mut on_gpu = broad_phase(&adapter, &limited(least));
            whole(&adapter, &mut on_gpu, Scene::default());
            assert!(on_gpu.memory().total() <= least);
        }
    }
}

#[test]
fn stage_times_that_a_device_cannot_measure_are_refused() {
    for adapter in daily_adapters() {
        let found = block_on(all_adapters(adapter.backends))
            .into_iter()
            .next()
            .expect("an adapter");
        let feature = wgpu::Features::TIMESTAMP_QUERY;
        for features in [wgpu::Features::empty(), found.features() & feature] {
            let request = wgpu::DeviceDescriptor {
                required_features: features,
                required_limits: GpuBroadPhase::required_limits(),
                ..Default::default()
            };
            let (device, queue) = block_on(found.request_device(&request)).expect("a device");
            for timestamps in [false, true] {
                let descriptor = BroadPhaseDescriptor {
                    outputs: OutputOptions {
                        timestamps,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
                let mut encoder = device.create_command_encoder(&Default::default());
                let input = Scene {
                    objects: Source::Host(&[UNIT, UNIT]),
                    ..Default::default()
                };
                gpu.step(&mut encoder, input).expect("a step");
                queue.submit([encoder.finish()]);
                let result = block_on(gpu.read_back()).expect("a result");
                let is_timed = timestamps && features == feature;
                assert_eq!(result.timings.is_empty(), !is_timed, "{}", adapter.name);
                assert_eq!(result.pairs.len(), 1, "{}", adapter.name);
            }
        }
    }
}

#[test]
fn cells_of_the_smallest_and_the_largest_size_cost_time_alone() {
    let power = |exponent: u32| f32::from_bits((127 + exponent) << 23);
    let tiny = f32::from_bits((127 - 100) << 23);
    let objects = mixed();
    for scheme in [
        Scheme::Uniform { cell_size: tiny },
        Scheme::Uniform { cell_size: power(100) },
        Scheme::Adaptive { min_scale: tiny },
        Scheme::Adaptive { min_scale: power(90) },
    ] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        };
        check_descriptor(&descriptor, &[&objects], &[], "extreme cells");
    }
    let scenes = [1e-44, 1e-38, 1e-30, 1e30].map(|scale| -> Vec<_> {
        let scaled = |corner: [f32; 3]| corner.map(|bound| bound * scale);
        let objects = lattice(150, &mut Rng(36));
        objects
            .iter()
            .map(|object| Aabb::new(scaled(object.min), scaled(object.max)))
            .collect()
    });
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..Default::default()
        },
        ..Default::default()
    };
    check_descriptor(&descriptor, &scenes.each_ref().map(Vec::as_slice), &[], "extreme sizes");
}

#[test]
fn margins_up_to_the_largest_float_grow_boxes() {
    for scheme in SCHEMES {
        for margin in [1e-40, 0.25, f32::MAX] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                margin,
                ..Default::default()
            };
            check_descriptor(&descriptor, &[&mixed()], &[], "margin");
        }
    }
}

/// With a margin, boxes grow, which flushes denormal bounds to 0. So the first point no longer reaches the second.
#[test]
fn denormal_bounds_count_as_zero_where_boxes_grow() {
    let objects = [Aabb::point([1.0e-38; 3]), Aabb::point([3.3e-38; 3])];
    let as_zero = [Aabb::point([0.0; 3]), objects[1]];
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            margin: 1.2e-38,
            ..Default::default()
        };
        check_descriptor(&descriptor, &[&as_zero], &[], "denormal bounds");
        for adapter in daily_adapters() {
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let scene = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let found = whole(&adapter, &mut on_gpu, scene);
            let on_cpu = cpu::step_scene(&descriptor, &scene).unwrap();
            assert_eq!(found.pairs, on_cpu.pairs, "{descriptor:?} on {}", adapter.name);
            assert!(found.pairs.is_empty(), "{descriptor:?} on {}", adapter.name);
        }
    }
}

#[test]
fn periods_from_the_smallest_to_the_largest_move_positions() {
    let smallest = f32::from_bits((127 - 100) << 23);
    let largest = f32::from_bits((127 + 90) << 23);
    let mut points: Vec<_> = lattice(200, &mut Rng(37))
        .iter()
        .map(|object| Aabb::point(object.min))
        .collect();
    points.extend([1e30, -1e30, f32::MAX, f32::MIN, INFINITY, f32::NAN, -0.0, -1e-45].map(|far| Aabb::point([far; 3])));
    points.extend([1e30, 1e38].map(|far| Aabb::new([-far; 3], [far; 3])));
    for scheme in SCHEMES {
        for periods in [[smallest, 0.0, largest], [1.5, largest, smallest]] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                periods,
                ..Default::default()
            };
            for adapter in daily_adapters() {
                let what = format!("{descriptor:?} on {}", adapter.name);
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                let scene = Scene {
                    objects: Source::Host(&points),
                    query: QueryInput {
                        queries: SelfQuery::Within {
                            radius: 0.4,
                            half: false,
                        }
                        .into(),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let found = whole(&adapter, &mut on_gpu, scene);
                let on_cpu = cpu::step_scene(&descriptor, &scene).unwrap();
                assert_eq!(counted(&found.counters), counted(&on_cpu.counters), "{what}");
                assert!(sorted(found.pairs.clone()) == sorted(on_cpu.pairs.clone()), "{what}");
                let expected = brute_force::scene_queries(&descriptor, &scene).unwrap();
                check_lists(&found, &expected, &what);
                check_lists(&on_cpu, &expected, &what);
            }
        }
    }
}

#[test]
fn a_finite_box_of_endless_edges_keeps_its_neighbours_in_a_period() {
    let objects = [Aabb::new([f32::MIN; 3], [f32::MAX; 3]), Aabb::point([f32::MIN; 3])];
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            periods: [3.0; 3],
            ..Default::default()
        };
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                queries: SelfQuery::Within {
                    radius: 0.5,
                    half: false,
                }
                .into(),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let expected = brute_force::scene_queries(&descriptor, &scene).unwrap();
        for adapter in daily_adapters() {
            let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), scene);
            check_lists(&found, &expected, "on the device");
        }
        check_lists(&cpu::step_scene(&descriptor, &scene).unwrap(), &expected, "on the CPU");
    }
}

#[test]
fn objects_of_worlds_that_do_not_exist_are_ignored_and_missing_ids_refused() {
    let objects = mixed();
    let ids = [0, 1, 2, 3, u32::MAX, u32::MAX - 1];
    let worlds: Vec<_> = (0..objects.len()).map(|index| ids[index % 6]).collect();
    for scheme in SCHEMES {
        for (count, pairs) in [(3, true), (u32::MAX, false)] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs,
                worlds: count,
                ..Default::default()
            };
            check_descriptor(&descriptor, &[&objects], &worlds, "worlds");
        }
        let descriptor = BroadPhaseDescriptor {
            scheme,
            worlds: 2,
            ..Default::default()
        };
        for adapter in daily_adapters() {
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            for given in [0, 1, objects.len() - 1] {
                let scene = Scene {
                    objects: Source::Host(&objects),
                    worlds: Source::Host(&worlds[..given]),
                    ..Default::default()
                };
                let expected = InputError::WorldsMissing {
                    worlds: given as u64,
                    objects: objects.len() as u64,
                };
                assert_eq!(
                    refused(&adapter, &mut on_gpu, scene),
                    StepError::Input(expected.clone())
                );
                assert_eq!(cpu::step_scene(&descriptor, &scene), Err(expected.into()));
            }
        }
    }
}

#[test]
fn capacities_past_the_limit_of_the_device_name_value_and_limit() {
    const MOST: Option<u32> = Some(u32::MAX);
    let none = Capacities::default();
    for adapter in daily_adapters() {
        let limit = adapter.device.limits().max_storage_buffer_binding_size;
        for scheme in SCHEMES {
            for (what, bytes, capacities) in [
                ("pairs", 8, Capacities { pairs: MOST, ..none }),
                ("ray_hits", 8, Capacities { hits: MOST, ..none }),
                (
                    "ray_cells",
                    16,
                    Capacities {
                        ray_cells: MOST,
                        ..none
                    },
                ),
                ("query_objects", 4, Capacities { results: MOST, ..none }),
                ("cell entries", 0, Capacities { entries: MOST, ..none }),
            ] {
                let rays = [Ray::new([0.0; 3], [1.0; 3], 1.0)];
                let scene = Scene {
                    objects: Source::Host(&[UNIT, UNIT]),
                    query: QueryInput {
                        rays: rays.as_slice().into(),
                        queries: Queries::Boxes(Source::Host(&[UNIT])),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    outputs: OutputOptions {
                        capacities,
                        growth: Growth::Fixed,
                        ray_mode: RayMode::All,
                        ray_cells: what == "ray_cells",
                        ..Default::default()
                    },
                    pairs: what == "pairs" || bytes == 0,
                    ..Default::default()
                };
                let expected = if bytes > 0 {
                    InputError::BufferTooLarge {
                        what,
                        needed: bytes * u64::from(u32::MAX),
                        limit,
                    }
                } else {
                    InputError::TooMany {
                        what,
                        count: u32::MAX.into(),
                        limit: (1 << 29) - 1,
                    }
                };
                if bytes == 0 && !matches!(scheme, Scheme::Uniform { .. }) {
                    // Other schemes ignore the capacity of entries.
                    let mut on_gpu = broad_phase(&adapter, &descriptor);
                    assert_eq!(whole(&adapter, &mut on_gpu, scene).pairs.len(), 1);
                    continue;
                }
                // Other outputs exist only in steps with rays or queries, so the step reports them.
                let error = if matches!(what, "pairs" | "cell entries") {
                    let error = GpuBroadPhase::new(&adapter.device, &adapter.queue, &descriptor).err();
                    let refused = DescriptorError::NoStepFits(expected.clone());
                    assert_eq!(error, Some(CreateError::Descriptor(refused)));
                    StepError::Input(expected)
                } else {
                    let mut on_gpu = broad_phase(&adapter, &descriptor);
                    let error = refused(&adapter, &mut on_gpu, scene);
                    assert_eq!(error, StepError::Input(expected));
                    let read = block_on(on_gpu.read_back());
                    assert_eq!(read, Err(ReadBackError::NoStep));
                    error
                };
                let text = error.to_string();
                assert!(
                    text.contains(what) && (bytes == 0 || text.contains(&limit.to_string())),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn capacities_at_the_limit_of_the_device_are_taken_and_one_more_is_not() {
    for adapter in daily_adapters() {
        let limit = adapter.device.limits().max_storage_buffer_binding_size;
        let most = (limit / 8) as u32;
        for scheme in SCHEMES {
            let fixed = |pairs| BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(pairs),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let scene = Scene {
                objects: Source::Host(&[UNIT, UNIT]),
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &fixed(most));
            let result = whole(&adapter, &mut on_gpu, scene);
            assert_eq!((result.pairs.len(), result.counters.pairs_capacity), (1, most));
            let expected = InputError::BufferTooLarge {
                what: "pairs",
                needed: 8 * (u64::from(most) + 1),
                limit,
            };
            let refused = GpuBroadPhase::new(&adapter.device, &adapter.queue, &fixed(most + 1)).err();
            let expected = DescriptorError::NoStepFits(expected);
            assert_eq!(refused, Some(CreateError::Descriptor(expected)));
            let growing = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    growth: Growth::Grow,
                    ..fixed(u32::MAX).outputs
                },
                ..fixed(u32::MAX)
            };
            let mut on_gpu = broad_phase(&adapter, &growing);
            assert_eq!(whole(&adapter, &mut on_gpu, scene).pairs.len(), 1);
        }
    }
}
