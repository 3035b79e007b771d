use super::object_counts::{ObjectCounts, counters};
use super::step_trees::StepTrees;
use super::trees::Trees;
use crate::api::counters::{Output, word};
use crate::api::descriptor::{BroadPhaseDescriptor, SortStrategy};
use crate::api::error::{BroadPhaseError, completed};
use crate::api::input::count;
use crate::layout::blocks::wide;
use crate::layout::counters::Held;
use crate::layout::grid::Params;
use crate::reference::builder::{Inputs, Table, Tables};
use crate::reference::pairs::pair_excludes::Admits;
use crate::reference::params::fixed;
use crate::reference::reads::StepReads;

/// The last step. Trees and cells exist from the first use on.
#[derive(Clone, Debug)]
pub(super) struct LastStep {
    pub inputs: Inputs,
    /// With the capacity and the number of the step's pairs.
    pub held: Held,
    pub counters: Vec<u32>,
    trees: Option<StepTrees>,
    /// Trees that may be refitted.
    earlier: Option<StepTrees>,
    cells: Option<Box<Tables>>,
}

/// Structures that rays and queries search.
pub(super) struct Searched<'a> {
    pub params: Params,
    pub reads: StepReads<'a>,
    /// One per table, or none.
    trees: Vec<&'a Trees>,
}

impl<'a> Searched<'a> {
    /// Returns trees to search. Empty with a capacity, which keeps the first rows in the order of the passes.
    pub fn trees(&self, capacity: Option<u32>) -> &[&'a Trees] {
        if capacity.is_some() { &[] } else { &self.trees }
    }
}

/// True if a step's results depend on its cells.
pub(super) fn needs_cells(descriptor: &BroadPhaseDescriptor<'_>, params: &Params) -> bool {
    let entries = descriptor.outputs.capacities.entries;
    descriptor.count_candidates || (params.is_uniform() && fixed(descriptor, entries).is_some())
}

impl LastStep {
    /// Counts objects, unless `counts` has the numbers. `earlier` may be trees of an earlier step.
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'_>,
        inputs: Inputs,
        counts: Option<&[ObjectCounts; 2]>,
        earlier: Option<StepTrees>,
    ) -> Result<Self, BroadPhaseError> {
        let mut last = Self {
            inputs,
            held: Held::default(),
            counters: Vec::new(),
            trees: None,
            earlier,
            cells: None,
        };
        if needs_cells(descriptor, &last.inputs.params[0]) {
            let tables = last.cells(descriptor)?;
            (last.held, last.counters) = (tables.held(), tables.counters.clone());
            if !descriptor.count_candidates {
                for word in [word::LEVELS, word::TABLE_CELLS, word::CROWDED] {
                    last.counters[word] = 0;
                }
            }
            return Ok(last);
        }
        let counters = match counts {
            Some(counts) => counters(&last.inputs, counts),
            None => counters(&last.inputs, &ObjectCounts::of(&last.inputs)),
        };
        let entries = |first: usize| count("entries", wide(&counters, first));
        last.held = Held {
            objects: last.inputs.params[0].all_objects(),
            entries: entries(word::ENTRIES_NEEDED)?,
            static_entries: entries(word::STATIC_ENTRIES_NEEDED)?,
            rounds: 1,
            ..Held::default()
        };
        last.counters = counters;
        completed(last)
    }

    /// Number of pairs.
    pub fn pairs(&self) -> u64 {
        wide(&self.counters, Output::Pairs.counted().word)
    }

    pub fn cells(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<&Tables, BroadPhaseError> {
        let cells = match self.cells.take() {
            Some(cells) => cells,
            None => {
                // All sort strategies give the same order.
                let descriptor = BroadPhaseDescriptor {
                    sort: SortStrategy::Portable,
                    ..*descriptor
                };
                Box::new(Tables::build(&descriptor, self.inputs.clone(), false)?)
            }
        };
        Ok(self.cells.insert(cells))
    }

    pub fn trees(&mut self) -> Result<(&Inputs, &mut StepTrees), BroadPhaseError> {
        let trees = match self.trees.take() {
            Some(trees) => trees,
            None => completed(StepTrees::of(&self.inputs, self.earlier.take()))?,
        };
        Ok((&self.inputs, self.trees.insert(trees)))
    }

    /// Takes trees to refit if the step has none.
    pub fn offer_trees(&mut self, trees: impl FnOnce(&Inputs) -> Option<StepTrees>) {
        if self.trees.is_none() && self.earlier.is_none() {
            self.earlier = trees(&self.inputs);
        }
    }

    /// Returns trees that later steps may refit.
    pub fn into_trees(self) -> (Inputs, Option<StepTrees>) {
        (self.inputs, self.trees.or(self.earlier))
    }

    /// Returns what was built, preferring cells to records of trees in `tables`.
    pub fn searched<'a>(&'a self, tables: &'a [Table; 2], admits: Option<&'a Admits<'a>>) -> Searched<'a> {
        let trees = self.trees.iter().flat_map(StepTrees::all).collect();
        let [own, statics] = tables;
        let (params, reads) = match &self.cells {
            Some(cells) => (cells.own.params, cells.reads(admits)),
            None => {
                let reads = StepReads {
                    own: own.reads(),
                    statics: (statics.params.object_count > 0).then(|| statics.reads()),
                    objects: &self.inputs.objects,
                    excludes: self.inputs.excludes(admits),
                };
                (own.params, reads)
            }
        };
        Searched { params, reads, trees }
    }

    /// Returns tables for searches in trees, at most with the records of a self-query.
    pub fn tables_of_records(&self, is_self_query: bool) -> [Table; 2] {
        let records = match (&self.cells, &self.trees) {
            (None, Some(trees)) if is_self_query => trees.records(&self.inputs),
            _ => Default::default(),
        };
        let mut params = self.inputs.params.into_iter();
        records.map(|records| Table {
            params: params.next().unwrap_or_default(),
            records,
            ..Table::default()
        })
    }
}
