//! Compares small tanks with sums over all pairs, and checks conserved quantities.

use gallery::Random;

use super::*;

fn run(
    scene: Scene,
    particles: &[Particle],
    steps: u32,
    mut look: impl FnMut(u32, &[Particle]),
) -> Result<Option<(Gpu, Fluid)>> {
    let gpu = match Gpu::offscreen() {
        Err(_) if std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() => return Ok(None),
        gpu => gpu?,
    };
    let mut fluid = Fluid::new(&gpu, scene, particles, Scheme::Hierarchical, false)?;
    for step in 1..=steps {
        let mut encoder = gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        fluid.advance(&gpu, &mut encoder)?;
        gpu.submit(encoder);
        if step % 10 == 0 || step == steps {
            look(step, &gpu.read(fluid.particles(), particles.len())?);
        }
    }
    let seen: Vec<Seen> = gpu.read(&fluid.seen, 1)?;
    assert_eq!(seen[0].status, 0);
    Ok(Some((gpu, fluid)))
}

/// 1,200 random moving particles in a box, some nearer than in a real fluid.
fn cloud(low: Vec3, high: Vec3) -> Vec<Particle> {
    let mut random = Random::new(3);
    let mut between = |low: Vec3, high: Vec3| {
        let [x, y, z] = [0, 1, 2].map(|axis| random.between(low[axis], high[axis]));
        Vec3::new(x, y, z)
    };
    (0..1200)
        .map(|_| Particle {
            velocity: between(Vec3::splat(-3.0), Vec3::splat(3.0)),
            ..Particle::at_rest(between(low, high))
        })
        .collect()
}

/// Fraction of the kernel behind a plane, integrated over shells.
fn beyond(depth: f64) -> f64 {
    const SLICES: u32 = 2000;
    let slices = (0..SLICES).map(|slice| (f64::from(slice) + 0.5) / f64::from(SLICES));
    let kernel = |q: f64| (1.0 - q).powi(4) * (1.0 + 4.0 * q);
    // The cap of shell q has area 2 pi q (q - depth). The kernel's integral is 2 pi / 21.
    let parts = slices
        .filter(|&q| q > depth)
        .map(|q| 21.0 * q * (q - depth) * kernel(q));
    parts.sum::<f64>() / f64::from(SLICES)
}

#[test]
fn densities_are_those_of_all_pairs() -> Result<()> {
    let (scene, _) = dam(1200);
    let scene = Scene {
        tank: Vec3::splat(10.0 * scene.spacing),
        ..scene
    };
    let particles = cloud(Vec3::ZERO, scene.tank);
    let Some((gpu, fluid)) = run(scene, &particles, 1, |_, _| ())? else {
        return Ok(());
    };
    let states: Vec<[f32; 2]> = gpu.read(&fluid.states, particles.len())?;
    let reach = f64::from(scene.reach());
    let tank = scene.tank.as_dvec3();
    for (particle, [density, _]) in std::iter::zip(&particles, states) {
        let position = particle.position.as_dvec3();
        let sum: f64 = particles
            .iter()
            .map(|other| (position.distance(other.position.as_dvec3()) / reach).min(1.0))
            .map(|q| (1.0 - q).powi(4) * (1.0 + 4.0 * q))
            .sum();
        let inside: f64 = (0..3)
            .map(|axis| 1.0 - beyond(position[axis] / reach) - beyond((tank - position)[axis] / reach))
            .product();
        let expected = f64::from(Scene::mass()) * sum + 1.0 - inside;
        assert!(
            (f64::from(density) - expected).abs() < 1e-4 * expected,
            "{density} in place of {expected} at {position}"
        );
    }
    Ok(())
}

#[test]
fn a_lattice_at_rest_has_density_one_up_to_the_walls() -> Result<()> {
    let (mut scene, particles) = dam(1500);
    let top = particles.iter().map(|particle| particle.position.y).fold(0.0, f32::max);
    let right = particles.iter().map(|particle| particle.position.x).fold(0.0, f32::max);
    scene.tank = Vec3::new(right + fluid::WALL_GAP * scene.spacing, scene.tank.y, scene.tank.z);
    let Some((gpu, fluid)) = run(scene, &particles, 1, |_, _| ())? else {
        return Ok(());
    };
    let states: Vec<[f32; 2]> = gpu.read(&fluid.states, particles.len())?;
    let below =
        std::iter::zip(&particles, states).filter(|(particle, _)| particle.position.y < top - 2.5 * scene.spacing);
    for (particle, [density, _]) in below {
        assert!((density - 1.0).abs() < 0.01, "{density} at {}", particle.position);
    }
    Ok(())
}

#[test]
fn forces_between_particles_cancel() -> Result<()> {
    let (scene, _) = dam(1200);
    // Particles cannot reach the walls in this time.
    let scene = Scene {
        tank: Vec3::splat(20.0 * scene.spacing),
        gravity: 0.0,
        time_step: 0.01 * scene.time_step,
        ..scene
    };
    let particles = cloud(0.25 * scene.tank, 0.75 * scene.tank);
    let mut sums = (glam::DVec3::ZERO, 0.0);
    let ran = run(scene, &particles, 1, |_, moved| {
        for (before, after) in std::iter::zip(&particles, moved) {
            let change = after.velocity.as_dvec3() - before.velocity.as_dvec3();
            sums.0 += change;
            sums.1 += change.length();
        }
    })?;
    let (sum, lengths) = sums;
    assert!(ran.is_none() || lengths > 100.0);
    assert!(sum.length() <= 1e-5 * lengths, "{sum} is left of {lengths}");
    Ok(())
}

#[test]
fn a_dam_break_keeps_its_water_and_gains_no_energy() -> Result<()> {
    let (scene, particles) = dam(1500);
    let start = energy(&particles);
    run(scene, &particles, 400, |step, particles| {
        let count = particles.len() as f64;
        for Particle { position, velocity, .. } in particles {
            assert!(velocity.is_finite(), "step {step}: {velocity}");
            assert!(position.cmpge(Vec3::ZERO).all() && position.cmple(scene.tank).all());
        }
        let share = energy(particles) / start;
        // Flat water has about a third of the energy.
        assert!((0.3..1.001).contains(&share), "step {step}: {share}");
        // At the surface, half of a particle's kernel or more is empty.
        let mean = particles
            .iter()
            .map(|particle| f64::from(particle.density))
            .sum::<f64>()
            / count;
        assert!((0.85..1.03).contains(&mean), "step {step}: {mean}");
        let densest = particles.iter().map(|particle| particle.density).fold(0.0, f32::max);
        assert!(densest < 1.3, "step {step}: {densest}");
    })?;
    Ok(())
}
