//! For crowds and swarms: a flock of boids on the GPU. The broad phase finds neighbours, and a compute pass steers. The
//! mouse frightens the boids.
//!
//! ```sh
//! cargo run --release -p gallery --bin boids -- [--boids N] [--output DIR --frames 300]
//! ```

#[cfg(test)]
mod tests;

use std::f32::consts::TAU;

use anyhow::{Context, Result};
use gallery::{Demo, DrawState, Frame, Gpu, Random};
use glam::Vec2;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, OutputOptions, Queries, QueryInput, Scene,
    SelfQuery, Source,
};

/// Width / height of the world.
const ASPECT: f32 = 1.6;
/// View distance of a boid, at one boid per unit of area.
const RADIUS: f32 = 2.5;
const CRUISE: f32 = 14.0;
/// Initial neighbour capacity per boid.
const FIRST_ROOM: u32 = 64;
const BACKGROUND: wgpu::Color = wgpu::Color {
    r: 0.004,
    g: 0.006,
    b: 0.014,
    a: 1.0,
};

#[derive(clap::Args)]
struct Options {
    /// Number of boids.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    boids: u32,
    /// Seed of the start positions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Boid {
    position: Vec2,
    velocity: Vec2,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    world: Vec2,
    pointer: Vec2,
    fright: f32,
    time_step: f32,
    radius: f32,
    count: u32,
    capacity: u32,
    padding: u32,
}

struct Boids {
    count: u32,
    world: Vec2,
    broad_phase: GpuBroadPhase,
    params: wgpu::Buffer,
    /// Current and next state, swapped each frame.
    boids: [wgpu::Buffer; 2],
    boxes: wgpu::Buffer,
    steer: wgpu::ComputePipeline,
    draw: wgpu::RenderPipeline,
    frames: u32,
    /// Read-backs with an overflow of neighbours.
    short: u32,
    neighbors: u64,
}

impl Boids {
    fn advance(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        time_step: f32,
        pointer: Option<Vec2>,
    ) -> Result<()> {
        let input = Scene {
            objects: Source::device(&self.boxes, self.count),
            query: QueryInput {
                queries: Queries::Objects(SelfQuery::Within {
                    radius: RADIUS,
                    half: false,
                }),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let step = self.broad_phase.step(encoder, input)?;
        let neighbors = step.queries.objects.context("all neighbours are asked for")?;
        let params = Params {
            world: self.world,
            pointer: pointer.unwrap_or_default(),
            fright: if pointer.is_some() { 150.0 } else { 0.0 },
            time_step,
            radius: RADIUS,
            count: self.count,
            capacity: neighbors.capacity,
            padding: 0,
        };
        gpu.queue.write_buffer(&self.params, 0, bytemuck::bytes_of(&params));
        let [before, after] = &self.boids;
        let group = gpu.bind_group(
            &self.steer.get_bind_group_layout(0),
            &[
                &self.params,
                before,
                &neighbors.offsets,
                &neighbors.buffer,
                after,
                &self.boxes,
            ],
        );
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steer"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&self.steer);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(self.count.div_ceil(64), 1, 1);
        }
        self.boids.swap(0, 1);
        self.frames += 1;
        Ok(())
    }

    /// Corner and size of the largest viewport with the world's aspect.
    fn viewport(&self, size: Vec2) -> (Vec2, Vec2) {
        let scale = (size / self.world).min_element();
        let fitted = self.world * scale;
        ((size - fitted) / 2.0, fitted)
    }
}

impl Demo for Boids {
    type Options = Options;
    const NAME: &'static str = "boids";
    const ABOUT: &'static str = "A flock of boids that stays on the GPU";

    fn new(gpu: &Gpu, options: &Options) -> Result<Self> {
        let height = (options.boids as f32 / ASPECT).sqrt().max(4.0 * RADIUS);
        let world = Vec2::new(ASPECT * height, height);
        let mut random = Random::new(options.seed);
        let boids: Vec<_> = (0..options.boids)
            .map(|_| Boid {
                position: Vec2::new(random.unit(), random.unit()) * world,
                velocity: Vec2::from_angle(random.between(0.0, TAU)) * CRUISE,
            })
            .collect();
        let boxes: Vec<_> = boids
            .iter()
            .map(|boid| Aabb::point([boid.position.x, boid.position.y, 0.0]))
            .collect();
        let broad_phase = GpuBroadPhase::new(
            &gpu.device,
            &gpu.queue,
            &BroadPhaseDescriptor {
                label: Some("boids"),
                dimensions: Dimensions::Two,
                periods: [world.x, world.y, 0.0],
                pairs: false,
                outputs: OutputOptions {
                    capacities: Capacities {
                        results: Some(FIRST_ROOM * options.boids),
                        ..Capacities::default()
                    },
                    ..Default::default()
                },
                filters: false,
                ..BroadPhaseDescriptor::default()
            },
        )?;
        let module = gpu.device.create_shader_module(wgpu::include_wgsl!("boids.wgsl"));
        let instances = wgpu::VertexBufferLayout {
            array_stride: size_of::<Boid>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &wgpu::vertex_attr_array![0 => Float32x2, 1 => Float32x2],
        };
        Ok(Self {
            count: options.boids,
            world,
            broad_phase,
            params: gpu.uniform::<Params>("params", &bytemuck::Zeroable::zeroed()),
            boids: ["boids", "boids too"].map(|label| gpu.buffer(label, &boids, wgpu::BufferUsages::VERTEX)),
            boxes: gpu.buffer("boxes", &boxes, wgpu::BufferUsages::empty()),
            steer: gpu.compute_pipeline(&module, "steer"),
            draw: gpu.draw_pipeline(&module, "boid", &[instances], DrawState::default()),
            frames: 0,
            short: 0,
            neighbors: 0,
        })
    }

    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()> {
        let (corner, fitted) = self.viewport(frame.size().as_vec2());
        // Pixel y points down.
        let in_world = |pixel: Vec2| self.world * ((pixel - corner) / fitted * Vec2::new(1.0, -1.0) + Vec2::Y);
        let pointer = frame.input.pointer.map(in_world);
        self.advance(gpu, frame.encoder, frame.time_step, pointer)?;

        let group = gpu.bind_group(&self.draw.get_bind_group_layout(0), &[&self.params]);
        let mut pass = frame.draw("draw", BACKGROUND);
        pass.set_viewport(corner.x, corner.y, fitted.x, fitted.y, 0.0, 1.0);
        pass.set_pipeline(&self.draw);
        pass.set_bind_group(0, &group, &[]);
        pass.set_vertex_buffer(0, self.boids[0].slice(..));
        pass.draw(0..6, 0..self.count);
        Ok(())
    }

    fn submitted(&mut self, _: &Gpu) -> Result<()> {
        // Overflows happen as flocks grow denser.
        if let Some(counters) = self.broad_phase.counters() {
            let is_new = counters.results_needed != self.neighbors;
            self.short += u32::from(is_new && !counters.is_complete());
            self.neighbors = counters.results_needed;
        }
        Ok(())
    }

    fn summary(&mut self, gpu: &Gpu) -> Result<String> {
        let boids: Vec<Boid> = gpu.read(&self.boids[0], self.count as usize)?;
        let headings: Vec2 = boids.iter().map(|boid| boid.velocity.normalize_or_zero()).sum();
        Ok(format!(
            "{} boids, {:.1} neighbours each, polarisation {:.2}; neighbours were missing in at most {} of {} frames",
            self.count,
            self.neighbors as f64 / f64::from(self.count),
            headings.length() / self.count as f32,
            self.short,
            self.frames,
        ))
    }
}

fn main() -> Result<()> {
    gallery::run::<Boids>()
}
