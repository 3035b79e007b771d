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

/// Options of [`Ranks`]. All ranks must pass the same, except for [`device`](Self::device).
#[derive(Clone, Copy, Debug)]
pub struct RanksDescriptor {
    /// Options of each rank's broad phase. `outputs.growth` is ignored, because buffers always grow. `pair_filter` must
    /// be `None`, because object indices differ between ranks.
    pub broad_phase: BroadPhaseDescriptor<'static>,
    /// Device of this rank. The ranks of a machine take its adapters in turn. Default: [`Device::Auto`].
    pub device: Device,
    /// Bytes of user data per box. Default: 0.
    pub user_bytes: usize,
    /// Load of a box. Default: 4.
    pub box_load: u32,
    /// Load of a pair of the last step, added to the box whose lower corner is larger on more axes. Default: 1.
    pub pair_load: u32,
}

impl Default for RanksDescriptor {
    fn default() -> Self {
        Self {
            broad_phase: BroadPhaseDescriptor::default(),
            device: Device::Auto,
            user_bytes: 0,
            box_load: 4,
            pair_load: 1,
        }
    }
}

/// The ranks that share a world, seen from one of them: its device, its region, and its boxes of the last step. All
/// ranks make the collective calls, in the same order.
pub struct Ranks<C: Communicator = Processes> {
    pub(crate) ranks: Counted<C>,
    pub(crate) clock: Clock,
    pub(crate) engine: Engine,
    pub(crate) descriptor: RanksDescriptor,
    pub(crate) partition: Partition,
    pub(crate) is_cut: bool,
    pub(crate) bisection: Bisection<Counted<C>>,
    pub(crate) local: Local,
    pub(crate) has_stepped: bool,
    /// Generation and number of static boxes whose ghosts other ranks have. `None` to send them again.
    pub(crate) statics_sent: Option<(u64, usize)>,
    pub(crate) bounds: Aabb,
    /// Pairs of the last step that count as load of this rank's boxes: box ids, ascending, and pair counts above 0.
    /// Until [`share_pairs_of`](Self::share_pairs_of), only pairs that this rank reports are counted. A pair counts
    /// for the box whose lower corner is nearer to the pair's home point, where the work is done.
    pub(crate) pairs_of: Vec<(u64, u32)>,
    /// Pair counts of ghosts, by the ghost's owner.
    pub(crate) pairs_of_ghosts: BTreeMap<usize, Vec<(u64, u32)>>,
}

impl<C: Communicator> Ranks<C> {
    /// Opens this rank's device. Rank 0 owns all of space at first. Collective.
    ///
    /// # Errors
    /// If a rank has no device for `descriptor`, passes a `pair_filter`, or differs from rank 0.
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

    /// The adapter of this rank, or `None` on the CPU.
    pub fn adapter(&self) -> Option<&AdapterInfo> {
        self.engine.0.adapter_info()
    }

    /// The device and queue of this rank, for your passes that move boxes. `None` on the CPU.
    pub fn device(&self) -> Option<(&wgpu::Device, &wgpu::Queue)> {
        self.engine.0.device().zip(self.engine.0.queue())
    }

    /// Reads moved boxes from `buffer` into `objects.boxes`, one for each of `objects.ids`, because boxes are sent from
    /// host memory. The buffer must belong to [`device`](Self::device) and have the usage `COPY_SRC`. Not collective.
    ///
    /// # Errors
    /// If the rank is on the CPU, the buffer is too short or lacks `COPY_SRC`, or the device is lost. Pass the error to
    /// [`agreed`](crate::agreed), so that all ranks return it.
    pub fn read_boxes(&self, buffer: &wgpu::Buffer, objects: &mut Objects) -> Result<(), String> {
        objects.boxes = self.engine.read_boxes(buffer, objects.ids.len())?;
        Ok(())
    }

    /// Stages of the last call on this rank.
    pub fn stages(&self) -> Vec<Stage> {
        self.clock.stages()
    }

    pub(crate) fn forget_statics(&mut self) {
        self.statics_sent = None;
        self.local.generation += 1;
    }

    pub(crate) fn has_worlds(&self) -> bool {
        self.descriptor.broad_phase.worlds > 1
    }

    /// Checks lengths. Returns moving and static boxes as the broad phase compares them.
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
