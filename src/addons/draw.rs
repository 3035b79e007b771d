use crate::addons::component::Component;
use crate::addons::component::variable::STEP_COUNTERS;
use crate::api::counters::Output;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{InputError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::types::LineVertex;
use crate::gpu::bindings::RangeRef;
use crate::gpu::buffers::buffers;
use crate::gpu::passes::{Passes, Variable, WORKGROUP, variables};
use crate::gpu::preparation::Preparation;
use crate::gpu::recorder::Input;
use crate::gpu::scope::Scopes;
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{BOX_VERTICES, DrawParams};
use crate::layout::grid;
use crate::shared::bounds::binding_limit;
use crate::stages::table::{PARAMS, statics};
use crate::stages::{pairs, rays};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::{StepOutput, Table};

/// Kinds of lines for [`DebugDraw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DebugLines {
    /// Boxes of all objects, including the margin. Infinite boxes are skipped.
    Boxes,
    /// Cells that contain the lower corner of a moving object or, with [`Scheme::Uniform`](crate::Scheme::Uniform), any
    /// part of one. One colour per level.
    Cells {
        /// Bit mask of the levels to draw. Bit 0 is the finest level.
        levels: u32,
    },
    /// Like [`Cells`](DebugLines::Cells), for static objects.
    StaticCells {
        /// Bit mask of the levels to draw. Bit 0 is the finest level.
        levels: u32,
    },
    /// A line between the box centres of each pair.
    Pairs,
    /// Cells visited by rays ([`RayOutput::cells`](crate::RayOutput::cells)), one colour per level.
    RayCells,
}

/// Draws a step's boxes, cells, pairs or ray cells as lines:
///
/// ```no_run
/// # use gpu_broad_phase::{DebugDraw, DebugLines, GpuBroadPhase, Scene, wgpu};
/// # fn frame(
/// #     encoder: &mut wgpu::CommandEncoder, broad_phase: &mut GpuBroadPhase,
/// #     input: Scene<'_>, pass: impl Fn(&mut wgpu::CommandEncoder) -> wgpu::RenderPass<'_>,
/// #     line_pipeline: &wgpu::RenderPipeline, cells: &mut DebugDraw,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let step = broad_phase.step(encoder, input)?;
/// let lines = cells.record(encoder, &step, DebugLines::Cells { levels: !0 }, [0, 0, 0, 90], 100_000)?;
/// let mut pass = pass(encoder);
/// // Topology `LineList`, vertices as in `DebugDraw::VERTICES`.
/// pass.set_pipeline(line_pipeline);
/// pass.set_vertex_buffer(0, lines.vertices.slice(..));
/// pass.draw_indirect(&lines.args, 0);
/// # Ok(())
/// # }
/// ```
///
/// Each call overwrites the lines of the one before.
pub struct DebugDraw {
    scheme: u32,
    own: Component,
}

/// Lines on the device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DebugOutput {
    /// [`LineVertex`]es, two per line. Usages: `VERTEX`, `STORAGE`, `COPY_SRC`.
    pub vertices: wgpu::Buffer,
    /// Five `u32`: an indirect draw (vertices, instances, first vertex, first instance), then the number of vertices
    /// that all lines would need. Only pairs and ray cells in the step's output buffers count. Usages: `INDIRECT`,
    /// `STORAGE`, `COPY_SRC`.
    pub args: wgpu::Buffer,
}

passes! {
    "draw" {
    DRAW_BOXES = "draw_boxes";

    DRAW_CELLS = "draw_cells";

    DRAW_PAIRS = "draw_pairs";

    DRAW_RAY_CELLS = "draw_ray_cells";
    }
}

buffers! {
    LINES = "lines": Results as VERTEX;
    ARGS = "draw_args": Fixed as INDIRECT;
}

variables! {
    DRAW = "draw";
}

use variable::*;

struct Source {
    pass: &'static Pass,
    rows: u32,
    first: u32,
    row_vertices: u32,
    /// Maximum number of cells drawn per object; 1 for boxes, pairs and ray cells.
    row_cells: u32,
    levels: u32,
    table: Table,
}

impl DebugDraw {
    /// Vertex layout of [`LineVertex`]: location 0 is the position, `vec3<f32>`; location 1 the colour, `vec4<f32>`,
    /// from 0 to 1.
    pub const VERTICES: wgpu::VertexBufferLayout<'static> = wgpu::VertexBufferLayout {
        array_stride: size_of::<LineVertex>() as u64,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Unorm8x4],
    };

    /// Creates the component for one device and the scheme of `descriptor`. `label` prefixes all labels; the default is
    /// `gpu_broad_phase/debug_draw`.
    pub fn new(descriptor: &BroadPhaseDescriptor<'_>, label: Option<&str>) -> Self {
        let scheme = grid::scheme_number(descriptor.scheme);
        let constants = [("SCHEME", f64::from(scheme))];
        Self {
            scheme,
            own: Component::new(
                label.unwrap_or("gpu_broad_phase/debug_draw"),
                PASSES.iter().copied(),
                &constants,
            ),
        }
    }

    /// Prepares the pipelines: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records at most `max_lines` lines of `step`, 32 bytes each. Boxes and cells are drawn completely or not at all.
    /// If not all fit, the first boxes, pairs or ray cells are drawn. Of occupied cells, an arbitrary part is drawn.
    /// `color` is RGBA; cells use only its alpha.
    ///
    /// # Errors
    /// - [`StepError::NoOutput`]: the step has no such output.
    /// - [`StepError::OtherTable`]: the step has another scheme than this component.
    /// - [`InputError::BufferTooLarge`]: the lines exceed the binding limit.
    /// - [`StepError::Dropped`]: the step's encoder was dropped.
    /// - [`StepError::Device`]: the device refused a buffer; drop the encoder.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        step: &StepOutput,
        lines: DebugLines,
        color: [u8; 4],
        max_lines: u32,
    ) -> Result<DebugOutput, StepError> {
        let source = source(step, lines)?;
        if source.table.kind.0 != self.scheme {
            return Err(StepError::OtherTable);
        }
        // Rounds down to whole rows, such as the 24 vertices of a box.
        let most = (u64::from(max_lines) * 2).min(u64::from(u32::MAX)) as u32;
        let capacity = most / source.row_vertices * source.row_vertices;
        let capacity = capacity.min(
            source
                .rows
                .max(1)
                .saturating_mul(source.row_vertices * source.row_cells),
        );
        let bytes = size_of::<LineVertex>() as u64 * u64::from(capacity);
        let limit = binding_limit(&step.table.context.device().limits());
        if bytes > limit {
            let (what, needed) = ("debug lines", bytes);
            return Err(InputError::BufferTooLarge { what, needed, limit }.into());
        }
        let context = self.own.begin(step, &step.recording)?;
        let device = context.device();
        let scopes = Scopes::begin(device);
        // Old bind groups would keep replaced buffers alive.
        self.own.bindings.clear();
        drop(
            self.own
                .buffers
                .fit(device, [(buffer::LINES, bytes.max(16)), (buffer::ARGS, 20)], &[]),
        );
        let mut blocks = Blocks::new(device);
        let params = blocks.push(&source.table.params);
        let draw = blocks.push(&DrawParams {
            rows: source.rows,
            first: source.first,
            capacity,
            color: u32::from_le_bytes(color),
            levels: source.levels,
        });
        let uniforms = self.own.write(device, encoder, blocks);
        let inputs = inputs(step, &source.table);
        let mut passes = Passes::new(vec![PARAMS.is_block(params)]);
        passes.clear(buffer::ARGS);
        passes.stage("lines", |stage| {
            let groups = source.rows.div_ceil(WORKGROUP).max(1);
            stage.run_groups(source.pass, groups, &[DRAW.is_block(draw)]);
        });
        self.own.record(device, encoder, &passes, &uniforms, &inputs);
        self.own.check_errors(scopes, &context)?;
        Ok(DebugOutput {
            vertices: self.own.buffers.get(buffer::LINES).clone(),
            args: self.own.buffers.get(buffer::ARGS).clone(),
        })
    }

    /// Bytes of device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }

    /// Frees all memory, and the bind group that keeps the last step's outputs alive.
    pub fn trim(&mut self) {
        self.own.clear();
    }
}

fn source(step: &StepOutput, lines: DebugLines) -> Result<Source, StepError> {
    let own = &step.table;
    let cells = |table: &Table, levels| Source {
        pass: &DRAW_CELLS,
        rows: table.params.object_count,
        first: 0,
        row_vertices: BOX_VERTICES,
        row_cells: if table.kind.0 == grid::SCHEME_UNIFORM {
            grid::MAX_COVER
        } else {
            1
        },
        levels,
        table: table.clone(),
    };
    let of = |pass, rows, first, row_vertices| Source {
        pass,
        rows,
        first,
        row_vertices,
        row_cells: 1,
        levels: 0,
        table: own.clone(),
    };
    match lines {
        DebugLines::Boxes => {
            let objects = own.params.static_count + own.params.object_count;
            Ok(of(&DRAW_BOXES, objects, 0, BOX_VERTICES))
        }
        DebugLines::Cells { levels } => Ok(cells(own, levels)),
        DebugLines::StaticCells { levels } => match &step.static_table {
            Some(table) => Ok(cells(table, levels)),
            None => Ok(cells(own, 0)),
        },
        DebugLines::Pairs => {
            let (first, capacity) = step.shown(Output::Pairs)?;
            Ok(of(&DRAW_PAIRS, capacity, first, 2))
        }
        DebugLines::RayCells => {
            let (first, capacity) = step.shown(Output::RayCells)?;
            Ok(of(&DRAW_RAY_CELLS, capacity, first, BOX_VERTICES))
        }
    }
}

fn inputs(step: &StepOutput, table: &Table) -> Vec<Input> {
    let static_grid = &step.static_table.as_ref().unwrap_or(&step.table).grid;
    let whole = [
        (statics::buffer::GRID.into(), Some(static_grid)),
        (STEP_COUNTERS, Some(&step.counters)),
        (
            pairs::buffer::PAIRS.into(),
            step.pairs.as_ref().map(|pairs| &pairs.buffer),
        ),
        (
            rays::buffer::CELLS.into(),
            step.rays.cells.as_ref().map(|cells| &cells.buffer),
        ),
    ];
    let whole = whole
        .into_iter()
        .filter_map(|(variable, buffer): (Variable, _)| Some((variable, RangeRef::from(buffer?))));
    let of_table = table.parts().into_iter().filter(|(variable, _)| *variable != PARAMS);
    of_table
        .chain(whole)
        .map(|(variable, part)| Input {
            variable,
            buffer: part.buffer.clone(),
            offset: part.offset,
            bytes: part
                .size
                .map_or_else(|| part.buffer.size() - part.offset, wgpu::BufferSize::get),
        })
        .collect()
}
