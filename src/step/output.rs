use std::sync::Arc;

use super::table::TableView;
use crate::api::counters::Output;
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::StepError;
use crate::api::output::{PairOutput, QueryOutput, RayOutput};
use crate::gpu::bindings::{Range, RangeRef};
use crate::gpu::buffers::BufferId;
use crate::gpu::device_context::DeviceContext;
use crate::gpu::passes::Variable;
use crate::gpu::recorder::find;
use crate::layout::grid::{self, Params};
use crate::shared::recording::Recording;
use crate::stages::sort::variable::VALUES;
use crate::stages::table::statics::buffer as fixed;
use crate::stages::table::{self, PARAMS, buffer as moving};
use crate::stages::walks::TableOf;

/// The outputs of a step: buffers with the usages `STORAGE` and `COPY_SRC` for your next pass.
///
/// The next step may overwrite or replace these buffers. Content past the documented rows is reserved. Clones share the
/// buffers and keep their memory alive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepOutput {
    /// Counter words: see [`Counters`](crate::Counters).
    pub counters: wgpu::Buffer,
    /// Pairs, if the descriptor [requests](crate::BroadPhaseDescriptor::pairs) them.
    pub pairs: Option<PairOutput>,
    /// Results of rays.
    pub rays: RayOutput,
    /// Results of queries.
    pub queries: QueryOutput,
    /// Cell table of the moving objects.
    pub table: Table,
    /// Cell table of the static objects, if any.
    pub static_table: Option<Table>,
    pub(crate) view: Arc<TableView>,
    pub(crate) recording: Recording,
}

/// The cell table of a step, for a [`TableShader`](crate::TableShader) or your own passes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// Index of each cell's first entry, `u32`.
    pub starts: wgpu::Buffer,
    /// Boxes as ordered integers ([`grid::Record`]) in entry order, or with [`Scheme::Uniform`](crate::Scheme::Uniform)
    /// in object order. Data after the records is reserved.
    pub records: wgpu::Buffer,
    /// Levels: see [`grid::Grid`].
    pub grid: wgpu::Buffer,
    /// Sorted entries, `u32`. The low 29 bits are the object's index, counted from the table's first object. Bits 29,
    /// 30 and 31 are set if, along x, y and z, the entry's cell contains the object's lower corner. `None` for static
    /// objects, except with the uniform scheme.
    ///
    /// With [`Scheme::Hierarchical`](crate::Scheme::Hierarchical), entries of the large-object table
    /// ([`grid::Grid::large_table`]) follow those of the objects.
    pub entries: Option<wgpu::Buffer>,
    pub(crate) kind: TableKind,
    pub(crate) params: Params,
    pub(crate) block: Range,
    pub(crate) objects: Range,
    pub(crate) context: Arc<DeviceContext>,
    /// Recording that wrote the data read by walks.
    pub(crate) recording: Recording,
}

impl StepOutput {
    /// Index of the first row in the buffer of `output`, and its capacity.
    pub(crate) fn shown(&self, output: Output) -> Result<(u32, u32), StepError> {
        let lists = match output {
            Output::Pairs => {
                let pairs = self.pairs.as_ref().map(|pairs| (pairs.first, pairs.capacity));
                return pairs.ok_or(StepError::NoOutput { output });
            }
            Output::RayHits => &self.rays.hits,
            Output::RayCells => &self.rays.cells,
            Output::QueryObjects => &self.queries.objects,
        };
        let lists = lists.as_ref().ok_or(StepError::NoOutput { output })?;
        Ok((lists.first, lists.capacity))
    }
}

impl Table {
    pub(crate) fn parts(&self) -> [(Variable, RangeRef<'_>); 6] {
        [
            (PARAMS, self.block.borrowed()),
            (table::buffer::GRID.into(), (&self.grid).into()),
            (table::buffer::RECORDS.into(), (&self.records).into()),
            (table::buffer::STARTS.into(), (&self.starts).into()),
            (table::buffer::OBJECTS.into(), self.objects.borrowed()),
            // Schemes that do not read `values` may bind any buffer.
            (VALUES, self.entries.as_ref().unwrap_or(&self.records).into()),
        ]
    }
}

impl TableView {
    /// `None` if there are no static objects.
    pub fn output(&self, of: TableOf, block: Option<Range>) -> Option<Table> {
        let plan = match of {
            TableOf::Moving => &self.table,
            TableOf::Static => self.statics.as_ref()?,
        };
        let (ids, has_entries) = match of {
            TableOf::Moving => (
                [
                    moving::GRID,
                    moving::RECORDS,
                    moving::STARTS,
                    self.table.sorted().values,
                ],
                true,
            ),
            // Except in the uniform scheme, static records are in entry order and need no entries.
            TableOf::Static => (
                [fixed::GRID, fixed::RECORDS, fixed::STARTS, fixed::VALUES],
                plan.params.is_uniform(),
            ),
        };
        let part = |id: BufferId| find(&self.inputs, &[], id.name);
        let [grid, records, starts, values] = ids;
        let [grid, records, starts] = [part(grid)?, part(records)?, part(starts)?];
        Some(Table {
            starts: starts.buffer.clone(),
            records: records.buffer.clone(),
            grid: grid.buffer.clone(),
            entries: part(values).filter(|_| has_entries).map(|range| range.buffer.clone()),
            kind: table_kind(&self.descriptor),
            params: plan.params,
            block: block?,
            objects: part(moving::OBJECTS)?.into(),
            context: Arc::clone(&self.context),
            recording: self.recording.clone(),
        })
    }
}

/// Scheme number and filter setting, in which a table and its WGSL must agree.
pub(crate) type TableKind = (u32, bool);

pub(crate) const fn table_kind(descriptor: &BroadPhaseDescriptor<'_>) -> TableKind {
    (grid::scheme_number(descriptor.scheme), descriptor.filters)
}
