//! What comes out of a step: buffers that the caller's next pass binds.

use crate::api::descriptor::BroadPhaseDescriptor;
use crate::gpu::bindings::RangeRef;
use crate::gpu::home::Home;
use crate::shared::grid::{self, Params};
use crate::shared::submission::Recording;

/// The outputs of a step: buffers with the usages `STORAGE` and `COPY_SRC` that the caller's next pass can bind.
///
/// The next step may write into them or replace them. What lies behind the rows that are named here is the library's
/// own.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StepOutput<'s> {
    /// The counter words: see [`Counters`](crate::Counters).
    pub counters: &'s wgpu::Buffer,
    /// The pairs, where the descriptor [wants](crate::BroadPhaseDescriptor::pairs) them.
    pub pairs: Option<PairOutput<'s>>,
    /// What was found for rays.
    pub rays: RayOutput<'s>,
    /// What was found for queries.
    pub queries: QueryOutput<'s>,
    /// The cell table of the objects, of those that move where there are static ones.
    pub table: Table<'s>,
    /// The cell table of the static objects, where there are any.
    pub static_table: Option<Table<'s>>,
}

/// The pairs of a step on the device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PairOutput<'s> {
    /// [`Pair`](crate::Pair), two `u32` each, `a < b`. The first `min(needed - first, capacity)` are valid, where
    /// `needed` is [`Counters::pairs_needed`](crate::Counters::pairs_needed).
    pub buffer: &'s wgpu::Buffer,
    /// Pairs that fit.
    pub capacity: u32,
    /// The place of the first pair among all pairs: 0 but for a [`window`](crate::GpuBroadPhase::window).
    pub first: u32,
    /// Several worlds: the number of pairs of each, `u32`, modulo 2^32.
    pub per_world: Option<&'s wgpu::Buffer>,
}

/// A list for each ray or query, all lists in one buffer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Lists<'s> {
    /// The rows of all lists, one list behind the other. The first `min(needed - first, capacity)` are valid, where
    /// `needed` is the last offset.
    pub buffer: &'s wgpu::Buffer,
    /// `u32`, one more than lists: list `i` has the rows `offsets[i]..offsets[i + 1]`, counted from the first row of
    /// all.
    pub offsets: &'s wgpu::Buffer,
    /// Rows that fit.
    pub capacity: u32,
    /// The place of the first row that the buffer holds: 0 but for a [`window`](crate::GpuBroadPhase::window).
    pub first: u32,
}

/// What a step found for rays, on the device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RayOutput<'s> {
    /// [`RayMode::Closest`](crate::RayMode::Closest): [`RayHit`](crate::RayHit), one per ray.
    pub closest: Option<&'s wgpu::Buffer>,
    /// [`RayMode::Any`](crate::RayMode::Any): 1 for each ray that meets anything, else 0, `u32`.
    pub any: Option<&'s wgpu::Buffer>,
    /// [`RayMode::All`](crate::RayMode::All): [`RayHit`](crate::RayHit), a list per ray.
    pub hits: Option<Lists<'s>>,
    /// [`ray_cells`](crate::BroadPhaseDescriptor::ray_cells): [`RayCell`](crate::RayCell), a list per ray.
    pub cells: Option<Lists<'s>>,
}

/// What a step found for queries, on the device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QueryOutput<'s> {
    /// [`QueryMode::All`](crate::QueryMode::All): objects, `u32`, a list per query.
    pub objects: Option<Lists<'s>>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): [`Neighbor`](crate::Neighbor), as many per query as are
    /// wanted.
    pub nearest: Option<&'s wgpu::Buffer>,
}

/// The cell table of a step: its buffers, and what a [`TableShader`](crate::TableShader) binds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Table<'s> {
    /// The first entry of each cell, `u32`.
    pub starts: &'s wgpu::Buffer,
    /// The boxes as ordered integers, see [`grid::Record`]. With schemes of one entry per object they come in the order
    /// of the entries, with [`Scheme::Uniform`](crate::Scheme::Uniform) in that of the objects.
    pub records: &'s wgpu::Buffer,
    /// The levels: see [`grid::Grid`].
    pub grid: &'s wgpu::Buffer,
    /// The sorted entries, `u32`: the object of each in the low 29 bits, counted from the first that is not static.
    /// Bits 29, 30 and 31 are set where the cell is that of the object's lower corner along x, y and z. With
    /// [`Scheme::Hierarchical`](crate::Scheme::Hierarchical) those of larger objects in the cover table
    /// ([`grid::Grid::cover`]) come behind one per object. `None` for static objects, unless the scheme is uniform.
    pub entries: Option<&'s wgpu::Buffer>,
    /// Of the descriptor that made it.
    pub(crate) kind: TableKind,
    /// What the block of its walks says.
    pub(crate) params: Params,
    /// In the order of [`TABLE_BINDINGS`].
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
