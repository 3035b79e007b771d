//! For programs without a wgpu device: opens one, then moves boxes in a loop of frames, and prints the pairs that begin
//! and end. Waits only if over three frames are on the way.
//!
//! ```sh
//! cargo run --release --example headless
//! ```

use std::error::Error;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, GpuBroadPhase, Handle, ObjectSet, PairTracker, block_on, wgpu};

const FRAMES: u32 = 60;
const BODIES: u32 = 1000;
/// Frames that may be on their way to the host.
const IN_FLIGHT: usize = 3;

/// Center of a body that circles its home.
fn center(body: u32, frame: u32) -> [f32; 3] {
    let home = [body % 10, body / 10 % 10, body / 100].map(|cell| 2.0 * cell as f32);
    let angle = 0.05 * frame as f32 + body as f32;
    [home[0] + angle.cos(), home[1] + angle.sin(), home[2]]
}

fn main() -> Result<(), Box<dyn Error>> {
    let adapter = block_on(wgpu::Instance::default().request_adapter(&Default::default()))?;
    let (device, queue) = block_on(adapter.request_device(&GpuBroadPhase::device_descriptor(&adapter)))?;
    let mut broad_phase = GpuBroadPhase::new(&device, &queue, &BroadPhaseDescriptor::default())?;
    let mut pairs = PairTracker::new(Some("pairs"));
    let mut objects = ObjectSet::new();
    let floor = objects.insert_static(Aabb::new([-9.0, -9.0, -2.0], [30.0, 30.0, -0.4]));
    let bodies: Vec<_> = (0..BODIES)
        .map(|body| objects.insert(Aabb::from_center_half(center(body, 0), [0.5; 3])))
        .collect();

    let (mut begun, mut ended) = (0, 0);
    for frame in 1..=FRAMES {
        for (body, &handle) in (0..).zip(&bodies) {
            let center = center(body, frame);
            objects.move_to(handle, center.map(|x| x - 0.5), center.map(|x| x + 0.5))?;
        }
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
        let scene = objects.upload(&device, &mut encoder)?;
        let step = broad_phase.step(&mut encoder, scene)?;
        pairs.record(&mut encoder, &step, objects.names())?;
        // Your passes bind `step.pairs` here.
        queue.submit([encoder.finish()]);

        let most = if frame == FRAMES { 0 } else { IN_FLIGHT };
        let waits = pairs.in_flight() > most;
        device.poll(match waits {
            true => wgpu::PollType::wait_indefinitely(),
            false => wgpu::PollType::Poll,
        })?;
        while let Some(events) = pairs.update()? {
            (begun, ended) = (begun + events.begun.len(), ended + events.ended.len());
        }
    }
    println!("{begun} pairs began, {ended} ended, {} are left", pairs.pairs().len());
    let on_floor = pairs.pairs().filter(|&pair| <[Handle; 2]>::from(pair).contains(&floor));
    println!("{} bodies touch the floor", on_floor.count());
    if begun - ended != pairs.pairs().len() {
        return Err("pairs are lost".into());
    }
    Ok(())
}
