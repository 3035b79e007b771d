use std::collections::{BTreeMap, BTreeSet};

use gpu_broad_phase::{Aabb, Dimensions};

use crate::agreement::{RankError, agree};
use crate::bisection::WeightedBox;
use crate::communicator::Communicator;
use crate::owned::{Members, Objects, Owned, put, take};
use crate::partition::{Span, ordered};
use crate::ranks::Ranks;

/// Load balance after [`Ranks::balance`]. The same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Number of boxes that changed their rank.
    pub moved: u64,
    /// Boxes per rank: maximum / mean.
    pub boxes: f64,
    /// Load per rank: maximum / mean.
    pub load: f64,
}

impl<C: Communicator> Ranks<C> {
    /// Moves borders to even out the load, and sends each box to the rank whose region contains its lower corner. The
    /// first call also chooses the axes of borders. Collective.
    ///
    /// The vectors of `owned` are replaced and sorted by id, so indices of boxes change. Data in
    /// [`user`](crate::Objects::user) moves with its box.
    ///
    /// # Errors
    /// If `owned` is inconsistent on any rank. Nothing has been sent then.
    pub fn balance(&mut self, owned: &mut Owned) -> Result<Balance, RankError> {
        self.balance_by(owned, self.is_cut)
    }

    /// Like [`balance`](Self::balance), but chooses the axes of borders again. Use it after the world changed its
    /// shape, when too many boxes cross borders. Collective.
    ///
    /// # Errors
    /// As [`balance`](Self::balance).
    pub fn partition(&mut self, owned: &mut Owned) -> Result<Balance, RankError> {
        self.balance_by(owned, false)
    }

    fn balance_by(&mut self, owned: &mut Owned, keeps_axes: bool) -> Result<Balance, RankError> {
        self.clock.start(&self.ranks);
        let checked = self.check(owned);
        let [moving, statics] = agree(&self.ranks, checked, &mut [])?;
        self.share_pairs_of();
        let dots = [(&owned.statics, &statics), (&owned.moving, &moving)]
            .into_iter()
            .flat_map(|(objects, compared)| {
                let weight = |place: usize| self.load_of(objects.ids[place]);
                let dot = move |(place, object): (usize, &Aabb)| {
                    (!object.is_ignored(Dimensions::Three)).then(|| WeightedBox {
                        span: Span::of(object),
                        weight: weight(place),
                    })
                };
                compared.iter().enumerate().filter_map(dot)
            })
            .collect();
        let kept = keeps_axes.then_some(&self.partition);
        let (partition, load) = self.bisection.cut(&self.ranks, dots, kept);
        self.is_cut = true;
        let are_moved = self.partition != partition;
        self.partition = partition;
        self.clock.end(&self.ranks, "cut");
        let [moved, moved_statics] = self.hand_over(owned, &moving, &statics);
        let own = [(owned.moving.len() + owned.statics.len()) as u64, load];
        let mut sums = [own[0], own[1], moved, moved_statics];
        let mut most = own;
        self.ranks.sum(&mut sums);
        self.ranks.largest(&mut most);
        if are_moved || sums[3] > 0 {
            self.forget_statics();
        }
        let uneven = |place: usize| match sums[place] {
            0 => 1.0,
            sum => most[place] as f64 * self.ranks.size() as f64 / sum as f64,
        };
        self.clock.end(&self.ranks, "hand over");
        Ok(Balance {
            moved: sums[2],
            boxes: uneven(0),
            load: uneven(1),
        })
    }

    fn share_pairs_of(&mut self) {
        let message = |(rank, pairs): (usize, Vec<(u64, u32)>)| {
            let mut message = Vec::new();
            put(&mut message, pairs.iter().map(|&(id, _)| id));
            put(&mut message, pairs.iter().map(|&(_, count)| count));
            (rank, message)
        };
        let messages = std::mem::take(&mut self.pairs_of_ghosts)
            .into_iter()
            .map(message)
            .collect();
        for (_, message) in self.ranks.exchange(messages) {
            let mut message = &message[..];
            let count = message.len() / (size_of::<u64>() + size_of::<u32>());
            let ids = take::<u64>(&mut message, count);
            self.pairs_of
                .extend(ids.into_iter().zip(take::<u32>(&mut message, count)));
        }
        self.pairs_of.sort_unstable();
        self.pairs_of.dedup_by(|more, pairs| {
            let is_same = more.0 == pairs.0;
            if is_same {
                pairs.1 = pairs.1.saturating_add(more.1);
            }
            is_same
        });
    }

    fn pairs_of(&self, id: u64) -> u32 {
        let found = self.pairs_of.binary_search_by_key(&id, |&(id, _)| id);
        found.map_or(0, |place| self.pairs_of[place].1)
    }

    fn load_of(&self, id: u64) -> u32 {
        let of_pairs = self.pairs_of(id).saturating_mul(self.descriptor.pair_load);
        self.descriptor.box_load.saturating_add(of_pairs).max(1)
    }

    /// Returns the number of boxes sent, and of static ones.
    fn hand_over(&mut self, owned: &mut Owned, moving: &[Aabb], statics: &[Aabb]) -> [u64; 2] {
        let own = self.ranks.rank();
        let (user_bytes, has_worlds) = (self.descriptor.user_bytes, self.has_worlds());
        let [moving, statics] = [moving, statics].map(|compared| {
            let mut members = Members::new();
            for (place, object) in (0..).zip(compared) {
                let to = if !object.is_ignored(Dimensions::Three) {
                    self.partition.owner(object.min.map(ordered))
                } else {
                    own
                };
                members.entry(to).or_default().push(place);
            }
            members
        });
        let mut excluded = BTreeMap::<_, Vec<_>>::new();
        if !owned.excluded_pairs.is_empty() {
            let mut homes: Vec<_> = [(&owned.moving, &moving), (&owned.statics, &statics)]
                .into_iter()
                .flat_map(|(objects, members)| {
                    let of_rank = |(&to, places): (&usize, &Vec<u32>)| {
                        let homes = places.iter().map(|&place| (objects.ids[place as usize], to));
                        homes.collect::<Vec<_>>()
                    };
                    members.iter().flat_map(of_rank)
                })
                .collect();
            homes.sort_unstable();
            for row in &owned.excluded_pairs {
                let home = |id| {
                    let found = homes.binary_search_by_key(id, |&(id, _)| id);
                    found.ok().map(|place| homes[place].1)
                };
                let to = row.iter().find_map(home).unwrap_or(own);
                excluded.entry(to).or_default().push(*row);
            }
        }
        let receivers: BTreeSet<_> = moving.keys().chain(statics.keys()).copied().collect();
        let (mut moved, mut gone) = ([0; 2], Vec::new());
        let none = Vec::new();
        let mut messages = Vec::new();
        for &to in receivers.iter().filter(|&&to| to != own) {
            let mut message = Vec::new();
            for (side, (objects, members)) in [(&owned.moving, &moving), (&owned.statics, &statics)]
                .into_iter()
                .enumerate()
            {
                let members = members.get(&to).unwrap_or(&none);
                moved[side] += members.len() as u64;
                gone.extend(members.iter().map(|&place| objects.ids[place as usize]));
                objects.put(members, user_bytes, &mut message);
                put(
                    &mut message,
                    members.iter().map(|&place| self.pairs_of(objects.ids[place as usize])),
                );
            }
            put(&mut message, excluded.get(&to).into_iter().flatten().copied());
            messages.push((to, message));
        }
        let kept =
            |objects: &Objects, members: &Members| objects.gathered(members.get(&own).unwrap_or(&none), user_bytes);
        if !messages.is_empty() {
            owned.moving = kept(&owned.moving, &moving);
            owned.statics = kept(&owned.statics, &statics);
            owned.excluded_pairs = excluded.remove(&own).unwrap_or_default();
        }
        gone.sort_unstable();
        self.pairs_of.retain(|(id, _)| gone.binary_search(id).is_err());
        let came = self.ranks.exchange(messages);
        for (_, message) in &came {
            let mut message = &message[..];
            for objects in [&mut owned.moving, &mut owned.statics] {
                let before = objects.len();
                objects.take(has_worlds, user_bytes, &mut message);
                let ids = &objects.ids[before..];
                let pairs = take::<u32>(&mut message, ids.len());
                self.pairs_of.extend(ids.iter().copied().zip(pairs));
            }
            let rows = message.len() / size_of::<[u64; 2]>();
            owned.excluded_pairs.extend(take::<[u64; 2]>(&mut message, rows));
        }
        for objects in [&mut owned.moving, &mut owned.statics] {
            if !objects.ids.is_sorted() {
                *objects = objects.gathered(&objects.by_id(), user_bytes);
            }
        }
        self.pairs_of.sort_unstable();
        [moved[0] + moved[1], moved[1]]
    }
}
