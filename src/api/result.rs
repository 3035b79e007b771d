use crate::api::counters::{Counters, Output};
use crate::api::output::Page;
use crate::api::queries::NearestObject;
use crate::api::types::{Pair, RayCell, RayHit};

/// Complete result of a step on the host.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct StepResult {
    /// Overlapping objects, in [`ResultOrder`](crate::ResultOrder).
    pub pairs: Vec<Pair>,
    /// Hits of rays.
    ///
    /// [`RayMode::Closest`](crate::RayMode::Closest): one per ray. [`RayMode::All`](crate::RayMode::All): the hits of
    /// ray `r` are at `ray_offsets[r]..ray_offsets[r + 1]`.
    pub ray_hits: Vec<RayHit>,
    /// [`RayMode::All`](crate::RayMode::All): offsets of [`ray_hits`](Self::ray_hits), one more than rays (CSR). A
    /// single 0 for an empty list of rays.
    ///
    /// Empty in other modes and with [`Rays::None`](crate::Rays::None).
    pub ray_offsets: Vec<u32>,
    /// [`RayMode::Any`](crate::RayMode::Any): 1 for each ray that hits anything, 0 for the others.
    pub ray_any: Vec<u32>,
    /// Cells that each ray visits, if [`ray_cells`](crate::OutputOptions::ray_cells) is on.
    ///
    /// The cells of ray `r` are at `ray_cell_offsets[r]..ray_cell_offsets[r + 1]`.
    pub ray_cells: Vec<RayCell>,
    /// Offsets of [`ray_cells`](Self::ray_cells), one more than rays (CSR). Empty if the option is off or there is no
    /// list of rays.
    pub ray_cell_offsets: Vec<u32>,
    /// [`QueryMode::All`](crate::QueryMode::All): objects of each query, in [`ResultOrder`](crate::ResultOrder).
    ///
    /// The objects of query `q` are at `query_offsets[q]..query_offsets[q + 1]`.
    pub query_objects: Vec<u32>,
    /// [`QueryMode::All`](crate::QueryMode::All): offsets of [`query_objects`](Self::query_objects), one more than
    /// queries (CSR). A single 0 for an empty list of queries.
    ///
    /// Empty in other modes and with [`Queries::None`](crate::Queries::None).
    pub query_offsets: Vec<u32>,
    /// [`QueryMode::Nearest`](crate::QueryMode::Nearest): `k` per query, nearest first.
    pub query_nearest: Vec<NearestObject>,
    /// Number of pairs of each world, then of two objects of [`ALL_WORLDS`](crate::ALL_WORLDS), modulo 2^32. Empty with
    /// one world.
    pub world_pairs: Vec<u32>,
    /// [`ResultOrder::Sorted`](crate::ResultOrder::Sorted): offsets of [`pairs`](Self::pairs), one more than
    /// [`world_pairs`](Self::world_pairs). Empty in other orders and with one world.
    ///
    /// The rows of world `w` are at `world_offsets[w]..world_offsets[w + 1]`.
    pub world_offsets: Vec<u32>,
    /// Counters and status of the step.
    pub counters: Counters,
    /// GPU time of each stage, if [`timestamps`](crate::OutputOptions::timestamps) are on. Serde skips it.
    ///
    /// Empty on a device without [`TIMESTAMP_QUERY`](wgpu::Features::TIMESTAMP_QUERY).
    #[cfg_attr(feature = "serde", serde(skip))]
    pub timings: Vec<StageTime>,
}

impl StepResult {
    /// Returns the indices in [`world_pairs`](Self::world_pairs) of worlds that lack pairs, by
    /// [`world_offsets`](Self::world_offsets); of a page, also those with pairs on others. None if these are empty.
    pub fn incomplete_worlds(&self) -> impl Iterator<Item = u32> + '_ {
        let held = self.world_offsets.windows(2).map(|ends| ends[1] - ends[0]);
        let worlds = (0..).zip(held.zip(&self.world_pairs));
        worlds.filter_map(|(world, (held, &needed))| (held != needed).then_some(world))
    }

    pub(crate) const fn rows(&self, output: Output) -> usize {
        match output {
            Output::Pairs => self.pairs.len(),
            Output::RayHits => self.ray_hits.len(),
            Output::RayCells => self.ray_cells.len(),
            Output::QueryObjects => self.query_objects.len(),
        }
    }

    /// First rows of the page after these rows.
    pub(crate) const fn next_page(&self) -> Page {
        Page {
            pairs: self.pairs.len() as u32,
            hits: self.ray_hits.len() as u32,
            ray_cells: self.ray_cells.len() as u32,
            results: self.query_objects.len() as u32,
        }
    }

    /// Appends the rows of a further page, which repeats outputs without pages.
    pub(crate) fn append(&mut self, page: Self) {
        self.pairs.extend(page.pairs);
        if !self.ray_offsets.is_empty() {
            self.ray_hits.extend(page.ray_hits);
        }
        self.ray_cells.extend(page.ray_cells);
        self.query_objects.extend(page.query_objects);
    }
}

/// GPU time of one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StageTime {
    /// Name of the stage, as in its label.
    pub stage: &'static str,
    /// Nanoseconds from the start of the first stage to the start of this one.
    pub begin: f64,
    /// Duration in nanoseconds.
    pub nanoseconds: f64,
}
