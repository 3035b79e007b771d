//! What the memory of a broad phase is for.

/// Bytes of the buffers that a [`GpuBroadPhase`](crate::GpuBroadPhase) owns, by what makes them grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct MemoryUse {
    /// What was uploaded from the host: boxes, worlds, rays and queries. Nothing of it where the caller brings buffers,
    /// but for boxes that are changed before use (a margin, worlds, two dimensions) or come beside static ones, and for
    /// rays and queries with a limit on the device.
    pub inputs: u64,
    /// The table and what is kept of each object to find its pairs.
    pub objects: u64,
    /// Pairs.
    pub pairs: u64,
    /// What is found for rays and queries, with what rays are sorted by and what counting keeps of their hits.
    pub answers: u64,
    /// What [`PairOrder::Sorted`](crate::PairOrder::Sorted) takes.
    pub order: u64,
    /// What does not grow.
    pub fixed: u64,
}

impl MemoryUse {
    /// Bytes of everything.
    pub const fn total(&self) -> u64 {
        self.inputs + self.objects + self.pairs + self.answers + self.order + self.fixed
    }

    /// What a buffer counts as, by its name in the pass table.
    pub(crate) fn part(&mut self, name: &str) -> &mut u64 {
        match name {
            "objects" | "given_objects" | "worlds" | "rays" | "given_rays" | "queries" | "given_queries" => {
                &mut self.inputs
            }
            "pairs" => &mut self.pairs,
            "size_statistics" | "density" | "density_slots" | "level_statistics" | "grid" | "counters"
            | "step_counters" => &mut self.fixed,
            _ if name.starts_with("ray_") || name.starts_with("query_") => &mut self.answers,
            _ if name.starts_with("order_") => &mut self.order,
            _ => &mut self.objects,
        }
    }
}
