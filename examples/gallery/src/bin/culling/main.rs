//! For renderers: a city of a million boxes, culled for a drone, the sun's shadow map and an overview. Each view is one
//! indirect draw, so the host never reads the counts. In the overview, boxes seen by the drone alone are orange, by the
//! sun alone blue, and by both pale.
//!
//! ```sh
//! cargo run --release -p gallery --bin culling -- [--boxes N] [--all] [--output DIR --frames 1]
//! ```

#[cfg(test)]
mod tests;

use std::f32::consts::TAU;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gallery::{Demo, DrawState, Frame, Gpu, Random, SOLID_BACKGROUND};
use glam::camera::rh::proj::directx::{orthographic, perspective};
use glam::camera::rh::view::look_at_mat4;
use glam::{Mat4, UVec2, Vec3};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullDraw, CullOptions, CullOutput, Culling, Frustum, GpuBroadPhase, Scene, Source,
    StepOutput,
};

const BLOCK: f32 = 4.0;
const BOX: u32 = 36;
const TIMES: u32 = 10;

#[derive(clap::Args)]
struct Options {
    /// Number of boxes.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    boxes: u32,
    /// Draws all boxes in each view, which gives the same picture.
    #[arg(long)]
    all: bool,
    /// Seed of the house sizes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct View {
    view_projection: Mat4,
    eye: Vec3,
    index: u32,
    reach: f32,
    words: u32,
    colors_by_views: u32,
    padding: u32,
}

struct City {
    count: u32,
    broad_phase: GpuBroadPhase,
    culling: Culling,
    /// Output of the only step: boxes do not move.
    step: Option<StepOutput>,
    boxes: wgpu::Buffer,
    views: [wgpu::Buffer; 3],
    draw: wgpu::RenderPipeline,
    /// With `--all`: list of all objects, and its offsets.
    all: Option<[wgpu::Buffer; 2]>,
    frusta: [Frustum; 3],
    seen: Option<CullOutput>,
}

fn city(count: u32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    let side = f64::from(count).sqrt().ceil() as u32;
    let house = |index: u32| {
        let [x, z] = [index % side, index / side].map(|place| BLOCK * (place as f32 + 0.5 - side as f32 / 2.0));
        let [half_x, half_z] = [0; 2].map(|_| BLOCK * random.between(0.25, 0.42));
        let middle = (-(x * x + z * z) / 9000.0).exp();
        let height = random.between(0.5, 4.0) + 26.0 * middle * random.unit().powi(3);
        Aabb::new([x - half_x, 0.0, z - half_z], [x + half_x, height, z + half_z])
    };
    (0..count).map(house).collect()
}

/// View-projection, eye and far distance of each view.
fn cameras(frame: u32, panel: UVec2) -> [(Mat4, Vec3, f32); 3] {
    let aspect = panel.x as f32 / panel.y as f32;
    let heading = Vec3::new(
        (0.9 + TAU * frame as f32 / 600.0).sin(),
        0.0,
        (0.9 + TAU * frame as f32 / 600.0).cos(),
    );
    let eye = Vec3::new(0.0, 30.0, 0.0) - 60.0 * heading;
    let drone = perspective(0.9, aspect, 0.5, 260.0) * look_at_mat4(eye, eye + heading - 0.3 * Vec3::Y, Vec3::Y);
    let lit = eye + Vec3::new(0.0, -30.0, 0.0) + 75.0 * heading;
    let sun = lit + 150.0 * Vec3::new(0.48, 0.8, 0.36).normalize();
    let (half, tall) = (40.0, 40.0 / aspect);
    let light = orthographic(-half, half, -tall, tall, 1.0, 300.0) * look_at_mat4(sun, lit, Vec3::Y);
    let above = eye - 150.0 * heading + Vec3::new(0.0, 190.0, 0.0);
    let overview = perspective(0.9, aspect, 1.0, 700.0) * look_at_mat4(above, eye + 70.0 * heading, Vec3::Y);
    [(drone, eye, 260.0), (light, sun, 1e9), (overview, above, 700.0)]
}

impl City {
    const OPTIONS: CullOptions = CullOptions {
        list_capacity: Some(u32::MAX),
        draw: Some(CullDraw::Vertices(BOX)),
    };

    fn step(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<StepOutput> {
        let input = Scene {
            objects: Source::device(&self.boxes, self.count),
            ..Scene::default()
        };
        Ok(self.broad_phase.step(encoder, input)?)
    }

    fn time(
        &mut self,
        gpu: &Gpu,
        record: impl Fn(&mut Self, &mut wgpu::CommandEncoder) -> Result<()>,
    ) -> Result<Duration> {
        let mut began = Instant::now();
        for time in 0..=TIMES {
            // The first run compiles pipelines.
            if time == 1 {
                began = Instant::now();
            }
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            record(self, &mut encoder)?;
            gpu.submit(encoder);
            gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
        }
        Ok(began.elapsed() / TIMES)
    }
}

impl Demo for City {
    type Options = Options;
    const NAME: &'static str = "culling";
    const ABOUT: &'static str = "A city seen by three views, each drawn by one indirect draw";

    fn new(gpu: &Gpu, options: &Options) -> Result<Self> {
        let boxes = city(options.boxes, options.seed);
        let descriptor = BroadPhaseDescriptor {
            label: Some("city"),
            pairs: false,
            filters: false,
            ..BroadPhaseDescriptor::default()
        };
        let module = gpu.solid_shader(Self::NAME, include_str!("culling.wgsl"));
        let outside = DrawState {
            cull_mode: Some(wgpu::Face::Back),
            ..DrawState::default()
        };
        let all: Vec<u32> = (0..options.boxes).collect();
        let none = wgpu::BufferUsages::empty();
        Ok(Self {
            count: options.boxes,
            broad_phase: GpuBroadPhase::new(&gpu.device, &gpu.queue, &descriptor)?,
            culling: Culling::new(None),
            step: None,
            boxes: gpu.buffer("boxes", &boxes, none),
            views: ["drone", "sun", "above"].map(|name| gpu.uniform::<View>(name, &bytemuck::Zeroable::zeroed())),
            draw: gpu.draw_pipeline(&module, "box", &[], outside),
            all: options
                .all
                .then(|| [gpu.buffer("all", &all, none), gpu.buffer("offsets", &[0u32; 4], none)]),
            frusta: Default::default(),
            seen: None,
        })
    }

    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()> {
        let step = match self.step.take() {
            Some(step) => step,
            None => self.step(frame.encoder)?,
        };
        let panel = UVec2::new(frame.size().x / 3, frame.size().y);
        let cameras = cameras(frame.index, panel);
        self.frusta = cameras.map(|(matrix, ..)| Frustum::from_view_projection(matrix.to_cols_array_2d()));
        let views = Source::Host(&self.frusta);
        let seen = self.culling.record(frame.encoder, &step, views, Self::OPTIONS)?;
        self.step = Some(step);
        let lists = seen.lists.as_ref().context("lists are asked for")?;
        let draws = seen.draws.as_ref().context("draws are asked for")?;
        let layout = self.draw.get_bind_group_layout(0);
        let groups = [0, 1, 2].map(|index| {
            let (view_projection, eye, reach) = cameras[index];
            let view = View {
                view_projection,
                eye,
                index: index as u32,
                reach,
                words: seen.words,
                colors_by_views: u32::from(index == 2),
                padding: 0,
            };
            gpu.queue.write_buffer(&self.views[index], 0, bytemuck::bytes_of(&view));
            let [list, offsets] = match &self.all {
                Some([all, offsets]) => [all, offsets],
                None => [&lists.buffer, &lists.offsets],
            };
            gpu.bind_group(
                &layout,
                &[&self.views[index], &self.boxes, list, offsets, &seen.visible],
            )
        });
        let mut pass = frame.draw("draw", SOLID_BACKGROUND);
        pass.set_pipeline(&self.draw);
        for (index, group) in (0..).zip(&groups) {
            let left = index * panel.x;
            pass.set_viewport(left as f32, 0.0, panel.x as f32, panel.y as f32, 0.0, 1.0);
            pass.set_scissor_rect(left, 0, panel.x - 2, panel.y);
            pass.set_bind_group(0, group, &[]);
            match &self.all {
                Some(_) => pass.draw(0..BOX, 0..self.count),
                None => pass.draw_indirect(draws, 16 * u64::from(index)),
            }
        }
        drop(pass);
        self.seen = Some(seen);
        Ok(())
    }

    fn summary(&mut self, gpu: &Gpu) -> Result<String> {
        let seen = self.seen.clone().context("no frame was drawn")?;
        let counters: Vec<u32> = gpu.read(&seen.counters, 11)?;
        let step = self.step.clone().context("no frame was drawn")?;
        let culled = self.time(gpu, |city, encoder| {
            let views = Source::Host(&city.frusta);
            city.culling.record(encoder, &step, views, Self::OPTIONS)?;
            Ok(())
        })?;
        let stepped = self.time(gpu, |city, encoder| city.step(encoder).map(drop))?;
        Ok(format!(
            "of {} boxes the drone sees {}, the sun {}, and who is above {}\n\
             three views are culled in {:.2} ms; the table takes {:.2} ms, once",
            self.count,
            counters[8],
            counters[9],
            counters[10],
            culled.as_secs_f64() * 1e3,
            stepped.as_secs_f64() * 1e3,
        ))
    }
}

fn main() -> Result<()> {
    gallery::run::<City>()
}
