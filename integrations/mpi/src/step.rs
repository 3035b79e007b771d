use std::collections::BTreeSet;

use gpu_broad_phase::{Aabb, Dimensions, NONE, Pair, Scene, Source};

use crate::agreement::{RankError, agree};
use crate::communicator::{Communicator, Messages};
use crate::local::{Ghosts, Side, bounds_of};
use crate::owned::{Members, Owned, put, take};
use crate::partition::{Span, ordered};
use crate::ranks::Ranks;

/// Result of a step on a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepPairs {
    /// Pairs that this rank reports, as ids, the smaller one first, in no particular order. Each pair of the world is
    /// on one rank, which need not own its boxes; see [`Ranks::find`].
    pub pairs: Vec<[u64; 2]>,
    /// Number of pairs on all ranks.
    pub all_pairs: u64,
    /// Number of pairs of each world on all ranks, then of two boxes of all worlds. Empty with one world.
    pub world_pairs: Vec<u64>,
    /// Number of boxes that other ranks sent to this rank.
    pub ghosts: usize,
    /// Number of ignored boxes on all ranks: with a NaN, inverted bounds, or a world out of range.
    pub invalid: u64,
    /// Number of box tests on this rank, if the descriptor counts them.
    pub candidates: u64,
}

impl<C: Communicator> Ranks<C> {
    /// Returns a box of the last step and its owner, if this rank has the box. It has both boxes of each pair that it
    /// reports, so the narrow phase can run here.
    pub fn find(&self, id: u64) -> Option<(Aabb, usize)> {
        let object = self.local.find(id)?;
        let rank = self.local.sender(object).unwrap_or(self.ranks.rank());
        Some((self.local.object(object), rank))
    }

    /// Finds the pairs of all ranks' boxes. Boxes are first sent to the ranks whose regions they overlap. A pair's home
    /// point has, on each axis, the larger coordinate of the two lower corners. The rank that owns this point reports
    /// the pair. Collective.
    ///
    /// # Errors
    /// If `owned` is inconsistent, if two boxes with one id reach the same rank, or if a device fails.
    pub fn step(&mut self, owned: &Owned) -> Result<StepPairs, RankError> {
        self.step_where(owned, |_, _| true)
    }

    /// Like [`step`](Self::step), but returns only pairs for which `admits` returns true. `admits` gets both ids, the
    /// smaller one first, on the rank that reports the pair. [`find`](Self::find) returns their boxes after the step.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn step_where(&mut self, owned: &Owned, admits: impl FnMut(u64, u64) -> bool) -> Result<StepPairs, RankError> {
        self.clock.start(&self.ranks);
        let checked = self.check(owned).and_then(|compared| {
            let excluded = Excluded::find(owned)?;
            Ok((compared, excluded))
        });
        let statics = (owned.generation, owned.statics.len());
        let mut sums = [u64::from(self.statics_sent != Some(statics))];
        let ([moving, fixed], excluded) = agree(&self.ranks, checked, &mut sums)?;
        let sends_statics = sums[0] > 0;
        // Set again when all ranks have succeeded.
        self.statics_sent = None;
        self.has_stepped = false;
        self.bounds = bounds_of(moving.iter().chain(&fixed));
        let messages = self.ghosts(owned, [&moving, &fixed], &excluded, sends_statics);
        drop([moving, fixed]);
        let excluded = self.join(owned, messages, sends_statics);
        self.clock.end(&self.ranks, "ghosts");
        let answer = excluded.and_then(|excluded| self.local_pairs(excluded, admits));
        let mut sums = vec![0; 2 + self.counted_worlds()];
        if let Ok(answer) = &answer {
            sums = [&[answer.all_pairs, answer.invalid], &answer.world_pairs[..]].concat();
        }
        self.clock.end(&self.ranks, "step");
        let answer = agree(&self.ranks, answer, &mut sums)?;
        let world_pairs = sums.split_off(2);
        self.statics_sent = Some(statics);
        self.has_stepped = true;
        self.clock.end(&self.ranks, "agree");
        Ok(StepPairs {
            all_pairs: sums[0],
            invalid: sums[1],
            world_pairs,
            ..answer
        })
    }

    fn counted_worlds(&self) -> usize {
        match self.has_worlds() {
            true => self.descriptor.broad_phase.worlds as usize + 1,
            false => 0,
        }
    }

    fn ghosts(
        &self,
        owned: &Owned,
        [moving, statics]: [&[Aabb]; 2],
        excluded: &Excluded,
        sends_statics: bool,
    ) -> Messages {
        let own = self.ranks.rank();
        let others = |compared: &[Aabb]| {
            let mut members = Members::new();
            for (place, object) in (0..).zip(compared) {
                if !object.is_ignored(Dimensions::Three) {
                    self.partition.overlapped(&Span::of(object), &mut |to| {
                        if to != own {
                            members.entry(to).or_default().push(place);
                        }
                    });
                }
            }
            members
        };
        // Receivers store static ghosts but not their excluded pairs, so these pairs are sent in every step.
        let sides = [
            (&owned.moving, others(moving), &excluded.of_moving),
            (&owned.statics, others(statics), &excluded.of_statics),
        ];
        let receivers: BTreeSet<_> = sides
            .iter()
            .flat_map(|(_, members, _)| members.keys().copied())
            .collect();
        let message = |to: usize| {
            let mut message = Vec::new();
            let mut rows = Vec::new();
            for (side, (objects, members, excluded)) in sides.iter().enumerate() {
                let members = members.get(&to).map_or(&[][..], |members| members);
                if side == 0 || sends_statics {
                    objects.put(members, 0, &mut message);
                }
                let of_member = |&place: &u32| {
                    let from = excluded.partition_point(|&(named, _)| named < place);
                    let rows = excluded[from..].iter().take_while(move |&&(named, _)| named == place);
                    rows.map(|&(_, row)| row)
                };
                if !excluded.is_empty() {
                    rows.extend(members.iter().flat_map(of_member));
                }
            }
            put(&mut message, rows);
            message
        };
        // Length of a message without boxes and excluded pairs.
        let nothing = size_of::<u64>() * if sends_statics { 2 } else { 1 };
        let messages = receivers.into_iter().map(|to| (to, message(to)));
        messages.filter(|(_, message)| message.len() > nothing).collect()
    }

    /// Exchanges messages and merges ghosts with this rank's boxes. Returns this rank's and received excluded pairs.
    fn join(&mut self, owned: &Owned, messages: Messages, sends_statics: bool) -> Result<Vec<[u64; 2]>, String> {
        let mut excluded = owned.excluded_pairs.clone();
        let [mut moving, mut statics] = [const { Ghosts::EMPTY }; 2];
        for (rank, message) in self.ranks.exchange(messages) {
            let mut message = &message[..];
            moving.take(rank, self.has_worlds(), &mut message);
            if sends_statics {
                statics.take(rank, self.has_worlds(), &mut message);
            }
            let rows = message.len() / size_of::<[u64; 2]>();
            excluded.extend(take::<[u64; 2]>(&mut message, rows));
        }
        self.local.moving = Side::join(&owned.moving, &moving)?;
        if sends_statics {
            self.local.statics = Side::join(&owned.statics, &statics)?;
            self.local.generation += 1;
        }
        let mut ids = [&self.local.statics, &self.local.moving].map(|side| &side.objects.ids);
        ids.sort_by_key(|ids| ids.len());
        let [few, many] = ids;
        match few.iter().find(|id| many.binary_search(id).is_ok()) {
            Some(id) => Err(format!("two boxes have the id {id}")),
            None => Ok(excluded),
        }
    }

    fn local_pairs(
        &mut self,
        excluded: Vec<[u64; 2]>,
        mut admits: impl FnMut(u64, u64) -> bool,
    ) -> Result<StepPairs, String> {
        let local = &self.local;
        let known = |row: [u64; 2]| {
            let [a, b] = row.map(|id| local.find(id));
            Some(Pair { a: a?, b: b? })
        };
        let excluded: Vec<_> = excluded.into_iter().filter_map(known).collect();
        let scene = Scene {
            excluded_pairs: Source::Host(&excluded),
            ..local.scene()
        };
        let result = self.engine.step(self.descriptor.broad_phase.pairs, &scene)?;
        let corners: Vec<_> = [&local.statics, &local.moving]
            .into_iter()
            .map(|side| self.compared(&side.objects))
            .collect::<Result<Vec<_>, _>>()?
            .concat()
            .iter()
            .map(|object| object.min.map(ordered))
            .collect();
        let part = self.partition.part(self.ranks.rank());
        let mut counts = vec![0u32; local.len()];
        let mut pairs = Vec::with_capacity(result.pairs.len());
        let mut world_pairs = vec![0; self.counted_worlds()];
        for Pair { a, b } in result.pairs {
            let [of_a, of_b] = [a, b].map(|object| corners[object as usize]);
            let [id_a, id_b] = [a, b].map(|object| local.id(object));
            let ids = [id_a.min(id_b), id_a.max(id_b)];
            let is_home = part.holds([0, 1, 2].map(|axis| of_a[axis].max(of_b[axis])));
            if is_home && admits(ids[0], ids[1]) {
                let is_at_a = (0..3).filter(|&axis| of_a[axis] > of_b[axis]).count() > 1;
                counts[if is_at_a { a } else { b } as usize] += 1;
                pairs.push(ids);
                // The number of a box of all worlds is the largest.
                if let Some(last) = world_pairs.len().checked_sub(1) {
                    let world = local.world(a).min(local.world(b)) as usize;
                    world_pairs[world.min(last)] += 1;
                }
            }
        }
        self.pairs_of.clear();
        self.pairs_of_ghosts.clear();
        for (object, &count) in (0..).zip(&counts).filter(|&(_, &count)| count > 0) {
            let pairs = (local.id(object), count);
            match local.sender(object) {
                None => self.pairs_of.push(pairs),
                Some(rank) => self.pairs_of_ghosts.entry(rank).or_default().push(pairs),
            }
        }
        self.pairs_of.sort_unstable();
        let places = [&local.statics.place, &local.moving.place];
        Ok(StepPairs {
            all_pairs: pairs.len() as u64,
            pairs,
            world_pairs,
            ghosts: places
                .map(|places| places.iter().filter(|&&place| place == NONE).count())
                .iter()
                .sum(),
            invalid: result.counters.invalid.into(),
            candidates: result.counters.pair_candidates,
        })
    }
}

/// Excluded pairs. Each has the index of one of its boxes on this rank. Sorted by index.
struct Excluded {
    of_moving: Vec<(u32, [u64; 2])>,
    of_statics: Vec<(u32, [u64; 2])>,
}

impl Excluded {
    fn find(owned: &Owned) -> Result<Self, String> {
        let mut found = Self {
            of_moving: Vec::new(),
            of_statics: Vec::new(),
        };
        if owned.excluded_pairs.is_empty() {
            return Ok(found);
        }
        let mut sides = [
            (&owned.moving, owned.moving.by_id(), &mut found.of_moving),
            (&owned.statics, owned.statics.by_id(), &mut found.of_statics),
        ];
        for row in &owned.excluded_pairs {
            let mut named = 0;
            for (objects, by_id, rows) in &mut sides {
                for id in row {
                    if let Ok(place) = by_id.binary_search_by_key(id, |&place| objects.ids[place as usize]) {
                        rows.push((by_id[place], *row));
                        named += 1;
                    }
                }
            }
            if named == 0 {
                return Err(format!("the excluded pair {row:?} names no box that the rank holds"));
            }
        }
        for (_, _, rows) in &mut sides {
            rows.sort_unstable();
        }
        Ok(found)
    }
}
