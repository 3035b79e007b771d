//! What comes out of a step: buffers that the caller's next pass binds.

use std::sync::Arc;

use super::recorded::QuerySource;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::output::{PairOutput, QueryOutput, RayOutput};
use crate::gpu::bindings::{Range, RangeRef};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::recorder::{PARAMS, Variable};
use crate::layout::grid::{self, Params};
use crate::shared::submission::Dependency;
use crate::stages::sort::variable::VALUES;
use crate::stages::table;

/// The outputs of a step: buffers with the usages `STORAGE` and `COPY_SRC` that the caller's next pass can bind.
///
/// The next step may write into them or replace them. What lies behind the rows that are named here is the library's
/// own. These are handles: a clone copies no buffer, and one that is kept keeps the memory of its buffers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepOutput {
    /// The counter words: see [`Counters`](crate::Counters).
    pub counters: wgpu::Buffer,
    /// The pairs, where the descriptor [wants](crate::BroadPhaseDescriptor::pairs) them.
    pub pairs: Option<PairOutput>,
    /// What was found for rays.
    pub rays: RayOutput,
    /// What was found for queries.
    pub queries: QueryOutput,
    /// The cell table of the objects, of those that move where there are static ones.
    pub table: Table,
    /// The cell table of the static objects, where there are any.
    pub static_table: Option<Table>,
    /// Table, descriptor and pipelines, for query sets.
    pub(crate) query_source: Arc<QuerySource>,
    /// What writes the pairs.
    pub(crate) pairs_written: Option<Dependency>,
    /// What writes the counters and the answers to rays and queries.
    pub(crate) answers_written: Dependency,
}

/// The cell table of a step: its buffers, and what a [`TableShader`](crate::TableShader) binds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// The first entry of each cell, `u32`.
    pub starts: wgpu::Buffer,
    /// The boxes as ordered integers, see [`grid::Record`]. With schemes of one entry per object they come in the order
    /// of the entries, with [`Scheme::Uniform`](crate::Scheme::Uniform) in that of the objects. What lies behind them,
    /// boxes around eight records each, is the library's own.
    pub records: wgpu::Buffer,
    /// The levels: see [`grid::Grid`].
    pub grid: wgpu::Buffer,
    /// The sorted entries, `u32`: the object of each in the low 29 bits, counted from the first that is not static.
    /// Bits 29, 30 and 31 are set where the cell is that of the object's lower corner along x, y and z. With
    /// [`Scheme::Hierarchical`](crate::Scheme::Hierarchical) those of larger objects in the cover table
    /// ([`grid::Grid::cover`]) come behind one per object. `None` for static objects, unless the scheme is uniform.
    pub entries: Option<wgpu::Buffer>,
    /// Of the descriptor that made it.
    pub(crate) kind: TableKind,
    /// What the block of its walks says.
    pub(crate) params: Params,
    /// Where that block lies.
    pub(crate) block: Range,
    /// The objects, as the passes read them.
    pub(crate) objects: Range,
    /// Where all of it lies.
    pub(crate) context: Arc<DeviceContext>,
    /// What walks of it read.
    pub(crate) dependencies: Vec<Dependency>,
}

impl Table {
    /// What passes and callers' shaders bind of it: each variable of `shaders/table_shader/walk.wgsl`, and where it
    /// lies.
    pub(crate) fn parts(&self) -> [(Variable, RangeRef<'_>); 6] {
        [
            (PARAMS, self.block.borrowed()),
            (table::buffer::GRID.into(), (&self.grid).into()),
            (table::buffer::RECORDS.into(), (&self.records).into()),
            (table::buffer::STARTS.into(), (&self.starts).into()),
            (table::buffer::OBJECTS.into(), self.objects.borrowed()),
            // Not every scheme's walks read them: any buffer will do then.
            (VALUES, self.entries.as_ref().unwrap_or(&self.records).into()),
        ]
    }
}

/// What a table and the text that walks it have to agree on: the number of the scheme, and whether filters count.
pub(crate) type TableKind = (u32, bool);

/// Kind of the tables that a descriptor makes.
pub(crate) const fn table_kind(descriptor: &BroadPhaseDescriptor<'_>) -> TableKind {
    (grid::scheme_number(descriptor.scheme), descriptor.filters)
}
