use super::*;

/// Few descriptors, since each needs its own pipelines.
fn device_descriptors() -> Vec<BroadPhaseDescriptor<'static>> {
    let default = BroadPhaseDescriptor::default();
    let small = Capacities {
        pairs: Some(9),
        hits: Some(7),
        results: Some(5),
        entries: Some(20_000),
        ..Default::default()
    };
    let uniform = Scheme::Uniform { cell_size: 1.5 };
    let adaptive = Scheme::Adaptive { min_scale: 0.5 };
    vec![
        everything(default),
        BroadPhaseDescriptor {
            scheme: uniform,
            dimensions: Dimensions::Two,
            margin: 0.125,
            worlds: 3,
            ..everything(default)
        },
        BroadPhaseDescriptor {
            scheme: adaptive,
            filters: false,
            margin: 0.1,
            outputs: OutputOptions {
                ray_mode: RayMode::Closest,
                ..default.outputs
            },
            ..default
        },
        BroadPhaseDescriptor {
            dimensions: Dimensions::Two,
            worlds: 3,
            filters: false,
            outputs: OutputOptions {
                ray_mode: RayMode::Any,
                ..default.outputs
            },
            ..default
        },
        BroadPhaseDescriptor {
            scheme: uniform,
            periods: [4.0, 0.0, 5.5],
            pairs: false,
            ..default
        },
        fixed(small),
        BroadPhaseDescriptor {
            scheme: uniform,
            ..fixed(small)
        },
        BroadPhaseDescriptor {
            scheme: uniform,
            ..fixed(Capacities {
                entries: Some(40),
                ..small
            })
        },
        BroadPhaseDescriptor {
            scheme: adaptive,
            worlds: 3,
            ..fixed(small)
        },
    ]
}

struct Device {
    adapter: TestAdapter,
    made: HashMap<usize, GpuBroadPhase>,
}

impl Device {
    fn answer(&mut self, descriptor: usize, scene: &Scene<'_>) -> StepResult {
        let TestAdapter { device, queue, .. } = &self.adapter;
        let broad_phase = self
            .made
            .entry(descriptor)
            .or_insert_with(|| GpuBroadPhase::new(device, queue, &device_descriptors()[descriptor]).unwrap());
        let grows = device_descriptors()[descriptor].outputs.growth == Growth::Grow;
        // Entries grow first, then outputs that depend on them.
        for _ in 0..4 {
            let mut encoder = device.create_command_encoder(&Default::default());
            broad_phase.step(&mut encoder, *scene).unwrap();
            queue.submit([encoder.finish()]);
            let result = block_on(broad_phase.read_back()).unwrap();
            if !grows || result.counters.is_complete() {
                return result;
            }
        }
        panic!("still not whole after four steps");
    }
}

#[test]
fn devices_answer_by_the_definition_and_as_the_reference() {
    let descriptors = device_descriptors();
    for adapter in adapters() {
        let name = adapter.name.clone();
        let device = RefCell::new(Device {
            adapter,
            made: HashMap::new(),
        });
        let strategy = (0..descriptors.len(), scene_seed(Kind::Any));
        hold(on_devices(), strategy, |(index, seed)| {
            let descriptor = &descriptors[index];
            let given = seed.given(descriptor);
            let scene = given.scene();
            let expected = Expected::of(descriptor, &scene);
            let result = device.borrow_mut().answer(index, &scene);
            check(descriptor, &scene, &expected, &result, &name);
            let on_cpu = on_reference(descriptor, &given);
            check(descriptor, &scene, &expected, &on_cpu, "reference");
            let counts = |result: &StepResult| {
                let counters = result.counters;
                let entries = counters.entries_needed;
                (
                    [
                        counters.invalid,
                        counters.excluded,
                        counters.large,
                        counters.levels,
                        counters.table_cells,
                    ],
                    [counters.rays_invalid, counters.queries_invalid],
                    if matches!(descriptor.scheme, Scheme::Uniform { .. }) {
                        entries
                    } else {
                        0
                    },
                )
            };
            assert_eq!(counts(&result), counts(&on_cpu), "{name}");
        });
    }
}

#[test]
fn devices_hit_what_exact_arithmetic_says() {
    for adapter in adapters() {
        let device = RefCell::new(Device {
            adapter,
            made: HashMap::new(),
        });
        hold(on_devices(), scene_seed(Kind::Exact), |seed| {
            let descriptor = &device_descriptors()[0];
            let mut given = seed.given(descriptor);
            without_denormals(&mut given);
            for object in &mut given.objects {
                (object.layers, object.group) = (Aabb::ALL_LAYERS, object.group & Aabb::EXCLUDED);
            }
            for ray in given
                .swept
                .iter_mut()
                .map(|swept| &mut swept.ray)
                .chain(&mut given.plain)
            {
                ray.layers = Aabb::ALL_LAYERS;
            }
            let result = device.borrow_mut().answer(0, &given.scene());
            check_rays(descriptor, &given, &result);
        });
    }
}

#[test]
fn devices_hit_what_exact_arithmetic_says_at_every_scale() {
    let descriptors = device_descriptors();
    let choices = [0, 2, 3, 6];
    for adapter in adapters() {
        let name = adapter.name.clone();
        let device = RefCell::new(Device {
            adapter,
            made: HashMap::new(),
        });
        hold(on_devices(), scales::seed(), |seed| {
            let mut given = scales_given(&seed);
            for index in choices {
                let descriptor = &descriptors[index];
                given.worlds = vec![0; if descriptor.worlds > 1 { given.objects.len() } else { 0 }];
                let scene = given.scene();
                let expected = Expected::of(descriptor, &scene);
                let result = device.borrow_mut().answer(index, &scene);
                check(descriptor, &scene, &expected, &result, &name);
                if index == 0 {
                    check_scales(3, &given.objects, &given.swept, &result);
                }
            }
        });
    }
}
