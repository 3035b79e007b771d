/// Bytes of device buffers, by use.
///
/// Covers a [`GpuBroadPhase`](crate::GpuBroadPhase) or one of its optional components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct MemoryUse {
    /// Uploads from the host, and copies of inputs in your buffers.
    ///
    /// Inputs are copied if their count is on the device or if passes cannot read them in place. Boxes are also copied
    /// if a pass changes them (margin, periods, worlds, two dimensions), or if there are static objects, excluded pairs
    /// or a pair filter.
    pub inputs: u64,
    /// The cell table, and data per object for finding pairs.
    pub objects: u64,
    /// Pairs, and pair events with their working data.
    pub pairs: u64,
    /// Results of rays and queries, with sort keys and cached hits; visible objects of views; debug lines.
    pub results: u64,
    /// Working memory for [`ResultOrder::Sorted`](crate::ResultOrder::Sorted).
    pub order: u64,
    /// Buffers that hardly grow: samples of objects for choosing levels, and counters.
    pub fixed: u64,
}

impl MemoryUse {
    /// Returns the sum of all fields.
    pub const fn total(&self) -> u64 {
        self.inputs + self.objects + self.pairs + self.results + self.order + self.fixed
    }

    pub(crate) fn of(parts: impl IntoIterator<Item = (MemoryPart, u64)>) -> Self {
        let mut sum = Self::default();
        for (part, bytes) in parts {
            *sum.part(part) += bytes;
        }
        sum
    }

    fn part(&mut self, part: MemoryPart) -> &mut u64 {
        match part {
            MemoryPart::Inputs => &mut self.inputs,
            MemoryPart::Objects => &mut self.objects,
            MemoryPart::Pairs => &mut self.pairs,
            MemoryPart::Results => &mut self.results,
            MemoryPart::Order => &mut self.order,
            MemoryPart::Fixed => &mut self.fixed,
        }
    }
}

/// Field of [`MemoryUse`] that a buffer counts toward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryPart {
    Inputs,
    Objects,
    Pairs,
    Results,
    Order,
    Fixed,
}
