use std::collections::BTreeSet;

use crate::common::pool::{opened, pooled};
use crate::common::steps::{SCHEMES, broad_phase, encoder, lists, read, sorted, submit, whole};
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, daily_or_full, is_full, lattice, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::internals::reference::HostScene;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, CreateError, DescriptorError, Dimensions, Growth, NONE, OutputOptions,
    Page, Pair, PairFilterError, QueryInput, QueryMode, ResultOrder, Scene, SelfQuery, Source, Statics, StepResult,
    wgpu,
};
use pollster::block_on;

/// A filter whose result depends on the order of `a` and `b`.
const BITS: &str = "
alias admits_place = u32;
const admits_bits: u32 = 32u;

fn admits_place_of(place: admits_place) -> bool {
    return ((pair_data(place / admits_bits) >> (place % admits_bits)) & 1u) == 1u;
}

fn admits_pair(a: u32, b: u32) -> bool {
    return pair_data_count() == 0u || admits_place_of((7u * a + b) % (admits_bits * pair_data_count()));
}
";

fn bits(data: &[u32]) -> impl Fn(u32, u32) -> bool + Sync {
    move |a, b| {
        assert!(a < b);
        let place = |count: usize| (7 * a + b) as usize % (32 * count);
        data.is_empty() || data[place(data.len()) / 32] >> (place(data.len()) % 32) & 1 == 1
    }
}

/// A filter whose local names are also names in the passes.
const WORDS: &str = "
fn admits_pair(a: u32, b: u32) -> bool {
    var found = pair_layers(a) ^ pair_layers(b) ^ pair_group(a) ^ pair_group(b);
    let params = a + b;
    // Past the end of the data.
    let entry = pair_data(pair_data_count()) + pair_data(0xffffffffu);
    for (var slot = 0u; slot < 3u; slot += 1u) {
        found ^= found >> (slot + 1u);
    }
    return entry == 0u && ((found + params) & 3u) != 0u;
}
";

fn words(objects: &[Aabb]) -> impl Fn(u32, u32) -> bool + Sync {
    move |a, b| {
        let [first, second] = [a, b].map(|object| &objects[object as usize]);
        let mut found = first.layers ^ second.layers ^ first.group ^ second.group;
        (0..3).for_each(|slot| found ^= found >> (slot + 1));
        found.wrapping_add(a + b) & 3 != 0
    }
}

fn list_of(pairs: &[Pair], objects: usize, rng: &mut Rng) -> Vec<Pair> {
    let mut list = Vec::new();
    for &Pair { a, b } in pairs {
        match rng.below(6) {
            0 => list.push(Pair { a, b }),
            1 => list.push(Pair { a: b, b: a }),
            2 => list.extend([Pair { a, b }, Pair { a, b }, Pair { a: b, b: a }]),
            _ => {}
        }
    }
    let objects = objects as u32;
    for (a, b) in [(0, 0), (0, objects), (u32::MAX, 0), (objects / 2, objects / 2)] {
        list.push(Pair { a, b });
    }
    for place in 1..list.len() {
        list.swap(place, rng.below(place + 1));
    }
    list
}

fn defined(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, admits: &dyn Fn(u32, u32) -> bool) -> Vec<Pair> {
    let mut pairs = brute_force::scene_pairs(
        descriptor,
        &Scene {
            excluded_pairs: Source::default(),
            ..*scene
        },
    )
    .unwrap();
    let listed: BTreeSet<_> = scene
        .excluded_pairs
        .elements()
        .unwrap()
        .iter()
        .map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b)))
        .collect();
    pairs.retain(|pair| !listed.contains(&(pair.a, pair.b)) && admits(pair.a, pair.b));
    pairs
}

fn rows_of(pairs: &[Pair], objects: usize, half: bool) -> Vec<Vec<u32>> {
    let mut rows = vec![Vec::new(); objects];
    for &Pair { a, b } in pairs {
        rows[a as usize].push(b);
        if !half {
            rows[b as usize].push(a);
        }
    }
    rows.iter_mut().for_each(|row| row.sort_unstable());
    rows
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, result: &StepResult, expected: &[Pair], what: &str) {
    assert_eq!(sorted(result.pairs.clone()), expected, "{what}");
    assert_eq!(result.counters.pairs_needed, expected.len() as u64, "{what}");
    let mut per_world = vec![
        0;
        if descriptor.worlds > 1 {
            descriptor.worlds as usize
        } else {
            0
        }
    ];
    let (_, worlds) = HostScene::of(scene).unwrap().all_objects();
    for pair in expected.iter().filter(|_| descriptor.worlds > 1) {
        per_world[worlds[pair.a as usize] as usize] += 1;
    }
    assert_eq!(result.world_pairs, per_world, "{what}");
}

#[test]
fn wild_scenes_have_the_pairs_of_brute_force_without_excluded_ones() {
    for adapter in daily_adapters() {
        let mut parted = [0; 2];
        let mut scenes = 0;
        for number in daily_or_full(22..46, 0..48) {
            let mut rng = Rng(number + 900);
            let given = BroadPhaseDescriptor {
                pairs: true,
                outputs: OutputOptions {
                    growth: Growth::Grow,
                    capacities: Capacities::default(),
                    ..wild::descriptor(number).outputs
                },
                ..wild::descriptor(number)
            };
            if !wild::is_daily(&given) && !is_full() {
                continue;
            }
            let wild = wild::scene(number, &given);
            let descriptor = BroadPhaseDescriptor {
                periods: [0.0; 3],
                pair_filter: [None, Some(BITS), Some(WORDS)][number as usize / 3 % 3],
                ..given
            };
            let asks_partners = number % 2 == 0;
            let half = number % 4 == 0;
            let mut plain = Scene {
                excluded_pairs: Source::default(),
                ..wild.scene(number)
            };
            if asks_partners {
                plain.query.queries = SelfQuery::Overlaps { half }.into();
                plain.query.query_mode = QueryMode::All;
            }
            let all = defined(&descriptor, &plain, &|_, _| true);
            let (objects, _) = HostScene::of(&plain).unwrap().all_objects();
            let data: Vec<u32> = (0..rng.below(5)).map(|_| rng.bits() as u32).collect();
            let (by_bits, by_words) = (bits(&data), words(&objects));
            let admits: &(dyn Fn(u32, u32) -> bool + Sync) = match descriptor.pair_filter {
                None => &|_, _| true,
                Some(BITS) => &by_bits,
                _ => &by_words,
            };
            let list = if number % 4 == 3 {
                Vec::new()
            } else {
                list_of(&all, objects.len(), &mut rng)
            };
            let scene = Scene {
                excluded_pairs: Source::Host(&list),
                pair_filter_data: Source::Host(&data),
                ..plain
            };
            let expected = defined(&descriptor, &scene, admits);
            scenes += 1;
            parted[usize::from(descriptor.pair_filter.is_some())] += all.len() - expected.len();
            let what = format!("{number} on {}", adapter.name);
            let on_cpu = cpu::step_scene_where(&descriptor, &scene, admits).unwrap();
            check(
                &descriptor,
                &scene,
                &on_cpu,
                &expected,
                &format!("{what}: the reference"),
            );
            let mut headless = pooled(&adapter, &descriptor);
            for (list, expected) in [
                (&list[..], &expected),
                (&list, &expected),
                (
                    &[],
                    &defined(
                        &descriptor,
                        &Scene {
                            excluded_pairs: Source::default(),
                            ..scene
                        },
                        admits,
                    ),
                ),
            ] {
                let scene = Scene {
                    excluded_pairs: Source::Host(list),
                    ..scene
                };
                let result = block_on(headless.step_scene(&scene)).unwrap();
                check(&descriptor, &scene, &result, expected, &what);
                if !asks_partners {
                    continue;
                }
                let rows = rows_of(expected, objects.len(), half);
                assert_eq!(lists(&result), rows, "{what}: partners");
                let partners = SelfQuery::Overlaps { half }.into();
                let later = block_on(headless.query(&QueryInput {
                    queries: partners,
                    ..QueryInput::default()
                }))
                .unwrap();
                assert_eq!(lists(&later), rows, "{what}: partners later");
                let nearest = block_on(headless.query(&QueryInput {
                    queries: partners,
                    query_mode: QueryMode::Nearest(2),
                    ..QueryInput::default()
                }))
                .unwrap();
                for (found, row) in nearest.query_nearest.chunks(2).zip(&rows) {
                    let mut first = row[..row.len().min(2)].to_vec();
                    first.resize(2, NONE);
                    let found: Vec<_> = found.iter().map(|neighbor| neighbor.object).collect();
                    assert_eq!(found, first, "{what}: first partners");
                }
            }
            if asks_partners {
                let rows = rows_of(&expected, objects.len(), half);
                assert_eq!(lists(&on_cpu), rows, "{what}: partners on the CPU");
            }
            if number % 12 == 0 {
                let rows = rows_of(&expected, objects.len(), half);
                let rowless = BroadPhaseDescriptor {
                    pairs: false,
                    ..descriptor
                };
                let result = block_on(pooled(&adapter, &rowless).step_scene(&scene)).unwrap();
                assert_eq!(lists(&result), rows, "{what}: partners alone");
            }
        }
        assert!(
            parted.iter().all(|&count| count > 4 * scenes),
            "{parted:?} in {scenes} scenes"
        );
    }
}

fn upload<T: bytemuck::Pod>(adapter: &TestAdapter, rows: &[T], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    adapter.device.create_buffer_init(&BufferInitDescriptor {
        label: Some("buffer of the caller"),
        contents: bytemuck::cast_slice(rows),
        usage,
    })
}

#[test]
fn words_that_no_function_reads_may_lie_on_the_device() {
    let mut rng = Rng(92);
    let objects = lattice(100, &mut rng);
    for adapter in adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                ..Default::default()
            };
            let plain = Scene {
                objects: Source::Host(&objects),
                ..Default::default()
            };
            let all = defined(&descriptor, &plain, &|_, _| true);
            let list = list_of(&all, objects.len(), &mut rng);
            let scene = Scene {
                excluded_pairs: Source::Host(&list),
                ..plain
            };
            let words = upload(&adapter, &[7; 9], wgpu::BufferUsages::STORAGE);
            let input = Scene {
                pair_filter_data: Source::device(&words, 9),
                ..scene
            };
            let result = whole(&adapter, &mut broad_phase(&adapter, &descriptor), input);
            let what = format!("{scheme:?}, {}", adapter.name);
            check(
                &descriptor,
                &scene,
                &result,
                &defined(&descriptor, &scene, &|_, _| true),
                &what,
            );
        }
    }
}

#[test]
fn a_list_may_change_in_every_frame() {
    let mut rng = Rng(91);
    for adapter in adapters() {
        for scheme in SCHEMES {
            for dimensions in [Dimensions::Two, Dimensions::Three] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    dimensions,
                    pair_filter: (dimensions == Dimensions::Two).then_some(BITS),
                    ..Default::default()
                };
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                let objects = lattice(700, &mut rng);
                for frame in 0..8u64 {
                    let statics = [0, 300][frame as usize / 4];
                    let (fixed, moving) = objects.split_at(statics);
                    let data: Vec<u32> = (0..frame % 3).map(|_| rng.bits() as u32).collect();
                    let plain = Scene {
                        objects: Source::Host(moving),
                        statics: Statics {
                            objects: Source::Host(fixed),
                            ..Default::default()
                        },
                        pair_filter_data: Source::Host(&data),
                        ..Default::default()
                    };
                    let all = defined(&descriptor, &plain, &|_, _| true);
                    let list = match frame % 4 {
                        1 => all.clone(),
                        2 => Vec::new(),
                        _ => list_of(&all, objects.len(), &mut rng),
                    };
                    let scene = Scene {
                        excluded_pairs: Source::Host(&list),
                        ..plain
                    };
                    let admits = bits(&data);
                    let expected = match descriptor.pair_filter {
                        None => defined(&descriptor, &scene, &|_, _| true),
                        Some(_) => defined(&descriptor, &scene, &admits),
                    };
                    let what = format!("{scheme:?}, frame {frame}, {}", adapter.name);
                    let mut input = scene;
                    let [of_list, of_data] = [bytemuck::cast_slice(&list), &data[..]]
                        .map(|words: &[u32]| upload(&adapter, &[words, &[7; 9]].concat(), wgpu::BufferUsages::STORAGE));
                    if frame % 2 == 0 {
                        input.excluded_pairs = Source::device(&of_list, list.len() as u32);
                        input.pair_filter_data = Source::device(&of_data, data.len() as u32);
                    }
                    let result = whole(&adapter, &mut on_gpu, input);
                    check(&descriptor, &scene, &result, &expected, &what);
                    if frame % 4 == 1 && descriptor.pair_filter.is_none() {
                        assert!(!all.is_empty() && result.pairs.is_empty(), "{what}");
                    }
                    let first = expected.len() as u32 / 2;
                    let mut pages = encoder(&adapter);
                    let page = Page {
                        pairs: first,
                        ..Default::default()
                    };
                    on_gpu.page(&mut pages, page).unwrap();
                    adapter.queue.submit([pages.finish()]);
                    let shown = read(&mut on_gpu);
                    assert_eq!(shown.pairs, result.pairs[first as usize..], "{what}: page");
                }
            }
        }
    }
}

#[test]
fn pairs_of_crowds_are_excluded() {
    let mut rng = Rng(92);
    let around = |rng: &mut Rng, edge: f32| {
        let low = [0; 3].map(|_| rng.unit() * 2.0);
        Aabb::new(low, low.map(|low| low + edge))
    };
    let crowd: Vec<_> = (0..900).map(|_| around(&mut rng, 0.6)).collect();
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            for (order, rounds) in [(ResultOrder::Deterministic, None), (ResultOrder::Sorted, Some(3))] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    outputs: OutputOptions {
                        order,
                        capacities: Capacities {
                            rounds,
                            ..Default::default()
                        },
                        ..Default::default()
                    },
                    pair_filter: rounds.map(|_| BITS),
                    ..Default::default()
                };
                let data = [0x9e37_79b9, 0x0f0f_1234];
                let admits = bits(&data);
                let admits: &dyn Fn(u32, u32) -> bool = if rounds.is_some() { &admits } else { &|_, _| true };
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                for statics in [0, 250] {
                    let (fixed, moving) = crowd.split_at(statics);
                    let plain = Scene {
                        objects: Source::Host(moving),
                        statics: Statics {
                            objects: Source::Host(fixed),
                            generation: 7,
                            ..Default::default()
                        },
                        pair_filter_data: Source::Host(&data),
                        ..Default::default()
                    };
                    let all = defined(&descriptor, &plain, &|_, _| true);
                    assert!(all.len() > 12 * crowd.len());
                    for _ in 0..3 {
                        let list = list_of(&all, crowd.len(), &mut rng);
                        let scene = Scene {
                            excluded_pairs: Source::Host(&list),
                            ..plain
                        };
                        let expected = defined(&descriptor, &scene, admits);
                        let what = format!("{scheme:?}, {rounds:?} rounds, {statics} static on {}", adapter.name);
                        let result = whole(&adapter, &mut on_gpu, scene);
                        check(&descriptor, &scene, &result, &expected, &what);
                        if order == ResultOrder::Sorted {
                            assert_eq!(result.pairs, expected, "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// llvmpipe also counts lookups in the list as loop iterations.
#[test]
#[ignore = "hundreds of millions of box tests take minutes on a software adapter"]
fn walks_in_many_rounds_leave_out_the_same_pairs() {
    let count = 20_000;
    let objects = vec![Aabb::new([0.0; 3], [1.0; 3]); count as usize];
    let list: Vec<_> = (0..count)
        .flat_map(|a| {
            (1..=20).map(move |step| Pair {
                a,
                b: (a + 97 * step) % count,
            })
        })
        .collect();
    let listed: BTreeSet<_> = list
        .iter()
        .map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b)))
        .collect();
    let all = u64::from(count) * u64::from(count - 1) / 2 - listed.len() as u64;
    let of_seven = u64::from(count - 8) - listed.range((7, 0)..(8, 0)).count() as u64;
    for adapter in daily_adapters() {
        for (pair_filter, expected) in [
            (None, all),
            (
                Some("fn admits_pair(a: u32, b: u32) -> bool { return a != 7u; }"),
                all - of_seven,
            ),
        ] {
            let descriptor = BroadPhaseDescriptor {
                pair_filter,
                outputs: OutputOptions {
                    growth: Growth::Fixed,
                    capacities: Capacities {
                        pairs: Some(1000),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let scene = Scene {
                objects: Source::Host(&objects),
                excluded_pairs: Source::Host(&list),
                ..Default::default()
            };
            let result = block_on(pooled(&adapter, &descriptor).step_scene(&scene)).unwrap();
            assert!(result.counters.rounds_needed > 1, "{}", adapter.name);
            assert_eq!(result.counters.pairs_needed, expected, "{}", adapter.name);
            assert!(result.pairs.iter().all(|pair| !listed.contains(&(pair.a, pair.b))));
        }
    }
}

#[test]
fn steps_of_one_encoder_see_their_own_lists() {
    let mut rng = Rng(93);
    let objects = uniform(500, &mut rng);
    for adapter in daily_adapters() {
        let descriptor = BroadPhaseDescriptor::default();
        let mut on_gpu = broad_phase(&adapter, &descriptor);
        let plain = Scene {
            objects: Source::Host(&objects),
            ..Default::default()
        };
        let all = brute_force::scene_pairs(&descriptor, &plain).unwrap();
        let mut encoder = encoder(&adapter);
        let mut shown = Vec::new();
        for part in 0..3 {
            let list: Vec<_> = all.iter().copied().skip(part).step_by(3).collect();
            let input = Scene {
                excluded_pairs: Source::Host(&list),
                ..plain
            };
            let output = on_gpu.step(&mut encoder, input).unwrap();
            let pairs = output.pairs.unwrap();
            let copy = adapter.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("copy"),
                size: pairs.buffer.size(),
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            encoder.copy_buffer_to_buffer(&pairs.buffer, 0, &copy, 0, copy.size());
            let scene = Scene {
                excluded_pairs: Source::Host(&list),
                ..plain
            };
            shown.push((copy, brute_force::scene_pairs(&descriptor, &scene).unwrap()));
        }
        adapter.queue.submit([encoder.finish()]);
        for (copy, expected) in shown {
            assert!(expected.len() < all.len());
            let bytes = 8 * expected.len() as u64;
            let pairs = crate::common::steps::download::<Pair>(&adapter.device, &adapter.queue, &copy, bytes);
            assert_eq!(sorted(pairs), expected, "{}", adapter.name);
        }
    }
}

#[test]
fn whole_answers_in_parts_leave_out_the_same_pairs() {
    let mut rng = Rng(94);
    let objects = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    max_bytes: Some(700_000),
                    ..Default::default()
                },
                pair_filter: Some(BITS),
                ..Default::default()
            };
            let mut headless = opened(&adapter, &descriptor);
            let data = [0xdead_beef, 0x1357_9bdf, 0xffff_0000];
            let all: Vec<_> = (0..300)
                .flat_map(|a| (a + 1..300).map(move |b| Pair { a, b }))
                .collect();
            let list: Vec<_> = all.iter().copied().filter(|_| rng.below(9) == 0).collect();
            let scene = Scene {
                objects: Source::Host(&objects),
                excluded_pairs: Source::Host(&list),
                pair_filter_data: Source::Host(&data),
                ..Default::default()
            };
            let expected = defined(&descriptor, &scene, &bits(&data));
            let result = block_on(headless.step_scene(&scene)).unwrap();
            check(
                &descriptor,
                &scene,
                &result,
                &expected,
                &format!("{scheme:?} on {}", adapter.name),
            );
            assert!(headless.gpu().unwrap().memory().total() <= 700_000);
        }
    }
}

#[test]
fn tables_of_static_objects_outlast_lists() {
    let mut rng = Rng(96);
    let objects = uniform(600, &mut rng);
    let (fixed, moving) = objects.split_at(200);
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                outputs: OutputOptions {
                    capacities: Capacities {
                        pairs: Some(20_000),
                        entries: Some(20_000),
                        ..Default::default()
                    },
                    ..Default::default()
                },
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let plain = Scene {
                objects: Source::Host(moving),
                statics: Statics {
                    objects: Source::Host(fixed),
                    ..Default::default()
                },
                ..Default::default()
            };
            let all = brute_force::scene_pairs(&descriptor, &plain).unwrap();
            for (frame, step) in [3, 0, 1, 2, 0, 5].into_iter().enumerate() {
                let list: Vec<_> = match step {
                    0 => Vec::new(),
                    step => all.iter().copied().step_by(step).collect(),
                };
                let scene = Scene {
                    excluded_pairs: Source::Host(&list),
                    ..plain
                };
                let statics = Statics {
                    objects: Source::Host(if frame == 0 { fixed } else { &objects[400..] }),
                    ..Default::default()
                };
                let input = Scene { statics, ..scene };
                submit(&adapter, &mut on_gpu, input);
                let result = read(&mut on_gpu);
                let expected = brute_force::scene_pairs(&descriptor, &scene).unwrap();
                let what = format!("{scheme:?}, frame {frame}, {}", adapter.name);
                check(&descriptor, &scene, &result, &expected, &what);
            }
        }
    }
}

#[test]
fn another_function_may_take_the_place_of_one() {
    let mut rng = Rng(97);
    let objects = uniform(500, &mut rng);
    let data = [0x1234_5678, 0x9abc_def0];
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let with = |pair_filter| BroadPhaseDescriptor {
                scheme,
                pair_filter,
                ..Default::default()
            };
            let scene = Scene {
                objects: Source::Host(&objects),
                pair_filter_data: Source::Host(&data),
                ..Default::default()
            };
            let mut on_gpu = broad_phase(&adapter, &with(None));
            let (by_bits, by_words) = (bits(&data), words(&objects));
            for text in [None, Some(BITS), Some(WORDS), None, Some(BITS)] {
                let admits: &dyn Fn(u32, u32) -> bool = match text {
                    None => &|_, _| true,
                    Some(BITS) => &by_bits,
                    _ => &by_words,
                };
                let descriptor = with(text);
                on_gpu.set_descriptor(&descriptor).unwrap();
                let unfit = with(Some("fn admits_pair(a: u32, b: u32) -> bool { return a; }"));
                let error = on_gpu.set_descriptor(&unfit).unwrap_err();
                let is_told = matches!(
                    error,
                    CreateError::Descriptor(DescriptorError::PairFilter(PairFilterError::Compile { line: 1, .. }))
                );
                assert!(is_told, "{error:?}");
                let what = format!("{scheme:?}, {text:?} on {}", adapter.name);
                submit(&adapter, &mut on_gpu, scene);
                // Once the scene is known to be crowded or not, one variant of counting is unused.
                let unused: Vec<_> = on_gpu.unused_passes(None);
                assert!(
                    unused.iter().all(|pass| pass.starts_with("pair_count")),
                    "{what}: {unused:?}"
                );
                let result = whole(&adapter, &mut on_gpu, scene);
                let expected = defined(&descriptor, &scene, admits);
                check(&descriptor, &scene, &result, &expected, &what);
            }
        }
    }
}

#[test]
fn a_descriptor_that_is_changed_in_part_keeps_its_function() {
    let mut rng = Rng(99);
    let objects = uniform(300, &mut rng);
    let data = [0x0f0f_1234, 0x7654_3210];
    let scene = Scene {
        objects: Source::Host(&objects),
        pair_filter_data: Source::Host(&data),
        ..Default::default()
    };
    for adapter in daily_adapters() {
        let own = String::from(BITS);
        let mut on_gpu = broad_phase(
            &adapter,
            &BroadPhaseDescriptor {
                pair_filter: Some(&own),
                ..Default::default()
            },
        );
        drop(own);
        let admits = bits(&data);
        for (margin, count_candidates) in [(0.0, false), (0.5, false), (0.25, true)] {
            let descriptor = BroadPhaseDescriptor {
                margin,
                count_candidates,
                label: None,
                pair_filter: Some(BITS),
                ..on_gpu.descriptor()
            };
            assert_eq!(on_gpu.descriptor().pair_filter, Some(BITS));
            on_gpu.set_descriptor(&descriptor).unwrap();
            let what = format!("margin {margin} on {}", adapter.name);
            let result = whole(&adapter, &mut on_gpu, scene);
            let expected = defined(&descriptor, &scene, &admits);
            assert!(expected.len() < brute_force::scene_pairs(&descriptor, &scene).unwrap().len());
            check(&descriptor, &scene, &result, &expected, &what);
            let mut other = broad_phase(&adapter, &on_gpu.descriptor());
            let result = whole(&adapter, &mut other, scene);
            check(&descriptor, &scene, &result, &expected, &what);
        }
        let without = BroadPhaseDescriptor {
            label: None,
            pair_filter: None,
            ..on_gpu.descriptor()
        };
        on_gpu.set_descriptor(&without).unwrap();
        let expected = brute_force::scene_pairs(&without, &scene).unwrap();
        let result = whole(&adapter, &mut on_gpu, scene);
        check(&without, &scene, &result, &expected, &adapter.name);
    }
}

#[test]
fn partners_of_a_query_set_are_excluded_as_those_of_its_step() {
    let mut rng = Rng(98);
    let objects = uniform(400, &mut rng);
    let (fixed, moving) = objects.split_at(100);
    let data = [0x0f1e_2d3c];
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            for pair_filter in [None, Some(BITS)] {
                let descriptor = BroadPhaseDescriptor {
                    scheme,
                    pair_filter,
                    ..Default::default()
                };
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                let mut set = on_gpu
                    .query_set("partners", &on_gpu.descriptor().outputs)
                    .expect("options");
                let plain = Scene {
                    objects: Source::Host(moving),
                    statics: Statics {
                        objects: Source::Host(fixed),
                        ..Default::default()
                    },
                    pair_filter_data: Source::Host(&data),
                    ..Default::default()
                };
                let all = defined(&descriptor, &plain, &|_, _| true);
                let by_bits = bits(&data);
                for _ in 0..2 {
                    let list = list_of(&all, objects.len(), &mut rng);
                    let scene = Scene {
                        excluded_pairs: Source::Host(&list),
                        ..plain
                    };
                    let result = whole(&adapter, &mut on_gpu, scene);
                    let expected = match pair_filter {
                        None => defined(&descriptor, &scene, &|_, _| true),
                        Some(_) => defined(&descriptor, &scene, &by_bits),
                    };
                    let what = format!("{scheme:?}, {} on {}", pair_filter.is_some(), adapter.name);
                    check(&descriptor, &scene, &result, &expected, &what);
                    let asked = QueryInput {
                        queries: SelfQuery::Overlaps { half: false }.into(),
                        ..Default::default()
                    };
                    let mut encoder = encoder(&adapter);
                    let step = on_gpu.step(&mut encoder, scene).unwrap();
                    adapter.queue.submit([encoder.finish()]);
                    let mut encoder = self::encoder(&adapter);
                    set.record(&mut encoder, &step, asked).unwrap();
                    adapter.queue.submit([encoder.finish()]);
                    let found = block_on(set.read_back()).unwrap();
                    assert_eq!(lists(&found), rows_of(&expected, objects.len(), false), "{what}");
                }
            }
        }
    }
}
