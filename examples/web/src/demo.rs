use glam::{Vec2, Vec3};
use gpu_broad_phase::{Dimensions, Ray};

use crate::camera::{Camera, Flat, Orbit};
use crate::failure::Failure;
use crate::finder::Finder;
use crate::gpu::Gpu;
use crate::params::Params;
use crate::settings::Settings;
use crate::swarm::Swarm;
use crate::world;
use crate::{draw::Draw, input::Input};

/// Pixels covered by the panel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    pub right: f32,
    pub bottom: f32,
}

pub struct Demo {
    pub settings: Settings,
    pub swarm: Swarm,
    pub finder: Finder,
    pub ray: Ray,
    draw: Draw,
    camera: Camera,
    params: wgpu::Buffer,
    time: f32,
    /// Origin of the 2D ray, as a fraction of `reach`.
    start: Vec2,
    /// A 3D ray that does not turn with the view.
    pinned: Option<(Vec3, Vec3)>,
}

/// Radians per second of the ray while nobody points.
const SWEEP: f32 = 0.21;
/// Radians per second of the 3D view.
const TURN: f32 = 0.06;

fn whole(reach: Vec3, size: Vec2) -> f32 {
    2.0 * reach.x / size.x
}

fn camera(dimensions: Dimensions, reach: Vec3, size: Vec2) -> Camera {
    match dimensions {
        Dimensions::Two => Camera::Flat(Flat {
            center: Vec2::ZERO,
            pixel: whole(reach, size),
        }),
        Dimensions::Three => Camera::Orbit(Orbit {
            distance: 4.0 * reach.x,
            yaw: 0.6,
            pitch: 0.36,
            field_of_view: 0.64,
            shift: Vec2::ZERO,
        }),
    }
}

impl Demo {
    pub async fn new(gpu: &Gpu, settings: Settings, size: Vec2) -> Result<Self, Failure> {
        let swarm = Swarm::new(gpu, &settings, size.x / size.y).await?;
        Ok(Self {
            finder: Finder::new(gpu, &settings)?,
            ray: Ray::new([0.0; 3], [0.0; 3], -1.0),
            draw: Draw::new(gpu, settings.dimensions),
            camera: camera(settings.dimensions, swarm.reach, size),
            params: gpu.uniform("params", size_of::<Params>() as u64),
            time: 0.0,
            start: Vec2::new(-0.42, -0.12),
            pinned: None,
            swarm,
            settings,
        })
    }

    /// Applies settings that need no new world.
    pub fn change(&mut self, gpu: &Gpu, settings: Settings) -> Result<(), Failure> {
        if settings.scheme() != self.settings.scheme() {
            self.finder = Finder::new(gpu, &settings)?;
        }
        self.settings = settings;
        Ok(())
    }

    /// Draws and submits, except during a read-back of the broad phase.
    pub fn frame(
        &mut self,
        gpu: &Gpu,
        size: Vec2,
        covered: Covered,
        input: &Input,
        time_step: f32,
    ) -> Result<(), Failure> {
        if self.finder.broad_phase.is_none() {
            return Ok(());
        }
        let Some(frame) = gpu.next_frame() else {
            return Ok(());
        };
        let reach = world::reach(self.settings.dimensions, self.swarm.count, size.x / size.y);
        let stretch = reach / self.swarm.reach.max(Vec3::splat(f32::MIN_POSITIVE));
        let is_flat = self.settings.dimensions == Dimensions::Two;
        if let Camera::Flat(flat) = &mut self.camera {
            flat.pixel *= whole(reach, size) / whole(self.swarm.reach, input.last_size.unwrap_or(size));
            flat.center *= stretch.truncate();
        }
        self.swarm.reach = reach;
        self.time += time_step;
        self.look(size, covered, input, time_step);
        // While paused, the ray only follows the pointer.
        let stays = self.settings.paused && self.settings.ray && self.ray.t_max > 0.0;
        if !stays || input.pointer.is_some() || input.clicked.is_some() {
            self.ray = self.aim(size, input);
        }
        let params = Params {
            view_projection: self.camera.view_projection(size),
            eye: self.camera.eye(),
            time_step,
            reach,
            time: self.time,
            ray_origin: self.ray.origin.into(),
            ray_length: self.ray.t_max,
            ray_direction: self.ray.direction.into(),
            pixel: self.camera.pixel(size),
            stretch,
            count: self.swarm.count,
            dimensions: self.settings.dimensions.count(),
            hit_capacity: 0,
            has_colors: self.settings.colors.into(),
            shows_ray: (self.settings.ray && (is_flat || self.pinned.is_some())).into(),
        };
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        self.swarm.advance(gpu, &mut encoder, &self.params);
        let found = self
            .finder
            .record(gpu, &mut encoder, &self.params, &self.swarm, self.ray, &self.settings)?;
        let Some(mut found) = found else { return Ok(()) };
        // Cells of a ray from the eye would cover each other.
        if !is_flat && self.pinned.is_none() {
            found.ray_cells = None;
        }
        let params = Params {
            hit_capacity: found.hit_capacity,
            ..params
        };
        gpu.queue.write_buffer(&self.params, 0, bytemuck::bytes_of(&params));
        let boxes = (&self.swarm.boxes, self.swarm.count);
        self.draw
            .record(gpu, &mut encoder, &frame.texture, &self.params, boxes, &found);
        gpu.submit(encoder);
        gpu.queue.present(frame);
        Ok(())
    }

    pub fn find_again(&mut self, gpu: &Gpu) -> Result<(), Failure> {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        self.finder
            .record(gpu, &mut encoder, &self.params, &self.swarm, self.ray, &self.settings)?;
        gpu.submit(encoder);
        Ok(())
    }

    fn look(&mut self, size: Vec2, covered: Covered, input: &Input, time_step: f32) {
        self.camera.drag(input.drag);
        let pixel = input.pointer.unwrap_or(0.5 * size);
        self.camera.zoom(size, pixel, input.zoom);
        match &mut self.camera {
            Camera::Flat(flat) => {
                let whole = whole(self.swarm.reach, size);
                flat.pixel = flat.pixel.clamp(1e-3 * self.settings.size.max(0.1), 1.5 * whole);
                if let Some(pixel) = input.clicked {
                    self.start = flat.position(size, pixel) / self.swarm.reach.truncate();
                }
            }
            Camera::Orbit(orbit) => {
                let reach = self.swarm.reach.x;
                orbit.distance = orbit.distance.clamp(0.2 * reach, 12.0 * reach);
                orbit.yaw += TURN * time_step;
                orbit.shift = Vec2::new(-covered.right, covered.bottom) / size;
                if let Some(pixel) = input.clicked {
                    self.pinned = match self.pinned {
                        Some(_) => None,
                        None => Some(orbit.ray(size, pixel)),
                    };
                }
            }
        }
    }

    /// Starts at `start` in 2D, at the eye in 3D. A negative `t_max` hits nothing.
    fn aim(&self, size: Vec2, input: &Input) -> Ray {
        if !self.settings.ray {
            return Ray::new([0.0; 3], [0.0; 3], -1.0);
        }
        let (origin, direction) = match &self.camera {
            Camera::Flat(flat) => {
                let origin = self.start * self.swarm.reach.truncate();
                let sweep = Vec2::from_angle(0.35 + SWEEP * self.time);
                let wanted = input.pointer.map_or(sweep, |pixel| flat.position(size, pixel) - origin);
                (origin.extend(0.0), wanted.normalize_or(Vec2::X).extend(0.0))
            }
            Camera::Orbit(orbit) => self.pinned.unwrap_or_else(|| {
                let sweep = Vec2::from_angle(SWEEP * self.time) * Vec2::new(0.12, 0.08) * size.min_element();
                let middle = (0.5 + 0.5 * orbit.shift * Vec2::new(1.0, -1.0)) * size;
                orbit.ray(size, input.pointer.unwrap_or(middle + sweep))
            }),
        };
        Ray::new(origin.into(), direction.into(), 20.0 * self.swarm.reach.max_element())
    }
}
