//! Ranks as threads, on the CPU, against the undivided world.

mod common;

use common::{Kind, checks};
use gpu_broad_phase_mpi::{Communicator, Device, RankError, Threads, agreed};

const RANKS: [usize; 6] = [1, 2, 3, 4, 7, 8];

/// What rank 0 returns of each round, on one number of ranks after the other.
fn rounds<T: Send>(count: usize, check: impl Fn(&Threads, usize) -> T + Sync) -> Vec<T> {
    let run = |round: usize| Threads::run(RANKS[round % RANKS.len()], |ranks| check(&ranks, round * 7 / 6)).remove(0);
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
