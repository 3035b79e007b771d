//! Static objects whose table is reused, rebuilt or queried later. `wild.rs` compares other scenes with static objects.

use crate::common::steps::{
    RAY_MODES, SCHEMES, UNIT, again, broad_phase, counted, descriptor, page, query, read, scene_of, submit, upload,
    whole,
};
use crate::common::{Rng, daily_adapters, uniform};
use gpu_broad_phase::internals::counters;
use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Growth, QueryInput, QueryMode, RayCell, RayMode, Scene, Scheme, SelfQuery, Source,
    Statics, StepResult, cpu, wgpu,
};
use wild::{Expected, Wild, check_definition, check_reference};

/// Static objects of one scene of `wild`, everything else of another. Queries are boxes of static objects.
struct Case {
    statics: Wild,
    moving: Wild,
    queries: Vec<Aabb>,
    generation: u64,
    what: String,
}

impl Case {
    /// Takes `counts` objects of two large scenes, which are every sixteenth, from the numbers `16 * seed + 15` on.
    fn new(descriptor: &BroadPhaseDescriptor<'_>, seeds: [u64; 2], counts: [usize; 2]) -> Self {
        let large = |seed: u64, other: Option<u64>, count: usize| {
            let seeds = (seed..).filter(|&seed| other != Some(seed));
            let mut scenes = seeds.map(|seed| (seed, wild::scene(16 * seed + 15, descriptor)));
            let (seed, mut wild) = scenes.find(|(_, wild)| wild.objects.len() >= count).unwrap();
            wild.objects.truncate(count);
            wild.worlds.truncate(count);
            wild.rays.truncate(60);
            (wild.is_swept, wild.mode, wild.statics) = (true, QueryMode::All, 0);
            (seed, wild)
        };
        let (seed, mut statics) = large(seeds[0], None, counts[0]);
        let (_, moving) = large(seeds[1], Some(seed), counts[1]);
        statics.statics = statics.objects.len();
        Self {
            queries: statics.objects.iter().step_by(9).copied().collect(),
            statics,
            moving,
            generation: 1,
            what: format!(
                "seeds {seeds:?}, counts {counts:?}, {:?}, again: {}",
                descriptor.scheme,
                again()
            ),
        }
    }

    fn scene(&self) -> Scene<'_> {
        let mut scene = self.moving.scene(0);
        scene.statics = self.statics.scene(self.generation).statics;
        scene.query.queries = self.queries[..].into();
        scene
    }
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, found: &StepResult, what: &str) {
    check_definition(descriptor, scene, &Expected::of(descriptor, scene), found, what);
    let on_cpu = cpu::step_scene(descriptor, scene).unwrap();
    check_reference(descriptor, scene, found, &on_cpu);
    let (found, on_cpu) = (&found.counters, &on_cpu.counters);
    assert_eq!(found.static_entries_needed, on_cpu.static_entries_needed, "{what}");
    let passes = trace(descriptor, scene).unwrap();
    assert_eq!(found.table_cells, passes.counters[counters::TABLE_CELLS], "{what}");
}

fn everything(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    descriptor(|all| {
        (all.scheme, all.worlds, all.count_candidates) = (scheme, 2, true);
        (all.outputs.ray_mode, all.outputs.ray_cells) = (RayMode::All, true);
    })
}

#[test]
fn a_reused_table_gives_the_same_bytes_as_a_rebuilt_and_a_new_one() {
    for adapter in daily_adapters() {
        for descriptor in SCHEMES.map(everything) {
            let mut used = broad_phase(&adapter, &descriptor);
            for frame in 0..4 {
                let mut case = Case::new(&descriptor, [1, 2 + frame], [700, 60 + 50 * frame as usize]);
                let what = format!("{} on {}", case.what, adapter.name);
                let reused = whole(&adapter, &mut used, case.scene());
                check(&descriptor, &case.scene(), &reused, &what);
                let mut check = |gpu: &mut _, generation, which: &str| {
                    case.generation = generation;
                    let mut found = whole(&adapter, gpu, case.scene());
                    // Capacities depend on earlier steps.
                    let counters = std::mem::replace(&mut found.counters, reused.counters);
                    assert_eq!(counted(&counters), counted(&reused.counters), "{which}: {what}");
                    assert!(format!("{found:?}") == format!("{reused:?}"), "{which}: {what}");
                };
                check(&mut used, 1, "reused");
                check(&mut used, 2 + frame, "rebuilt");
                check(&mut broad_phase(&adapter, &descriptor), 1, "new");
                check(&mut used, 1, "rebuilt again");
            }
        }
    }
}

#[test]
fn static_objects_are_read_when_their_generation_or_count_changes() {
    for adapter in daily_adapters() {
        for (scheme, is_on_device) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, false), (scheme, true)]) {
            let descriptor = descriptor(|all| all.scheme = scheme);
            let mut gpu = broad_phase(&adapter, &descriptor);
            let [first, second, third] =
                [(0, 250), (18, 250), (27, 210)].map(|(seed, count)| Case::new(&descriptor, [seed, 9], [count, 90]));
            let [a, b, c] = [&first, &second, &third].map(|case| &case.statics.objects[..]);
            let what = format!("on the device {is_on_device}, {} on {}", first.what, adapter.name);
            for (place, (objects, generation, expected)) in [
                (a, 1, a),
                (b, 1, a),
                (b, 77, b),
                (c, 77, c),
                (&c[..200], 77, &c[..200]),
                (&[], 77, &[]),
                (c, 77, c),
            ]
            .into_iter()
            .enumerate()
            {
                let buffer = upload(
                    &adapter.device,
                    &[objects, &[UNIT]].concat(),
                    wgpu::BufferUsages::STORAGE,
                );
                let with = |objects| Scene {
                    statics: Statics {
                        objects,
                        generation,
                        ..Statics::default()
                    },
                    ..first.scene()
                };
                let source = match is_on_device {
                    true => Source::device(&buffer, objects.len() as u32),
                    false => objects.into(),
                };
                let found = whole(&adapter, &mut gpu, with(source));
                check(
                    &descriptor,
                    &with(expected.into()),
                    &found,
                    &format!("change {place}, {what}"),
                );
            }
        }
    }
}

#[test]
fn crowds_of_static_objects_are_walked_in_rounds() {
    let mut rng = Rng(0);
    let mut rod = |_| {
        let [y, z] = [0; 2].map(|_| rng.below(1 << 12) as f32 / 4096.0);
        Aabb::new([0.0, y, z], [1.0, y + 0.0001, z + 0.0001])
    };
    let rods: Vec<_> = (0..17_100).map(&mut rod).collect();
    for adapter in daily_adapters() {
        for (index, scheme) in SCHEMES.into_iter().enumerate() {
            let descriptor = descriptor(|all| {
                (all.scheme, all.outputs.ray_mode) = (scheme, RAY_MODES[index]);
                all.outputs.capacities.rounds = Some([3, 4, 5][index]);
            });
            let mut case = Case::new(&descriptor, [1, 2], [0; 2]);
            (case.statics.objects, case.moving.objects) = (rods[..17_000].to_vec(), rods[17_000..].to_vec());
            case.statics.statics = 17_000;
            case.queries = rods[16_960..].to_vec();
            let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), case.scene());
            let what = format!("{} on {}", case.what, adapter.name);
            assert!(found.counters.rounds_needed > 1, "{what}");
            check(&descriptor, &case.scene(), &found, &what);
        }
    }
}

#[test]
fn later_rays_and_queries_search_both_tables() {
    let (radius, half) = (1.1, false);
    for adapter in daily_adapters() {
        for (index, scheme) in SCHEMES.into_iter().enumerate() {
            let descriptor = descriptor(|all| (all.scheme, all.outputs.ray_mode) = (scheme, RAY_MODES[index]));
            let without_pairs = BroadPhaseDescriptor {
                pairs: false,
                ..descriptor
            };
            let case = Case::new(&descriptor, [8, 9], [260, 60]);
            let what = format!("{} on {}", case.what, adapter.name);
            let mut scene = case.scene();
            let later = std::mem::take(&mut scene.query);
            let mut gpu = broad_phase(&adapter, &descriptor);
            whole(&adapter, &mut gpu, scene);
            for queries in [later.queries, SelfQuery::Within { radius, half }.into()] {
                scene.query = QueryInput { queries, ..later };
                let found = (0..4).map(|_| query(&adapter, &mut gpu, scene.query));
                let found = found.into_iter().find(|found| found.counters.is_complete());
                let expected = Expected::of(&without_pairs, &scene);
                check_definition(&without_pairs, &scene, &expected, &found.expect("whole"), &what);
            }
        }
    }
}

#[test]
fn pages_cover_the_results_of_both_tables() {
    const ROWS: u32 = 37;
    for adapter in daily_adapters() {
        for mut descriptor in SCHEMES.map(everything) {
            // Sets the size of the uniform scheme's table, and so the order of results.
            descriptor.outputs.capacities.entries = Some(1 << 15);
            let mut case = Case::new(&descriptor, [21, 22], [400, 120]);
            // Static partners of one object fill several pages.
            case.moving.objects[..3].fill(Aabb::new([-1e30; 3], [1e30; 3]));
            let what = format!("{} on {}", case.what, adapter.name);
            let all = whole(&adapter, &mut broad_phase(&adapter, &descriptor), case.scene());
            let outputs = &mut descriptor.outputs;
            outputs.growth = Growth::Fixed;
            let capacities = &mut outputs.capacities;
            (capacities.pairs, capacities.hits) = (Some(ROWS), Some(ROWS));
            (capacities.results, capacities.ray_cells) = (Some(ROWS), Some(ROWS));
            let mut gpu = broad_phase(&adapter, &descriptor);
            submit(&adapter, &mut gpu, case.scene());
            let mut joined = read(&mut gpu);
            assert_eq!(joined.counters.pairs_needed, all.pairs.len() as u64, "{what}");
            for number in 1..40 {
                let part = page(&adapter, &mut gpu, number * ROWS);
                joined.pairs.extend(part.pairs);
                joined.ray_hits.extend(part.ray_hits);
                joined.ray_cells.extend(part.ray_cells);
                joined.query_objects.extend(part.query_objects);
            }
            let shown = |rows: usize| rows.min(40 * ROWS as usize);
            assert!(joined.pairs == all.pairs[..shown(all.pairs.len())], "{what}");
            assert!(joined.ray_hits == all.ray_hits[..shown(all.ray_hits.len())], "{what}");
            assert!(
                joined.ray_cells == all.ray_cells[..shown(all.ray_cells.len())],
                "{what}"
            );
            let objects = &all.query_objects[..shown(all.query_objects.len())];
            assert!(joined.query_objects == objects, "{what}");
        }
    }
}

#[test]
fn cells_of_rays_come_from_the_moving_then_the_static_table() {
    for adapter in daily_adapters() {
        for descriptor in SCHEMES.map(everything) {
            let case = Case::new(&descriptor, [27, 36], [250, 80]);
            let what = format!("{} on {}", case.what, adapter.name);
            let mut moving = case.scene();
            let statics = std::mem::take(&mut moving.statics);
            let alone = Scene {
                objects: statics.objects,
                worlds: statics.worlds,
                ..moving
            };
            let [both, moving, statics] = [case.scene(), moving, alone].map(|scene| {
                let found = whole(&adapter, &mut broad_phase(&adapter, &descriptor), scene);
                let offsets = found.ray_cell_offsets.windows(2);
                let cells = offsets.map(|ends| found.ray_cells[ends[0] as usize..ends[1] as usize].to_vec());
                cells.collect::<Vec<_>>()
            });
            assert!(
                [&moving, &statics].iter().all(|lists| lists.concat().len() > 20),
                "{what}"
            );
            for (ray, (mut expected, statics)) in moving.into_iter().zip(statics).enumerate() {
                expected.extend(statics.into_iter().map(|cell| RayCell {
                    level: cell.level + 32,
                    ..cell
                }));
                assert_eq!(both[ray], expected, "{what}: ray {ray}");
            }
        }
    }
}

#[test]
fn memory_limits_hold_as_static_objects_change_and_trim_frees_their_table() {
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let mut descriptor = descriptor(|all| (all.scheme, all.outputs.ray_mode) = (scheme, RayMode::All));
            let all = Case::new(&descriptor, [51, 52], [900, 90]);
            let what = format!("{} on {}", all.what, adapter.name);
            let mut gpu = broad_phase(&adapter, &descriptor);
            let expected = whole(&adapter, &mut gpu, all.scene());
            let limit = gpu.memory().total() + (16 << 20);
            gpu.trim();
            assert_eq!(gpu.memory().total(), 0, "{what}");
            assert!(whole(&adapter, &mut gpu, all.scene()).pairs == expected.pairs, "{what}");

            descriptor.outputs.max_bytes = Some(limit);
            let mut gpu = broad_phase(&adapter, &descriptor);
            for counts in [[900, 90], [900, 30], [200, 80], [850, 20]] {
                let case = Case::new(&descriptor, [51, 52], counts);
                let found = whole(&adapter, &mut gpu, case.scene());
                assert!(gpu.memory().total() <= limit, "{what}");
                check(
                    &descriptor,
                    &case.scene(),
                    &found,
                    &format!("{} on {}", case.what, adapter.name),
                );
            }
        }
    }
}

/// Prints stage times of alternating steps (`docs/measurements.md`). `STATICS=1000000` sets the number of boxes.
#[test]
fn steps_of_mostly_static_objects_take_fewer_box_tests_than_one_list() {
    let count = std::env::var("STATICS").map_or(40_000, |count| count.parse().unwrap());
    let all = uniform(count, &mut Rng(12));
    let (statics, moving) = all.split_at(count / 20 * 19);
    let marked = statics.iter().map(|object| object.with_group(Aabb::STATIC));
    let listed: Vec<_> = marked.chain(moving.iter().copied()).collect();
    let scenes = [(&[][..], &listed[..]), (&[], moving), (statics, moving)].map(|(statics, moving)| {
        let mut scene = scene_of(moving);
        scene.statics.objects = statics.into();
        scene
    });
    for adapter in daily_adapters() {
        let timed = descriptor(|all| all.outputs.timestamps = true);
        let mut timed = scenes.map(|scene| (scene, broad_phase(&adapter, &timed), Vec::new()));
        for _ in 0..if count > 100_000 { 16 } else { 2 } {
            for (scene, gpu, times) in &mut timed {
                let timings = whole(&adapter, gpu, *scene).timings;
                times.push(timings.iter().map(|stage| stage.nanoseconds / 1e6).sum::<f64>());
            }
        }
        for ((.., times), what) in timed.iter_mut().zip(["one list", "moving objects", "a static table"]) {
            // The first step builds the static table.
            times[1..].sort_by(f64::total_cmp);
            println!(
                "{what} on {}: {:.1} ms, median {:.1}",
                adapter.name,
                times[1],
                times[times.len() / 2]
            );
        }
        let counting = descriptor(|all| all.count_candidates = true);
        let [one_list, _, two] = scenes.map(|scene| {
            let found = whole(&adapter, &mut broad_phase(&adapter, &counting), scene);
            println!("{} box tests", found.counters.pair_candidates);
            (found.pairs.len(), found.counters.pair_candidates)
        });
        let is_less = one_list.0 == two.0 && two.1 < one_list.1 / 4;
        assert!(is_less, "{one_list:?}, {two:?} on {}", adapter.name);
    }
}
