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

    /// The bytes of a part.
    pub(crate) fn part(&mut self, part: MemoryPart) -> &mut u64 {
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
