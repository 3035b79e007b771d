use super::plan::OrderedPairs;
use crate::api::output::PairOutput;
use crate::gpu::buffers::Buffers;
use crate::gpu::reading::Readable;
use crate::shared::recording::Recording;

/// Buffers of pairs, and the last step or page that wrote them.
pub(crate) struct PairFinder {
    pub buffers: Buffers,
    pub found: Option<FoundPairs>,
}

#[derive(Clone)]
pub(crate) struct FoundPairs {
    pub pairs: OrderedPairs,
    /// Recording of the counts that pages use.
    pub counts: Recording,
    pub recording: Recording,
}

impl PairFinder {
    pub fn new(label: &str) -> Self {
        Self {
            buffers: Buffers::new(label),
            found: None,
        }
    }

    pub fn output(&self) -> Option<PairOutput> {
        let found = self.found.as_ref();
        found.map(|found| found.pairs.output(&self.buffers))
    }

    pub fn readable(&self) -> Vec<Readable> {
        let found = self.found.as_ref();
        found.map_or_else(Vec::new, |found| found.pairs.readable(&self.buffers))
    }

    pub fn clear(&mut self) {
        self.buffers.clear();
        self.found = None;
    }
}
