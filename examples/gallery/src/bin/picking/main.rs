//! For editors and games: mouse picking in a static town, whose table is built once. Each frame casts a ray and queries
//! a sphere around the hit, all on the GPU. The host reads 16 bytes per frame without waiting.
//!
//! ```sh
//! cargo run --release -p gallery --bin picking -- [--objects N] [--radius R] [--output DIR --animation]
//! ```
//!
//! In a window, a click holds or releases the ray, drags turn the camera, and the wheel zooms. A held ray shows the
//! cells that it visits.

#[cfg(test)]
mod tests;

use anyhow::{Context, Result};
use gallery::{Demo, DrawState, Frame, FrameReadback, Gpu, Input, Orbit, Random, SOLID_BACKGROUND};
use glam::{Mat4, UVec2, Vec2, Vec3};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, DebugDraw, DebugLines, DispatchArgs, GpuBroadPhase, LineVertex, ObjectSet,
    Output, OutputOptions, Queries, Query, QueryInput, Ray, RayMode, Rays, Source,
};

const SPACING: f32 = 1.8;
/// Capacity for cells. Further ones are not drawn.
const RAY_CELLS: u32 = 16_384;
const CELL_ALPHA: u8 = 150;

#[derive(clap::Args)]
struct Options {
    /// Number of houses.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    objects: u32,
    /// Radius of the selection around the hit.
    #[arg(long, default_value_t = 5.0)]
    radius: f32,
    /// Seed of the town.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    view_projection: Mat4,
    eye: Vec3,
    radius: f32,
    origin: Vec3,
    reach: f32,
    direction: Vec3,
    t_max: f32,
    width: f32,
    padding: [u32; 3],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Found {
    object: u32,
    t: f32,
    walked: u32,
    selected: u32,
}

#[derive(Clone, Copy)]
struct Held {
    pixel: Vec2,
    camera: Orbit,
}

struct Picking {
    objects: ObjectSet,
    radius: f32,
    reach: f32,
    camera: Orbit,
    held: Option<Held>,
    broad_phase: GpuBroadPhase,
    debug_draw: DebugDraw,
    dispatch: DispatchArgs,
    /// Set once the step is recorded.
    boxes: Option<wgpu::Buffer>,
    params: wgpu::Buffer,
    found: wgpu::Buffer,
    sphere: wgpu::Buffer,
    cut_ray: wgpu::Buffer,
    marks: wgpu::Buffer,
    ask_around: wgpu::ComputePipeline,
    mark: wgpu::ComputePipeline,
    draw_box: wgpu::RenderPipeline,
    draw_ground: wgpu::RenderPipeline,
    draw_line: wgpu::RenderPipeline,
    draw_ray: wgpu::RenderPipeline,
    draw_sphere: wgpu::RenderPipeline,
    watch: FrameReadback<Found>,
}

fn town(count: u32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    let across = f64::from(count).sqrt().ceil() as u32;
    let house = |place: u32| {
        let corner = UVec2::new(place % across, place / across).as_vec2() - (across - 1) as f32 / 2.0;
        let out = corner.length() / (0.5 * across as f32);
        let jitter = Vec2::new(random.between(-0.2, 0.2), random.between(-0.2, 0.2));
        let middle = SPACING * (corner + jitter);
        let half = Vec2::new(random.between(0.35, 0.7), random.between(0.35, 0.7));
        let height = random.between(0.5, 1.6) + 9.0 * (-4.0 * out * out).exp() * random.unit().powi(2);
        let [low, high] = [middle - half, middle + half];
        Aabb::new([low.x, 0.0, low.y], [high.x, height, high.y])
    };
    (0..count).map(house).collect()
}

/// A pyramid at the origin of a held ray.
fn viewer(camera: &Orbit, size: UVec2) -> Vec<LineVertex> {
    let corner = |x: f32, y: f32| {
        let (eye, direction) = camera.ray(size, size.as_vec2() * Vec2::new(x, y));
        eye + 0.16 * camera.distance * direction
    };
    let base = [corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
    let edges = (0..4).flat_map(|place| [[camera.eye(), base[place]], [base[place], base[(place + 1) % 4]]]);
    edges
        .flatten()
        .map(|place| LineVertex {
            position: place.into(),
            color: u32::from_le_bytes([235, 225, 200, 220]),
        })
        .collect()
}

impl Picking {
    /// Records the pick into `found` and `marks`. Returns vertices and draw arguments of the cell lines.
    fn pick(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, ray: Ray) -> Result<[wgpu::Buffer; 2]> {
        let Gpu { device, .. } = gpu;
        // All queries use the table of one step.
        if self.boxes.is_none() {
            let input = self.objects.upload(device, encoder)?;
            self.broad_phase.step(encoder, input)?;
            let boxes = input.statics.objects.buffer();
            self.boxes = Some(boxes.context("a set's objects lie on the device")?.clone());
        }

        let rays = [ray];
        let input = QueryInput {
            rays: Rays::Plain(Source::Host(&rays)),
            ..QueryInput::default()
        };
        let answer = self.broad_phase.query(encoder, input)?;
        let hits = answer.rays.closest.context("the closest hit is asked for")?;
        encoder.copy_buffer_to_buffer(&hits, 0, &self.found, 0, 8);
        let group = gpu.bind_group(
            &self.ask_around.get_bind_group_layout(0),
            &[&self.params, &self.found, &self.sphere, &self.cut_ray],
        );
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("ask around"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&self.ask_around);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        let input = QueryInput {
            rays: Rays::Plain(Source::device(&self.cut_ray, 1)),
            queries: Queries::General(Source::device(&self.sphere, 1)),
            ..QueryInput::default()
        };
        let answer = self.broad_phase.query(encoder, input)?;
        let selected = answer.queries.objects.as_ref().context("all results are asked for")?;
        let cells = answer.rays.cells.as_ref().context("cells of rays are asked for")?;
        encoder.copy_buffer_to_buffer(&cells.offsets, 4, &self.found, 8, 4);
        encoder.copy_buffer_to_buffer(&selected.offsets, 4, &self.found, 12, 4);
        let (kind, lines) = (DebugLines::RayCells, 12 * RAY_CELLS);
        let lines = self
            .debug_draw
            .record(encoder, &answer, kind, [0, 0, 0, CELL_ALPHA], lines)?;
        let lines = [lines.vertices, lines.args];
        let rows = self.dispatch.record(encoder, &answer, Output::QueryObjects, 64)?;
        let group = gpu.bind_group_at(
            &self.mark.get_bind_group_layout(0),
            &[(4, &selected.buffer), (5, &rows), (6, &self.marks)],
        );
        encoder.clear_buffer(&self.marks, 0, None);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("mark"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&self.mark);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups_indirect(&rows, 0);
        Ok(lines)
    }

    fn picked(&mut self) -> String {
        let Some(found) = self.watch.latest() else {
            return "nothing is known yet".to_owned();
        };
        match self.objects.handle_of(found.object) {
            Some(handle) => format!(
                "house {} is hit {:.1} away, after {} cells; {} lie around",
                handle.index(),
                found.t,
                found.walked,
                found.selected
            ),
            None => "no house is hit".to_owned(),
        }
    }
}

impl Demo for Picking {
    type Options = Options;
    const NAME: &'static str = "picking";
    const ABOUT: &'static str =
        "Picking by the mouse: a ray, and a sphere around what it hits, into a table that is built once";

    fn new(gpu: &Gpu, options: &Options) -> Result<Self> {
        let mut objects = ObjectSet::new();
        for house in town(options.objects, options.seed) {
            objects.insert_static(house);
        }
        let reach = 0.5 * SPACING * (options.objects as f32).sqrt() + SPACING;
        let descriptor = BroadPhaseDescriptor {
            label: Some("picking"),
            pairs: false,
            outputs: OutputOptions {
                ray_mode: RayMode::Closest,
                ray_cells: true,
                capacities: Capacities {
                    ray_cells: Some(RAY_CELLS),
                    results: Some(options.objects),
                    ..Capacities::default()
                },
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let module = gpu.solid_shader(Self::NAME, include_str!("picking.wgsl"));
        let solid = DrawState {
            cull_mode: Some(wgpu::Face::Back),
            ..DrawState::default()
        };
        let lines = DrawState {
            topology: wgpu::PrimitiveTopology::LineList,
            blend: Some(wgpu::BlendState::ALPHA_BLENDING),
            ..DrawState::default()
        };
        let strips = DrawState::default();
        let buffer = |label, words: usize, usages| gpu.buffer(label, &vec![0u32; words], usages);
        Ok(Self {
            objects,
            radius: options.radius,
            reach,
            camera: Orbit {
                center: Vec3::new(0.0, 0.03 * reach, 0.0),
                distance: 1.15 * reach,
                yaw: 0.5,
                pitch: 0.12,
                field_of_view: 0.7,
            },
            held: None,
            broad_phase: GpuBroadPhase::new(&gpu.device, &gpu.queue, &descriptor)?,
            debug_draw: DebugDraw::new(&descriptor, None),
            dispatch: DispatchArgs::new(None),
            boxes: None,
            params: gpu.uniform::<Params>("params", &bytemuck::Zeroable::zeroed()),
            found: buffer("found", size_of::<Found>() / 4, wgpu::BufferUsages::COPY_DST),
            sphere: buffer("sphere", size_of::<Query>() / 4, wgpu::BufferUsages::empty()),
            cut_ray: buffer("cut ray", size_of::<Ray>() / 4, wgpu::BufferUsages::empty()),
            marks: buffer("marks", options.objects as usize, wgpu::BufferUsages::COPY_DST),
            ask_around: gpu.compute_pipeline(&module, "ask_around"),
            mark: gpu.compute_pipeline(&module, "mark"),
            draw_box: gpu.draw_pipeline(&module, "box", &[], solid),
            draw_ground: gpu.draw_pipeline(&module, "ground", &[], strips),
            draw_line: gpu.draw_pipeline(&module, "line", &[DebugDraw::VERTICES], lines),
            draw_ray: gpu.draw_pipeline(&module, "ray", &[], strips),
            draw_sphere: gpu.draw_pipeline(&module, "sphere", &[], strips),
            watch: FrameReadback::new("picks"),
        })
    }

    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()> {
        self.camera.update(&frame.input);
        let (size, pointer) = (frame.size(), frame.input.pointer);
        if frame.input.clicked {
            let camera = self.camera;
            self.held = match self.held {
                Some(_) => None,
                None => pointer.map(|pixel| Held { pixel, camera }),
            };
        }
        // A ray with a negative `t_max` hits nothing.
        let mut ray = Ray::new([0.0; 3], [0.0; 3], -1.0);
        let now = self.camera;
        if let Some(Held { pixel, camera }) = self.held.or(pointer.map(|pixel| Held { pixel, camera: now })) {
            let (origin, direction) = camera.ray(size, pixel);
            ray = Ray::new(origin.into(), direction.into(), f32::INFINITY);
        }
        let params = Params {
            view_projection: self.camera.view_projection(size),
            eye: self.camera.eye(),
            radius: self.radius,
            origin: ray.origin.into(),
            reach: self.reach,
            direction: ray.direction.into(),
            t_max: ray.t_max,
            width: 1.25 * (self.camera.field_of_view / 2.0).tan() / (0.5 * size.y as f32),
            padding: [0; 3],
        };
        gpu.queue.write_buffer(&self.params, 0, bytemuck::bytes_of(&params));
        let [cells, cell_args] = self.pick(gpu, frame.encoder, ray)?;
        self.watch.record(&gpu.device, frame.encoder, &self.found);
        gpu.count_read("picks", size_of::<Found>() as u64);

        let boxes = self.boxes.as_ref().context("a pick was recorded")?;
        let shared = [(0, &self.params), (1, &self.found)];
        let group = |pipeline: &wgpu::RenderPipeline, buffers: &[(u32, &wgpu::Buffer)]| {
            gpu.bind_group_at(&pipeline.get_bind_group_layout(0), buffers)
        };
        let box_group = group(&self.draw_box, &[&shared[..], &[(7, boxes), (8, &self.marks)]].concat());
        let ray_group = group(&self.draw_ray, &shared);
        let sphere_group = group(&self.draw_sphere, &shared);
        let ground_group = group(&self.draw_ground, &shared[..1]);
        let line_group = group(&self.draw_line, &shared[..1]);
        let viewer = self.held.map(|held| {
            let lines = viewer(&held.camera, size);
            (
                gpu.buffer("viewer", &lines, wgpu::BufferUsages::VERTEX),
                lines.len() as u32,
            )
        });
        let mut pass = frame.draw("draw", SOLID_BACKGROUND);
        let mut draw = |pipeline: &wgpu::RenderPipeline, group: &wgpu::BindGroup, vertices, instances| {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..vertices, 0..instances);
        };
        draw(&self.draw_ground, &ground_group, 6, 1);
        draw(&self.draw_box, &box_group, 36, self.objects.len() as u32);
        draw(&self.draw_sphere, &sphere_group, 6, 3 * 64);
        if let Some((lines, count)) = &viewer {
            draw(&self.draw_ray, &ray_group, 6, 1);
            pass.set_pipeline(&self.draw_line);
            pass.set_bind_group(0, &line_group, &[]);
            pass.set_vertex_buffer(0, lines.slice(..));
            pass.draw(0..*count, 0..1);
            pass.set_vertex_buffer(0, cells.slice(..));
            pass.draw_indirect(&cell_args, 0);
        }
        Ok(())
    }

    fn script(frame: u32, frames: u32, size: UVec2) -> Input {
        // The pointer moves, then clicks to hold the ray while the camera turns.
        let hold = frames / 2;
        let share = frame.min(hold) as f32 / hold.max(1) as f32;
        let is_turning = frame > hold;
        let rest = (frames - hold).max(2) as f32 - 1.0;
        Input {
            pointer: Some(size.as_vec2() * Vec2::new(0.1, 0.6).lerp(Vec2::new(0.6, 0.43), share)),
            drag: if is_turning {
                Vec2::new(-158.0, 48.0) / rest
            } else {
                Vec2::ZERO
            },
            scroll: if is_turning { -7.2 / rest } else { 0.0 },
            clicked: frame == hold,
            ..Input::default()
        }
    }

    fn title(&mut self) -> Option<String> {
        Some(format!("{}: {}", Self::NAME, self.picked()))
    }

    fn summary(&mut self, gpu: &Gpu) -> Result<String> {
        gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(format!("{} houses; {}", self.objects.len(), self.picked()))
    }
}

fn main() -> Result<()> {
    gallery::run::<Picking>()
}
