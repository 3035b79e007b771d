//! What comes out of a step.

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::types::Window;
use crate::gpu::bindings::RangeRef;
use crate::gpu::home::Home;
use crate::shared::grid::{self, Params};
use crate::shared::submission::Recording;

/// The outputs of a step: buffers with the usages `STORAGE` and `COPY_SRC` that the caller's next pass can bind. The
/// next step may write into them or replace them. What lies behind the rows that are named here is the library's own.
#[derive(Clone, Copy, Debug)]
pub struct StepOutput<'s> {
    /// Pairs, two `u32` each, `a < b`; the first `min(needed, capacity)` are valid.
    pub pairs: Option<&'s wgpu::Buffer>,
    /// Several worlds: pairs of each, `u32`, modulo 2^32.
    pub world_pairs: Option<&'s wgpu::Buffer>,
    /// The counter words: see [`Counters`](crate::Counters).
    pub counters: &'s wgpu::Buffer,
    /// [`RayMode::All`](crate::RayMode::All): offsets of each ray's hits, one more than rays, `u32`.
    pub ray_offsets: Option<&'s wgpu::Buffer>,
    /// [`RayMode::Closest`](crate::RayMode::Closest) and [`RayMode::All`](crate::RayMode::All): hits, `object` as `u32`
    /// and `t` as `f32` each.
    pub ray_hits: Option<&'s wgpu::Buffer>,
    /// [`RayMode::Any`](crate::RayMode::Any): 1 for each ray that meets anything, else 0, `u32`.
    pub ray_any: Option<&'s wgpu::Buffer>,
    /// [`ray_cells`](crate::BroadPhaseDescriptor::ray_cells): offsets of each ray's cells, one more than rays, `u32`.
    pub ray_cell_offsets: Option<&'s wgpu::Buffer>,
    /// [`ray_cells`](crate::BroadPhaseDescriptor::ray_cells): the cells, see [`RayCell`](crate::RayCell); the first
    /// `min(needed, capacity)` are valid.
    pub ray_cells: Option<&'s wgpu::Buffer>,
    /// [`QueryMode::All`](crate::QueryMode::All): offsets of each query's results, one more than queries, `u32`.
    pub query_offsets: Option<&'s wgpu::Buffer>,
    /// [`QueryMode::All`](crate::QueryMode::All): the objects that queries found, `u32`; the first
    /// `min(needed, capacity)` are valid.
    pub query_objects: Option<&'s wgpu::Buffer>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): see [`Neighbor`](crate::Neighbor), as many a query as are
    /// wanted.
    pub query_nearest: Option<&'s wgpu::Buffer>,
    /// The cell table: the first entry of each cell, `u32`. Where there are static objects, this, the entries, records
    /// and levels are those of the objects that move.
    pub cell_starts: &'s wgpu::Buffer,
    /// The sorted entries, `u32`: the object of each in the low 29 bits, counted from the first that is not static.
    /// Bits 29, 30 and 31 are set where the cell is that of the object's lower corner along x, y and z. With
    /// [`Scheme::Hierarchical`](crate::Scheme::Hierarchical) those of larger objects in the cover table
    /// ([`grid::Grid::cover`](crate::grid::Grid::cover)) come behind one an object.
    pub entries: &'s wgpu::Buffer,
    /// The boxes as ordered integers, see [`grid::Record`](crate::grid::Record): with schemes of one entry an object in
    /// the order of the entries, with [`Scheme::Uniform`](crate::Scheme::Uniform) in that of the objects.
    pub records: &'s wgpu::Buffer,
    /// The levels: see [`grid::Grid`](crate::grid::Grid).
    pub grid: &'s wgpu::Buffer,
    /// Static objects: their cell table.
    pub static_cell_starts: Option<&'s wgpu::Buffer>,
    /// Static objects: their boxes, like [`records`](Self::records).
    pub static_records: Option<&'s wgpu::Buffer>,
    /// Static objects: the levels of their table.
    pub static_grid: Option<&'s wgpu::Buffer>,
    /// What a caller's own shader binds to walk the table: see [`TableShader`](crate::TableShader).
    pub table: Table<'s>,
    /// Static objects: the same of their table.
    pub static_table: Option<Table<'s>>,
    /// From which places on the outputs are shown: 0 but for a [`window`](crate::GpuBroadPhase::window).
    pub window: Window,
    /// Pairs that fit.
    pub pair_capacity: u32,
    /// Hits that fit.
    pub hit_capacity: u32,
    /// Cells of rays that fit.
    pub ray_cell_capacity: u32,
    /// Results of queries that fit.
    pub result_capacity: u32,
}

/// The cell table of a step as a caller's shader binds it: [`StepOutput::table`](crate::StepOutput::table).
#[derive(Clone, Copy, Debug)]
pub struct Table<'s> {
    /// Of the descriptor that made it.
    pub(crate) kind: TableKind,
    /// What the block of its walks says.
    pub(crate) params: Params,
    /// In the order of [`BINDINGS`](crate::beside::table_shader::BINDINGS).
    pub(crate) parts: [RangeRef<'s>; 6],
    /// Where all of it lies.
    pub(crate) home: &'s Home,
    /// What writes the outputs.
    pub(crate) recording: Option<&'s Recording>,
}

/// What a table and the text that walks it have to agree on: the number of the scheme, and whether filters count.
pub(crate) type TableKind = (u32, bool);

/// Kind of the tables that a descriptor makes.
pub(crate) const fn table_kind(descriptor: &BroadPhaseDescriptor<'_>) -> TableKind {
    (grid::scheme_number(descriptor.scheme), descriptor.filters)
}

/// Binding numbers of the text and what passes call what is bound.
pub(crate) const TABLE_BINDINGS: [(u32, &str); 6] = [
    (0, "params"),
    (1, "grid"),
    (2, "records"),
    (3, "starts"),
    (5, "objects"),
    (6, "values"),
];
