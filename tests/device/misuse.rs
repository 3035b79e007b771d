//! Objects that belong to one broad phase or call are passed to another, or were never uploaded.

use crate::common::pool::opened;
use crate::common::steps::{UNIT, broad_phase, encoder, read, record};
use crate::common::{TestAdapter, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, BroadPhaseError, CullOptions, Culling, DebugDraw, DebugLines, DeviceCount,
    DispatchArgs, Frustum, InputError, ObjectNames, ObjectSet, Output, OutputOptions, PairEvents, Queries, QueryInput,
    Ray, RayMode, ReadBackError, Scene, Scheme, Source, Statics, StepError, StepOutput, wgpu,
};
use pollster::block_on;

const TWO: [Aabb; 2] = [UNIT, Aabb::new([0.5; 3], [2.0; 3])];
const APART: [Aabb; 2] = [Aabb::new([50.0; 3], [51.0; 3]), Aabb::new([90.0; 3], [91.0; 3])];

fn scene(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: objects.into(),
        ..Scene::default()
    }
}

fn poll(adapter: &TestAdapter) {
    let polled = adapter.device.poll(wgpu::PollType::wait_indefinitely());
    polled.expect("an idle device");
}

struct Components {
    culling: Culling,
    events: PairEvents,
    lines: DebugDraw,
    args: DispatchArgs,
}

impl Components {
    fn new() -> Self {
        Self {
            culling: Culling::new(None),
            events: PairEvents::new(None),
            lines: DebugDraw::new(&BroadPhaseDescriptor::default(), None),
            args: DispatchArgs::new(None),
        }
    }

    fn record(&mut self, encoder: &mut wgpu::CommandEncoder, step: &StepOutput) -> [(&str, Result<(), StepError>); 4] {
        let views = [Frustum::default()];
        let options = CullOptions::default();
        [
            (
                "culling",
                self.culling
                    .record(encoder, step, Source::Host(&views), options)
                    .map(drop),
            ),
            (
                "events",
                self.events.record(encoder, step, ObjectNames::default()).map(drop),
            ),
            (
                "lines",
                self.lines.record(encoder, step, DebugLines::Pairs, [0; 4], 9).map(drop),
            ),
            ("args", self.args.record(encoder, step, Output::Pairs, 64).map(drop)),
        ]
    }
}

#[test]
fn sets_and_components_take_steps_of_any_broad_phase_of_the_device() {
    for adapter in adapters() {
        let name = &adapter.name;
        let uniform = BroadPhaseDescriptor {
            scheme: Scheme::Uniform { cell_size: 2.0 },
            ..BroadPhaseDescriptor::default()
        };
        let mut both = [BroadPhaseDescriptor::default(), uniform].map(|descriptor| broad_phase(&adapter, &descriptor));
        let mut set = both[0]
            .query_set("set", &both[0].descriptor().outputs)
            .expect("options");
        let (mut culling, mut events) = (Culling::new(None), PairEvents::new(None));
        let asked = QueryInput {
            queries: Queries::Boxes(TWO[..1].into()),
            ..QueryInput::default()
        };
        let views = [Frustum::default()];
        for (round, objects) in [&TWO[..], &APART[..], &TWO[..]].into_iter().enumerate() {
            let mut encoder = encoder(&adapter);
            let step = record(&mut both[round % 2], &mut encoder, scene(objects));
            let found = set.record(&mut encoder, &step, asked).expect("a set");
            let culled = culling.record(&mut encoder, &found, Source::Host(&views), CullOptions::default());
            culled.expect("a table");
            events
                .record(&mut encoder, &step, ObjectNames::default())
                .expect("events");
            adapter.queue.submit([encoder.finish()]);
            let meets: &[u32] = if round == 1 { &[] } else { &[0, 1] };
            let found = block_on(set.read_back()).expect("an answer");
            assert_eq!(found.query_objects, meets, "round {round} on {name}");
            assert_eq!(
                block_on(culling.read_back()).expect("an answer").objects,
                [[0, 1]],
                "{name}"
            );
            let changes = block_on(events.read_changes()).expect("events");
            let expected = [[1, 0], [0, 1], [1, 0]][round];
            assert_eq!(
                [changes.begun.len(), changes.ended.len()],
                expected,
                "round {round} on {name}"
            );
        }
    }
}

#[test]
fn inputs_that_the_call_writes_itself_are_refused_by_name() {
    let rays = [Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0)];
    for adapter in adapters() {
        let name = &adapter.name;
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let mut gpu = broad_phase(&adapter, &descriptor);
        let host = Scene {
            statics: Statics {
                objects: TWO[..].into(),
                generation: 1,
                ..Statics::default()
            },
            query: QueryInput {
                rays: rays[..].into(),
                queries: Queries::Boxes(TWO[..].into()),
                ..QueryInput::default()
            },
            ..scene(&TWO)
        };
        let mut open = encoder(&adapter);
        let out = record(&mut gpu, &mut open, host);
        adapter.queue.submit([open.finish()]);
        let expected = read(&mut gpu);
        let pairs = &out.pairs.as_ref().expect("pairs").buffer;
        let hits = out.rays.hits.as_ref().expect("hits");
        let found = out.queries.objects.as_ref().expect("results");
        let fixed = out.static_table.as_ref().expect("a table");
        let counters = |word| {
            Some(DeviceCount {
                buffer: &out.counters,
                word,
            })
        };
        let mut open = encoder(&adapter);
        let scenes = [
            (
                "objects",
                "records",
                Scene {
                    objects: Source::device(&out.table.records, 2),
                    ..host
                },
            ),
            (
                "objects",
                "pairs",
                Scene {
                    objects: Source::device(pairs, 2),
                    ..host
                },
            ),
            (
                "objects",
                "grid",
                Scene {
                    objects: Source::device(&out.table.grid, 2),
                    ..host
                },
            ),
            (
                "objects",
                "ray_hits",
                Scene {
                    objects: Source::device(&hits.buffer, 2),
                    ..host
                },
            ),
            (
                "objects",
                "records",
                Scene {
                    objects: Source::device(&fixed.records, 2),
                    ..host
                },
            ),
            (
                "excluded pairs",
                "pairs",
                Scene {
                    excluded_pairs: Source::device(pairs, 1),
                    ..host
                },
            ),
            (
                "data of the pair filter",
                "query_objects",
                Scene {
                    pair_filter_data: Source::device(&found.buffer, 1),
                    ..host
                },
            ),
            (
                "the number of objects",
                "counters",
                Scene {
                    object_count: counters(10),
                    ..host
                },
            ),
            (
                "the number of rays",
                "ray_offsets",
                Scene {
                    query: QueryInput {
                        ray_count: Some(DeviceCount {
                            buffer: &hits.offsets,
                            word: 1,
                        }),
                        ..host.query
                    },
                    ..host
                },
            ),
            (
                "rays",
                "ray_hits",
                Scene {
                    query: QueryInput {
                        rays: Source::<Ray>::device(&hits.buffer, 2).into(),
                        ..host.query
                    },
                    ..host
                },
            ),
            (
                "queries",
                "query_objects",
                Scene {
                    query: QueryInput {
                        queries: Source::<Aabb>::device(&found.buffer, 1).into(),
                        ..host.query
                    },
                    ..host
                },
            ),
            (
                "static objects",
                "records",
                Scene {
                    statics: Statics {
                        objects: Source::device(&fixed.records, 2),
                        generation: 2,
                        ..Statics::default()
                    },
                    ..host
                },
            ),
        ];
        for (what, output, input) in scenes {
            let refused = gpu.step(&mut open, input).map(drop);
            let told = InputError::OwnOutput { what, output };
            assert_eq!(refused, Err(StepError::Input(told)), "{name}");
        }
        let asked = QueryInput {
            queries: Queries::Boxes(TWO[..].into()),
            ..QueryInput::default()
        };
        let of_results = QueryInput {
            query_count: Some(DeviceCount {
                buffer: &found.offsets,
                word: 2,
            }),
            ..asked
        };
        let refused = gpu.query(&mut open, of_results).map(drop);
        let told = |what, output| Err(StepError::Input(InputError::OwnOutput { what, output }));
        assert_eq!(refused, told("the number of queries", "query_offsets"), "{name}");
        let mut components = Components::new();
        for (of, recorded) in components.record(&mut open, &out) {
            assert_eq!(recorded, Ok(()), "{of} on {name}");
        }
        let views = [Frustum::default()];
        let options = CullOptions::default();
        let seen = components
            .culling
            .record(&mut open, &out, Source::Host(&views), options)
            .expect("culling results");
        let refused = components
            .culling
            .record(&mut open, &out, Source::device(&seen.visible, 0).at(0), options)
            .map(drop);
        assert_eq!(refused, told("views", "visible"), "{name}");
        let known = components
            .events
            .record(&mut open, &out, ObjectNames::default())
            .expect("events");
        let names = ObjectNames {
            generations: Source::device(&known.counters, 4),
            ..ObjectNames::default()
        };
        let refused = components.events.record(&mut open, &out, names).map(drop);
        assert!(
            matches!(
                refused,
                Err(StepError::Input(InputError::OwnOutput {
                    what: "generations",
                    ..
                }))
            ),
            "{refused:?} on {name}"
        );
        let by_pairs = QueryInput {
            query_count: counters(10),
            ..asked
        };
        let step = gpu.query(&mut open, by_pairs).expect("a query");
        let mut set = gpu.query_set("set", &gpu.descriptor().outputs).expect("options");
        let of_answers = QueryInput {
            query_count: Some(DeviceCount {
                buffer: &hits.offsets,
                word: 1,
            }),
            ..asked
        };
        set.record(&mut open, &step, of_answers).expect("another's buffer");
        record(&mut gpu, &mut open, host);
        adapter.queue.submit([open.finish()]);
        assert_eq!(read(&mut gpu).pairs, expected.pairs, "{name}");
    }
}

#[test]
fn a_step_that_is_kept_is_asked_in_every_frame() {
    let rays = [Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0)];
    for adapter in adapters() {
        let name = &adapter.name;
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut objects = ObjectSet::new();
        let handles = TWO.map(|object| objects.insert(object));
        let mut components = Components::new();
        let mut set = gpu.query_set("set", &gpu.descriptor().outputs).expect("options");
        let asked = QueryInput {
            rays: rays[..].into(),
            ..QueryInput::default()
        };
        for round in 0..3 {
            let mut first = encoder(&adapter);
            let input = objects.upload(&adapter.device, &mut first).expect("a scene");
            let out = record(&mut gpu, &mut first, input);
            adapter.queue.submit([first.finish()]);
            for frame in 0..3 {
                let mut own = encoder(&adapter);
                for (of, recorded) in components.record(&mut own, &out) {
                    assert_eq!(recorded, Ok(()), "{of}, frame {frame} of {round} on {name}");
                }
                set.record(&mut own, &out, asked).expect("a set");
                let mut seen = components.culling.record_read_back(&mut own).expect("a handle");
                let mut hits = set.record_read_back(&mut own, Output::ALL).expect("a handle");
                adapter.queue.submit([own.finish()]);
                poll(&adapter);
                let seen = seen.take().expect("there").expect("in order");
                assert_eq!(seen.objects, [[0, 1]], "frame {frame} of {round} on {name}");
                let hits = hits.take().expect("there").expect("in order");
                assert_eq!(hits.ray_hits[0].object, 1, "frame {frame} of {round} on {name}");
                assert_eq!(
                    block_on(components.events.read_back()).map(|found| found.unread),
                    Ok(0),
                    "{name}"
                );
            }
            objects.set(handles[0], UNIT.with_group(round)).expect("an object");
            assert_eq!(read(&mut gpu).pairs.len(), 1, "{name}");
        }
    }
}

#[test]
fn an_answer_that_has_arrived_is_not_lost_with_a_later_encoder() {
    for adapter in adapters() {
        let name = &adapter.name;
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut set = gpu.query_set("set", &gpu.descriptor().outputs).expect("options");
        let asked = QueryInput {
            queries: Queries::Boxes(TWO[..].into()),
            ..QueryInput::default()
        };
        let mut first = encoder(&adapter);
        let step = record(&mut gpu, &mut first, scene(&TWO));
        set.record(&mut first, &step, asked).expect("a set");
        let mut later = gpu.record_read_back(&mut first, Output::ALL).expect("a handle");
        let mut of_set = set.record_read_back(&mut first, Output::ALL).expect("a handle");
        adapter.queue.submit([first.finish()]);
        poll(&adapter);
        let mut dropped = encoder(&adapter);
        let step = record(&mut gpu, &mut dropped, scene(&APART));
        set.record(&mut dropped, &step, asked).expect("a set");
        drop(dropped);
        let found = later.take().expect("there").expect("in order");
        assert_eq!(found.pairs.len(), 1, "{name}");
        let found = of_set.take().expect("there").expect("in order");
        assert_eq!(found.query_offsets, [0, 2, 4], "{name}");
        assert_eq!(gpu.counters().map(|counters| counters.pairs_needed), Some(1), "{name}");
        assert_eq!(
            set.counters().map(|counters| counters.results_needed),
            Some(4),
            "{name}"
        );
    }
}

#[test]
fn a_step_over_objects_that_were_not_uploaded_is_refused() {
    for adapter in adapters() {
        let name = &adapter.name;
        let mut headless = opened(&adapter, &BroadPhaseDescriptor::default());
        let mut objects = ObjectSet::new();
        let handles = TWO.map(|object| objects.insert(object));
        for round in 0..3 {
            let is_dropped = round == 1;
            let mut upload = headless.device().unwrap().create_command_encoder(&Default::default());
            let far = 9.0 + round as f32;
            objects
                .move_to(handles[1], [0.5; 3], [far; 3])
                .expect("an object of the set");
            let device = headless.device().unwrap().clone();
            let input = objects.upload(&device, &mut upload).expect("a scene");
            if !is_dropped {
                headless.queue().unwrap().submit([upload.finish()]);
            }
            let found = block_on(headless.step_scene(&input)).map(|found| found.pairs.len());
            let told = if is_dropped {
                Err(BroadPhaseError::ReadBack(ReadBackError::NotSubmitted))
            } else {
                Ok(1)
            };
            assert_eq!(found, told, "round {round} on {name}");
        }
    }
}
