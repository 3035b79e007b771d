//! The ranks that share a world.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Growth, Scene, Source, cpu};
use wgpu::AdapterInfo;

use crate::agreement::{RankError, agree};
use crate::bisection::Bisection;
use crate::communicator::Communicator;
use crate::engine::{Device, Engine};
use crate::local::{Local, NOTHING};
use crate::owned::{Objects, Owned};
use crate::partition::Partition;
use crate::processes::Processes;
use crate::traffic::{Clock, Counted, Stage};

/// Everything that [`Ranks`] are made from. All ranks give the same, but for [`device`](Self::device).
#[derive(Clone, Copy, Debug)]
pub struct RanksDescriptor {
    /// What a step of each rank is made from. `outputs.growth` does not count: buffers always grow. `pair_filter` has
    /// to be `None`, since it would see numbers of boxes that differ from rank to rank.
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
    /// How far a border moves in one [`balance`](Ranks::balance): it passes at most this share, from 0 to 1, of the
    /// load on both of its sides. Default: 0.1.
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

/// The ranks that share a world, as one of them sees them: its device, its part of space, and its boxes of the last
/// step. All methods that say so are collective: each rank calls them, in the same order.
pub struct Ranks<C: Communicator = Processes> {
    pub(crate) ranks: Counted<C>,
    pub(crate) clock: Clock,
    pub(crate) engine: Engine,
    pub(crate) descriptor: RanksDescriptor,
    pub(crate) partition: Partition,
    /// Whether there has been a partition since space was undivided.
    pub(crate) is_cut: bool,
    pub(crate) bisection: Bisection<Counted<C>>,
    pub(crate) local: Local,
    /// Whether there are boxes to ask.
    pub(crate) has_stepped: bool,
    /// The generation of the static boxes that others know, and how many this rank held then; none after borders moved.
    pub(crate) statics_sent: Option<(u64, usize)>,
    /// Bounds of what this rank held in the last step.
    pub(crate) bounds: Aabb,
    /// Ids that this rank held in the last step, ascending, and how many pairs count as theirs: of those that this rank
    /// reports and, after [`share_pairs_of`](Self::share_pairs_of), of all. Those without any are left out.
    ///
    /// A pair counts as that of the box whose lower corner is nearer to its home point, where the work is: of a small
    /// box within a large one, of the small one.
    pub(crate) pairs_of: Vec<(u64, u32)>,
    /// Pairs that count as ghosts', by the ranks that hold those.
    pub(crate) pairs_of_ghosts: BTreeMap<usize, Vec<(u64, u32)>>,
}

impl<C: Communicator> Ranks<C> {
    /// Ranks with all of space on rank 0 so far. Collective.
    ///
    /// # Errors
    /// Where a rank has no device for the descriptor, or another descriptor.
    pub fn new(ranks: C, descriptor: &RanksDescriptor) -> Result<Self, RankError> {
        let mut descriptor = *descriptor;
        descriptor.broad_phase.outputs.growth = Growth::Grow;
        let ranks = Counted::new(ranks);
        let engine = if descriptor.broad_phase.pair_filter.is_some() {
            Err("a pair_filter sees numbers of boxes that differ from rank to rank".into())
        } else {
            Engine::new(&descriptor.broad_phase, descriptor.device, ranks.rank_on_machine())
        };
        let engine = agree(&ranks, engine, &mut [])?;
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
            has_stepped: false,
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
        self.engine.0.adapter_info()
    }

    /// The device of this rank and its queue, for passes of the caller's that move boxes; none where it is the CPU.
    pub fn device(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        self.engine.0.device().zip(self.engine.0.queue())
    }

    /// Takes over the boxes that passes have moved: as many as `objects` has ids, from the start of a buffer of
    /// [`device`](Self::device) with the usage `COPY_SRC`. They come to the host, since messages of MPI leave from
    /// there. Not collective.
    ///
    /// # Errors
    /// Where the rank is on the CPU, the buffer is too short, or the device is lost. Hand the error to
    /// [`agreed`](crate::agreed), so that the other ranks hear of it.
    pub fn read_boxes(&self, buffer: &wgpu::Buffer, objects: &mut Objects) -> Result<(), String> {
        objects.boxes = self.engine.read_boxes(buffer, objects.ids.len())?;
        Ok(())
    }

    /// The stages of the last call on this rank.
    pub fn stages(&self) -> Vec<Stage> {
        self.clock.stages()
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

    pub(crate) fn compared(&self, objects: &Objects) -> Result<Vec<Aabb>, String> {
        let scene = Scene {
            objects: Source::Host(&objects.boxes),
            worlds: Source::Host(&objects.worlds),
            ..Scene::default()
        };
        cpu::compared_objects(&self.descriptor.broad_phase, &scene).map_err(|error| error.to_string())
    }
}
