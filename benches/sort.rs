//! The stage `sort` with each strategy on the same uniform boxes. Prints medians of alternating runs, in milliseconds
//! of GPU time.
//!
//! `cargo bench -p measure --bench sort -- [RUNS]`

use gpu_broad_phase::wgpu::{Backends, Device, PollType, Queue};
use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, GpuBroadPhase, OutputOptions, Scene, SortStrategy, Source,
};
use measure::generate::{Distribution, Random};
use pollster::block_on;

const STRATEGIES: [SortStrategy; 3] = [
    SortStrategy::Portable,
    SortStrategy::Subgroups,
    SortStrategy::SerialTiles,
];

fn sort_time(device: &Device, queue: &Queue, broad_phase: &mut GpuBroadPhase, objects: &[Aabb]) -> f64 {
    let mut encoder = device.create_command_encoder(&Default::default());
    let input = Scene {
        objects: Source::Host(objects),
        ..Default::default()
    };
    broad_phase.step(&mut encoder, input).expect("a step that fits");
    queue.submit([encoder.finish()]);
    device
        .poll(PollType::wait_indefinitely())
        .expect("a device that answers");
    let result = block_on(broad_phase.read_back()).expect("a read-back");
    let sort = result.timings.iter().find(|time| time.stage == "sort");
    sort.expect("a device with timestamps").nanoseconds / 1e6
}

fn main() {
    let runs = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .next()
        .unwrap_or(7);
    let backend = Backend::Gpu(Backends::all());
    let any = block_on(BroadPhase::with_backend(&BroadPhaseDescriptor::default(), backend)).expect("an adapter");
    let (device, queue, info) = (any.device().unwrap(), any.queue().unwrap(), any.adapter_info().unwrap());
    println!("{} ({:?}), driver {}", info.name, info.backend, info.driver_info);
    for count in [10_000, 100_000, 1_000_000, 4_000_000] {
        let objects = Distribution::Uniform.boxes(count, 3, &mut Random::new(1));
        let mut broad_phases = STRATEGIES.map(|sort| {
            let descriptor = BroadPhaseDescriptor {
                pairs: false,
                outputs: OutputOptions {
                    timestamps: true,
                    ..Default::default()
                },
                sort,
                ..Default::default()
            };
            GpuBroadPhase::new(device, queue, &descriptor).expect("a broad phase")
        });
        let mut times = [const { Vec::new() }; STRATEGIES.len()];
        // The first run warms up.
        for run in 0..=runs {
            for (broad_phase, times) in broad_phases.iter_mut().zip(&mut times) {
                let time = sort_time(device, queue, broad_phase, &objects);
                if run > 0 {
                    times.push(time);
                }
            }
        }
        let medians = times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        print!("{count:>9} keys");
        for (strategy, median) in STRATEGIES.iter().zip(medians) {
            print!("  {strategy:?} {median:.2}");
        }
        println!(" ms");
    }
}
