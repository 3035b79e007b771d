//! Cases of ArborX's distributed tree tests (test/tstDistributedTreeSpatial.cpp and tstDistributedTreeNearest.cpp). Box
//! `i` of rank `r` has the id `1000 r + i`.

use gpu_broad_phase::{Aabb, Query};
use gpu_broad_phase_mpi::{Communicator as _, Device, Owned, Ranks, RanksDescriptor, Rows, Threads};

const SIZES: [usize; 5] = [1, 2, 3, 4, 8];

/// Steps `boxes` without balancing, then calls `ask`.
fn on_ranks<T: Send>(
    size: usize,
    boxes: impl Fn(f32) -> Vec<Aabb> + Sync,
    ask: impl Fn(&mut Ranks<Threads>, f32) -> T + Sync,
) -> Vec<T> {
    Threads::run(size, |threads| {
        let rank = threads.rank();
        let settings = RanksDescriptor {
            device: Device::Cpu,
            ..RanksDescriptor::default()
        };
        let mut owned = Owned::default();
        owned.moving.boxes = boxes(rank as f32);
        owned.moving.ids = (0..owned.moving.boxes.len()).map(|at| id(rank, at)).collect();
        let mut ranks = Ranks::new(threads, &settings).unwrap();
        ranks.step(&owned).unwrap();
        ask(&mut ranks, rank as f32)
    })
}

fn id(rank: usize, at: usize) -> u64 {
    (1000 * rank + at) as u64
}

fn point(x: f32) -> Aabb {
    Aabb::point([x, 0.0, 0.0])
}

/// Four points per rank, on a line.
fn line(rank: f32) -> Vec<Aabb> {
    (0..4).map(|at| point(rank + at as f32 / 4.0)).collect()
}

fn ids(near: &Rows<gpu_broad_phase_mpi::Near>, question: usize) -> Vec<u64> {
    near.of(question).iter().map(|near| near.id).collect()
}

#[test]
fn hello_world() {
    for size in SIZES {
        let last = size as f32 - 1.0;
        let found = on_ranks(size, line, |ranks, rank| {
            let sphere = Query::sphere([0.5 + last - rank, 0.0, 0.0], 0.5);
            let nearest = Query::sphere([last - rank, 0.0, 0.0], f32::INFINITY);
            (ranks.query(&[sphere]).unwrap(), ranks.nearest(&[nearest], 3).unwrap())
        });
        for (rank, (within, near)) in found.iter().enumerate() {
            let opposite = size - 1 - rank;
            let mut expected: Vec<_> = (0..4).map(|at| id(opposite, at)).collect();
            if rank > 0 {
                expected.push(id(opposite + 1, 0));
            }
            assert_eq!(within.of(0), expected);
            // Equally near boxes are sorted by id.
            let expected = match opposite {
                0 => vec![id(0, 0), id(0, 1), id(0, 2)],
                _ => vec![id(opposite, 0), id(opposite - 1, 3), id(opposite, 1)],
            };
            assert_eq!(ids(near, 0), expected);
        }
    }
}

#[test]
fn empty_tree() {
    for size in SIZES {
        on_ranks(
            size,
            |_| Vec::new(),
            |ranks, rank| {
                let queries = [Query::point([0.0; 3]), Query::point([0.0; 3])];
                let of_first = if rank == 0.0 { &queries[..] } else { &[] };
                assert!(ranks.query(of_first).unwrap().rows.is_empty());
                let of_others = [Query::sphere([rank, 0.0, 0.0], size as f32)];
                let of_others = if rank == 0.0 { &[][..] } else { &of_others };
                assert!(ranks.query(of_others).unwrap().rows.is_empty());
                assert_eq!(
                    ranks.nearest(of_others, 1).unwrap().offsets,
                    vec![0; of_others.len() + 1]
                );
                assert!(ranks.query(&[]).unwrap().rows.is_empty());
            },
        );
    }
}

#[test]
fn unique_leaf_on_rank_0() {
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    for size in SIZES {
        on_ranks(
            size,
            |rank| if rank == 0.0 { vec![unit] } else { Vec::new() },
            |ranks, rank| {
                assert!(ranks.query(&[]).unwrap().rows.is_empty());
                // More boxes than exist.
                let near = ranks
                    .nearest(&[Query::sphere([rank; 3], f32::INFINITY)], size as u32 + 1)
                    .unwrap();
                assert_eq!(ids(&near, 0), [0]);
            },
        );
    }
}

#[test]
fn one_leaf_per_rank() {
    let leaf = |rank: f32| vec![Aabb::new([rank, 0.0, 0.0], [rank + 1.0, 1.0, 1.0])];
    for size in SIZES {
        on_ranks(size, leaf, |ranks, rank| {
            let at = |x: f32| Query::point([x, 0.5, 0.5]);
            let found = ranks.query(&[at(size as f32 - rank - 0.5), at(rank + 0.5)]).unwrap();
            let rank = rank as usize;
            assert_eq!([found.of(0), found.of(1)], [[id(size - 1 - rank, 0)], [id(rank, 0)]]);
            let near = ranks
                .nearest(&[Query::sphere([0.0; 3], f32::INFINITY)], (size * size) as u32)
                .unwrap();
            assert_eq!(ids(&near, 0), (0..size).map(|rank| id(rank, 0)).collect::<Vec<_>>());
        });
    }
}

#[test]
fn do_not_exceed_capacity() {
    for size in SIZES {
        let cloud = |_| (0..512).map(|at| Aabb::point([at as f32; 3])).collect();
        on_ranks(size, cloud, |ranks, _| {
            let near = ranks.nearest(&[Query::sphere([0.0; 3], f32::INFINITY)], 512).unwrap();
            let expected = (0..512).map(|at| id(at % size, at / size));
            assert_eq!(ids(&near, 0), expected.collect::<Vec<_>>());
        });
    }
}

#[test]
fn non_approximate_nearest_neighbors() {
    // The query is within the rank's bounds, but its nearest box is on another rank.
    let corners = |rank: f32| vec![point(rank), Aabb::point([rank + 1.0, 1.0, 1.0])];
    for size in SIZES {
        on_ranks(size, corners, |ranks, rank| {
            let x = size as f32 - 1.0 - rank;
            let low = [x + 0.65, 0.0, 0.0];
            let queries = [
                Query::sphere([x + 0.75, 0.0, 0.0], f32::INFINITY),
                Query {
                    radius: f32::INFINITY,
                    ..Query::overlaps(Aabb::new(low, [x + 0.85, 0.0, 0.0]))
                },
            ];
            let near = ranks.nearest(&queries, 1).unwrap();
            let rank = rank as usize;
            let expected = id(size - rank - usize::from(rank == 0), 0);
            assert_eq!([ids(&near, 0), ids(&near, 1)], [[expected], [expected]]);
        });
    }
}
