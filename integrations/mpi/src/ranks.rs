//! The world across ranks: who holds what, and the pairs of a step.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Growth, NONE, Pair, Scene, Source, reference};
use wgpu::AdapterInfo;

use crate::bisection::{Bisection, Dot};
use crate::communicator::{Communicator, Messages};
use crate::engine::{Device, Engine};
use crate::local::{Ghosts, Local, NOTHING, Side, joined, takes_part};
use crate::owned::{Objects, Owned, put, take};
use crate::partition::{Partition, Span, ordered};
use crate::traffic::{Clock, Counted, Stage};
use crate::world::World;

/// Everything that [`Ranks`] are made from. All ranks give the same, but for [`device`](Self::device).
#[derive(Clone, Copy, Debug)]
pub struct RanksDescriptor {
    /// What a step of each rank is made from. Buffers grow whatever it says of them, and there is no function that
    /// filters pairs, since it would see numbers of boxes that differ from rank to rank.
    pub broad_phase: BroadPhaseDescriptor<'static>,
    /// What finds things on the rank. Ranks of one machine take its adapters in turn. Default: [`Device::Auto`].
    pub device: Device,
    /// Bytes of the caller's that go where a box goes. Default: 0.
    pub user_bytes: usize,
    /// Load of a box. Default: 4.
    pub box_load: u32,
    /// Load of a pair of the last step. It counts where the pair was found: for the box whose lower corner is larger on
    /// more axes. Default: 1.
    pub pair_load: u32,
    /// The largest share of the load of a group of ranks that a border within it may move past in one
    /// [`balance`](Ranks::balance). Default: 0.1.
    pub max_moved: f64,
}

impl Default for RanksDescriptor {
    fn default() -> Self {
        Self {
            broad_phase: BroadPhaseDescriptor::default(),
            device: Device::Auto,
            user_bytes: 0,
            box_load: 4,
            pair_load: 1,
            max_moved: 0.1,
        }
    }
}

/// What went wrong on a rank. All ranks return the same error, so that none waits for another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}: {what}")]
pub struct RankError {
    /// The rank; the lowest, if it went wrong on several.
    pub rank: usize,
    /// What.
    pub what: String,
}

/// How the load lies after [`Ranks::balance`], the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Boxes that went from one rank to another.
    pub moved: u64,
    /// Boxes of the fullest rank by the mean. 1 is even.
    pub boxes: f64,
    /// Load of the fullest rank by the mean.
    pub load: f64,
}

/// The answer of a step on a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepPairs {
    /// Ids of the pairs that are this rank's to report, the smaller id first. Each pair of the world stands on one rank.
    pub pairs: Vec<[u64; 2]>,
    /// Pairs of all ranks.
    pub all_pairs: u64,
    /// Boxes that others sent to this rank for the step.
    pub ghosts: usize,
    /// Boxes of all ranks that take no part, because of a NaN, of inverted bounds or of a world that there is not.
    pub invalid: u64,
    /// Box tests of this rank, where the descriptor counts them.
    pub candidates: u64,
}

/// The ranks that share a world, as one of them sees them: its device, its part of space, and its boxes of the last
/// step. All methods that say so are collective: each rank calls them, in the same order.
pub struct Ranks<C: Communicator = World> {
    pub(crate) ranks: Counted<C>,
    pub(crate) clock: Clock,
    pub(crate) engine: Engine,
    pub(crate) descriptor: RanksDescriptor,
    pub(crate) partition: Partition,
    /// Whether there has been a partition since space was undivided.
    is_cut: bool,
    bisection: Bisection<Counted<C>>,
    pub(crate) local: Local,
    /// The generation of the static boxes that others know, and how many this rank held then; none after borders moved.
    statics_sent: Option<(u64, usize)>,
    /// Bounds of what this rank held in the last step.
    pub(crate) bounds: Aabb,
    /// Ids that this rank held in the last step, ascending, and how many pairs count as theirs: of those that this rank
    /// reports and, after [`share_pairs_of`](Self::share_pairs_of), of all. Those without any are left out.
    ///
    /// A pair counts as that of the box whose lower corner is nearer to its home point, where the work is: of a small
    /// box within a large one, of the small one.
    pairs_of: Vec<(u64, u32)>,
    /// The same of ghosts, by the ranks that hold them.
    pairs_of_ghosts: BTreeMap<usize, Vec<(u64, u32)>>,
}

/// Which of a rank's boxes go to each other rank.
type Members = BTreeMap<usize, Vec<u32>>;

impl<C: Communicator> Ranks<C> {
    /// Ranks with all of space on rank 0 so far. Collective.
    ///
    /// # Errors
    /// Where a rank has no device for the descriptor, or another descriptor.
    pub fn new(ranks: C, descriptor: &RanksDescriptor) -> Result<Self, RankError> {
        let mut descriptor = *descriptor;
        descriptor.broad_phase.growth = Growth::Grow;
        let ranks = Counted::new(ranks);
        let engine = if descriptor.broad_phase.pair_filter.is_some() {
            Err("a pair_filter sees numbers of boxes that differ from rank to rank".into())
        } else {
            Engine::new(&descriptor.broad_phase, descriptor.device, ranks.rank_on_machine())
        };
        // What the CPU would say of it, whatever the engine.
        let checked = reference::step(&descriptor.broad_phase, &[], &[]).map_err(|error| error.to_string());
        let engine = agree(&ranks, engine.and_then(|engine| checked.map(|_| engine)), &mut [])?;
        let mut hasher = DefaultHasher::new();
        let told = RanksDescriptor {
            device: Device::Auto,
            ..descriptor
        };
        format!("{told:?}").hash(&mut hasher);
        let mine = hasher.finish();
        let mut roots = mine.to_le_bytes();
        ranks.broadcast(0, &mut roots);
        let same = if roots == mine.to_le_bytes() {
            Ok(())
        } else {
            Err("another descriptor than rank 0".into())
        };
        agree(&ranks, same, &mut [])?;
        Ok(Self {
            clock: Clock::new(),
            engine,
            descriptor,
            partition: Partition::undivided(ranks.size()),
            is_cut: false,
            bisection: Bisection::new(),
            local: Local::default(),
            statics_sent: None,
            bounds: NOTHING,
            pairs_of: Vec::new(),
            pairs_of_ghosts: BTreeMap::new(),
            ranks,
        })
    }

    /// The communicator.
    pub const fn communicator(&self) -> &C {
        self.ranks.ranks()
    }

    /// The adapter of this rank; none where it is the CPU.
    pub fn adapter(&self) -> Option<&AdapterInfo> {
        self.engine.headless().map(|headless| headless.adapter_info())
    }

    /// The device of this rank and its queue, for passes of the caller's that move boxes; none where it is the CPU.
    pub fn device(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        self.engine
            .headless()
            .map(|headless| (headless.device(), headless.queue()))
    }

    /// Takes over the boxes that passes have moved: as many as `objects` has ids, from the start of a buffer of
    /// [`device`](Self::device) with the usage `COPY_SRC`. They come to the host, since messages of MPI leave from
    /// there. Not collective.
    ///
    /// # Errors
    /// Where the rank is on the CPU, the buffer is too short, or the device is lost. Hand the error to
    /// [`agreed`], so that the other ranks hear of it.
    pub fn read_boxes(&self, buffer: &wgpu::Buffer, objects: &mut Objects) -> Result<(), String> {
        objects.boxes = self.engine.read_boxes(buffer, objects.ids.len())?;
        Ok(())
    }

    /// The stages of the last call on this rank.
    pub fn stages(&self) -> Vec<Stage> {
        self.clock.stages()
    }

    /// Moves borders so that all ranks have the same load, and hands boxes over to the ranks whose part of space their
    /// lower corner lies in. The first time borders may lie anywhere. Later each stays on its axis and moves by at most
    /// [`max_moved`](RanksDescriptor::max_moved). Collective.
    ///
    /// # Errors
    /// Where what a rank holds does not fit together.
    pub fn balance(&mut self, owned: &mut Owned) -> Result<Balance, RankError> {
        self.balance_within(owned, self.is_cut.then_some(self.descriptor.max_moved))
    }

    /// As [`balance`](Self::balance), with borders that may lie anywhere: where the world has changed its shape, and
    /// more boxes than need be cross the borders that there are. Collective.
    ///
    /// # Errors
    /// As [`balance`](Self::balance).
    pub fn partition(&mut self, owned: &mut Owned) -> Result<Balance, RankError> {
        self.balance_within(owned, None)
    }

    fn balance_within(&mut self, owned: &mut Owned, limit: Option<f64>) -> Result<Balance, RankError> {
        self.clock.start(&self.ranks);
        let checked = self.check(owned);
        let [moving, statics] = agree(&self.ranks, checked, &mut [])?;
        self.share_pairs_of();
        let dots = [(&owned.statics, &statics), (&owned.moving, &moving)]
            .into_iter()
            .flat_map(|(objects, compared)| {
                let weight = |place: usize| self.load_of(objects.ids[place]);
                let dot = move |(place, object): (usize, &Aabb)| {
                    takes_part(object).then(|| Dot {
                        span: Span::of(object),
                        weight: weight(place),
                    })
                };
                compared.iter().enumerate().filter_map(dot)
            })
            .collect();
        let kept = limit.map(|limit| (&self.partition, limit));
        let (partition, load) = self.bisection.cut(&self.ranks, dots, kept);
        self.is_cut = true;
        self.partition = partition;
        self.clock.end(&self.ranks, "cut");
        let moved = self.hand_over(owned, &moving, &statics);
        let own = [(owned.moving.len() + owned.statics.len()) as u64, load];
        let mut sums = [own[0], own[1], moved];
        let mut most = own;
        self.ranks.sum(&mut sums);
        self.ranks.largest(&mut most);
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

    /// Tells the ranks that hold the ghosts of the last step how many pairs count as theirs here.
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

    /// How many pairs of the last step count as a box's.
    fn pairs_of(&self, id: u64) -> u32 {
        let found = self.pairs_of.binary_search_by_key(&id, |&(id, _)| id);
        found.map_or(0, |place| self.pairs_of[place].1)
    }

    fn load_of(&self, id: u64) -> u32 {
        let of_pairs = self.pairs_of(id).saturating_mul(self.descriptor.pair_load);
        self.descriptor.box_load.saturating_add(of_pairs).max(1)
    }

    /// Sends each box to the rank whose part its lower corner lies in. Returns how many went.
    fn hand_over(&mut self, owned: &mut Owned, moving: &[Aabb], statics: &[Aabb]) -> u64 {
        let own = self.ranks.rank();
        let (user_bytes, has_worlds) = (self.descriptor.user_bytes, self.has_worlds());
        let [moving, statics] = [moving, statics].map(|compared| {
            let mut members = Members::new();
            for (place, object) in (0..).zip(compared) {
                let to = if takes_part(object) {
                    self.partition.owner(object.min.map(ordered))
                } else {
                    own
                };
                members.entry(to).or_default().push(place);
            }
            members
        });
        let mut excluded = BTreeMap::<_, Vec<_>>::new();
        let homes: Vec<_> = [(&owned.moving, &moving), (&owned.statics, &statics)]
            .into_iter()
            .map(|(objects, members)| {
                let mut homes: Vec<_> = members
                    .iter()
                    .flat_map(|(&to, places)| places.iter().map(move |&place| (objects.ids[place as usize], to)))
                    .collect();
                if !owned.excluded_pairs.is_empty() {
                    homes.sort_unstable();
                }
                homes
            })
            .collect();
        for row in &owned.excluded_pairs {
            let home = |id| {
                let in_list = |homes: &Vec<(u64, usize)>| {
                    let found = homes.binary_search_by_key(id, |&(id, _)| id);
                    found.ok().map(|place| homes[place].1)
                };
                homes.iter().find_map(in_list)
            };
            excluded
                .entry(row.iter().find_map(home).unwrap_or(own))
                .or_default()
                .push(*row);
        }
        let receivers: std::collections::BTreeSet<_> = moving.keys().chain(statics.keys()).copied().collect();
        let mut moved = 0;
        let none = Vec::new();
        let mut messages = Vec::new();
        for &to in receivers.iter().filter(|&&to| to != own) {
            let mut message = Vec::new();
            for (objects, members) in [(&owned.moving, &moving), (&owned.statics, &statics)] {
                let members = members.get(&to).unwrap_or(&none);
                moved += members.len() as u64;
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
        self.statics_sent = None;
        moved
    }

    /// Lets the next step send static boxes again.
    pub(crate) fn forget_statics(&mut self) {
        self.statics_sent = None;
        self.local.generation += 1;
    }

    pub(crate) fn has_worlds(&self) -> bool {
        self.descriptor.broad_phase.worlds > 1
    }

    /// The boxes as they are compared, moving ones and static ones, if what a rank holds fits together.
    pub(crate) fn check(&self, owned: &Owned) -> Result<[Vec<Aabb>; 2], String> {
        let worlds = self.descriptor.broad_phase.worlds;
        owned.moving.check("moving boxes", worlds, self.descriptor.user_bytes)?;
        owned
            .statics
            .check("static boxes", worlds, self.descriptor.user_bytes)?;
        Ok([self.compared(&owned.moving)?, self.compared(&owned.statics)?])
    }

    fn compared(&self, objects: &Objects) -> Result<Vec<Aabb>, String> {
        let scene = Scene {
            objects: Source::Host(&objects.boxes),
            worlds: Source::Host(&objects.worlds),
            ..Scene::default()
        };
        reference::compared_objects(&self.descriptor.broad_phase, &scene).map_err(|error| error.to_string())
    }

    /// Finds the pairs of all ranks' boxes. Boxes that overlap other ranks' parts of space are sent there first. Of a
    /// pair that several ranks see, the one reports it whose part holds the pair's home point: on each axis the larger
    /// of the two lower corners. Collective.
    ///
    /// # Errors
    /// Where what a rank holds does not fit together, where two boxes that meet have one id, or where a device fails.
    pub fn step(&mut self, owned: &Owned) -> Result<StepPairs, RankError> {
        self.clock.start(&self.ranks);
        let checked = self.check(owned).and_then(|compared| {
            let excluded = Excluded::find(owned)?;
            Ok((compared, excluded))
        });
        let statics = (owned.generation, owned.statics.len());
        let mut sums = [u64::from(self.statics_sent != Some(statics))];
        let ([moving, fixed], excluded) = agree(&self.ranks, checked, &mut sums)?;
        let sends_statics = sums[0] > 0;
        self.statics_sent = Some(statics);
        self.bounds = moving
            .iter()
            .chain(&fixed)
            .filter(|object| takes_part(object))
            .fold(NOTHING, |bounds, object| joined(&bounds, object));
        let messages = self.ghosts(owned, [&moving, &fixed], &excluded, sends_statics);
        drop([moving, fixed]);
        let excluded = self.join(owned, messages, sends_statics);
        self.clock.end(&self.ranks, "ghosts");
        let answer = excluded.and_then(|excluded| self.local_pairs(excluded));
        let [mut all_pairs, mut invalid] = answer
            .as_ref()
            .map_or([0; 2], |answer| [answer.all_pairs, answer.invalid]);
        self.clock.end(&self.ranks, "step");
        let mut sums = [all_pairs, invalid];
        let answer = agree(&self.ranks, answer, &mut sums)?;
        [all_pairs, invalid] = sums;
        self.clock.end(&self.ranks, "agree");
        Ok(StepPairs {
            all_pairs,
            invalid,
            ..answer
        })
    }

    /// Messages with the boxes that overlap other ranks' parts, and with the excluded pairs that name them.
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
                if takes_part(object) {
                    self.partition.overlapped(&Span::of(object), &mut |to| {
                        if to != own {
                            members.entry(to).or_default().push(place);
                        }
                    });
                }
            }
            members
        };
        let mut sides = vec![(&owned.moving, others(moving), &excluded.of_moving)];
        // Static ghosts are kept, but excluded pairs that name them are told anew.
        sides.push((&owned.statics, others(statics), &excluded.of_statics));
        let receivers: std::collections::BTreeSet<_> = sides
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
        receivers.into_iter().map(|to| (to, message(to))).collect()
    }

    /// Sends messages, and joins what came with what the rank holds. Returns the excluded pairs that it knows of.
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
        Ok(excluded)
    }

    /// The pairs of the boxes that are here, as far as they are this rank's to report.
    fn local_pairs(&mut self, excluded: Vec<[u64; 2]>) -> Result<StepPairs, String> {
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
        let result = self.engine.step(&self.descriptor.broad_phase, &scene)?;
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
        for Pair { a, b } in result.pairs {
            let [of_a, of_b] = [a, b].map(|object| corners[object as usize]);
            if part.holds([0, 1, 2].map(|axis| of_a[axis].max(of_b[axis]))) {
                let is_at_a = (0..3).filter(|&axis| of_a[axis] > of_b[axis]).count() > 1;
                counts[if is_at_a { a } else { b } as usize] += 1;
                let [a, b] = [a, b].map(|object| local.id(object));
                pairs.push([a.min(b), a.max(b)]);
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
            ghosts: places
                .map(|places| places.iter().filter(|&&place| place == NONE).count())
                .iter()
                .sum(),
            invalid: result.counters.invalid.into(),
            candidates: result.counters.pair_candidates,
        })
    }
}

/// Excluded pairs by the boxes of this rank that they name, ascending by the box's place.
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

/// Lets all ranks know whether one of them failed. Each passes its own result, and if any failed, all get the error of
/// the lowest that did. So none goes on to wait for one that has gone. Collective.
///
/// # Errors
/// Where a rank passes one.
pub fn agreed<C: Communicator, T>(ranks: &C, own: Result<T, String>) -> Result<T, RankError> {
    agree(ranks, own, &mut [])
}

/// As [`agreed`], and adds up numbers of the ranks.
pub(crate) fn agree<C: Communicator, T>(ranks: &C, own: Result<T, String>, sums: &mut [u64]) -> Result<T, RankError> {
    let mut words = [&[own.is_err().into()], &*sums].concat();
    ranks.sum(&mut words);
    sums.copy_from_slice(&words[1..]);
    if words[0] == 0 {
        return own.map_err(|_| unreachable!("no rank failed"));
    }
    // The lowest of those that failed tells.
    let mut lowest = [if own.is_err() { ranks.size() - ranks.rank() } else { 0 } as u64];
    ranks.largest(&mut lowest);
    let rank = ranks.size() - lowest[0] as usize;
    let mut what = own.err().unwrap_or_default().into_bytes();
    let mut length = (what.len() as u64).to_le_bytes();
    ranks.broadcast(rank, &mut length);
    what.resize(u64::from_le_bytes(length) as usize, 0);
    ranks.broadcast(rank, &mut what);
    Err(RankError {
        rank,
        what: String::from_utf8_lossy(&what).into_owned(),
    })
}
