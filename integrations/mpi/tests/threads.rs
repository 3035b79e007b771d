//! Compares ranks as threads on the CPU with the undivided world.

mod common;

use common::{Kind, checks};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Query, Ray};
use gpu_broad_phase_mpi::{Communicator, Device, Objects, Owned, RankError, Ranks, RanksDescriptor, Threads, agreed};

const RANKS: [usize; 6] = [1, 2, 3, 4, 7, 8];

/// Returns the result of rank 0 for each round.
fn rounds<T: Send>(count: usize, check: impl Fn(&Threads, usize) -> T + Sync) -> Vec<T> {
    let run = |round: usize| {
        // Each kind of world is tested with each number of ranks.
        let ranks = RANKS[(round + round / RANKS.len()) % RANKS.len()];
        Threads::run(ranks, |ranks| check(&ranks, round)).remove(0)
    };
    (0..count).map(run).collect()
}

#[test]
fn ranks_find_what_the_undivided_world_has() {
    let found = rounds(180, |ranks, round| checks::steps(ranks, round, Device::Cpu));
    let sums = [0, 1].map(|at| found.iter().map(|found| found[at]).sum::<usize>());
    assert!(sums[0] > 10_000 && sums[1] > 5000, "pairs and ghosts: {sums:?}");
}

#[test]
fn rays_and_queries_of_ranks_find_what_the_undivided_world_has() {
    let found = rounds(150, |ranks, round| checks::questions(ranks, round, Device::Cpu));
    let sums = [0, 1, 2, 3].map(|at| found.iter().map(|found| found[at]).sum::<usize>());
    assert!(sums.iter().all(|&sum| sum > 1000), "{sums:?}");
}

#[test]
fn neighbors_of_ranks_are_those_of_the_undivided_world() {
    let found = rounds(180, |ranks, round| checks::neighbors(ranks, round, Device::Cpu));
    let sum: usize = found.iter().sum();
    assert!(sum > 10_000, "{sum}");
}

#[test]
fn two_hundred_steps_of_flying_boxes_are_right_and_even() {
    for (ranks, kind) in [
        (2, Kind::Clustered),
        (4, Kind::PowerLaw),
        (7, Kind::Uniform),
        (8, Kind::Mesh),
    ] {
        let found = Threads::run(ranks, |ranks| checks::flight(&ranks, kind, 2000, 200, Device::Cpu));
        let (moved, most) = found[0];
        println!("{kind:?} on {ranks} ranks: {moved} moved, {most} of the mean");
        assert!(
            moved > 100 && most < 1.1,
            "{kind:?} on {ranks} ranks: {moved} moved, {most} of the mean"
        );
    }
}

fn on_ranks<T: Send>(size: usize, run: impl Fn(&mut Ranks<Threads>, usize) -> T + Sync) -> Vec<T> {
    let descriptor = RanksDescriptor {
        device: Device::Cpu,
        ..RanksDescriptor::default()
    };
    Threads::run(size, |threads| {
        let rank = threads.rank();
        run(&mut Ranks::new(threads, &descriptor).unwrap(), rank)
    })
}

/// Two boxes per rank that overlap only each other.
fn two(rank: usize) -> Objects {
    let low = [10.0 * rank as f32, 0.0, 0.0];
    Objects {
        boxes: vec![Aabb::new(low, low.map(|low| low + 1.0)); 2],
        ids: vec![2 * rank as u64, 2 * rank as u64 + 1],
        ..Objects::default()
    }
}

#[test]
fn a_predicate_gets_each_pair_once_and_decides() {
    let found = on_ranks(4, |ranks, rank| {
        let mut owned = Owned::default();
        owned.moving.ids = (0..40).filter(|id| id % 4 == rank as u64).collect();
        // Each box touches the next two.
        let boxed = |&id: &u64| Aabb::new([id as f32, 0.0, 0.0], [id as f32 + 2.0, 1.0, 1.0]);
        owned.moving.boxes = owned.moving.ids.iter().map(boxed).collect();
        ranks.balance(&mut owned).unwrap();
        let mut seen = Vec::new();
        let step = ranks.step_where(&owned, |a, b| {
            seen.push([a, b]);
            (a + b) % 3 == 0
        });
        (seen, step.unwrap())
    });
    let sorted = |lists: Vec<Vec<[u64; 2]>>| {
        let mut all = lists.concat();
        all.sort_unstable();
        all
    };
    let all: Vec<_> = (0..40)
        .flat_map(|a| (a + 1..40.min(a + 3)).map(move |b| [a, b]))
        .collect();
    let wanted: Vec<_> = all.iter().copied().filter(|[a, b]| (a + b) % 3 == 0).collect();
    assert!(found.iter().all(|(_, step)| step.all_pairs == wanted.len() as u64));
    assert_eq!(sorted(found.iter().map(|(seen, _)| seen.clone()).collect()), all);
    assert_eq!(sorted(found.into_iter().map(|(_, step)| step.pairs).collect()), wanted);
}

#[test]
fn one_balance_evens_the_load_after_boxes_have_jumped() {
    on_ranks(8, |ranks, rank| {
        let mut owned = Owned::default();
        owned.moving.ids = (0..800).filter(|id| id % 8 == rank as u64).collect();
        let boxed = |&id: &u64| Aabb::new([3.0 * id as f32, 0.0, 0.0], [3.0 * id as f32 + 1.0, 1.0, 1.0]);
        owned.moving.boxes = owned.moving.ids.iter().map(boxed).collect();
        ranks.balance(&mut owned).unwrap();
        ranks.step(&owned).unwrap();
        for object in &mut owned.moving.boxes {
            object.min[0] *= object.min[0];
            object.max[0] = object.min[0] + 1.0;
        }
        let balance = ranks.balance(&mut owned).unwrap();
        assert_eq!((balance.boxes, owned.moving.len()), (1.0, 100));
    });
}

type Spoil = fn(&mut Owned);

#[test]
fn what_does_not_fit_together_is_an_error_on_all_ranks_and_the_next_step_is_right() {
    let spoils: [(Spoil, &str); 7] = [
        (|owned| owned.moving.ids.truncate(1), "2 moving boxes have 1 ids, not 2"),
        (|owned| owned.statics.ids.push(7), "1 static boxes have 2 ids, not 1"),
        (
            |owned| owned.moving.worlds.push(0),
            "2 moving boxes have 1 worlds, not 0",
        ),
        (
            |owned| owned.moving.user.push(0),
            "2 moving boxes have 1 bytes of the user's, not 0",
        ),
        (
            |owned| owned.moving.ids[1] = owned.moving.ids[0],
            "two boxes have the id",
        ),
        (
            |owned| owned.statics.ids[0] = owned.moving.ids[0],
            "two boxes have the id",
        ),
        (|owned| owned.excluded_pairs.push([98, 99]), "names no box"),
    ];
    for (spoil, wanted) in spoils {
        for size in [1, 3] {
            let found = on_ranks(size, |ranks, rank| {
                let mut owned = Owned {
                    moving: two(rank),
                    ..Owned::default()
                };
                owned.statics.boxes = vec![owned.moving.boxes[0]];
                owned.statics.ids = vec![1000 + rank as u64];
                let mut spoiled = owned.clone();
                if rank == size - 1 {
                    spoil(&mut spoiled);
                }
                let refused = ranks.step(&spoiled).unwrap_err();
                // Rank 0 owns all of space at first, so it finds duplicate ids.
                let finder = if wanted.starts_with("two boxes") { 0 } else { size - 1 };
                assert!(refused.rank == finder && refused.what.contains(wanted), "{refused}");
                let refused = ranks.query(&[Query::point([0.0; 3])]).unwrap_err();
                assert!(refused.what.contains("no step"), "{refused}");
                ranks.step(&owned).unwrap().all_pairs
            });
            // A rank has three pairs: its static box overlaps its two moving boxes.
            assert_eq!(found, vec![3 * size as u64; size], "{wanted}");
        }
    }
}

#[test]
fn calls_that_cannot_be_answered_are_errors_on_all_ranks() {
    on_ranks(3, |ranks, rank| {
        let ray = Ray::new([0.0; 3], [1.0, 0.0, 0.0], 1.0);
        assert!(ranks.closest_hits(&[ray]).unwrap_err().what.contains("no step"));
        let mut owned = Owned {
            moving: two(rank),
            ..Owned::default()
        };
        let balance = ranks.partition(&mut owned).unwrap();
        assert_eq!((balance.boxes, balance.load), (1.0, 1.0));
        ranks.step(&owned).unwrap();
        assert_eq!(ranks.find(owned.moving.ids[0]), Some((owned.moving.boxes[0], rank)));
        assert_eq!(ranks.find(77), None);
        for count in [0, 1025] {
            let refused = ranks.nearest(&[Query::point([0.0; 3])], count).unwrap_err();
            assert!(refused.what.contains("1 to 1,024"), "{refused}");
        }
        let differ = match rank {
            0 => ranks.any_hits(&[ray]).map(drop),
            _ => ranks.closest_hits(&[ray]).map(drop),
        };
        assert!(differ.unwrap_err().what.contains("same settings"));
        let radius = if rank == 1 { 2.0 } else { 1.0 };
        assert!(
            ranks
                .neighbors(&owned, radius, false)
                .unwrap_err()
                .what
                .contains("same settings")
        );
        assert!(ranks.neighbors(&owned, f32::NAN, false).is_err());
        assert_eq!(ranks.step(&owned).unwrap().all_pairs, 3);
    });
    for (spoiled, wanted) in [
        (
            BroadPhaseDescriptor {
                pair_filter: Some("fn admits_pair(a: u32, b: u32) -> bool { return true; }"),
                ..Default::default()
            },
            "pair_filter",
        ),
        (
            BroadPhaseDescriptor {
                margin: 1.0,
                ..Default::default()
            },
            "another descriptor",
        ),
    ] {
        Threads::run(2, |threads| {
            let descriptor = RanksDescriptor {
                device: Device::Cpu,
                broad_phase: if threads.rank() == 1 {
                    spoiled
                } else {
                    Default::default()
                },
                ..RanksDescriptor::default()
            };
            let refused = Ranks::new(threads, &descriptor).err().unwrap();
            assert!(refused.rank == 1 && refused.what.contains(wanted), "{refused}");
        });
    }
}

#[test]
fn static_boxes_are_sent_when_they_or_borders_have_moved_and_else_not() {
    Threads::run(3, |threads| {
        let rank = threads.rank();
        let descriptor = RanksDescriptor {
            device: Device::Cpu,
            pair_load: 0,
            ..RanksDescriptor::default()
        };
        let mut ranks = Ranks::new(threads, &descriptor).unwrap();
        let mut owned = Owned::default();
        owned.statics.ids = (0..30).filter(|id| id % 3 == rank as u64).collect();
        let slab = |&id: &u64| Aabb::new([0.0, 0.0, id as f32], [30.0, 1.0, id as f32]);
        owned.statics.boxes = owned.statics.ids.iter().map(slab).collect();
        let floor = Aabb::new([-1.0; 3], [99.0; 3]);
        owned.statics.boxes.push(floor);
        owned.statics.ids.push(50 + rank as u64);
        let sent = |ranks: &Ranks<Threads>| ranks.stages().iter().map(|stage| stage.traffic.bytes).sum::<u64>();
        ranks.balance(&mut owned).unwrap();
        ranks.step(&owned).unwrap();
        ranks.balance(&mut owned).unwrap();
        ranks.step(&owned).unwrap();
        let quiet = sent(&ranks);
        owned.generation += 1;
        ranks.step(&owned).unwrap();
        let all = sent(&ranks);
        let [mut most_quiet, mut all_sent] = [[quiet], [all]];
        ranks.communicator().sum(&mut most_quiet);
        ranks.communicator().sum(&mut all_sent);
        assert!(most_quiet[0] < 100 && all_sent[0] > 200, "{most_quiet:?} {all_sent:?}");
    });
}

#[test]
fn whoever_fails_all_get_the_error_of_the_lowest() {
    for size in RANKS {
        for failing in 0..1 << size {
            let results = Threads::run(size, |ranks| {
                let rank = ranks.rank();
                let own = if failing >> rank & 1 == 1 {
                    Err(format!("{rank} of {size}"))
                } else {
                    Ok(rank)
                };
                agreed(&ranks, own)
            });
            let lowest = (failing as u32).trailing_zeros() as usize;
            for (rank, result) in results.into_iter().enumerate() {
                let expected = match failing {
                    0 => Ok(rank),
                    _ => Err(RankError {
                        rank: lowest,
                        what: format!("{lowest} of {size}"),
                    }),
                };
                assert_eq!(result, expected);
            }
        }
    }
}
