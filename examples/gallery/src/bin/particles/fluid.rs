//! Simulates a fluid of particles on the GPU.
//!
//! Weakly compressible SPH after Becker and Teschner (2007), with Monaghan's artificial viscosity (1992) and the C2
//! kernel of Wendland (1995). Walls count as fluid: the part of the kernel behind a plane has a closed form (after the
//! density maps of Koschier and Bender, 2017).

use anyhow::{Context, Result};
use gallery::Gpu;
use glam::{IVec3, Vec3};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, GpuBroadPhase, Growth, OutputOptions, Queries, Scheme, SelfQuery, Source,
};

/// Kernel radius in rest spacings. It contains 32 neighbours at rest.
const REACH: f32 = 2.0;
/// Distance of a wall from the first layer of a lattice, in spacings. There, the wall adds as much density as the
/// layers it replaces.
pub const WALL_GAP: f32 = 0.61;
/// Neighbour capacity per particle: the number at twice the rest density.
const ROOM: u32 = 64;

#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// Upper corner in metres. The lower corner is the origin.
    pub tank: Vec3,
    /// Particle distance at rest.
    pub spacing: f32,
    /// Downward, in m/s².
    pub gravity: f32,
    /// Speed of sound in m/s.
    pub speed: f32,
    pub viscosity: f32,
    pub time_step: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Particle {
    pub position: Vec3,
    /// Density before the last step, relative to the rest density.
    pub density: f32,
    pub velocity: Vec3,
    /// Number of neighbours before the last step.
    pub neighbors: u32,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    tank: Vec3,
    reach: f32,
    mass: f32,
    gravity: f32,
    speed: f32,
    viscosity: f32,
    time_step: f32,
    count: u32,
    capacity: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Seen {
    /// Largest number of neighbours in all steps.
    pub neighbors: u32,
    pub status: u32,
}

pub struct Fluid {
    pub count: u32,
    pub scene: Scene,
    pub broad_phase: GpuBroadPhase,
    params: wgpu::Buffer,
    particles: [wgpu::Buffer; 2],
    /// Density before the last step, and pressure / squared density.
    pub states: wgpu::Buffer,
    boxes: wgpu::Buffer,
    pub seen: wgpu::Buffer,
    density: wgpu::ComputePipeline,
    advance: wgpu::ComputePipeline,
}

impl Particle {
    pub fn at_rest(position: Vec3) -> Self {
        Self {
            position,
            density: 1.0,
            velocity: Vec3::ZERO,
            neighbors: 0,
        }
    }
}

impl Scene {
    pub fn reach(&self) -> f32 {
        REACH * self.spacing
    }

    /// A particle's share of the density at its own position, in a lattice at rest.
    pub fn mass() -> f32 {
        let cells = -(REACH as i32)..=REACH as i32;
        let lattice = cells
            .clone()
            .flat_map(|x| cells.clone().map(move |y| (x, y)))
            .flat_map(|(x, y)| cells.clone().map(move |z| IVec3::new(x, y, z)));
        let kernel = |q: f32| (1.0 - q).max(0.0).powi(4) * (1.0 + 4.0 * q);
        1.0 / lattice
            .map(|place| kernel(place.as_vec3().length() / REACH))
            .sum::<f32>()
    }
}

impl Fluid {
    pub fn new(gpu: &Gpu, scene: Scene, particles: &[Particle], scheme: Scheme, timestamps: bool) -> Result<Self> {
        let count = u32::try_from(particles.len())?;
        let boxes: Vec<_> = particles
            .iter()
            .map(|particle| Aabb::point(particle.position.to_array()))
            .collect();
        let broad_phase = GpuBroadPhase::new(
            &gpu.device,
            &gpu.queue,
            &BroadPhaseDescriptor {
                label: Some("particles"),
                scheme,
                pairs: false,
                outputs: OutputOptions {
                    // Enough, because pressure limits the number of neighbours.
                    capacities: Capacities {
                        results: Some(ROOM * count),
                        ..Capacities::default()
                    },
                    growth: Growth::Fixed,
                    timestamps,
                    ..Default::default()
                },
                filters: false,
                ..BroadPhaseDescriptor::default()
            },
        )?;
        let module = gpu.device.create_shader_module(wgpu::include_wgsl!("sph.wgsl"));
        Ok(Self {
            count,
            scene,
            broad_phase,
            params: gpu.uniform::<Params>("params", &bytemuck::Zeroable::zeroed()),
            particles: ["particles", "particles too"]
                .map(|label| gpu.buffer(label, particles, wgpu::BufferUsages::VERTEX)),
            states: gpu.buffer("states", &vec![[0f32; 2]; particles.len()], wgpu::BufferUsages::empty()),
            boxes: gpu.buffer("boxes", &boxes, wgpu::BufferUsages::empty()),
            seen: gpu.buffer("seen", &[0u32; 2], wgpu::BufferUsages::empty()),
            density: gpu.compute_pipeline(&module, "density"),
            advance: gpu.compute_pipeline(&module, "advance"),
        })
    }

    pub fn particles(&self) -> &wgpu::Buffer {
        &self.particles[0]
    }

    pub fn advance(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        let input = gpu_broad_phase::Scene {
            objects: Source::device(&self.boxes, self.count),
            query: gpu_broad_phase::QueryInput {
                queries: Queries::Objects(SelfQuery::Within {
                    radius: self.scene.reach(),
                    half: false,
                }),
                ..gpu_broad_phase::QueryInput::default()
            },
            ..gpu_broad_phase::Scene::default()
        };
        let step = self.broad_phase.step(encoder, input)?;
        let neighbors = step.queries.objects.context("all neighbours are asked for")?;
        let Scene {
            tank,
            spacing: _,
            gravity,
            speed,
            viscosity,
            time_step,
        } = self.scene;
        let params = Params {
            tank,
            reach: self.scene.reach(),
            mass: Scene::mass(),
            gravity,
            speed,
            viscosity,
            time_step,
            count: self.count,
            capacity: neighbors.capacity,
            padding: 0,
        };
        gpu.queue.write_buffer(&self.params, 0, bytemuck::bytes_of(&params));
        let [before, after] = &self.particles;
        let lists = [&self.params, before, &neighbors.offsets, &neighbors.buffer];
        let passes = [
            (&self.density, "density", [&step.counters, &self.seen, &self.states]),
            (&self.advance, "advance", [&self.states, after, &self.boxes]),
        ];
        for (pipeline, label, own) in passes {
            let groups = [&lists[..], &own[..]];
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(label),
                timestamp_writes: None,
            });
            pass.set_pipeline(pipeline);
            for (index, buffers) in std::iter::zip(0.., groups) {
                let group = gpu.bind_group(&pipeline.get_bind_group_layout(index), buffers);
                pass.set_bind_group(index, &group, &[]);
            }
            pass.dispatch_workgroups(self.count.div_ceil(64), 1, 1);
        }
        self.particles.swap(0, 1);
        Ok(())
    }
}
