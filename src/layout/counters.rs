//! Reads the counters of a step; counter words of events and culling.

use super::blocks;
use crate::api::counters::{Counters, Output, PerOutput, Status, word};
use crate::api::frustum::MAX_VIEWS;
use crate::shared::wgsl::number;

/// Counter words of events.
pub mod event_word {
    use super::number;

    /// Number of pairs also in the previous step; 64 bits, low word first.
    pub const PERSISTING: usize = number("events/event", "EVENT_PERSISTING") as usize;
    /// Number of previous pairs also in this step; 64 bits, low word first.
    pub const MATCHED: usize = number("events/event", "EVENT_MATCHED") as usize;
    /// Number of begun pairs.
    pub const BEGUN: usize = number("events/event", "EVENT_BEGUN") as usize;
    /// Status bits of the step that report missing pairs.
    pub const STATUS: usize = number("events/event", "EVENT_STATUS") as usize;
    /// Number of ended pairs.
    pub const ENDED: usize = number("events/event", "EVENT_ENDED") as usize;
    /// Number of words in the buffer.
    pub const COUNT: usize = 8;
}

/// Counter words of culling.
pub mod cull_word {
    use super::number;

    /// Number of invalid views.
    pub const INVALID: usize = number("cull/view", "CULL_INVALID") as usize;
    /// Rows that all lists need together; two words, low first.
    pub const NEEDED: usize = number("cull/view", "CULL_NEEDED") as usize;
    /// Number of objects that the first view sees; one word per view.
    pub const SEEN: usize = number("cull/view", "CULL_SEEN") as usize;
    /// Number of words in the buffer.
    pub const COUNT: usize = SEEN + super::MAX_VIEWS as usize;
}

/// Number of objects, and capacities in rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Held {
    pub objects: u32,
    pub entries: u32,
    pub static_entries: u32,
    pub rows: PerOutput<u32>,
    pub rounds: u32,
}

impl Counters {
    pub(crate) fn from_words(words: &[u32], held: &Held) -> Self {
        let wide = |first| blocks::wide(words, first);
        let needed = |output: Output| wide(output.counted().word);
        Self {
            objects: held.objects,
            invalid: words[word::INVALID],
            excluded: words[word::EXCLUDED],
            large: words[word::LARGE],
            levels: words[word::LEVELS],
            table_cells: words[word::TABLE_CELLS],
            entries_needed: wide(word::ENTRIES_NEEDED),
            entries_capacity: held.entries,
            static_entries_needed: wide(word::STATIC_ENTRIES_NEEDED),
            static_entries_capacity: held.static_entries,
            pairs_needed: needed(Output::Pairs),
            pairs_capacity: held.rows[Output::Pairs],
            hits_needed: needed(Output::RayHits),
            hits_capacity: held.rows[Output::RayHits],
            ray_cells_needed: needed(Output::RayCells),
            ray_cells_capacity: held.rows[Output::RayCells],
            results_needed: needed(Output::QueryObjects),
            results_capacity: held.rows[Output::QueryObjects],
            queries_invalid: words[word::QUERIES_INVALID],
            query_candidates: wide(word::QUERY_CANDIDATES),
            rays_invalid: words[word::RAYS_INVALID],
            pair_candidates: wide(word::PAIR_CANDIDATES),
            ray_candidates: wide(word::RAY_CANDIDATES),
            rounds_needed: words[word::ROUNDS_NEEDED].max(1),
            rounds_capacity: held.rounds,
            status: Status::from_bits(words[word::STATUS] | words[word::UNFINISHED]),
        }
    }
}
