//! CPU time of recording small steps, and wall time of whole steps of `BroadPhase`. Prints median and minimum in
//! microseconds. Runs alternate.
//!
//! `cargo bench -p measure --bench small -- [RUNS]`

use std::time::Instant;

use gpu_broad_phase::wgpu::{Backends, Device, PollType, Queue};
use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, Capacities, GpuBroadPhase, OutputOptions, Queries, QueryInput,
    Ray, Scene, Source,
};
use measure::generate::{Distribution, Random};
use pollster::block_on;

struct Case {
    objects: Vec<Aabb>,
    rays: Vec<Ray>,
    recorder: GpuBroadPhase,
    broad_phase: BroadPhase,
    recorded: Vec<f64>,
    whole: Vec<f64>,
}

impl Case {
    fn new(count: u32) -> Self {
        let objects = Distribution::Uniform.boxes(count, 3, &mut Random::new(1));
        let rays = objects
            .iter()
            .take(100)
            .map(|from| Ray::new(from.min, [1.0, 0.5, 0.25], 8.0));
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                capacities: Capacities {
                    pairs: Some(8 * count),
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        };
        let backend = Backend::Gpu(Backends::all());
        let broad_phase = block_on(BroadPhase::with_backend(&BroadPhaseDescriptor::default(), backend));
        let broad_phase = broad_phase.expect("an adapter");
        let (device, queue) = (broad_phase.device().unwrap(), broad_phase.queue().unwrap());
        Self {
            rays: rays.collect(),
            objects,
            recorder: GpuBroadPhase::new(device, queue, &descriptor).expect("a broad phase"),
            broad_phase,
            recorded: Vec::new(),
            whole: Vec::new(),
        }
    }

    fn record(&mut self) {
        let (device, queue) = (self.broad_phase.device().unwrap(), self.broad_phase.queue().unwrap());
        let mut encoder = device.create_command_encoder(&Default::default());
        let input = Scene {
            objects: Source::Host(&self.objects),
            query: QueryInput {
                rays: Source::Host(self.rays.as_slice()).into(),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let start = Instant::now();
        self.recorder.step(&mut encoder, input).expect("a step that fits");
        self.recorded.push(start.elapsed().as_secs_f64() * 1e6);
        queue.submit([encoder.finish()]);
        device
            .poll(PollType::wait_indefinitely())
            .expect("a device that answers");
    }

    fn step(&mut self) {
        let start = Instant::now();
        block_on(self.broad_phase.step(&self.objects, &self.rays)).expect("an answer");
        self.whole.push(start.elapsed().as_secs_f64() * 1e6);
    }
}

struct Varying {
    name: &'static str,
    varies: [bool; 3],
    recorder: GpuBroadPhase,
    recorded: Vec<f64>,
}

impl Varying {
    fn all(device: &Device, queue: &Queue) -> Vec<Self> {
        let cases = [
            ("constant counts", [false, false, false]),
            ("boxes vary", [true, false, false]),
            ("rays vary", [false, true, false]),
            ("queries vary", [false, false, true]),
            ("all vary", [true, true, true]),
        ];
        let new = |(name, varies)| Self {
            name,
            varies,
            recorder: GpuBroadPhase::new(device, queue, &BroadPhaseDescriptor::default()).expect("a broad phase"),
            recorded: Vec::new(),
        };
        cases.map(new).into()
    }

    fn record(&mut self, of: &Case, run: usize) {
        let (device, queue) = (of.broad_phase.device().unwrap(), of.broad_phase.queue().unwrap());
        let count = |kind: usize, most: usize| {
            let share = 0.618_034 * (run + 1) as f64;
            if self.varies[kind] {
                most - (0.5 * share.fract() * most as f64) as usize
            } else {
                most
            }
        };
        let input = Scene {
            objects: Source::Host(&of.objects[..count(0, 1_000)]),
            query: QueryInput {
                rays: Source::Host(&of.rays[..count(1, 100)]).into(),
                queries: Queries::Boxes(Source::Host(&of.objects[..count(2, 100)])),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        let mut encoder = device.create_command_encoder(&Default::default());
        let start = Instant::now();
        self.recorder.step(&mut encoder, input).expect("a step that fits");
        self.recorded.push(start.elapsed().as_secs_f64() * 1e6);
        queue.submit([encoder.finish()]);
        device
            .poll(PollType::wait_indefinitely())
            .expect("a device that answers");
    }
}

fn median(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

fn main() {
    let runs = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(101);
    let mut cases = [100, 1_000, 10_000].map(Case::new);
    let info = cases[0].broad_phase.adapter_info().unwrap();
    println!("{} ({:?}), driver {}", info.name, info.backend, info.driver_info);
    // The first three runs warm up.
    for run in 0..runs + 3 {
        for case in &mut cases {
            if run == 3 {
                case.recorded.clear();
                case.whole.clear();
            }
            case.record();
            case.step();
        }
    }
    let mut varying = Varying::all(
        cases[1].broad_phase.device().unwrap(),
        cases[1].broad_phase.queue().unwrap(),
    );
    for run in 0..runs + 30 {
        for case in &mut varying {
            if run == 30 {
                case.recorded.clear();
            }
            case.record(&cases[1], run);
        }
    }
    for Varying { name, recorded, .. } in &mut varying {
        let (median, least) = median(recorded);
        println!("{name}: recorded in {median:.0} ({least:.0}) us");
    }
    for case in &mut cases {
        let ((recorded, least_recorded), (whole, least)) = (median(&mut case.recorded), median(&mut case.whole));
        println!(
            "{:>6} boxes: recorded in {recorded:.0} ({least_recorded:.0}) us, BroadPhase {whole:.0} ({least:.0}) us",
            case.objects.len(),
        );
    }
}
