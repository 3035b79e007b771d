use super::walk_shrink::WalkShrink;
use crate::api::counters::{Counters, PerOutput, Status};
use crate::api::descriptor::BroadPhaseDescriptor;
use crate::gpu::device_context::DeviceContext;
use crate::layout::counters::Held;
use crate::shared::recording::Recording;
use crate::stages::shape::{Basis, Demand};
use crate::stages::walks::MAX_WALKS;
use crate::stages::{pairs, rays};

/// Steps whose counters must arrive before capacities may shrink.
const READS_BEFORE_SHRINK: u32 = 64;
/// Capacities never shrink below this number of rows.
const MIN_KEPT_ROWS: u32 = 1 << 16;

impl Demand {
    pub fn of(counters: &Counters, rays: Option<u32>) -> Self {
        let need = |needed: u64| u32::try_from(needed).unwrap_or(u32::MAX);
        Self {
            entries: need(counters.entries_needed),
            static_entries: need(counters.static_entries_needed),
            rows: PerOutput::of(|output| need(counters.rows(output).0)),
            rounds: counters.rounds_needed,
            bit_words: pairs::bit_words(counters.pairs_needed, counters.entries_needed),
            chunk_words: pairs::chunk_words(counters.pairs_needed, counters.entries_needed),
            cached_hits: rays.map(|rays| rays::hits_worth_caching(counters.hits_needed, rays.into())),
            walk_shrink: 0,
            is_crowded: None,
        }
    }

    pub fn held(counters: &Counters) -> Self {
        Self {
            entries: counters.entries_capacity,
            static_entries: counters.static_entries_capacity,
            rows: PerOutput::of(|output| counters.rows(output).1),
            rounds: counters.rounds_capacity,
            ..Self::default()
        }
    }

    /// Raises each capacity in `held` that `needed` exceeds to `needed` plus the share `headroom` of it.
    pub fn grown(self, needed: Self, held: Self, headroom: f32) -> Self {
        let grown = |wanted: u32, needed: u32, held: u32| {
            if needed <= held {
                return wanted;
            }
            wanted.max(with_headroom(needed, headroom))
        };
        Self {
            entries: grown(self.entries, needed.entries, held.entries),
            static_entries: grown(self.static_entries, needed.static_entries, held.static_entries),
            rows: PerOutput::of(|output| grown(self.rows[output], needed.rows[output], held.rows[output])),
            rounds: grown(self.rounds, needed.rounds, held.rounds),
            bit_words: needed.bit_words,
            chunk_words: needed.chunk_words,
            // The hit cache shrinks only to a quarter or less, since each change recreates buffers and bind groups.
            cached_hits: match (self.cached_hits, needed.cached_hits) {
                (Some(kept), Some(pays)) if kept / 4 < pays && pays <= kept => Some(kept),
                (kept, None) => kept,
                (_, pays) => pays,
            },
            walk_shrink: self.walk_shrink,
            is_crowded: self.is_crowded,
        }
    }
}

fn with_headroom(needed: u32, headroom: f32) -> u32 {
    let more = f64::from(needed) * f64::from(headroom);
    needed.saturating_add(more as u32)
}

#[derive(Clone, Copy, Debug, Default)]
struct RecentPeak {
    reads: u32,
    most: Demand,
}

impl RecentPeak {
    /// Queries raise the peak, but only steps count toward `READS_BEFORE_SHRINK`. Capacity for static entries never
    /// shrinks, since that would rebuild the static table.
    fn observe(&mut self, wanted: Demand, needed: Demand, is_of_step: bool, headroom: f32) -> Demand {
        let most = &mut self.most;
        most.entries = most.entries.max(needed.entries);
        most.rows = PerOutput::of(|output| most.rows[output].max(needed.rows[output]));
        most.rounds = most.rounds.max(needed.rounds);
        self.reads += u32::from(is_of_step);
        if self.reads < READS_BEFORE_SHRINK {
            return wanted;
        }
        let Self { most, .. } = std::mem::take(self);
        let fewer = |wanted: u32, most: u32, fewest: u32| {
            let enough = with_headroom(most, headroom).max(fewest);
            if enough <= wanted / 2 { enough } else { wanted }
        };
        let shrunk = |wanted, most| fewer(wanted, most, MIN_KEPT_ROWS);
        Demand {
            entries: shrunk(wanted.entries, most.entries),
            rows: PerOutput::of(|output| shrunk(wanted.rows[output], most.rows[output])),
            // Shrinks down to 1, since idle rounds also cost dispatches.
            rounds: fewer(wanted.rounds, most.rounds, 1),
            ..wanted
        }
    }
}

/// Facts of a recording that its counters lack.
#[derive(Clone)]
pub(crate) struct Facts {
    pub recording: Recording,
    pub held: Held,
    /// Status bits that the recording reports.
    pub reports: Status,
    /// False for a query.
    pub is_of_step: bool,
    /// Number of rays, if all their hits are counted.
    pub rays_counted: Option<u32>,
    /// True if the device sees whether the scene is crowded.
    pub sees_crowds: bool,
    pub walk_shrink: u32,
}

/// Demand of later steps, by the counters of earlier ones.
#[derive(Default)]
pub(crate) struct Growth {
    hint: Demand,
    last: Demand,
    recent: RecentPeak,
    walk_shrink: WalkShrink,
}

impl Growth {
    pub fn basis<'b>(&'b self, context: &DeviceContext, descriptor: &'b BroadPhaseDescriptor<'b>) -> Basis<'b> {
        Basis {
            descriptor,
            demand: &self.hint,
            binding_limit: context.binding_limit(),
            class: context.class(),
        }
    }

    /// Maximum rounds per ray, query or pair walk of the next recording.
    pub fn rounds(&self, context: &DeviceContext, descriptor: &BroadPhaseDescriptor<'_>) -> usize {
        MAX_WALKS * self.basis(context, descriptor).rounds().count as usize
    }

    /// Updates the demand. Capacities grow only with a `headroom`.
    pub fn observe(&mut self, counters: &Counters, facts: &Facts, is_crowded: Option<bool>, headroom: Option<f32>) {
        self.walk_shrink
            .observe(facts.walk_shrink, counters.status.has(Status::CUT));
        self.hint.walk_shrink = self.walk_shrink.level();
        self.last = Demand {
            walk_shrink: self.hint.walk_shrink,
            ..Demand::of(counters, facts.rays_counted)
        };
        // Updated even if capacities are fixed.
        self.hint.is_crowded = is_crowded.or(self.hint.is_crowded);
        if let Some(headroom) = headroom {
            let grown = self.hint.grown(self.last, Demand::held(counters), headroom);
            self.hint = self.recent.observe(grown, self.last, facts.is_of_step, headroom);
        }
    }

    pub const fn demand_rounds(&mut self, rounds: u32) {
        self.hint.rounds = rounds;
    }

    pub fn forget(&mut self) {
        self.recent = RecentPeak::default();
        self.hint = Demand {
            walk_shrink: self.walk_shrink.level(),
            ..Demand::default()
        };
    }

    pub const fn return_to_last(&mut self) {
        self.hint = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::counters::Output;
    use crate::stages::rays::hits_worth_caching;

    fn rows(pairs: u32, hits: u32) -> PerOutput<u32> {
        PerOutput::of(|output| match output {
            Output::Pairs => pairs,
            Output::RayHits => hits,
            _ => 0,
        })
    }

    #[test]
    fn hits_are_kept_where_they_are_few_and_seldom_otherwise_than_before() {
        assert_eq!([0, 1000, 4000].map(|hits| hits_worth_caching(hits, 1000)), [8, 8, 16]);
        assert_eq!(
            [16_400, 64_000, 64_001].map(|hits| hits_worth_caching(hits, 1000)),
            [32, 64, 0]
        );
        assert_eq!(hits_worth_caching(0, 0), 8);
        let kept = |cached_hits| Demand {
            cached_hits,
            ..Demand::default()
        };
        let next = |kept_before, pays| kept(kept_before).grown(kept(pays), Demand::default(), 0.25).cached_hits;
        assert_eq!(next(None, Some(8)), Some(8));
        assert_eq!(next(Some(8), Some(16)), Some(16));
        assert_eq!(next(Some(32), Some(32)), Some(32));
        assert_eq!(next(Some(32), Some(16)), Some(32));
        assert_eq!(next(Some(32), Some(8)), Some(8));
        assert_eq!(next(Some(32), Some(0)), Some(0));
        assert_eq!(next(Some(32), None), Some(32));
    }

    #[test]
    fn outputs_grow_by_the_need_and_the_headroom() {
        for (headroom, room) in [(0.0, 1_001), (0.25, 1_251), (1.0, 2_002), (16.0, 17_017)] {
            let needed = Demand {
                rows: rows(1_001, u32::MAX),
                ..Demand::default()
            };
            let grown = Demand::default().grown(needed, Demand::default(), headroom);
            assert_eq!(grown.rows, rows(room, u32::MAX));
        }
    }

    #[test]
    fn room_goes_after_steps_that_did_without_and_queries_say_nothing_of_that() {
        let held = Demand {
            rows: rows(1 << 20, 1 << 20),
            rounds: 5,
            ..Demand::default()
        };
        let few = Demand {
            rows: rows(100, 0),
            rounds: 1,
            ..Demand::default()
        };
        let mut late = RecentPeak::default();
        for _ in 0..10 * READS_BEFORE_SHRINK {
            assert_eq!(late.observe(held, few, false, 0.25), held);
        }
        for _ in 1..READS_BEFORE_SHRINK {
            assert_eq!(late.observe(held, few, true, 0.25), held);
        }
        let fewer = Demand {
            rows: rows(MIN_KEPT_ROWS, MIN_KEPT_ROWS),
            rounds: 1,
            ..Demand::default()
        };
        assert_eq!(late.observe(held, few, true, 0.25), fewer);
        // Capacities that queries need, or that are below twice the demand, do not shrink.
        let requested = Demand {
            rows: rows(0, 1 << 19),
            rounds: 4,
            ..Demand::default()
        };
        late.observe(held, requested, false, 0.25);
        let last = (0..READS_BEFORE_SHRINK)
            .map(|_| late.observe(held, few, true, 0.25))
            .last();
        assert_eq!(
            last,
            Some(Demand {
                rows: rows(MIN_KEPT_ROWS, 1 << 20),
                ..held
            })
        );
    }
}
