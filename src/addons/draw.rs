//! Lines that show what a step found, in a buffer that a renderer draws from.

use crate::addons::component::Component;
use crate::addons::component::variable::STEP_COUNTERS;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::{InputError, StepError};
use crate::api::memory::MemoryUse;
use crate::api::types::LineVertex;
use crate::api::types::OutputRows;
use crate::gpu::bindings::RangeRef;
use crate::gpu::buffers::buffers;
use crate::gpu::preparation::Preparation;
use crate::gpu::recorder::{Input, PARAMS, Variable, WORKGROUP, variables};
use crate::gpu::scope::Scopes;
use crate::gpu::shader::{Pass, passes};
use crate::gpu::upload::Blocks;
use crate::layout::blocks::{BOX_VERTICES, DrawParams};
use crate::layout::grid;
use crate::shared::bounds::binding_limit;
use crate::shared::submission::Dependency;
use crate::stages::table::statics;
use crate::stages::{pairs, rays};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::output::{StepOutput, Table};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DebugLines {
    /// The boxes of all objects, with the margin where the descriptor has one. Infinite ones are left out.
    Boxes,
    /// The cells that objects are entered in, each level in a colour of its own: with the schemes of one entry an
    /// object those of lower corners, with the uniform scheme all that objects cover. Static objects are left out:
    /// their cells are [`StaticCells`](Self::StaticCells).
    Cells {
        /// A bit for each level, the lowest for the finest.
        levels: u32,
    },
    /// Occupied cells of the static objects' table.
    StaticCells {
        /// A bit for each level, the lowest for the finest.
        levels: u32,
    },
    /// From the middle of one box of each pair to the middle of the other.
    Pairs,
    /// The cells that rays visit, [`RayOutput::cells`](crate::RayOutput::cells), each level in a colour of its own.
    RayCells,
}

/// Makes lines of what a step found, to look at while a program runs:
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
/// Nothing is read back: the device counts the lines. One `DebugDraw` holds the lines of its last call.
pub struct DebugDraw {
    /// As the uniform block numbers it.
    scheme: u32,
    own: Component,
}

/// Lines on the device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DebugOutput {
    /// [`LineVertex`], two per line: a buffer with the usages `VERTEX`, `STORAGE` and `COPY_SRC`.
    pub vertices: wgpu::Buffer,
    /// Five `u32`: vertices, instances, first vertex and first instance of an indirect draw, then the vertices that all
    /// boxes, all pairs or visited cells that their output shows, or all occupied cells would have. A buffer with the
    /// usages `INDIRECT`, `STORAGE` and `COPY_SRC`.
    pub args: wgpu::Buffer,
}

passes! {
    "draw" {
    /// Lines of the objects' boxes.
    DRAW_BOXES = "draw_boxes";

    /// Lines of occupied cells.
    DRAW_CELLS = "draw_cells";

    /// Lines between the boxes of pairs.
    DRAW_PAIRS = "draw_pairs";

    /// Lines of the cells that rays visit.
    DRAW_RAY_CELLS = "draw_ray_cells";
    }
}

buffers! {
    /// The ends of lines: [`LineVertex`].
    LINES = "lines": Answers as VERTEX;
    /// An indirect draw, and the vertices of all lines.
    ARGS = "draw_args": Fixed as INDIRECT;
}

variables! {
    DRAW = "draw";
}

use variable::*;

/// What a kind of lines is made of.
struct Source {
    pass: &'static Pass,
    /// Boxes, records, pairs or cells that there may be.
    rows: u32,
    first: u32,
    row_vertices: u32,
    /// Cells that a row may have; 1 for what is no cell.
    row_cells: u32,
    levels: u32,
    /// What the pass reads.
    needs: Vec<Dependency>,
    table: Table,
}

impl DebugDraw {
    /// How render pipelines read [`LineVertex`]: location 0 is `vec3<f32>`, location 1 is `vec4<f32>` between 0 and 1.
    pub const VERTICES: wgpu::VertexBufferLayout<'static> = wgpu::VertexBufferLayout {
        array_stride: size_of::<LineVertex>() as u64,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Unorm8x4],
    };

    /// Lines of the steps of broad phases with this descriptor's scheme, on one device. `label` is put before the
    /// labels of the buffers, the bind groups and the passes, `gpu_broad_phase/debug_draw` where there is none.
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

    /// What makes its pipelines ahead of the first call, for the steps of this broad phase: see [`Preparation`].
    pub fn prepare(&self, broad_phase: &GpuBroadPhase) -> Preparation {
        self.own.prepare(broad_phase)
    }

    /// Records the making of lines behind a step: of at most `max_lines`, whole boxes and cells, 32 bytes each. Where
    /// there are more, the first boxes, pairs and visited cells are drawn, and any of the occupied cells. `color` is
    /// red, green, blue and alpha; of cells alpha alone counts.
    ///
    /// # Errors
    /// [`StepError::NoOutput`] where the step has no such output, [`StepError::OtherTable`] where it is of another
    /// scheme, [`InputError::BufferTooLarge`] for more than a binding of the device holds,
    /// [`StepError::OtherDevice`] on another device than in the first call, [`StepError::Dropped`] where what is drawn
    /// will never be there, or once where the last call was submitted out of order. [`StepError::Device`] where the
    /// device refuses a buffer: the encoder then has to be dropped.
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
        // Whole boxes, and none where there is no room for one.
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
        let context = self.own.begin(step, &source.needs)?;
        let device = context.device();
        let scopes = Scopes::begin(device);
        // One bind group per call costs less than buffers that others gave up and this one would keep alive.
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
        let uniforms = blocks.finish(device, &mut self.own.bindings, &self.own.label);
        let inputs = inputs(step, &source.table);
        let mut recorder = self.own.recorder(device, encoder, &uniforms, params, &inputs);
        recorder.clear(buffer::ARGS);
        recorder.stage("lines", |stage| {
            let groups = source.rows.div_ceil(WORKGROUP).max(1);
            stage.run_groups(source.pass, groups, &[DRAW.is_block(draw)]);
        });
        self.own.end(encoder, scopes, &context, source.needs)?;
        Ok(DebugOutput {
            vertices: self.own.buffers.get(buffer::LINES).clone(),
            args: self.own.buffers.get(buffer::ARGS).clone(),
        })
    }

    /// Bytes of the buffers on the device, and what they are for.
    pub fn memory(&self) -> MemoryUse {
        self.own.buffers.memory()
    }

    /// Gives all memory back, that of the last step's outputs among it, which its bind group keeps alive otherwise.
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
        needs: table.dependencies.clone(),
        table: table.clone(),
    };
    let of = |pass, rows, first, row_vertices, written: Option<&Dependency>| Source {
        needs: own.dependencies.iter().chain(written).cloned().collect(),
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
            Ok(of(&DRAW_BOXES, objects, 0, BOX_VERTICES, None))
        }
        DebugLines::Cells { levels } => Ok(cells(own, levels)),
        DebugLines::StaticCells { levels } => match &step.static_table {
            Some(table) => Ok(cells(table, levels)),
            None => Ok(cells(own, 0)),
        },
        DebugLines::Pairs => {
            let rows = OutputRows::Pairs;
            let pairs = step.pairs.as_ref().ok_or(StepError::NoOutput { rows })?;
            let written = step.pairs_written.as_ref();
            Ok(of(&DRAW_PAIRS, pairs.capacity, pairs.first, 2, written))
        }
        DebugLines::RayCells => {
            let rows = OutputRows::RayCells;
            let cells = step.rays.cells.as_ref().ok_or(StepError::NoOutput { rows })?;
            let written = Some(&step.answers_written);
            Ok(of(&DRAW_RAY_CELLS, cells.capacity, cells.first, BOX_VERTICES, written))
        }
    }
}

/// What the passes read.
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
    // The recorder has the block.
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
