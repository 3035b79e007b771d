//! CPU time of recording small steps, and wall time of whole steps of `BroadPhase`. Prints median and minimum in
//! microseconds. Runs alternate.
//!
//! `cargo bench -p measure --bench small -- [RUNS]`

use std::time::Instant;

use gpu_broad_phase::wgpu::{Backends, PollType};
use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, Capacities, GpuBroadPhase, OutputOptions, Ray, Scene, Source,
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
            rays: Source::Host(self.rays.as_slice()).into(),
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
    for case in &mut cases {
        let ((recorded, least_recorded), (whole, least)) = (median(&mut case.recorded), median(&mut case.whole));
        println!(
            "{:>6} boxes: recorded in {recorded:.0} ({least_recorded:.0}) us, BroadPhase {whole:.0} ({least:.0}) us",
            case.objects.len(),
        );
    }
}
