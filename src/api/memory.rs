//! What memory on the device is for.

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
