//! What a step found, on the host.

use crate::api::counters::Counters;
use crate::api::queries::NearestObject;
use crate::api::types::{Pair, RayCell, RayHit};

/// A whole answer on the host.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct StepResult {
    /// Overlapping objects, in the order that [`PairOrder`](crate::PairOrder) names.
    pub pairs: Vec<Pair>,
    /// [`RayMode::Closest`](crate::RayMode::Closest): one hit per ray. [`RayMode::All`](crate::RayMode::All): the hits
    /// of all rays, those of ray `r` at `ray_offsets[r]..ray_offsets[r + 1]`.
    pub ray_hits: Vec<RayHit>,
    /// [`RayMode::All`](crate::RayMode::All): one offset more than rays (CSR), which is one 0 for a list of no rays.
    /// Empty in other modes and without a list.
    pub ray_offsets: Vec<u32>,
    /// [`RayMode::Any`](crate::RayMode::Any): 1 for each ray that meets anything, else 0.
    pub ray_any: Vec<u32>,
    /// The cells that each ray's walk visits, where the descriptor asks for
    /// [`ray_cells`](crate::OutputOptions::ray_cells): those of ray `r` at
    /// `ray_cell_offsets[r]..ray_cell_offsets[r + 1]`.
    pub ray_cells: Vec<RayCell>,
    /// One offset more than rays (CSR) for [`ray_cells`](Self::ray_cells), where they are wanted and there is a list.
    pub ray_cell_offsets: Vec<u32>,
    /// [`QueryMode::All`](crate::QueryMode::All): the objects of all queries, those of query `q` at
    /// `query_offsets[q]..query_offsets[q + 1]`, in the order that [`PairOrder`](crate::PairOrder) names.
    pub query_objects: Vec<u32>,
    /// [`QueryMode::All`](crate::QueryMode::All): one offset more than queries (CSR), which is one 0 for a list of no
    /// queries. Empty in other modes and without a list.
    pub query_offsets: Vec<u32>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): as many per query as are wanted, nearest first.
    pub query_nearest: Vec<NearestObject>,
    /// Pairs of each world, modulo 2^32; empty with one world.
    pub world_pairs: Vec<u32>,
    /// What the step counted.
    pub counters: Counters,
    /// GPU time of each stage. Empty without [`timestamps`](crate::OutputOptions::timestamps), and on a device
    /// without [`TIMESTAMP_QUERY`](wgpu::Features::TIMESTAMP_QUERY). Serde skips it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub timings: Vec<StageTime>,
}

/// Which outputs of a step are copied to the host: what
/// [`GpuBroadPhase::record_read_back`](crate::GpuBroadPhase::record_read_back) takes. What a step has not is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Pairs, and the number of those of each world.
    pub pairs: bool,
    /// Hits of rays and their cells, with offsets.
    pub rays: bool,
    /// Results of queries, with offsets.
    pub queries: bool,
}

impl Outputs {
    /// All outputs.
    pub const ALL: Self = Self {
        pairs: true,
        rays: true,
        queries: true,
    };
}

/// GPU time of one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StageTime {
    /// Name of the stage, as in its label.
    pub stage: &'static str,
    /// When it began, in nanoseconds from the beginning of the first stage on.
    pub begin: f64,
    /// How long it took.
    pub nanoseconds: f64,
}
