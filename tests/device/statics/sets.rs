use super::*;
use gpu_broad_phase::{Backend, BroadPhase, OutputOptions};

#[test]
fn missing_room_for_static_entries_is_reported_and_made() {
    for adapter in daily_adapters() {
        let scheme = Scheme::Uniform { cell_size: 0.6 };
        let case = Case::new(41, [600, 5], 1);
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..Default::default()
        };
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        submit(&adapter, &mut on_gpu, case.scene());
        let first = read(&mut on_gpu).counters;
        assert!(first.static_entries_needed > first.static_entries_capacity.into());
        assert!(first.status.has(Status::ENTRIES));
        let found = whole(&adapter, &mut on_gpu, case.scene());
        check(&descriptor, &case.scene(), &found, &adapter.name);
        submit(&adapter, &mut on_gpu, case.scene());
        assert!(read(&mut on_gpu).counters.is_complete());
    }
}

#[test]
fn headless_steps_scenes_with_static_objects() {
    for adapter in daily_adapters() {
        let backends = wgpu::Backends::from(adapter.device.adapter_info().backend);
        for (scheme, scene_seed) in [
            (SCHEMES[0], 1),
            (Scheme::Uniform { cell_size: 0.6 }, 2),
            (SCHEMES[2], 3),
        ] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    order: ResultOrder::Sorted,
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut headless = block_on(BroadPhase::with_backend(&descriptor, Backend::Gpu(backends))).unwrap();
            let case = Case::new(scene_seed, [500, 90], 1);
            for _ in 0..2 {
                let found = block_on(headless.step_scene(&case.scene())).unwrap();
                check(&descriptor, &case.scene(), &found, &adapter.name);
                let scene = case.scene();
                let found = block_on(headless.query(&scene.query)).unwrap();
                let without_pairs = BroadPhaseDescriptor {
                    pairs: false,
                    ..descriptor
                };
                check_answer(&without_pairs, &scene, &found, &adapter.name);
            }
        }
    }
}

#[test]
fn steps_of_one_encoder_each_see_their_static_objects() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let cases = [1, 1, 2, 1].map(|seed| Case::new(seed, [200, 50], 1));
            cases
                .iter()
                .for_each(|case| _ = whole(&adapter, &mut on_gpu, case.scene()));
            let mut encoder = encoder(&adapter);
            let mut copies = Vec::new();
            for case in &cases {
                record(&mut on_gpu, &mut encoder, case.scene());
                let scene = case.scene();
                let output = on_gpu.step(&mut encoder, scene);
                let pairs = output.unwrap().pairs.unwrap().buffer.clone();
                let copy = adapter.device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: pairs.size(),
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                encoder.copy_buffer_to_buffer(&pairs, 0, &copy, 0, pairs.size());
                copies.push(copy);
            }
            adapter.queue.submit([encoder.finish()]);
            copies
                .iter()
                .for_each(|copy| copy.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap()));
            adapter.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            for (case, copy) in cases.iter().zip(&copies) {
                let expected = cpu::step_scene(&descriptor, &case.scene()).unwrap().pairs;
                let found = copy.get_mapped_range(..).unwrap();
                let found: &[Pair] = &bytemuck::pod_collect_to_vec(&found);
                assert!(found[..expected.len()] == expected, "{what}");
            }
        }
    }
}

#[test]
fn a_set_with_static_objects_answers_by_its_handles() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                ..Default::default()
            };
            let what = format!("{scheme:?} on {}", adapter.name);
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let mut rng = Rng(81);
            let mut set = ObjectSet::new();
            let mut model: Vec<(Handle, Aabb)> = Vec::new();
            let rays = crate::common::scene(2, 10, 20, &mut rng).rays;
            for frame in 0..6 {
                let changes_statics = frame % 2 == 0;
                for object in boxes(40, &mut rng) {
                    let is_static = changes_statics && rng.below(3) > 0;
                    let handle = if is_static {
                        set.insert_static(object)
                    } else {
                        set.insert(object)
                    };
                    assert_eq!(handle.is_static(), is_static);
                    model.push((handle, object));
                }
                for _ in 0..15 {
                    let place = rng.below(model.len());
                    let (handle, object) = &mut model[place];
                    if handle.is_static() && !changes_statics {
                        continue;
                    }
                    if rng.below(2) == 0 {
                        *object = lattice(1, &mut rng)[0];
                        set.set(*handle, *object).unwrap();
                    } else {
                        let (handle, object) = model.swap_remove(place);
                        let removed = set.remove(handle).unwrap();
                        assert_eq!(bytemuck::bytes_of(&removed), bytemuck::bytes_of(&object));
                        assert_eq!(set.object_of(handle), Err(StaleHandle(handle)));
                    }
                }
                assert_eq!(set.len(), model.len());
                model.sort_by_key(|(handle, _)| set.object_of(*handle).unwrap());
                let listed: Vec<_> = set.iter().map(|(handle, _)| handle).collect();
                let handles: Vec<_> = model.iter().map(|(handle, _)| *handle).collect();
                assert_eq!(listed, handles, "{what}");

                let (slots, static_slots) = (set.slots().to_vec(), set.static_slots().to_vec());
                let scene = Scene {
                    objects: Source::Host(&slots),
                    statics: Statics {
                        objects: Source::Host(&static_slots),
                        ..Default::default()
                    },
                    query: QueryInput {
                        rays: Rays::Plain(Source::Host(&rays)),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let (mut found, mut generations) = (None, Vec::new());
                for _ in 0..4 {
                    let mut encoder = encoder(&adapter);
                    let input = Scene {
                        query: QueryInput {
                            rays: scene.query.rays,
                            ..QueryInput::default()
                        },
                        ..set.upload(&adapter.device, &mut encoder).unwrap()
                    };
                    generations.push(input.statics.generation);
                    record(&mut on_gpu, &mut encoder, input);
                    adapter.queue.submit([encoder.finish()]);
                    found = Some(read(&mut on_gpu)).filter(|found| found.counters.is_complete());
                    if found.is_some() {
                        break;
                    }
                }
                let found = found.expect("a whole answer");
                check(&descriptor, &scene, &found, &what);
                assert!(generations.windows(2).all(|two| two[0] == two[1]), "{what}");
                assert_eq!(set.uploaded_bytes() > 0, generations.len() == 1, "{what}");
                for pair in &found.pairs {
                    let [a, b] = [pair.a, pair.b].map(|object| set.handle_of(object).expect("an object"));
                    assert!(!(a.is_static() && b.is_static()), "{what}");
                    assert_eq!([set.object_of(a), set.object_of(b)], [Ok(pair.a), Ok(pair.b)], "{what}");
                }
            }
        }
    }
}

#[test]
fn sets_do_not_share_static_objects() {
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        let unit = |at: f32| Aabb::new([at; 3], [at + 1.0; 3]);
        let mut sets = [1.0, 5.0].map(|at| {
            let mut set = ObjectSet::new();
            set.insert(unit(1.5));
            set.insert_static(unit(at));
            set
        });
        let mut pairs = |set: &mut ObjectSet| {
            let mut encoder = encoder(&adapter);
            let input = set.upload(&adapter.device, &mut encoder).unwrap();
            record(&mut on_gpu, &mut encoder, input);
            adapter.queue.submit([encoder.finish()]);
            read(&mut on_gpu).pairs
        };
        for _ in 0..2 {
            assert_eq!(pairs(&mut sets[0]), [Pair { a: 0, b: 1 }], "{}", adapter.name);
            assert_eq!(pairs(&mut sets[1]), [], "{}", adapter.name);
        }
        let wall = sets[1].handle_of(0).unwrap();
        sets[1].move_to(wall, [1.0; 3], [2.0; 3]).unwrap();
        let mut dropped = encoder(&adapter);
        sets[1].upload(&adapter.device, &mut dropped).unwrap();
        drop(dropped);
        assert_eq!(pairs(&mut sets[1]), [Pair { a: 0, b: 1 }], "{}", adapter.name);
    }
}
