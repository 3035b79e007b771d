use super::plan::{pair_sizes, sorts};
use crate::api::descriptor::SortStrategy;
use crate::api::output::{Page, PairOutput};
use crate::gpu::buffers::{Buffers, Sizes};
use crate::gpu::reading::Readable;
use crate::gpu::recorder::Recorder;
use crate::gpu::upload::Blocks;
use crate::shared::recording::Recording;
use crate::stages::order::{self, OrderUniforms, Ordered};
use crate::stages::pairs::{PairPlan, PairUniforms};
use crate::stages::shape::Basis;
use crate::stages::sort::KeyValueBuffers;
use crate::stages::table::TablePlan;
use crate::stages::walks::TableBlocks;

/// Buffers of pairs, and the last step or page that wrote them.
pub(crate) struct PairFinder {
    pub buffers: Buffers,
    pub found: Option<FoundPairs>,
}

#[derive(Clone)]
pub(crate) struct FoundPairs {
    pub plan: PairPlan,
    order: Option<Ordered>,
    /// Recording of the counts that pages use.
    pub counts: Recording,
    pub recording: Recording,
}

pub(crate) struct FoundUniforms {
    pub pairs: PairUniforms,
    order: Vec<OrderUniforms>,
}

impl PairFinder {
    pub fn new(label: &str) -> Self {
        Self {
            buffers: Buffers::new(label),
            found: None,
        }
    }

    pub fn output(&self) -> Option<PairOutput> {
        self.found.as_ref().map(|found| found.plan.output(&self.buffers))
    }

    pub fn readable(&self) -> Vec<Readable> {
        let found = self.found.iter();
        found.flat_map(|found| found.plan.readable(&self.buffers)).collect()
    }

    pub fn clear(&mut self) {
        self.buffers.clear();
        self.found = None;
    }
}

impl FoundPairs {
    pub fn new(plan: PairPlan, order: Option<Ordered>, recording: &Recording) -> Self {
        Self {
            plan,
            order,
            counts: recording.clone(),
            recording: recording.clone(),
        }
    }

    /// The page from these rows on.
    pub fn page(&self, basis: &Basis<'_>, table: &TablePlan, first: &Page, recording: &Recording) -> Self {
        let plan = self.plan.page(basis, first);
        Self {
            plan,
            order: sorts(basis).then(|| plan.order(table.params.all_objects())),
            counts: self.counts.clone(),
            recording: recording.clone(),
        }
    }

    pub fn sizes(&self, sort: SortStrategy) -> Sizes {
        pair_sizes(&self.plan, self.order, sort)
    }

    pub fn write(&self, blocks: &mut Blocks, tables: TableBlocks, sort: SortStrategy) -> FoundUniforms {
        FoundUniforms {
            pairs: self.plan.write(blocks, tables),
            order: order::write(blocks, self.order.as_slice(), sort),
        }
    }

    pub fn record(&self, recorder: &mut Recorder<'_>, blocks: &FoundUniforms, sorted: KeyValueBuffers) {
        self.plan.record_emit(recorder, &blocks.pairs, sorted);
        for (output, blocks) in self.order.iter().zip(&blocks.order) {
            output.record(recorder, blocks);
        }
    }
}
