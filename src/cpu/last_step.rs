use super::object_counts::{ObjectCounts, counters};
use super::table::Table;
use crate::api::counters::{Output, word};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::api::error::BroadPhaseError;
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::layout::blocks::wide;
use crate::layout::counters::Held;
use crate::reference::builder::Inputs;

/// The last step. Its table exists from the first use on.
#[derive(Clone, Debug)]
pub(super) struct LastStep {
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

impl LastStep {
    pub fn with_table(descriptor: &BroadPhaseDescriptor<'_>, inputs: Inputs) -> Result<Self, BroadPhaseError> {
        let table = Table::build(descriptor, inputs)?;
        let mut counters = table.tables.counters.clone();
        if !descriptor.count_candidates {
            // Steps without a table do not have them.
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

    pub fn without_table(inputs: Inputs, counts: &[ObjectCounts; 2]) -> Result<Self, BroadPhaseError> {
        let counters = counters(&inputs, counts);
        let entries = |first: usize| count("entries", wide(&counters, first));
        let held = Held {
            objects: inputs.params[0].all_objects(),
            entries: entries(word::ENTRIES_NEEDED)?,
            static_entries: entries(word::STATIC_ENTRIES_NEEDED)?,
            rounds: 1,
            ..Held::default()
        };
        Ok(Self {
            held,
            counters,
            state: State::Inputs(Box::new(inputs)),
        })
    }

    /// Returns the objects and the number of pairs.
    pub fn into_objects(self) -> (Vec<Aabb>, u64) {
        let pairs = wide(&self.counters, Output::Pairs.counted().word);
        match self.state {
            State::Inputs(inputs) => (inputs.objects, pairs),
            State::Table(table) => (table.tables.objects, pairs),
        }
    }

    /// Returns the inputs of a step without a table.
    pub fn inputs(&self) -> Option<&Inputs> {
        match &self.state {
            State::Inputs(inputs) => Some(inputs),
            State::Table(_) => None,
        }
    }

    pub fn table(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<&mut Table, BroadPhaseError> {
        if let State::Inputs(inputs) = &self.state {
            // The inputs remain if the work is cancelled.
            self.state = State::Table(Box::new(Table::build(descriptor, (**inputs).clone())?));
        }
        match &mut self.state {
            State::Table(table) => Ok(table),
            State::Inputs(_) => unreachable!("built above"),
        }
    }
}
