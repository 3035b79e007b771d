//! For users of clusters: messages and load balance of many ranks, as threads, or processes under mpirun.
//!
//! ```sh
//! cargo run --release --example simulate -- KIND RANKS BOXES [--per-rank]
//! ```
//!
//! KIND is uniform, power-law, clustered or mesh. BOXES is the number of boxes in the world, or per rank. Each table
//! row is a world, partitioned by boxes and pairs. Then boxes move by up to a tenth along each axis, and are balanced
//! and stepped.
//!
//! | column | meaning |
//! |---|---|
//! | ghosts | boxes that ranks receive for a step, relative to all boxes |
//! | formula | expected ghosts of uniform cubes, by `docs/tiles.md` |
//! | boxes, load, tests | boxes, load and box tests: maximum over ranks / mean |
//! | messages, KiB | sent per rank and step: mean / maximum |
//! | cut | collective calls of a balance, and KiB that a rank passes to them |
//! | moved | boxes that changed their rank |
//! | CPU, GPU | modelled milliseconds per step (`Model`), and efficiency |
//! | GPU, 1M | efficiency with a million boxes per rank |

use std::convert::Infallible;
use std::env;

use bytemuck::{Pod, Zeroable};
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor};
use gpu_broad_phase_mpi::{Communicator, Device, Owned, Ranks, RanksDescriptor, Stage, Threads};

/// Models the time of a step on the slowest rank from its counts. Nothing is measured.
struct Model {
    /// Seconds per box on a rank, ghosts included.
    per_box: f64,
    /// Seconds per message.
    latency: f64,
    /// Link bandwidth of a rank, in bytes per second.
    bandwidth: f64,
}

/// The CPU engine on one core of the project's test machine.
const CPU: Model = Model { per_box: 300e-9, ..GPU };
/// A GPU that steps a million boxes in 3 ms, with a 100 Gbit/s link.
const GPU: Model = Model {
    per_box: 3e-9,
    latency: 2e-6,
    bandwidth: 12.5e9,
};

impl Model {
    fn time(&self, boxes: f64, ghosts: f64, messages: f64, bytes: f64, ranks: f64) -> f64 {
        // Two sums and the barrier of the exchange. Receiving overlaps with sending.
        let calls = 3.0 * self.latency * ranks.log2();
        self.per_box * (boxes + ghosts) + self.latency * messages + bytes / self.bandwidth + calls
    }
}

/// Returns a random number in [0, 1) (splitmix64; Steele, Lea and Flood, 2014).
fn unit(index: u64, which: u64) -> f32 {
    let mut z = (index * 8 + which + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
}

/// Edge of a world in which a unit cube overlaps two others on average.
fn side(count: u64) -> f32 {
    (4.0 * count as f32).cbrt()
}

fn object(kind: &str, index: u64, count: u64) -> Aabb {
    let side = side(count);
    let numbers = [0, 1, 2].map(|axis| unit(index, axis));
    let cube = |low: [f32; 3], edge: f32| Aabb::new(low, low.map(|low| low + edge));
    match kind {
        "uniform" => cube(numbers.map(|number| side * number), 1.0),
        // Edges from 1 to 256, with a mean near 2.
        "power-law" => {
            let edge = 1.0 / (1.0 - unit(index, 3) * (1.0 - 1.0 / 65_536.0)).sqrt();
            cube(numbers.map(|number| 3.0 * side * number), edge)
        }
        "clustered" => {
            let place = (64.0 * unit(index, 3) * unit(index, 4)) as u64;
            let center = [5, 6, 7].map(|which| 4.0 * side * unit(u64::MAX / 16 + place, which));
            cube(
                [0, 1, 2].map(|axis| center[axis] + side * (numbers[axis] - 0.5).powi(3)),
                0.25,
            )
        }
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

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct RankFigures {
    boxes: f64,
    ghosts: f64,
    tests: f64,
    messages: f64,
    bytes: f64,
    cut_calls: f64,
    cut_bytes: f64,
    moved: f64,
    load: f64,
}

fn simulate<C: Communicator>(ranks: C, kind: &str, count: u64) -> RankFigures {
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
    // The first step has counted the pairs that are part of the load.
    ranks.partition(&mut owned).expect("it fits together");
    ranks.step(&owned).expect("a step");
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
    RankFigures {
        boxes: owned.moving.len() as f64,
        ghosts: found.ghosts as f64,
        tests: found.candidates as f64,
        messages: sent.traffic.messages as f64,
        bytes: sent.traffic.bytes as f64,
        cut_calls: cut.traffic.collectives as f64,
        cut_bytes: (cut.traffic.collective_bytes + cut.traffic.bytes) as f64,
        moved: balance.moved as f64,
        load: balance.load,
    }
}

fn total(stages: &[Stage], name: &str) -> Stage {
    *stages
        .iter()
        .find(|stage| stage.name == name)
        .expect("a stage of this name")
}

/// Expected ghosts per box for uniform unit cubes; see `docs/tiles.md`.
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

fn print(kind: &str, count: u64, figures: &[RankFigures]) {
    let ranks = figures.len() as f64;
    let sum = |of: fn(&RankFigures) -> f64| figures.iter().map(of).sum::<f64>();
    let most = |of: fn(&RankFigures) -> f64| figures.iter().map(of).fold(0.0, f64::max);
    let mean = |of: fn(&RankFigures) -> f64| sum(of) / ranks;
    let uneven = |of: fn(&RankFigures) -> f64| most(of) / mean(of).max(f64::MIN_POSITIVE);
    let per_rank = count as f64 / ranks;
    let longest = |model: &Model| {
        let time =
            |figures: &RankFigures| model.time(figures.boxes, figures.ghosts, figures.messages, figures.bytes, ranks);
        let time = figures.iter().map(time).fold(0.0, f64::max);
        (1e3 * time, 100.0 * model.per_box * per_rank / time)
    };
    let ([cpu, gpu], many) = ([longest(&CPU), longest(&GPU)], 1e6);
    // The share of ghosts falls with the cube root of the number of boxes per rank, or the square root on a surface.
    let shrinks = (per_rank / many).powf(if kind == "mesh" { 0.5 } else { 1.0 / 3.0 });
    let grown = many / per_rank * shrinks;
    let at_many = |figures: &RankFigures| {
        let boxes = figures.boxes * many / per_rank;
        GPU.time(
            boxes,
            figures.ghosts * grown,
            figures.messages,
            figures.bytes * grown,
            ranks,
        )
    };
    let at_many = figures.iter().map(at_many).fold(0.0, f64::max);
    let formula = formula(kind, count, figures.len()).map_or("–".into(), |share| format!("{:.1} %", 100.0 * share));
    println!(
        "| {kind} | {} | {count} | {:.1} % | {formula} | {:.3} | {:.3} | {:.3} | {:.1} / {} | {:.0} / {:.0} | {}, {:.0} | {:.1} % \
         | {:.2}, {:.0} % | {:.3}, {:.0} % | {:.0} % |",
        figures.len(),
        100.0 * sum(|figures| figures.ghosts) / count as f64,
        uneven(|figures| figures.boxes),
        figures[0].load,
        uneven(|figures| figures.tests),
        mean(|figures| figures.messages),
        most(|figures| figures.messages),
        mean(|figures| figures.bytes) / 1024.0,
        most(|figures| figures.bytes) / 1024.0,
        most(|figures| figures.cut_calls),
        mean(|figures| figures.cut_bytes) / 1024.0,
        100.0 * figures[0].moved / count as f64,
        cpu.0,
        cpu.1,
        gpu.0,
        gpu.1,
        100.0 * GPU.per_box * many / at_many,
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
        gpu_broad_phase_mpi::run(|ranks| {
            let count = world(ranks.size());
            let figures = simulate(ranks.split(0), kind, count);
            let figures: Vec<RankFigures> = bytemuck::pod_collect_to_vec(&ranks.gather(bytemuck::bytes_of(&figures)));
            if ranks.rank() == 0 {
                print(kind, count, &figures);
            }
            Ok::<_, Infallible>(())
        });
        return;
    }
    println!(
        "| | ranks | boxes | ghosts | formula | boxes | load | tests | messages | KiB | cut | moved | CPU | GPU | GPU, 1M |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for ranks in ranks.split(',').map(|ranks| ranks.parse().expect("numbers of ranks")) {
        let count = world(ranks);
        print(kind, count, &Threads::run(ranks, |ranks| simulate(ranks, kind, count)));
    }
}
