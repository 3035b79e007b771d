//! What memory on the device is for.

use crate::api::queries::QueryMode;

/// Bytes of the buffers on the device that a [`GpuBroadPhase`](crate::GpuBroadPhase) owns, or what stands beside it, by
/// what makes them grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct MemoryUse {
    /// What was uploaded from the host: boxes, worlds, rays, queries, views and generations. Nothing of it where the
    /// caller brings buffers, but for boxes that are changed before use (a margin, worlds, two dimensions) or come
    /// beside static ones, and for rays and queries with a limit on the device.
    pub inputs: u64,
    /// The table and what is kept of each object to find its pairs.
    pub objects: u64,
    /// Pairs, and their events with what they are found by.
    pub pairs: u64,
    /// What is found for rays and queries, with what rays are sorted by and what counting keeps of their hits; what
    /// views see; lines that are drawn.
    pub answers: u64,
    /// What [`PairOrder::Sorted`](crate::PairOrder::Sorted) takes.
    pub order: u64,
    /// What hardly grows: samples of the objects that levels are chosen by, and counters.
    pub fixed: u64,
}

impl MemoryUse {
    /// Bytes of everything.
    pub const fn total(&self) -> u64 {
        self.inputs + self.objects + self.pairs + self.answers + self.order + self.fixed
    }

    /// The sum of bytes of each part.
    pub(crate) fn of(parts: impl IntoIterator<Item = (MemoryPart, u64)>) -> Self {
        let mut sum = Self::default();
        for (part, bytes) in parts {
            *sum.part(part) += bytes;
        }
        sum
    }

    /// The bytes of a part.
    fn part(&mut self, part: MemoryPart) -> &mut u64 {
        match part {
            MemoryPart::Inputs => &mut self.inputs,
            MemoryPart::Objects => &mut self.objects,
            MemoryPart::Pairs => &mut self.pairs,
            MemoryPart::Answers => &mut self.answers,
            MemoryPart::Order => &mut self.order,
            MemoryPart::Fixed => &mut self.fixed,
        }
    }
}

/// How many things steps have and find: what [`GpuBroadPhase::forecast`](crate::GpuBroadPhase::forecast) and those of
/// what stands beside the step reckon with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Objects; where there are static ones, those that move.
    pub objects: u32,
    /// Static objects.
    pub statics: u32,
    /// Rays.
    pub rays: u32,
    /// Whether rays sweep a box.
    pub sweeps: bool,
    /// Queries with boxes or spheres. What objects ask themselves is as many queries as there are objects, whatever
    /// this says.
    pub queries: u32,
    /// What asks.
    pub query_kind: QueryKind,
    /// Which results of the queries are wanted.
    pub query_mode: QueryMode,
    /// Pairs that are found.
    pub pairs: u32,
    /// Hits that are found in [`RayMode::All`](crate::RayMode::All).
    pub hits: u32,
    /// Cells that rays visit, summed up, with [`ray_cells`](crate::BroadPhaseDescriptor::ray_cells).
    pub ray_cells: u32,
    /// Results that are found in [`QueryMode::All`].
    pub results: u32,
    /// Rows of the list of pairs that are not wanted.
    pub excluded_pairs: u32,
    /// Words that the function of [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) reads.
    pub pair_filter_data: u32,
    /// Cells that objects cover in [`Scheme::Uniform`](crate::Scheme::Uniform), summed up; other schemes have one entry
    /// per object. Where there are static objects, those of the moving ones.
    pub entries: u32,
    /// In the same way, cells that static objects cover.
    pub static_entries: u32,
}

/// Which queries [`StepCounts`] reckons with: as [`Queries`](crate::Queries), without the queries themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum QueryKind {
    /// Boxes: [`Queries::Boxes`](crate::Queries::Boxes).
    #[default]
    Boxes,
    /// Boxes, points and spheres with a radius: [`Queries::Spheres`](crate::Queries::Spheres).
    Spheres,
    /// The objects' own neighbours: [`Queries::Neighbors`](crate::Queries::Neighbors).
    Neighbors,
    /// The objects' own partners: [`Queries::Partners`](crate::Queries::Partners).
    Partners,
}

/// The fields of [`MemoryUse`]: what a buffer's bytes count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryPart {
    Inputs,
    Objects,
    Pairs,
    Answers,
    Order,
    Fixed,
}
