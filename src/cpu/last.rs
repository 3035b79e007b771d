use super::census::{Census, counters};
use super::table::Table;
use crate::api::counters::{Output, word};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::types::Aabb;
use crate::layout::blocks::wide;
use crate::layout::counters::Held;
use crate::reference::builder::Inputs;

/// The last step, with its table from the first use on.
#[derive(Clone, Debug)]
pub(super) struct Last {
    state: State,
    /// With the capacity and the number of the step's pairs.
    pub held: Held,
    pub counters: Vec<u32>,
}

#[derive(Clone, Debug)]
enum State {
    Inputs(Box<Inputs>),
    Table(Box<Table>),
}

impl Last {
    pub fn with_table(descriptor: &BroadPhaseDescriptor<'_>, inputs: Inputs) -> Result<Self, BroadPhaseError> {
        let table = Table::build(descriptor, inputs)?;
        let mut counters = table.tables.counters.clone();
        if !descriptor.count_candidates {
            // Steps without a table do not know them.
            for word in [word::LEVELS, word::TABLE_CELLS, word::CROWDED] {
                counters[word] = 0;
            }
        }
        Ok(Self {
            held: table.tables.held(),
            counters,
            state: State::Table(Box::new(table)),
        })
    }

    pub fn without_table(inputs: Inputs, censuses: &[Census; 2]) -> Self {
        let counters = counters(&inputs, censuses);
        let entries = [word::ENTRIES_NEEDED, word::STATIC_ENTRIES_NEEDED].map(|first| wide(&counters, first) as u32);
        let [entries, static_entries] = entries;
        let held = Held {
            objects: inputs.params[0].all_objects(),
            entries,
            static_entries,
            rounds: 1,
            ..Held::default()
        };
        Self {
            held,
            counters,
            state: State::Inputs(Box::new(inputs)),
        }
    }

    pub fn objects(&self) -> &[Aabb] {
        match &self.state {
            State::Inputs(inputs) => &inputs.objects,
            State::Table(table) => &table.tables.objects,
        }
    }

    /// Inputs of a step that has not needed a table yet.
    pub fn inputs(&self) -> Option<&Inputs> {
        match &self.state {
            State::Inputs(inputs) => Some(inputs),
            State::Table(_) => None,
        }
    }

    pub fn pairs(&self) -> u64 {
        wide(&self.counters, Output::Pairs.counted().word)
    }

    pub fn table(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<&mut Table, BroadPhaseError> {
        if let State::Inputs(inputs) = &self.state {
            // Cancelled work keeps the inputs.
            self.state = State::Table(Box::new(Table::build(descriptor, (**inputs).clone())?));
        }
        match &mut self.state {
            State::Table(table) => Ok(table),
            State::Inputs(_) => unreachable!("built above"),
        }
    }
}
