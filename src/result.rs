//! What a step found, on the host.

use crate::counters::Counters;
use crate::queries::Neighbor;
use crate::types::{Pair, RayCell, RayHit};

/// A whole answer on the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepResult {
    /// Overlapping objects, in the order that [`PairOrder`](crate::PairOrder) names.
    pub pairs: Vec<Pair>,
    /// [`RayMode::Closest`](crate::RayMode::Closest): one hit a ray. [`RayMode::All`](crate::RayMode::All): the hits
    /// of all rays, those of ray `r` at `ray_offsets[r]..ray_offsets[r + 1]`.
    pub ray_hits: Vec<RayHit>,
    /// [`RayMode::All`](crate::RayMode::All): one offset more than rays (CSR); else empty.
    pub ray_offsets: Vec<u32>,
    /// [`RayMode::Any`](crate::RayMode::Any): 1 for each ray that meets anything, else 0.
    pub ray_any: Vec<u32>,
    /// The cells that each ray's walk visits, where the descriptor asks for
    /// [`ray_cells`](crate::BroadPhaseDescriptor::ray_cells): those of ray `r` at
    /// `ray_cell_offsets[r]..ray_cell_offsets[r + 1]`.
    pub ray_cells: Vec<RayCell>,
    /// One offset more than rays (CSR) for [`ray_cells`](Self::ray_cells).
    pub ray_cell_offsets: Vec<u32>,
    /// [`QueryMode::All`](crate::QueryMode::All): the objects of all queries, those of query `q` at
    /// `query_offsets[q]..query_offsets[q + 1]`, in the order that [`PairOrder`](crate::PairOrder) names.
    pub query_objects: Vec<u32>,
    /// [`QueryMode::All`](crate::QueryMode::All): one offset more than queries (CSR); else empty.
    pub query_offsets: Vec<u32>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): as many a query as are wanted, nearest first.
    pub query_nearest: Vec<Neighbor>,
    /// Pairs of each world, modulo 2^32; empty with one world.
    pub world_pairs: Vec<u32>,
    /// What the step counted.
    pub counters: Counters,
    /// GPU time of each stage, where the device and the descriptor have timestamps.
    pub timings: Vec<StageTime>,
}

/// GPU time of one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageTime {
    /// Name of the stage, as in its label.
    pub stage: &'static str,
    /// How long it took.
    pub nanoseconds: f64,
}
