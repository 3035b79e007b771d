use crate::common::steps::{SCHEMES, UNIT, broad_phase, check_hits, check_lists, encoder, sorted};
use crate::common::{Rng, adapters, sweep, uniform};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, Output, OutputOptions, Page, Queries, Query,
    QueryInput, QueryMode, QuerySet, Ray, RayMode, Rays, ReadBackError, ResultOrder, Scene, Source, Statics, Status,
    StepError, StepResult, SweptRay, adapters as all_adapters, reference::brute_force, wgpu,
};
use pollster::block_on;

struct Frame {
    boxes: Vec<Aabb>,
    statics: Vec<Aabb>,
    worlds: [Vec<u32>; 2],
    rays: Vec<Ray>,
    swept: Vec<SweptRay>,
    spheres: Vec<Query>,
    /// Generation of the static objects, which also selects their number.
    generation: u64,
}

impl Frame {
    fn new(count: usize, generation: u64, worlds: u32, rng: &mut Rng) -> Self {
        let boxes = uniform(count, rng);
        let statics = uniform(if generation.is_multiple_of(3) { 0 } else { 60 }, rng);
        let rays: Vec<_> = (0..50)
            .map(|_| {
                let at = |rng: &mut Rng| 10.0 * rng.unit();
                Ray::new(
                    [at(rng), at(rng), at(rng)],
                    [rng.unit() - 0.5, rng.unit() - 0.5, rng.unit()],
                    30.0,
                )
            })
            .collect();
        let mut of = |count: usize| -> Vec<u32> {
            let count = if worlds > 1 { count } else { 0 };
            (0..count).map(|_| rng.below(worlds as usize) as u32).collect()
        };
        Self {
            worlds: [of(boxes.len()), of(statics.len())],
            swept: sweep(&rays, worlds, rng),
            spheres: boxes
                .iter()
                .step_by(5)
                .map(|of| Query::sphere(of.min, 0.75).in_world(rng.below(worlds as usize) as u32))
                .collect(),
            boxes,
            statics,
            rays,
            generation,
        }
    }

    fn input(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.boxes),
            worlds: Source::Host(&self.worlds[0]),
            statics: Statics {
                objects: Source::Host(&self.statics),
                worlds: Source::Host(&self.worlds[1]),
                generation: self.generation,
            },
            query: QueryInput {
                rays: Source::Host(&self.rays[..]).into(),
                queries: Queries::Boxes(Source::Host(&self.boxes[..20])),
                ..QueryInput::default()
            },
            ..Default::default()
        }
    }

    fn scene<'s>(&'s self, rays: Rays<'s>, queries: Queries<'s>) -> Scene<'s> {
        Scene {
            objects: Source::Host(&self.boxes),
            worlds: Source::Host(&self.worlds[0]),
            statics: Statics {
                objects: Source::Host(&self.statics),
                worlds: Source::Host(&self.worlds[1]),
                generation: self.generation,
            },
            query: QueryInput {
                rays,
                queries,
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, found: &StepResult, what: &str) {
    assert!(found.counters.is_complete(), "{what}: {}", found.counters.status);
    check_hits(
        found,
        descriptor.outputs.ray_mode,
        &brute_force::scene_rays(descriptor, scene).unwrap(),
        what,
    );
    check_lists(found, &brute_force::scene_queries(descriptor, scene).unwrap(), what);
}

const ROOMY: Capacities = Capacities {
    pairs: Some(1 << 16),
    hits: Some(1 << 14),
    entries: Some(1 << 14),
    ray_cells: None,
    results: Some(1 << 14),
    rounds: None,
};

#[test]
fn each_set_has_its_own_answer_and_the_step_keeps_its_own() {
    for adapter in adapters() {
        for (turn, scheme) in SCHEMES.into_iter().enumerate() {
            for (dimensions, worlds) in [(Dimensions::Three, 1), (Dimensions::Two, 1), (Dimensions::Three, 3)] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    dimensions,
                    worlds,
                    margin: if turn == 1 { 0.125 } else { 0.0 },
                    outputs: OutputOptions {
                        ray_mode: RayMode::All,
                        capacities: ROOMY,
                        ..Default::default()
                    },
                    ..Default::default()
                };
                let mut gpu = broad_phase(&adapter, &descriptor);
                let of_picking = OutputOptions {
                    ray_mode: RayMode::Closest,
                    ..descriptor.outputs
                };
                let of_sensors = OutputOptions {
                    ray_mode: RayMode::Any,
                    order: ResultOrder::Sorted,
                    ..descriptor.outputs
                };
                let mut picking = gpu.query_set("picking", &of_picking).expect("options");
                let mut sensors = gpu.query_set("sensors", &of_sensors).expect("options");
                let [of_picking, of_sensors] = [RayMode::Closest, RayMode::Any].map(|ray_mode| BroadPhaseDescriptor {
                    outputs: OutputOptions {
                        ray_mode,
                        ..descriptor.outputs
                    },
                    ..descriptor
                });
                let mut rng = Rng(3 + turn as u64);
                for generation in 0..5 {
                    let what = format!("{}, {descriptor:?}, frame {generation}", adapter.name);
                    let frame = Frame::new(150 + 70 * generation as usize, generation, worlds, &mut rng);
                    let picks = QueryInput {
                        rays: Source::Host(&frame.swept[..]).into(),
                        queries: Queries::Boxes(Source::Host(&frame.boxes[..9])),
                        ..Default::default()
                    };
                    let senses = QueryInput {
                        rays: Source::Host(&frame.rays[..31]).into(),
                        queries: Queries::General(Source::Host(&frame.spheres)),
                        ..Default::default()
                    };
                    let mut encoder = encoder(&adapter);
                    let step = gpu.step(&mut encoder, frame.input()).expect("a step");
                    let picked = picking.record(&mut encoder, &step, picks).expect("a set");
                    assert!(picked.pairs.is_none() && picked.counters != step.counters);
                    let sensed = sensors.record(&mut encoder, &step, senses).expect("a set");
                    assert_eq!(picked.table.records, sensed.table.records);
                    assert_ne!(
                        picked.queries.objects.unwrap().buffer,
                        sensed.queries.objects.unwrap().buffer
                    );
                    let later = picking.record_read_back(&mut encoder, Output::ALL).expect("a handle");
                    if generation == 3 {
                        picking.record(&mut encoder, &step, senses).expect("a set");
                    }
                    adapter.queue.submit([encoder.finish()]);
                    let result = block_on(gpu.read_back()).expect("a result");
                    let found = block_on(sensors.read_back()).expect("a result");
                    let picked = block_on(picking.read_back()).expect("a result");
                    let own = frame.scene(frame.rays[..].into(), Queries::Boxes(Source::Host(&frame.boxes[..20])));
                    assert_eq!(
                        sorted(result.pairs.clone()),
                        brute_force::scene_pairs(&descriptor, &own).unwrap(),
                        "{what}"
                    );
                    check(&descriptor, &own, &result, &what);
                    let scene = frame.scene(frame.rays[..31].into(), Queries::General(Source::Host(&frame.spheres)));
                    check(&of_sensors, &scene, &found, &what);
                    if generation == 3 {
                        check(&of_picking, &scene, &picked, &what);
                    }
                    let scene = frame.scene(frame.swept[..].into(), Queries::Boxes(Source::Host(&frame.boxes[..9])));
                    check(&of_picking, &scene, &block_on(later).expect("an answer"), &what);
                }
            }
        }
    }
}

#[test]
fn sets_grow_and_turn_pages_on_their_own() {
    for adapter in adapters() {
        let name = &adapter.name;
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut set = gpu.query_set("set", &descriptor.outputs).expect("options");
        let before = gpu.memory().total();
        assert_eq!((set.memory().total(), before), (0, 0), "{name}");
        let boxes = vec![UNIT; 200];
        let asked = QueryInput {
            queries: Queries::Boxes(Source::Host(&boxes)),
            ..Default::default()
        };
        let mut whole = 0;
        for frame in 0..6 {
            let mut encoder = encoder(&adapter);
            let input = Scene {
                objects: Source::Host(&boxes),
                ..Default::default()
            };
            let step = gpu.step(&mut encoder, input).expect("a step");
            set.record(&mut encoder, &step, asked).expect("a set");
            adapter.queue.submit([encoder.finish()]);
            let found = block_on(set.read_back()).expect("a result");
            assert_eq!(found.counters.results_needed, 40_000, "{name}");
            assert_eq!(
                found.counters.status.has(Status::RESULTS),
                frame == 0,
                "{name}, {frame}"
            );
            whole += usize::from(found.query_objects.len() == 40_000);
        }
        assert_eq!(whole, 5, "{name}");
        assert_eq!(set.counters().map(|counters| counters.results_needed), Some(40_000));
        assert_eq!(gpu.memory().results, 0, "{name}");
        let all = block_on(set.read_back()).expect("a result");
        let mut encoder = encoder(&adapter);
        let first = Page {
            results: 39_000,
            ..Page::default()
        };
        set.page(&mut encoder, first).expect("a page");
        adapter.queue.submit([encoder.finish()]);
        let page = block_on(set.read_back()).expect("a result");
        assert_eq!(page.query_objects, all.query_objects[39_000..], "{name}");
        assert!(set.memory().total() > 160_000, "{name}");
        set.trim();
        assert_eq!(set.memory().total(), 0, "{name}");
    }
}

#[test]
fn sets_follow_their_broad_phase_and_say_what_they_lack() {
    for adapter in adapters() {
        let name = &adapter.name;
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                capacities: ROOMY,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut set = gpu.query_set("set", &descriptor.outputs).expect("options");
        let asked = QueryInput::default();
        let mut open = encoder(&adapter);
        let frame = Frame::new(100, 1, 1, &mut Rng(1));
        let mut dropped = encoder(&adapter);
        let step = gpu.step(&mut dropped, frame.input()).expect("a step");
        drop(dropped);
        assert_eq!(
            set.record(&mut open, &step, asked).err(),
            Some(StepError::Dropped),
            "{name}"
        );
        for scheme in SCHEMES.into_iter().chain(SCHEMES) {
            let descriptor = BroadPhaseDescriptor { scheme, ..descriptor };
            gpu.set_descriptor(&descriptor).expect("a descriptor");
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, frame.input()).expect("a step");
            adapter.queue.submit([encoder.finish()]);
            let mut encoder = self::encoder(&adapter);
            let nearest = QueryInput {
                rays: Source::Host(&frame.rays[..]).into(),
                queries: Queries::Boxes(Source::Host(&frame.boxes)),
                query_mode: QueryMode::Nearest(2),
                ..Default::default()
            };
            set.record(&mut encoder, &step, nearest).expect("a set");
            adapter.queue.submit([encoder.finish()]);
            let found = block_on(set.read_back()).expect("a result");
            let scene = frame.scene(frame.rays[..].into(), Queries::None);
            check_hits(
                &found,
                RayMode::All,
                &brute_force::scene_rays(&descriptor, &scene).unwrap(),
                name,
            );
            assert_eq!(found.query_nearest.len(), 2 * frame.boxes.len(), "{name}");
        }
        let mut encoder = encoder(&adapter);
        let step = gpu.step(&mut encoder, frame.input()).expect("a step");
        let asked = QueryInput {
            queries: Queries::Boxes(Source::Host(&frame.boxes)),
            ..Default::default()
        };
        set.record(&mut encoder, &step, asked).expect("a set");
        drop(gpu);
        adapter.queue.submit([encoder.finish()]);
        let found = block_on(set.read_back()).expect("a result");
        assert_eq!(found.query_offsets.len(), frame.boxes.len() + 1, "{name}");
    }
}

#[test]
fn a_steady_set_makes_no_buffer_and_no_bind_group() {
    for adapter in adapters() {
        let own = block_on(all_adapters(adapter.backends))
            .into_iter()
            .next()
            .expect("an adapter");
        let request = GpuBroadPhase::device_descriptor(&own);
        let (device, queue) = block_on(own.request_device(&request)).expect("a device");
        let created = || {
            let counters = device.get_internal_counters().hal;
            [counters.buffers.read(), counters.bind_groups.read()]
        };
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                capacities: ROOMY,
                ..Default::default()
            },
            ..Default::default()
        };
        let mut gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
        let mut sets: [QuerySet; 3] =
            ["a", "b", "c"].map(|name| gpu.query_set(name, &descriptor.outputs).expect("options"));
        let frame = Frame::new(200, 1, 1, &mut Rng(9));
        let asked = QueryInput {
            rays: Source::Host(&frame.rays[..]).into(),
            queries: Queries::General(Source::Host(&frame.spheres)),
            ..Default::default()
        };
        for number in 0..20 {
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .expect("an idle device");
            let before = created();
            let mut encoder = device.create_command_encoder(&Default::default());
            let step = gpu.step(&mut encoder, frame.input()).expect("a step");
            for set in &mut sets {
                set.record(&mut encoder, &step, asked).expect("a set");
                drop(set.record_read_back(&mut encoder, Output::ALL).expect("a handle"));
            }
            // The second frame grows outputs, and their old buffers are freed eight frames later.
            if number > 10 {
                assert_eq!(created(), before, "{}, frame {number}", adapter.name);
            }
            queue.submit([encoder.finish()]);
        }
    }
}

#[test]
fn a_set_takes_another_descriptor_in_place() {
    let frame = Frame::new(300, 4, 1, &mut Rng(41));
    for adapter in adapters() {
        let name = &adapter.name;
        let descriptor = BroadPhaseDescriptor::default();
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut set = gpu.query_set("set", &descriptor.outputs).expect("options");
        let asked = QueryInput {
            rays: Source::Host(&frame.rays[..]).into(),
            ..Default::default()
        };
        let scene = frame.scene(frame.rays[..].into(), Queries::None);
        let mut held = 0;
        for (turn, ray_mode) in [RayMode::All, RayMode::Closest, RayMode::Any, RayMode::All]
            .into_iter()
            .enumerate()
        {
            set.set_options(&OutputOptions {
                ray_mode,
                capacities: ROOMY,
                timestamps: turn % 2 == 1,
                ..descriptor.outputs
            })
            .expect("options");
            assert_eq!(
                block_on(set.read_back()).err(),
                Some(ReadBackError::NoStep),
                "{name}, {turn}"
            );
            let mut encoder = encoder(&adapter);
            let step = gpu.step(&mut encoder, frame.input()).expect("a step");
            set.record(&mut encoder, &step, asked).expect("a set");
            adapter.queue.submit([encoder.finish()]);
            let found = block_on(set.read_back()).expect("a result");
            let of_table = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    ray_mode,
                    ..descriptor.outputs
                },
                ..descriptor
            };
            check(&of_table, &scene, &found, &format!("{name}, {turn}"));
            let times = adapter.device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
            assert_eq!(!found.timings.is_empty(), times && turn % 2 == 1, "{name}, {turn}");
            assert!(set.memory().results >= held, "{name}, {turn}");
            held = set.memory().results;
        }
    }
}
