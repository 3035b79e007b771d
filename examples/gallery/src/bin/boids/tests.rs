//! Compares small flocks with an all-pairs implementation in doubles.

use glam::DVec2;

use super::*;

const FRAMES: u32 = 40;

/// Returns the flock before and after the last frame. `None` without a GPU, unless one is required.
fn run(boids: u32) -> Result<Option<(Vec2, [Vec<Boid>; 2])>> {
    let gpu = match Gpu::offscreen() {
        Err(_) if std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() => return Ok(None),
        gpu => gpu?,
    };
    let mut flock = Boids::new(&gpu, &Options { boids, seed: 7 })?;
    for _ in 0..FRAMES {
        let mut encoder = gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        flock.advance(&gpu, &mut encoder, 1.0 / 60.0, None)?;
        gpu.submit(encoder);
        flock.submitted(&gpu)?;
    }
    gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
    assert!(
        flock
            .broad_phase
            .counters()
            .is_some_and(|counters| counters.is_complete())
    );
    let read = |buffer| gpu.read(buffer, boids as usize);
    let [after, before] = &flock.boids;
    Ok(Some((flock.world, [read(before)?, read(after)?])))
}

fn apart(world: Vec2, boid: &Boid, other: &Boid) -> DVec2 {
    let (world, straight) = (world.as_dvec2(), other.position.as_dvec2() - boid.position.as_dvec2());
    straight - world * (straight / world).round()
}

fn steered(world: Vec2, flock: &[Boid], index: usize) -> DVec2 {
    let boid = flock[index];
    let own = boid.velocity.as_dvec2();
    let (mut weight, mut heading, mut middle, mut push) = (1.0, own, DVec2::ZERO, DVec2::ZERO);
    for (_, other) in flock.iter().enumerate().filter(|&(other, _)| other != index) {
        let way = apart(world, &boid, other);
        let share = 1.0 - way.length() / f64::from(RADIUS);
        if share > 0.0 {
            weight += share;
            heading += share * other.velocity.as_dvec2();
            middle += share * way;
            push -= (1.0 / way.length().max(0.05) - 1.0).max(0.0) * way;
        }
    }
    let velocity = own + (4.0 * (heading / weight - own) + 12.0 * middle / weight + 16.0 * push) / 60.0;
    let cruise = f64::from(CRUISE);
    let speed = velocity.length().clamp(0.5 * cruise, 1.5 * cruise);
    velocity.normalize() * (speed + (cruise - speed) * 2.0 / 60.0)
}

#[test]
fn boids_steer_by_all_neighbours() -> Result<()> {
    let Some((world, [before, after])) = run(500)? else {
        return Ok(());
    };
    for (index, boid) in after.iter().enumerate() {
        let expected = steered(world, &before, index);
        let difference = (boid.velocity.as_dvec2() - expected).length();
        assert!(
            difference < 1e-3,
            "boid {index}: {} in place of {expected}",
            boid.velocity
        );
    }
    let sees_across = |boid: &Boid, other: &Boid| {
        let way = apart(world, boid, other).length();
        way < f64::from(RADIUS) && boid.position.distance(other.position) > world.x / 2.0
    };
    assert!(
        before
            .iter()
            .any(|boid| before.iter().any(|other| sees_across(boid, other)))
    );
    Ok(())
}

#[test]
fn a_flock_is_the_same_each_run() -> Result<()> {
    assert!(run(300)? == run(300)?);
    Ok(())
}
