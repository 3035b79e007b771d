//! For fluids and particles: a dam break on the GPU. The broad phase lists neighbours, and two passes compute densities
//! and forces. Drag to turn the camera.
//!
//! ```sh
//! cargo run --release -p gallery --bin particles -- [--count N] [--output DIR --frames 250]
//! ```

mod fluid;
#[cfg(test)]
mod tests;

use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;
use fluid::{Fluid, Particle, Scene, Seen, WALL_GAP};
use gallery::{Demo, DrawState, Frame, Gpu, Orbit};
use glam::{Mat4, UVec3, Vec3, Vec4};
use gpu_broad_phase::Scheme;

/// Size of the tank in metres. Up is +y.
const TANK: Vec3 = Vec3::new(27.0, 16.0, 12.0);
/// Size of the water column in the corner at the origin.
const COLUMN: Vec3 = Vec3::new(9.0, 10.0, 12.0);
const GRAVITY: f32 = 9.81;
/// Speed of sound / speed after a free fall from the top. Water at the bottom is denser by the fraction 1 / (2 SOUND²).
const SOUND: f32 = 4.0;
/// Distance that sound travels per time step, in spacings.
const COURANT: f32 = 0.9;
const VISCOSITY: f32 = 0.08;
const FRAME: f32 = 1.0 / 60.0;
const BACKGROUND: wgpu::Color = wgpu::Color {
    r: 0.003,
    g: 0.004,
    b: 0.008,
    a: 1.0,
};

#[derive(clap::Args)]
struct Options {
    /// Number of particles.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(500..=500_000))]
    count: u32,
    /// Grid scheme. The picture does not depend on it.
    #[arg(long, default_value = "hierarchical")]
    scheme: SchemeName,
    /// Prints the GPU time of each stage of the last search.
    #[arg(long)]
    stages: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SchemeName {
    Uniform,
    Hierarchical,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct View {
    projection: Mat4,
    right: Vec4,
    up: Vec4,
    back: Vec4,
    tank: Vec4,
}

struct Particles {
    fluid: Fluid,
    start_energy: f64,
    prints_stages: bool,
    camera: Orbit,
    view: wgpu::Buffer,
    spheres: wgpu::RenderPipeline,
    edges: wgpu::RenderPipeline,
    floor: wgpu::RenderPipeline,
    frames: u32,
    /// Simulated time not yet stepped, in seconds.
    owed: f32,
    /// Set after the first frame, which creates buffers.
    since: Option<Instant>,
}

fn dam(count: u32) -> (Scene, Vec<Particle>) {
    let rows = (COLUMN.z / (COLUMN.element_product() / count as f32).cbrt()).round();
    let spacing = COLUMN.z / (rows - 1.0 + 2.0 * WALL_GAP);
    let [columns, rows] = [COLUMN.x / spacing, rows].map(|places| places.round() as u32);
    let particle = |index: u32| {
        let place = UVec3::new(index % columns, index / (columns * rows), index / columns % rows);
        Particle::at_rest((place.as_vec3() + WALL_GAP) * spacing)
    };
    let speed = SOUND * (2.0 * GRAVITY * COLUMN.y).sqrt();
    let scene = Scene {
        tank: TANK,
        spacing,
        gravity: GRAVITY,
        speed,
        viscosity: VISCOSITY,
        time_step: FRAME / (FRAME * speed / (COURANT * spacing)).ceil(),
    };
    (scene, (0..count).map(particle).collect())
}

fn energy(particles: &[Particle]) -> f64 {
    let sum: f64 = particles
        .iter()
        .map(|particle| f64::from(particle.velocity.length_squared() / 2.0 + GRAVITY * particle.position.y))
        .sum();
    sum / particles.len() as f64
}

impl Demo for Particles {
    type Options = Options;
    const NAME: &'static str = "particles";
    const ABOUT: &'static str = "A dam break of particles (SPH) that stay on the GPU";

    fn new(gpu: &Gpu, options: &Options) -> Result<Self> {
        let (scene, particles) = dam(options.count);
        let scheme = match options.scheme {
            SchemeName::Uniform => Scheme::Uniform {
                cell_size: 0.5 * scene.reach(),
            },
            SchemeName::Hierarchical => Scheme::Hierarchical,
        };
        let module = gpu.device.create_shader_module(wgpu::include_wgsl!("draw.wgsl"));
        let instances = wgpu::VertexBufferLayout {
            array_stride: size_of::<Particle>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &[(0, 0), (1, 16)].map(|(shader_location, offset)| wgpu::VertexAttribute {
                format: wgpu::VertexFormat::Float32x3,
                offset,
                shader_location,
            }),
        };
        let lines = DrawState {
            topology: wgpu::PrimitiveTopology::LineList,
            ..DrawState::default()
        };
        let rims = DrawState {
            alpha_to_coverage: true,
            ..DrawState::default()
        };
        Ok(Self {
            fluid: Fluid::new(gpu, scene, &particles, scheme, options.stages)?,
            start_energy: energy(&particles),
            prints_stages: options.stages,
            camera: Orbit {
                center: TANK * Vec3::new(0.5, 0.4, 0.5),
                distance: 42.0,
                yaw: 0.42,
                pitch: 0.3,
                field_of_view: 0.6,
            },
            view: gpu.uniform::<View>("view", &bytemuck::Zeroable::zeroed()),
            spheres: gpu.draw_pipeline(&module, "sphere", &[instances], rims),
            edges: gpu.draw_pipeline(&module, "edge", &[], lines),
            floor: gpu.draw_pipeline(&module, "floor", &[], DrawState::default()),
            frames: 0,
            owed: 0.0,
            since: None,
        })
    }

    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()> {
        if self.frames == 1 {
            self.since = Some(Instant::now());
        }
        self.frames += 1;
        self.owed += frame.time_step;
        let step = self.fluid.scene.time_step;
        while self.owed > 0.999 * step {
            self.owed -= step;
            self.fluid.advance(gpu, frame.encoder)?;
        }

        self.camera.update(&frame.input);
        let back = (self.camera.eye() - self.camera.center).normalize();
        let right = Vec3::Y.cross(back).normalize();
        // A radius of 0.62 spacings leaves no holes in water.
        let view = View {
            projection: self.camera.view_projection(frame.size()),
            right: right.extend(0.62 * self.fluid.scene.spacing),
            up: back.cross(right).extend(0.0),
            back: back.extend(0.0),
            tank: TANK.extend(0.0),
        };
        gpu.queue.write_buffer(&self.view, 0, bytemuck::bytes_of(&view));
        let mut pass = frame.draw("draw", BACKGROUND);
        pass.set_vertex_buffer(0, self.fluid.particles().slice(..));
        let drawn = [
            (&self.floor, 6, 1),
            (&self.edges, 24, 1),
            (&self.spheres, 6, self.fluid.count),
        ];
        for (pipeline, vertices, instances) in drawn {
            let group = gpu.bind_group(&pipeline.get_bind_group_layout(0), &[&self.view]);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.draw(0..vertices, 0..instances);
        }
        Ok(())
    }

    fn summary(&mut self, gpu: &Gpu) -> Result<String> {
        let particles: Vec<Particle> = gpu.read(self.fluid.particles(), self.fluid.count as usize)?;
        let seconds = self.since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        let seen: Vec<Seen> = gpu.read(&self.fluid.seen, 1)?;
        let count = particles.len() as f64;
        let mean = |part: fn(&Particle) -> f64| particles.iter().map(part).sum::<f64>() / count;
        let densest = particles.iter().map(|particle| particle.density).fold(0.0, f32::max);
        let mut text = format!(
            "{} particles, {:.1} neighbours each, never more than {:.1} on average, {}\n\
             density {:.3} of that at rest on average, {densest:.3} at most; kinetic and potential energy {:.3} of that at the start\n\
             {} steps of {:.2} ms, {:.1} ms a frame",
            particles.len(),
            mean(|particle| f64::from(particle.neighbors)),
            f64::from(seen[0].neighbors) / count,
            if seen[0].status == 0 {
                "all lists whole"
            } else {
                "LISTS CUT SHORT"
            },
            mean(|particle| f64::from(particle.density)),
            energy(&particles) / self.start_energy,
            (self.frames as f32 * FRAME / self.fluid.scene.time_step).round(),
            1e3 * self.fluid.scene.time_step,
            1e3 * seconds / f64::from(self.frames.max(2) - 1),
        );
        if self.prints_stages {
            let result = pollster::block_on(self.fluid.broad_phase.read_back())?;
            let first = result.timings.first().context("the device has no timestamps")?;
            // A stage counts from the previous stage's end, since lavapipe reports late begin times after drawing.
            let mut end = first.begin;
            text += "\nmilliseconds of the last search:";
            for time in &result.timings {
                let passed = time.begin + time.nanoseconds - end;
                end += passed;
                text += &format!(" {} {:.2},", time.stage, passed / 1e6);
            }
            text += &format!(" in all {:.2}", (end - first.begin) / 1e6);
        }
        Ok(text)
    }
}

fn main() -> Result<()> {
    gallery::run::<Particles>()
}
