//! Compares ranks with the undivided world, which rank 0 steps on the CPU.

use bytemuck::Pod;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, NONE, OutputOptions, Pair, Queries, QueryInput, QueryMode, RayHit, RayMode,
    Scene, Scheme, SelfQuery, Source, Statics, StepResult, cpu,
};
use gpu_broad_phase_mpi::{Communicator, Device, Hit, Near, Owned, Ranks, RanksDescriptor, Rows};

use super::{KINDS, Kind, Rng, SPREADS, Spread, boxes, id, queries, rays, share, swept, within};

fn collected<C: Communicator, T: Pod>(ranks: &C, rows: &[T]) -> Vec<T> {
    let came = ranks.exchange(vec![(0, bytemuck::cast_slice(rows).to_vec())]);
    came.iter()
        .flat_map(|(_, message)| bytemuck::pod_collect_to_vec::<u8, T>(message))
        .collect()
}

/// Collects all lists on rank 0, in query order. Query `q` was dealt to rank `q % size`.
fn collected_lists<C: Communicator, T: Pod>(ranks: &C, lists: &[Vec<T>], count: usize) -> Vec<Vec<T>> {
    let lengths: Vec<_> = lists.iter().map(|list| list.len() as u64).collect();
    let (lengths, rows) = (collected(ranks, &lengths), collected(ranks, &lists.concat()));
    let mut collected = vec![Vec::new(); count];
    if ranks.rank() > 0 {
        return collected;
    }
    let size = ranks.size();
    let order = (0..size).flat_map(|rank| (rank..count).step_by(size));
    let mut from = 0;
    for (question, length) in order.zip(lengths) {
        collected[question] = rows[from..from + length as usize].to_vec();
        from += length as usize;
    }
    collected
}

fn dealt<T: Copy>(all: &[T], rank: usize, ranks: usize) -> Vec<T> {
    all.iter().skip(rank).step_by(ranks).copied().collect()
}

fn lists<T: Copy>(rows: &Rows<T>) -> Vec<Vec<T>> {
    (0..rows.offsets.len() - 1)
        .map(|question| rows.of(question).to_vec())
        .collect()
}

fn descriptor(device: Device, rng: &mut Rng) -> RanksDescriptor {
    let schemes = [
        Scheme::Hierarchical,
        Scheme::Uniform { cell_size: 2.0 },
        Scheme::Adaptive { min_scale: 1.0 },
    ];
    RanksDescriptor {
        broad_phase: BroadPhaseDescriptor {
            scheme: schemes[rng.below(3)],
            dimensions: [Dimensions::Three, Dimensions::Three, Dimensions::Two][rng.below(3)],
            margin: [0.0, 0.25][rng.below(2)],
            periods: [[0.0; 3], [0.0; 3], [7.0, 0.0, 11.5]][rng.below(3)],
            worlds: [1, 1, 3][rng.below(3)],
            ..Default::default()
        },
        device,
        user_bytes: 8,
        ..Default::default()
    }
}

fn whole<'a>(world: &'a [Aabb], statics: usize, worlds: &'a [u32]) -> Scene<'a> {
    let (first, rest) = world.split_at(statics);
    let (first_worlds, rest_worlds) = worlds.split_at(statics.min(worlds.len()));
    Scene {
        objects: Source::Host(rest),
        worlds: Source::Host(rest_worlds),
        statics: Statics {
            objects: Source::Host(first),
            worlds: Source::Host(first_worlds),
            generation: 0,
        },
        ..Scene::default()
    }
}

fn sorted_pairs(result: &StepResult) -> Vec<[u64; 2]> {
    let mut pairs: Vec<_> = result
        .pairs
        .iter()
        .map(|pair| [pair.a, pair.b].map(|at| id(at as usize)))
        .collect();
    pairs.sort_unstable();
    pairs
}

struct Round {
    rng: Rng,
    kind: Kind,
    spread: Spread,
    settings: RanksDescriptor,
    world: Vec<Aabb>,
    statics: usize,
    of_worlds: Vec<u32>,
    what: String,
}

impl Round {
    fn new(round: usize, ranks: usize, device: Device, counts: &[usize]) -> Self {
        let mut rng = Rng(round as u64);
        let kind = KINDS[round % KINDS.len()];
        let spread = SPREADS[rng.below(SPREADS.len())];
        let settings = descriptor(device, &mut rng);
        let world = boxes(kind, counts[rng.below(counts.len())], &mut rng);
        let statics = [0, world.len() / 3][rng.below(2)];
        let of_worlds = match settings.broad_phase.worlds {
            1 => Vec::new(),
            worlds => (0..world.len()).map(|at| at as u32 % worlds).collect(),
        };
        let what = format!("round {round}: {kind:?}, {ranks} ranks, {spread:?}, {statics} static, {settings:?}");
        Self {
            rng,
            kind,
            spread,
            settings,
            world,
            statics,
            of_worlds,
            what,
        }
    }

    fn share<C: Communicator>(&self, ranks: &C) -> Owned {
        let worlds = self.settings.broad_phase.worlds;
        share(
            &self.world,
            self.statics,
            worlds,
            self.spread,
            ranks.rank(),
            ranks.size(),
        )
    }

    fn scene(&self) -> Scene<'_> {
        whole(&self.world, self.statics, &self.of_worlds)
    }

    fn step(&self, ray_mode: RayMode, scene: &Scene<'_>) -> StepResult {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode,
                ..self.settings.broad_phase.outputs
            },
            ..self.settings.broad_phase
        };
        cpu::step_scene(&descriptor, scene).unwrap()
    }
}

/// Steps before and after balancing. Returns the numbers of pairs per step, and of all ghosts.
pub fn steps<C: Communicator>(all: &C, round: usize, device: Device) -> [usize; 2] {
    let mut given = Round::new(round, all.size(), device, &[0, 1, 2, 5, 60, 400]);
    let count = given.world.len();
    let excluded: Vec<_> = (0..count / 4).map(|_| [0; 2].map(|_| given.rng.below(count))).collect();
    let mut owned = given.share(all);
    let held = |at: usize| given.spread.rank(at, count, all.size()) == all.rank();
    owned.excluded_pairs = excluded
        .iter()
        .filter(|row| held(row[0]))
        .map(|row| row.map(id))
        .collect();
    let mut ranks = Ranks::new(all.split(0), &given.settings).unwrap();
    let mut found = vec![ranks.step(&owned).unwrap()];
    ranks.balance(&mut owned).unwrap();
    for objects in [&owned.moving, &owned.statics] {
        let given = objects.ids.iter().map(|id| id.to_le_bytes());
        assert!(
            given.flatten().eq(objects.user.iter().copied()),
            "bytes stay with their boxes"
        );
    }
    found.push(ranks.step(&owned).unwrap());
    // This step sends no static boxes.
    found.push(ranks.step(&owned).unwrap());
    ranks.balance(&mut owned).unwrap();
    found.push(ranks.step(&owned).unwrap());
    let mut ids = collected(all, &[owned.moving.ids, owned.statics.ids].concat());
    let found: Vec<_> = found
        .into_iter()
        .map(|step| {
            let mut pairs = collected(all, &step.pairs);
            pairs.sort_unstable();
            let ghosts = collected(all, &[step.ghosts as u64]).iter().sum::<u64>();
            (pairs, step.all_pairs, step.world_pairs, step.invalid, ghosts as usize)
        })
        .collect();
    if all.rank() > 0 {
        return [0; 2];
    }
    ids.sort_unstable();
    assert!(
        ids.into_iter().eq((0..count).map(id)),
        "boxes were lost: {}",
        given.what
    );
    let listed: Vec<_> = excluded
        .iter()
        .map(|&[a, b]| Pair {
            a: a as u32,
            b: b as u32,
        })
        .collect();
    let scene = Scene {
        excluded_pairs: Source::Host(&listed),
        ..given.scene()
    };
    let expected = given.step(RayMode::Closest, &scene);
    let invalid = u64::from(expected.counters.invalid);
    let of_worlds: Vec<_> = expected.world_pairs.iter().map(|&count| u64::from(count)).collect();
    let expected = sorted_pairs(&expected);
    for (step, (pairs, all_pairs, world_pairs, not_there, _)) in found.iter().enumerate() {
        assert!(*pairs == expected, "pairs of step {step}, {}", given.what);
        assert_eq!(*world_pairs, of_worlds, "step {step}, {}", given.what);
        assert_eq!(
            [*all_pairs, *not_there],
            [expected.len() as u64, invalid],
            "step {step}, {}",
            given.what
        );
    }
    [expected.len(), found.iter().map(|(.., ghosts)| ghosts).sum()]
}

/// Returns the numbers of closest hits, hits, query results and nearest boxes.
pub fn questions<C: Communicator>(all: &C, round: usize, device: Device) -> [usize; 4] {
    const COUNT: usize = 60;
    let mut given = Round::new(round, all.size(), device, &[0, 1, 300, 300]);
    let mut lines = rays(COUNT, &given.world, &mut given.rng);
    let mut wide = swept(&lines, &mut given.rng);
    let mut asked = queries(COUNT, &given.world, &mut given.rng);
    if given.settings.broad_phase.worlds > 1 {
        for (at, (ray, query)) in (0..).zip(wide.iter_mut().zip(&mut asked)) {
            (ray.world, query.world) = (at % 4, at % 4);
        }
    }
    lines[0].t_max = f32::NAN;
    let nearest = 1 + given.rng.below(5) as u32;
    let is_balanced = given.rng.below(2) == 0;
    let mut owned = given.share(all);
    let mut ranks = Ranks::new(all.split(0), &given.settings).unwrap();
    if is_balanced {
        ranks.balance(&mut owned).unwrap();
    }
    ranks.step(&owned).unwrap();
    let own = [all.rank(), all.size()];
    let (own_lines, own_wide) = (dealt(&lines, own[0], own[1]), dealt(&wide, own[0], own[1]));
    let own_asked = dealt(&asked, own[0], own[1]);
    let closest = ranks.closest_hits(&own_lines).unwrap();
    let closest: Vec<_> = closest
        .iter()
        .map(|hit| hit.iter().copied().collect::<Vec<Hit>>())
        .collect();
    let any: Vec<_> = ranks
        .any_hits(&own_wide)
        .unwrap()
        .iter()
        .map(|&hit| vec![u8::from(hit)])
        .collect();
    let closest = collected_lists(all, &closest, COUNT);
    let any = collected_lists(all, &any, COUNT);
    let hits = collected_lists(all, &lists(&ranks.all_hits(&own_wide).unwrap()), COUNT);
    let objects = collected_lists(all, &lists(&ranks.query(&own_asked).unwrap()), COUNT);
    let near = collected_lists(all, &lists(&ranks.nearest(&own_asked, nearest).unwrap()), COUNT);
    let mut seen = [0; 4];
    if all.rank() > 0 {
        return seen;
    }
    let scene = given.scene();
    let of_lines = Scene {
        query: QueryInput {
            rays: lines[..].into(),
            ..scene.query
        },
        ..scene
    };
    let of_wide = Scene {
        query: QueryInput {
            rays: wide[..].into(),
            ..scene.query
        },
        ..scene
    };
    let of_queries = |query_mode| Scene {
        query: QueryInput {
            queries: Queries::General(asked[..].into()),
            query_mode,
            ..scene.query
        },
        ..scene
    };
    let expected_closest = given.step(RayMode::Closest, &of_lines).ray_hits;
    let expected_any = given.step(RayMode::Any, &of_wide).ray_any;
    let expected_hits = given.step(RayMode::All, &of_wide);
    let expected_objects = given.step(RayMode::Closest, &of_queries(QueryMode::All));
    let expected_near = given
        .step(RayMode::Closest, &of_queries(QueryMode::Nearest(nearest)))
        .query_nearest;
    for question in 0..COUNT {
        let what = format!("question {question}, balanced {is_balanced}, {}", given.what);
        let told = |hits: &[Hit]| {
            hits.iter()
                .map(|hit| (hit.t.to_bits(), hit.is_moving == 1, hit.id))
                .collect::<Vec<_>>()
        };
        let hit = |hit: &RayHit| {
            let is_there = hit.object != NONE;
            is_there.then(|| {
                (
                    hit.t.to_bits(),
                    hit.object as usize >= given.statics,
                    id(hit.object as usize),
                )
            })
        };
        let expected: Vec<_> = hit(&expected_closest[question]).into_iter().collect();
        assert_eq!(told(&closest[question]), expected, "closest hit of {what}");
        seen[0] += expected.len();
        assert_eq!(u32::from(any[question][0]), expected_any[question], "any hit of {what}");
        let range = |offsets: &[u32]| offsets[question] as usize..offsets[question + 1] as usize;
        let mut expected: Vec<_> = expected_hits.ray_hits[range(&expected_hits.ray_offsets)]
            .iter()
            .filter_map(hit)
            .collect();
        expected.sort_unstable();
        assert_eq!(told(&hits[question]), expected, "hits of {what}");
        seen[1] += expected.len();
        let range = range(&expected_objects.query_offsets);
        let mut expected: Vec<_> = expected_objects.query_objects[range]
            .iter()
            .map(|&at| id(at as usize))
            .collect();
        expected.sort_unstable();
        assert_eq!(objects[question], expected, "objects of {what}");
        seen[2] += expected.len();
        let told: Vec<_> = near[question]
            .iter()
            .map(|near: &Near| (near.id, near.squared_distance.to_bits()))
            .collect();
        let expected: Vec<_> = expected_near[question * nearest as usize..][..nearest as usize]
            .iter()
            .filter(|neighbor| neighbor.object != NONE)
            .map(|neighbor| (id(neighbor.object as usize), neighbor.squared_distance.to_bits()))
            .collect();
        assert_eq!(told, expected, "nearest objects of {what}");
        seen[3] += expected.len();
    }
    seen
}

/// Returns the number of rows.
pub fn neighbors<C: Communicator>(all: &C, round: usize, device: Device) -> usize {
    let mut given = Round::new(round, all.size(), device, &[0, 1, 200, 200]);
    given.settings.broad_phase.periods = [0; 3].map(|_| [0.0, 6.0, 10.5][given.rng.below(3)]);
    if given.kind != Kind::Wild {
        given.world = given.world.iter().map(|object| Aabb::point(object.min)).collect();
    }
    let (radius, half) = within(&mut given.rng);
    let is_balanced = given.rng.below(2) == 0;
    let mut owned = given.share(all);
    let mut ranks = Ranks::new(all.split(0), &given.settings).unwrap();
    if is_balanced {
        ranks.balance(&mut owned).unwrap();
    }
    let found = ranks.neighbors(&owned, radius, half).unwrap();
    let ids = [owned.statics.ids, owned.moving.ids].concat();
    assert_eq!(found.offsets.len(), ids.len() + 1);
    let rows: Vec<_> = ids
        .iter()
        .enumerate()
        .flat_map(|(place, &id)| found.of(place).iter().map(move |&other| [id, other]))
        .collect();
    let mut rows = collected(all, &rows);
    if all.rank() > 0 {
        return 0;
    }
    rows.sort_unstable();
    let scene = Scene {
        query: QueryInput {
            queries: Queries::Objects(SelfQuery::Within { radius, half }),
            ..given.scene().query
        },
        ..given.scene()
    };
    let expected = given.step(RayMode::Closest, &scene);
    let of = |at: usize| {
        &expected.query_objects[expected.query_offsets[at] as usize..expected.query_offsets[at + 1] as usize]
    };
    let mut expected: Vec<_> = (0..given.world.len())
        .flat_map(|at| of(at).iter().map(move |&other| [id(at), id(other as usize)]))
        .collect();
    expected.sort_unstable();
    assert!(
        rows == expected,
        "radius {radius}, half {half}, balanced {is_balanced}, {}",
        given.what
    );
    expected.len()
}

/// Steps flying boxes. Returns how often a box changed its rank, and the largest `Balance::boxes`.
pub fn flight<C: Communicator>(all: &C, kind: Kind, count: usize, steps: usize, device: Device) -> (u64, f64) {
    const SIDE: f32 = 24.0;
    let mut rng = Rng(count as u64);
    let settings = RanksDescriptor {
        device,
        user_bytes: 12,
        pair_load: 0,
        ..RanksDescriptor::default()
    };
    let mut world = boxes(kind, count, &mut rng);
    let mut speeds: Vec<[f32; 3]> = (0..count).map(|_| rng.point(0.5).map(|speed| speed - 0.25)).collect();
    let mut owned = Owned::default();
    for (at, (object, speed)) in world
        .iter()
        .zip(&speeds)
        .enumerate()
        .filter(|(at, _)| at % all.size() == all.rank())
    {
        owned.moving.boxes.push(*object);
        owned.moving.ids.push(id(at));
        owned.moving.user.extend_from_slice(bytemuck::bytes_of(speed));
    }
    let advance = |object: &mut Aabb, speed: &mut [f32; 3]| {
        for (axis, speed) in speed.iter_mut().enumerate() {
            let is_out = object.min[axis] + *speed < 0.0 || object.max[axis] + *speed > SIDE;
            let is_returning = (object.min[axis] < 0.0) == (*speed > 0.0);
            if is_out && !is_returning {
                *speed = -*speed;
            }
            object.min[axis] += *speed;
            object.max[axis] += *speed;
        }
    };
    let mut ranks = Ranks::new(all.split(0), &settings).unwrap();
    let (mut moved, mut most) = (0, 1.0_f64);
    for step in 0..steps {
        let balance = ranks.balance(&mut owned).unwrap();
        if step > 0 {
            moved += balance.moved;
        }
        most = most.max(balance.boxes);
        let found = ranks.step(&owned).unwrap();
        let mut pairs = collected(all, &found.pairs);
        if all.rank() == 0 {
            pairs.sort_unstable();
            let expected = sorted_pairs(&cpu::step(&settings.broad_phase, &world, &[]).unwrap());
            assert!(pairs == expected, "step {step} of {kind:?} on {} ranks", all.size());
        }
        for (object, speed) in world.iter_mut().zip(&mut speeds) {
            advance(object, speed);
        }
        let objects = &mut owned.moving;
        for (object, bytes) in objects.boxes.iter_mut().zip(objects.user.chunks_exact_mut(12)) {
            let mut speed: [f32; 3] = bytemuck::pod_read_unaligned(bytes);
            advance(object, &mut speed);
            bytes.copy_from_slice(bytemuck::bytes_of(&speed));
        }
    }
    (moved, most)
}
