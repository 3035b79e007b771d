//! Runs the broad phase and prepares its outputs for drawing.

use gpu_broad_phase::{
    BroadPhaseDescriptor, Counters, DebugDraw, DebugLines, DispatchArgs, GpuBroadPhase, Output, OutputOptions,
    QueryInput, Ray, RayMode, Scene, Source, StageTime,
};

use crate::failure::Failure;
use crate::frame_readback::FrameReadback;
use crate::gpu::Gpu;
use crate::params::{Found, shader};
use crate::settings::Settings;
use crate::swarm::Swarm;

/// Capacity for cell lines. A cell has twelve.
const MOST_LINES: u32 = 600_000;
const MOST_RAY_LINES: u32 = 60_000;
const CELL_ALPHA: u8 = 52;
const RAY_CELL_ALPHA: u8 = 70;

pub struct Finder {
    /// `None` while it is being read.
    pub broad_phase: Option<GpuBroadPhase>,
    dispatch: DispatchArgs,
    cells: DebugDraw,
    ray_cells: DebugDraw,
    count_overlaps: wgpu::ComputePipeline,
    gather_hits: wgpu::ComputePipeline,
    overlaps: wgpu::Buffer,
    found: wgpu::Buffer,
    hit_args: wgpu::Buffer,
    watch: FrameReadback<Found>,
}

pub struct ToDraw {
    pub overlaps: wgpu::Buffer,
    pub found: wgpu::Buffer,
    pub hits: wgpu::Buffer,
    pub hit_args: wgpu::Buffer,
    pub cells: Option<Lines>,
    pub ray_cells: Option<Lines>,
    pub hit_capacity: u32,
}

pub struct Lines {
    pub vertices: wgpu::Buffer,
    pub args: wgpu::Buffer,
}

/// Same for the GPU and the CPU engine.
pub fn descriptor(settings: &Settings) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        label: Some("web"),
        dimensions: settings.dimensions,
        scheme: settings.scheme(),
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ray_cells: true,
            timestamps: true,
            ..Default::default()
        },
        filters: false,
        ..BroadPhaseDescriptor::default()
    }
}

impl Finder {
    pub fn new(gpu: &Gpu, settings: &Settings) -> Result<Self, Failure> {
        let descriptor = descriptor(settings);
        let module = gpu.shader("found", shader!("found.wgsl"));
        let buffer = |label, bytes, more| gpu.empty(label, bytes, more);
        Ok(Self {
            broad_phase: Some(GpuBroadPhase::new(&gpu.device, &gpu.queue, &descriptor)?),
            dispatch: DispatchArgs::new(None),
            cells: DebugDraw::new(&descriptor, Some("web/cells")),
            ray_cells: DebugDraw::new(&descriptor, Some("web/ray_cells")),
            count_overlaps: gpu.compute_pipeline(&module, "count_overlaps"),
            gather_hits: gpu.compute_pipeline(&module, "gather_hits"),
            overlaps: buffer("overlaps", 4 * u64::from(settings.boxes), wgpu::BufferUsages::empty()),
            found: buffer("found", size_of::<Found>() as u64, wgpu::BufferUsages::empty()),
            hit_args: buffer("hit args", 16, wgpu::BufferUsages::INDIRECT),
            watch: FrameReadback::new("found"),
        })
    }

    /// Returns `None` during a read-back of the broad phase. After an error, drop the encoder.
    pub fn record(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        params: &wgpu::Buffer,
        swarm: &Swarm,
        ray: Ray,
        settings: &Settings,
    ) -> Result<Option<ToDraw>, Failure> {
        let Some(broad_phase) = &mut self.broad_phase else {
            return Ok(None);
        };
        let device = &gpu.device;
        let rays = [ray];
        let input = Scene {
            objects: Source::device(&swarm.boxes, swarm.count),
            query: QueryInput {
                rays: Source::Host(&rays).into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let step = broad_phase.step(encoder, input)?;
        let (Some(pairs), Some(hits)) = (&step.pairs, &step.rays.hits) else {
            unreachable!("the descriptor asks for pairs and all hits");
        };
        let rows = self.dispatch.record(encoder, &step, Output::Pairs, 64)?;
        let cells = match settings.cells {
            true => {
                let levels = settings.level.map_or(!0, |level| 1 << level);
                let (lines, color) = (DebugLines::Cells { levels }, [0, 0, 0, CELL_ALPHA]);
                let lines = self.cells.record(encoder, &step, lines, color, MOST_LINES)?;
                Some(Lines {
                    vertices: lines.vertices.clone(),
                    args: lines.args.clone(),
                })
            }
            false => None,
        };
        let ray_cells = match settings.ray {
            true => {
                let color = [0, 0, 0, RAY_CELL_ALPHA];
                let lines = DebugLines::RayCells;
                let lines = self.ray_cells.record(encoder, &step, lines, color, MOST_RAY_LINES)?;
                Some(Lines {
                    vertices: lines.vertices.clone(),
                    args: lines.args.clone(),
                })
            }
            false => None,
        };
        let of_pairs = gpu.bind_group(
            &self.count_overlaps.get_bind_group_layout(0),
            &[(1, &pairs.buffer), (2, &rows), (3, &self.overlaps)],
        );
        let of_hits = gpu.bind_group(
            &self.gather_hits.get_bind_group_layout(0),
            &[
                (0, params),
                (4, &hits.buffer),
                (5, &hits.offsets),
                (6, &self.found),
                (7, &self.hit_args),
            ],
        );
        encoder.clear_buffer(&self.overlaps, 0, None);
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("found"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&self.count_overlaps);
            pass.set_bind_group(0, &of_pairs, &[]);
            pass.dispatch_workgroups_indirect(&rows, 0);
            pass.set_pipeline(&self.gather_hits);
            pass.set_bind_group(0, &of_hits, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        let to_draw = ToDraw {
            overlaps: self.overlaps.clone(),
            found: self.found.clone(),
            hits: hits.buffer.clone(),
            hit_args: self.hit_args.clone(),
            cells,
            ray_cells,
            hit_capacity: hits.capacity,
        };
        self.watch.record(device, encoder, &self.found);
        Ok(Some(to_draw))
    }

    pub fn counters(&mut self) -> Option<Counters> {
        self.broad_phase.as_mut().and_then(GpuBroadPhase::counters)
    }

    pub fn timings(&mut self) -> Vec<StageTime> {
        let broad_phase = self.broad_phase.as_mut();
        broad_phase.map_or_else(Vec::new, |broad_phase| broad_phase.timings())
    }

    pub fn found(&mut self) -> Option<Found> {
        self.watch.latest()
    }

    pub fn memory(&self) -> Option<u64> {
        self.broad_phase
            .as_ref()
            .map(|broad_phase| broad_phase.memory().total())
    }
}
