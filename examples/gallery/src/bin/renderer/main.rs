//! For renderers: boxes that stay on the GPU. One submission per frame moves them, finds overlaps and the box under the
//! pointer, and draws. The host reads only the pick and the counters, a frame or two later.
//!
//! ```sh
//! cargo run --release -p gallery --bin renderer -- [--boxes N] [--levels 0,1] [--output DIR --animation]
//! ```
//!
//! In a window, drags turn the camera, the wheel zooms, digits toggle the cells of a level, and `c` toggles all.

#[cfg(test)]
mod tests;

use anyhow::{Context, Result};
use gallery::{Demo, DrawState, Frame, FrameReadback, Gpu, Input, Orbit, Random, SOLID_BACKGROUND};
use glam::{Mat4, UVec2, Vec2, Vec3};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DebugDraw, DebugLines, DispatchArgs, GpuBroadPhase, LineVertex, NONE, Output,
    OutputOptions, QueryInput, Ray, RayHit, RayMode, Scene, Source,
};

/// Capacity for cell lines. A cell has twelve.
const MAX_LINES: u32 = 200_000;
const CELL_ALPHA: u8 = 80;

#[derive(clap::Args)]
struct Options {
    /// Number of boxes.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    boxes: u32,
    /// Levels whose cells are drawn. Level 0 is the finest.
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(0..32))]
    levels: Vec<u32>,
    /// Draws no cells.
    #[arg(long)]
    no_cells: bool,
    /// Seed of the start positions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    view_projection: Mat4,
    eye: Vec3,
    time_step: f32,
    reach: f32,
    count: u32,
    padding: [u32; 2],
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Body {
    center: Vec3,
    padding: u32,
    half_extents: Vec3,
    more_padding: u32,
    velocity: Vec3,
    last_padding: u32,
}

struct Renderer {
    count: u32,
    reach: f32,
    camera: Orbit,
    broad_phase: GpuBroadPhase,
    dispatch: DispatchArgs,
    debug_draw: DebugDraw,
    /// Bit mask of drawn levels.
    levels: u32,
    shows_cells: bool,
    params: wgpu::Buffer,
    bodies: wgpu::Buffer,
    boxes: wgpu::Buffer,
    overlaps: wgpu::Buffer,
    edges: wgpu::Buffer,
    advance: wgpu::ComputePipeline,
    count_overlaps: wgpu::ComputePipeline,
    draw_box: wgpu::RenderPipeline,
    draw_outline: wgpu::RenderPipeline,
    draw_line: wgpu::RenderPipeline,
    pick: FrameReadback<RayHit>,
    /// Number of frames whose outputs overflowed.
    short: u32,
}

impl Renderer {
    fn advance(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        let group = gpu.bind_group(
            &self.advance.get_bind_group_layout(0),
            &[&self.params, &self.bodies, &self.boxes],
        );
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("advance"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&self.advance);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(self.count.div_ceil(64), 1, 1);
    }

    fn picked(&mut self) -> String {
        match self.pick.latest() {
            Some(RayHit { object, t }) if object != NONE => format!("box {object}, {t:.1} away"),
            _ => "no box".to_owned(),
        }
    }
}

/// Without a pointer, `t_max` is negative, so the ray hits nothing.
fn pointer_ray(camera: &Orbit, size: UVec2, pointer: Option<Vec2>) -> Ray {
    match pointer {
        Some(pixel) => {
            let (origin, direction) = camera.ray(size, pixel);
            Ray::new(origin.into(), direction.into(), f32::INFINITY)
        }
        None => Ray::new([0.0; 3], [0.0; 3], -1.0),
    }
}

fn body(random: &mut Random, reach: f32) -> Body {
    let mut around = |spread: f32| {
        // Approximately normally distributed.
        let mut axis = || spread * (0..3).map(|_| random.between(-1.0, 1.0)).sum::<f32>();
        Vec3::new(axis(), axis(), axis())
    };
    let (center, velocity) = (around(0.42 * reach), around(0.32 * reach));
    let size = 0.2 * random.unit().max(0.003).powf(-0.4);
    let half_extents = Vec3::from_array([0; 3].map(|_| size * random.between(0.7, 1.3)));
    Body {
        center,
        padding: 0,
        half_extents,
        more_padding: 0,
        velocity,
        last_padding: 0,
    }
}

fn cube_edges(reach: f32) -> Vec<LineVertex> {
    let corner = |bits: u32| [0, 1, 2].map(|axis| if bits >> axis & 1 == 1 { reach } else { -reach });
    let edges = (0..8).flat_map(|from| [1, 2, 4].map(|axis| (from, from | axis)));
    edges
        .filter(|(from, to)| from != to)
        .flat_map(|(from, to)| [from, to])
        .map(|bits| LineVertex {
            position: corner(bits),
            color: u32::from_le_bytes([150, 170, 200, 110]),
        })
        .collect()
}

impl Demo for Renderer {
    type Options = Options;
    const NAME: &'static str = "renderer";
    const ABOUT: &'static str = "Boxes coloured by their overlaps and picked by the pointer, without leaving the GPU";

    fn new(gpu: &Gpu, options: &Options) -> Result<Self> {
        let reach = 0.75 * (options.boxes as f32).cbrt().max(4.0);
        let mut random = Random::new(options.seed);
        let bodies: Vec<_> = (0..options.boxes).map(|_| body(&mut random, reach)).collect();
        let descriptor = BroadPhaseDescriptor {
            label: Some("renderer"),
            outputs: OutputOptions {
                ray_mode: RayMode::Closest,
                ..Default::default()
            },
            filters: false,
            ..BroadPhaseDescriptor::default()
        };
        let module = gpu.solid_shader(Self::NAME, include_str!("renderer.wgsl"));
        let inside_out = DrawState {
            cull_mode: Some(wgpu::Face::Front),
            ..DrawState::default()
        };
        let outside = DrawState {
            cull_mode: Some(wgpu::Face::Back),
            ..DrawState::default()
        };
        let lines = DrawState {
            topology: wgpu::PrimitiveTopology::LineList,
            blend: Some(wgpu::BlendState::ALPHA_BLENDING),
            ..DrawState::default()
        };
        Ok(Self {
            count: options.boxes,
            reach,
            camera: Orbit {
                center: Vec3::new(0.0, -0.12 * reach, 0.0),
                distance: 4.75 * reach,
                yaw: 0.6,
                pitch: 0.42,
                field_of_view: 0.64,
            },
            broad_phase: GpuBroadPhase::new(&gpu.device, &gpu.queue, &descriptor)?,
            dispatch: DispatchArgs::new(None),
            debug_draw: DebugDraw::new(&descriptor, None),
            levels: options.levels.iter().fold(0, |levels, level| levels | 1 << level),
            shows_cells: !options.no_cells,
            params: gpu.uniform::<Params>("params", &bytemuck::Zeroable::zeroed()),
            bodies: gpu.buffer("bodies", &bodies, wgpu::BufferUsages::empty()),
            boxes: gpu.buffer(
                "boxes",
                &vec![Aabb::point([0.0; 3]); bodies.len()],
                wgpu::BufferUsages::empty(),
            ),
            overlaps: gpu.buffer("overlaps", &vec![0u32; bodies.len()], wgpu::BufferUsages::COPY_DST),
            edges: gpu.buffer("edges", &cube_edges(reach), wgpu::BufferUsages::VERTEX),
            advance: gpu.compute_pipeline(&module, "advance"),
            count_overlaps: gpu.compute_pipeline(&module, "count_overlaps"),
            draw_box: gpu.draw_pipeline(&module, "box", &[], outside),
            draw_outline: gpu.draw_pipeline(&module, "outline", &[], inside_out),
            draw_line: gpu.draw_pipeline(&module, "line", &[DebugDraw::VERTICES], lines),
            pick: FrameReadback::new("picks"),
            short: 0,
        })
    }

    fn frame(&mut self, gpu: &Gpu, frame: &mut Frame<'_>) -> Result<()> {
        self.camera.update(&frame.input);
        for typed in frame.input.typed.chars() {
            match typed.to_digit(10) {
                Some(level) => self.levels ^= 1 << level,
                None => self.shows_cells ^= typed == 'c',
            }
        }
        let params = Params {
            view_projection: self.camera.view_projection(frame.size()),
            eye: self.camera.eye(),
            time_step: frame.time_step,
            reach: self.reach,
            count: self.count,
            padding: [0; 2],
        };
        gpu.queue.write_buffer(&self.params, 0, bytemuck::bytes_of(&params));
        self.advance(gpu, frame.encoder);
        let rays = [pointer_ray(&self.camera, frame.size(), frame.input.pointer)];
        let input = Scene {
            objects: Source::device(&self.boxes, self.count),
            query: QueryInput {
                rays: Source::Host(&rays).into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let step = self.broad_phase.step(frame.encoder, input)?;
        let hits = step.rays.closest.as_ref().context("the closest hit is asked for")?;
        let pairs = step.pairs.as_ref().context("pairs are asked for")?;
        let rows = self.dispatch.record(frame.encoder, &step, Output::Pairs, 64)?;
        let count_group = gpu.bind_group_at(
            &self.count_overlaps.get_bind_group_layout(0),
            &[(3, &pairs.buffer), (4, &rows), (5, &self.overlaps)],
        );
        frame.encoder.clear_buffer(&self.overlaps, 0, None);
        {
            let mut pass = frame.encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("count overlaps"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&self.count_overlaps);
            pass.set_bind_group(0, &count_group, &[]);
            pass.dispatch_workgroups_indirect(&rows, 0);
        }
        self.pick.record(&gpu.device, frame.encoder, hits);
        gpu.count_read("picks", size_of::<RayHit>() as u64);
        let shown = if self.shows_cells { self.levels } else { 0 };
        let cells = self.debug_draw.record(
            frame.encoder,
            &step,
            DebugLines::Cells { levels: shown },
            [0, 0, 0, CELL_ALPHA],
            MAX_LINES,
        )?;

        let shared = [(0, &self.params), (6, hits), (7, &self.boxes)];
        let box_group = gpu.bind_group_at(
            &self.draw_box.get_bind_group_layout(0),
            &[&shared[..], &[(8, &self.overlaps)]].concat(),
        );
        let outline_group = gpu.bind_group_at(&self.draw_outline.get_bind_group_layout(0), &shared);
        let line_group = gpu.bind_group_at(&self.draw_line.get_bind_group_layout(0), &shared[..1]);
        {
            let mut pass = frame.draw("draw", SOLID_BACKGROUND);
            pass.set_pipeline(&self.draw_box);
            pass.set_bind_group(0, &box_group, &[]);
            pass.draw(0..36, 0..self.count);
            pass.set_pipeline(&self.draw_outline);
            pass.set_bind_group(0, &outline_group, &[]);
            pass.draw(0..36, 0..1);
            pass.set_pipeline(&self.draw_line);
            pass.set_bind_group(0, &line_group, &[]);
            pass.set_vertex_buffer(0, self.edges.slice(..));
            pass.draw(0..24, 0..1);
            pass.set_vertex_buffer(0, cells.vertices.slice(..));
            pass.draw_indirect(&cells.args, 0);
        }
        Ok(())
    }

    fn submitted(&mut self, _: &Gpu) -> Result<()> {
        let counters = self.broad_phase.counters();
        self.short += u32::from(counters.is_some_and(|counters| !counters.is_complete()));
        Ok(())
    }

    fn script(frame: u32, frames: u32, size: UVec2) -> Input {
        let share = (frame + 1) as f32 / frames as f32;
        Input {
            pointer: Some(size.as_vec2() * Vec2::new(0.3, 0.62).lerp(Vec2::new(0.61, 0.32), share)),
            drag: Vec2::new(0.35, 0.0),
            ..Input::default()
        }
    }

    fn title(&mut self) -> Option<String> {
        Some(format!("{}: {}", Self::NAME, self.picked()))
    }

    fn summary(&mut self, gpu: &Gpu) -> Result<String> {
        gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
        let counters = self.broad_phase.counters().context("no frame was drawn")?;
        let picked = self.picked();
        Ok(format!(
            "{} boxes on {} levels, {} overlapping pairs in the last frame, none read back; something was missing in \
             {} frames\n\
             under the pointer: {picked}",
            self.count, counters.levels, counters.pairs_needed, self.short,
        ))
    }
}

fn main() -> Result<()> {
    gallery::run::<Renderer>()
}
