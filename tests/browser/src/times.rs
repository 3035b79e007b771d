use gpu_broad_phase::{BroadPhaseDescriptor, OutputOptions, Scene, Source};
use web_time::Instant;

use crate::Say;
use crate::golden;
use crate::gpu::Gpu;
use wild::Rng;

const STEPS: usize = 9;

/// Reports the median time from recording, which uploads the boxes, until the counters have arrived.
pub async fn step(gpu: &Gpu, count: u32, say: Say<'_>) {
    // Each box overlaps about six others, as in `broadphase bench`.
    let side = (count as f32 * 8.0 / 6.0).cbrt();
    let boxes = golden::uniform(count as usize, side, &mut Rng(1));
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            timestamps: gpu.has_timestamps(),
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let mut broad_phase = gpu.broad_phase(&descriptor);
    let input = Scene {
        objects: Source::Host(&boxes),
        ..Scene::default()
    };
    let pairs = gpu.whole(&mut broad_phase, input).await.pairs.len();
    let mut times = Vec::new();
    for _ in 0..STEPS {
        let start = Instant::now();
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        broad_phase.step(&mut encoder, input).expect("a step");
        let counters = broad_phase.record_read_back(&mut encoder, &[]);
        gpu.queue.submit([encoder.finish()]);
        let counters = counters.expect("a handle").await.expect("an answer").counters;
        assert!(counters.is_complete());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    say(&format!(
        "{count} uniform boxes, {pairs} pairs: {:.1} ms a step in the median of {STEPS}, {:.1} the least",
        times[STEPS / 2].as_secs_f64() * 1e3,
        times[0].as_secs_f64() * 1e3
    ));
}
