//! What ranks would send one another, and how evenly they would be loaded: the partition and the exchange of the
//! library, with the ranks as threads of this process, or as processes where mpirun starts it.
//!
//! ```sh
//! cargo run --release --example simulate -- KIND RANKS BOXES [--per-rank]
//! ```
//!
//! KIND is uniform, power-law, clustered or mesh. BOXES are those of the world, or those per rank. Each row of the table
//! is a world that is cut anew, moved by a tenth of a box's edge, balanced and stepped.
//!
//! | column | meaning |
//! |---|---|
//! | ghosts % | boxes that a rank gets from others for a step, by its own |
//! | formula | the same for uniform cubes, by `docs/tiles.md` |
//! | boxes, tests | the fullest rank's boxes and box tests, by the mean |
//! | msg, KiB | messages and bytes that a rank sends in a step: mean / most |
//! | cut | calls of all ranks of a group, and KiB per rank, to balance |
//! | moved % | boxes that changed their rank when balanced |
//! | model ms | see `Model` |

use std::env;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor};
use gpu_broad_phase_mpi::{Communicator, Device, Owned, Ranks, RanksDescriptor, Stage, Threads, World};

/// What a step would take: the rank that takes longest. A model, nothing measured: sizes of one rank are turned into
/// times by the constants below.
struct Model {
    name: &'static str,
    /// Seconds from a message's first byte sent to its first received.
    latency: f64,
    /// Bytes per second of a rank's link.
    bandwidth: f64,
    /// Seconds per box of a rank, ghosts among them.
    per_box: f64,
}

const MODELS: [Model; 2] = [
    Model {
        name: "slow",
        latency: 2e-6,
        bandwidth: 12.5e9,
        per_box: 285e-9,
    },
    Model {
        name: "fast",
        latency: 2e-6,
        bandwidth: 12.5e9,
        per_box: 3e-9,
    },
];

/// A number from 0 to 1, without 1, of a box (splitmix64; Steele, Lea and Flood, 2014).
fn unit(index: u64, which: u64) -> f32 {
    let mut z = (index * 8 + which + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
}

/// The side of a world of unit cubes that overlap two others each, on average.
fn side(count: u64) -> f32 {
    (4.0 * count as f32).cbrt()
}

/// A box of a world: a rank makes its own ones.
fn object(kind: &str, index: u64, count: u64) -> Aabb {
    let side = side(count);
    let numbers = [0, 1, 2].map(|axis| unit(index, axis));
    let cube = |low: [f32; 3], edge: f32| Aabb::new(low, low.map(|low| low + edge));
    match kind {
        "uniform" => cube(numbers.map(|number| side * number), 1.0),
        // Edges of 1 to 256, fewer the larger they are; their mean is near 2.
        "power-law" => {
            let edge = 1.0 / (1.0 - unit(index, 3) * (1.0 - 1.0 / 65_536.0)).sqrt();
            cube(numbers.map(|number| 3.0 * side * number), edge)
        }
        // About places, of which the first have the most.
        "clustered" => {
            let place = (64.0 * unit(index, 3) * unit(index, 4)) as u64;
            let center = [5, 6, 7].map(|which| 4.0 * side * unit(u64::MAX / 16 + place, which));
            cube(
                [0, 1, 2].map(|axis| center[axis] + side * (numbers[axis] - 0.5).powi(3)),
                0.25,
            )
        }
        // Triangles of a rolling surface.
        "mesh" => {
            let columns = ((count / 2) as f64).sqrt().ceil().max(1.0) as u64;
            let (x, y) = (index / 2 % columns, index / 2 / columns);
            let height = |x: u64, y: u64| ((x as f32 * 0.031).sin() + (y as f32 * 0.023).cos()) * 40.0;
            let corner = |x: u64, y: u64| [x as f32, y as f32, height(x, y)];
            let third = if index.is_multiple_of(2) {
                corner(x, y)
            } else {
                corner(x + 1, y + 1)
            };
            let corners = [corner(x + 1, y), corner(x, y + 1), third];
            let bound = |join: fn(f32, f32) -> f32| {
                [0, 1, 2].map(|axis| corners.iter().map(|corner| corner[axis]).reduce(join).expect("three"))
            };
            Aabb::new(bound(f32::min), bound(f32::max))
        }
        other => panic!("{other}: uniform, power-law, clustered or mesh"),
    }
}

/// What a rank tells of itself.
#[derive(Clone, Copy, Default)]
struct Told {
    boxes: f64,
    ghosts: f64,
    tests: f64,
    messages: f64,
    bytes: f64,
    cut_calls: f64,
    cut_bytes: f64,
    moved: f64,
}

fn simulate<C: Communicator>(ranks: C, kind: &str, count: u64) -> Told {
    let (rank, size) = (ranks.rank() as u64, ranks.size() as u64);
    let descriptor = RanksDescriptor {
        broad_phase: BroadPhaseDescriptor {
            count_candidates: true,
            ..BroadPhaseDescriptor::default()
        },
        device: Device::Cpu,
        ..RanksDescriptor::default()
    };
    let mut owned = Owned::default();
    owned.moving.ids = (count * rank / size..count * (rank + 1) / size).collect();
    owned.moving.boxes = owned.moving.ids.iter().map(|&id| object(kind, id, count)).collect();
    let mut ranks = Ranks::new(ranks, &descriptor).expect("a descriptor that works");
    ranks.balance(&mut owned).expect("it fits together");
    ranks.step(&owned).expect("a step");
    // Now pairs are known: their load counts.
    for (object, &id) in owned.moving.boxes.iter_mut().zip(&owned.moving.ids) {
        for axis in 0..3 {
            let way = 0.2 * (unit(id, 5 + axis as u64) - 0.5);
            object.min[axis] += way;
            object.max[axis] += way;
        }
    }
    let balance = ranks.balance(&mut owned).expect("it fits together");
    let cut = total(&ranks.stages(), "cut");
    let found = ranks.step(&owned).expect("a step");
    let sent = total(&ranks.stages(), "ghosts");
    Told {
        boxes: owned.moving.len() as f64,
        ghosts: found.ghosts as f64,
        tests: found.candidates as f64,
        messages: sent.traffic.messages as f64,
        bytes: sent.traffic.bytes as f64,
        cut_calls: cut.traffic.collectives as f64,
        cut_bytes: (cut.traffic.collective_bytes + cut.traffic.bytes) as f64,
        moved: balance.moved as f64,
    }
}

fn total(stages: &[Stage], name: &str) -> Stage {
    *stages
        .iter()
        .find(|stage| stage.name == name)
        .expect("a stage of this name")
}

/// Ghosts by boxes for uniform cubes of edge 1: `docs/tiles.md`.
fn formula(kind: &str, count: u64, ranks: usize) -> Option<f64> {
    let is_known = kind == "uniform" && ranks.is_power_of_two();
    is_known.then(|| {
        let cuts = ranks.trailing_zeros();
        let tiles = [0, 1, 2].map(|axis| f64::from(1 << ((cuts + 2 - axis) / 3)));
        tiles
            .map(|tiles| 1.0 + (tiles - 1.0) / f64::from(side(count)))
            .iter()
            .product::<f64>()
            - 1.0
    })
}

fn print(kind: &str, count: u64, told: &[Told]) {
    let ranks = told.len() as f64;
    let sum = |of: fn(&Told) -> f64| told.iter().map(of).sum::<f64>();
    let most = |of: fn(&Told) -> f64| told.iter().map(of).fold(0.0, f64::max);
    let uneven = |of: fn(&Told) -> f64| most(of) / (sum(of) / ranks).max(f64::MIN_POSITIVE);
    let models: Vec<_> = MODELS
        .iter()
        .map(|model| {
            // A rank's sends and its receipts are about as many.
            let of_rank = |told: &Told| {
                model.per_box * (told.boxes + told.ghosts)
                    + model.latency * told.messages
                    + told.bytes / model.bandwidth
            };
            // Two sums, and the barrier at the end of the exchange.
            let waits = 3.0 * model.latency * ranks.log2();
            let time = told.iter().map(of_rank).fold(0.0, f64::max) + waits;
            let even = model.per_box * count as f64 / ranks;
            format!("{} {:.3} ({:.0} %)", model.name, 1e3 * time, 100.0 * even / time)
        })
        .collect();
    println!(
        "{kind:<10} {:>5} {:>9} {:>7.2} {:>7} {:>6.3} {:>6.3} {:>6.1} / {:<5} {:>8.1} / {:<8.1} {:>5} {:>7.1} {:>7.2}  {}",
        told.len(),
        count,
        100.0 * sum(|told| told.ghosts) / count as f64,
        formula(kind, count, told.len()).map_or("-".into(), |share| format!("{:.2}", 100.0 * share)),
        uneven(|told| told.boxes),
        uneven(|told| told.tests),
        sum(|told| told.messages) / ranks,
        most(|told| told.messages),
        sum(|told| told.bytes) / ranks / 1024.0,
        most(|told| told.bytes) / 1024.0,
        most(|told| told.cut_calls),
        sum(|told| told.cut_bytes) / ranks / 1024.0,
        100.0 * most(|told| told.moved) / count as f64,
        models.join(", "),
    );
}

fn main() {
    let arguments: Vec<_> = env::args()
        .skip(1)
        .filter(|argument| argument != "--per-rank")
        .collect();
    let [kind, ranks, boxes] = &arguments[..] else {
        eprintln!("simulate KIND RANKS BOXES [--per-rank], such as: simulate uniform 64,512 1000 --per-rank");
        std::process::exit(2);
    };
    let boxes: u64 = boxes.parse().expect("a number of boxes");
    let per_rank = env::args().any(|argument| argument == "--per-rank");
    let world = |ranks: usize| if per_rank { boxes * ranks as u64 } else { boxes };
    if env::var_os("OMPI_COMM_WORLD_SIZE").is_some() {
        let universe = mpi::initialize().expect("MPI starts");
        let ranks = World::new(&universe.world());
        let count = world(ranks.size());
        let told = simulate(ranks, kind, count);
        let ranks = World::new(&universe.world());
        let row = [
            told.boxes,
            told.ghosts,
            told.tests,
            told.messages,
            told.bytes,
            told.cut_calls,
            told.cut_bytes,
            told.moved,
        ];
        let rows: Vec<[f64; 8]> = bytemuck::pod_collect_to_vec(&ranks.gather(bytemuck::bytes_of(&row)));
        let told: Vec<_> = rows
            .into_iter()
            .map(
                |[boxes, ghosts, tests, messages, bytes, cut_calls, cut_bytes, moved]| Told {
                    boxes,
                    ghosts,
                    tests,
                    messages,
                    bytes,
                    cut_calls,
                    cut_bytes,
                    moved,
                },
            )
            .collect();
        if ranks.rank() == 0 {
            print(kind, count, &told);
        }
        return;
    }
    println!(
        "{:<10} {:>5} {:>9} {:>7} {:>7} {:>6} {:>6} {:>14} {:>19} {:>13} {:>7}  model ms (of an even share alone)",
        "", "ranks", "boxes", "ghosts%", "formula", "boxes", "tests", "msg", "KiB", "cut", "moved%"
    );
    for ranks in ranks.split(',').map(|ranks| ranks.parse().expect("numbers of ranks")) {
        let count = world(ranks);
        print(kind, count, &Threads::run(ranks, |ranks| simulate(ranks, kind, count)));
    }
}
