//! What steps turned out to need, and how much room later steps make for it.

use crate::api::counters::Counters;
use crate::stages::{pairs, rays};

/// Read-backs in a row that show that outputs need less room than they grew to.
const LATE_READS: u32 = 64;
/// Room for so many rows stays.
const FEW_ROWS: u32 = 1 << 16;

/// What steps need of the growable outputs: rows, unless a field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub entries: u32,
    pub static_entries: u32,
    pub pairs: u32,
    pub hits: u32,
    pub ray_cells: u32,
    pub results: u32,
    /// Rounds of the walks.
    pub rounds: u32,
    /// Words of bits that an entry's pairs are written from.
    pub bit_words: u32,
    /// Hits of a ray that counting keeps, where steps have shown how many there are.
    pub hits_kept: Option<u32>,
    /// How often drivers cut walks so far.
    pub walk_shrink: u32,
    /// Whether the scene was crowded, where a step has shown it.
    pub is_crowded: Option<bool>,
}

impl Needs {
    /// What a step needed, as its counters say. `rays` are those of which all hits are wanted.
    pub fn of(counters: &Counters, rays: Option<u32>) -> Self {
        let need = |needed: u64| u32::try_from(needed).unwrap_or(u32::MAX);
        Self {
            entries: need(counters.entries_needed),
            static_entries: need(counters.static_entries_needed),
            pairs: need(counters.pairs_needed),
            hits: need(counters.hits_needed),
            ray_cells: need(counters.ray_cells_needed),
            results: need(counters.results_needed),
            rounds: counters.rounds_needed,
            bit_words: pairs::bit_words(counters.pairs_needed, counters.entries_needed),
            hits_kept: rays.map(|rays| rays::worth_keeping(counters.hits_needed, rays.into())),
            walk_shrink: 0,
            is_crowded: None,
        }
    }

    /// What the outputs of a step held, as its counters say.
    pub const fn held(counters: &Counters) -> Self {
        Self {
            entries: counters.entries_capacity,
            static_entries: counters.static_entries_capacity,
            pairs: counters.pairs_capacity,
            hits: counters.hits_capacity,
            ray_cells: counters.ray_cells_capacity,
            results: counters.results_capacity,
            rounds: counters.rounds_capacity,
            bit_words: 0,
            hits_kept: None,
            walk_shrink: 0,
            is_crowded: None,
        }
    }

    /// What outputs should hold next time: a quarter more than was needed of what did not fit.
    pub fn grown(self, needed: Self, held: Self) -> Self {
        let grown = |wanted: u32, needed: u32, held: u32| {
            if needed <= held {
                return wanted;
            }
            wanted.max(needed.saturating_add(needed / 4))
        };
        Self {
            entries: grown(self.entries, needed.entries, held.entries),
            static_entries: grown(self.static_entries, needed.static_entries, held.static_entries),
            pairs: grown(self.pairs, needed.pairs, held.pairs),
            hits: grown(self.hits, needed.hits, held.hits),
            ray_cells: grown(self.ray_cells, needed.ray_cells, held.ray_cells),
            results: grown(self.results, needed.results, held.results),
            rounds: grown(self.rounds, needed.rounds, held.rounds),
            bit_words: needed.bit_words,
            // No more often than needed, since a change makes buffers and bind groups anew.
            hits_kept: match (self.hits_kept, needed.hits_kept) {
                (Some(kept), Some(pays)) if kept / 4 < pays && pays <= kept => Some(kept),
                (kept, None) => kept,
                (_, pays) => pays,
            },
            walk_shrink: self.walk_shrink,
            is_crowded: self.is_crowded,
        }
    }
}

/// What read-backs of late have shown to be needed, so that room which nobody needs any more can go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LateNeeds {
    reads: u32,
    most: Needs,
}

impl LateNeeds {
    /// What outputs should hold next time, after one more read-back, of a step or of what was asked after it. Only
    /// those of steps count, since a query says nothing of what steps need. Static entries stay: other room for them
    /// would build their table anew.
    pub fn note(&mut self, wanted: Needs, needed: Needs, is_of_step: bool) -> Needs {
        let most = &mut self.most;
        most.entries = most.entries.max(needed.entries);
        most.pairs = most.pairs.max(needed.pairs);
        most.hits = most.hits.max(needed.hits);
        most.ray_cells = most.ray_cells.max(needed.ray_cells);
        most.results = most.results.max(needed.results);
        most.rounds = most.rounds.max(needed.rounds);
        self.reads += u32::from(is_of_step);
        if self.reads < LATE_READS {
            return wanted;
        }
        let Self { most, .. } = std::mem::take(self);
        let fewer = |wanted: u32, most: u32, fewest: u32| {
            let enough = most.saturating_add(most / 4).max(fewest);
            if enough <= wanted / 2 { enough } else { wanted }
        };
        let shrunk = |wanted, most| fewer(wanted, most, FEW_ROWS);
        Needs {
            entries: shrunk(wanted.entries, most.entries),
            pairs: shrunk(wanted.pairs, most.pairs),
            hits: shrunk(wanted.hits, most.hits),
            ray_cells: shrunk(wanted.ray_cells, most.ray_cells),
            results: shrunk(wanted.results, most.results),
            // Each costs dispatches of every walk, whether anything is left for it or not.
            rounds: fewer(wanted.rounds, most.rounds, 1),
            ..wanted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::rays::worth_keeping;

    #[test]
    fn hits_are_kept_where_they_are_few_and_seldom_otherwise_than_before() {
        assert_eq!([0, 1000, 4000].map(|hits| worth_keeping(hits, 1000)), [8, 8, 16]);
        assert_eq!(
            [16_400, 64_000, 64_001].map(|hits| worth_keeping(hits, 1000)),
            [32, 64, 0]
        );
        assert_eq!(worth_keeping(0, 0), 8);
        let kept = |hits_kept| Needs {
            hits_kept,
            ..Needs::default()
        };
        let next = |kept_before, pays| kept(kept_before).grown(kept(pays), Needs::default()).hits_kept;
        assert_eq!(next(None, Some(8)), Some(8));
        assert_eq!(next(Some(8), Some(16)), Some(16));
        assert_eq!(next(Some(32), Some(32)), Some(32));
        assert_eq!(next(Some(32), Some(16)), Some(32));
        assert_eq!(next(Some(32), Some(8)), Some(8));
        assert_eq!(next(Some(32), Some(0)), Some(0));
        assert_eq!(next(Some(32), None), Some(32));
    }

    #[test]
    fn room_goes_after_steps_that_did_without_and_queries_say_nothing_of_that() {
        let held = Needs {
            pairs: 1 << 20,
            hits: 1 << 20,
            rounds: 5,
            ..Needs::default()
        };
        let few = Needs {
            pairs: 100,
            rounds: 1,
            ..Needs::default()
        };
        let mut late = LateNeeds::default();
        for _ in 0..10 * LATE_READS {
            assert_eq!(late.note(held, few, false), held);
        }
        for _ in 1..LATE_READS {
            assert_eq!(late.note(held, few, true), held);
        }
        let fewer = Needs {
            pairs: FEW_ROWS,
            hits: FEW_ROWS,
            rounds: 1,
            ..Needs::default()
        };
        assert_eq!(late.note(held, few, true), fewer);
        // What a query needs in between stays, and so does what is not twice as much as needed.
        let asked = Needs {
            hits: 1 << 19,
            rounds: 4,
            ..Needs::default()
        };
        late.note(held, asked, false);
        let last = (0..LATE_READS).map(|_| late.note(held, few, true)).last();
        assert_eq!(
            last,
            Some(Needs {
                pairs: FEW_ROWS,
                ..held
            })
        );
    }
}
