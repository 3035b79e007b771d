use gpu_broad_phase::{Aabb, Dimensions, NONE, Scene, Source, Statics};

use crate::owned::Objects;

pub(crate) struct Ghosts {
    objects: Objects,
    senders: Vec<u32>,
}

impl Ghosts {
    pub const EMPTY: Self = Self {
        objects: Objects::EMPTY,
        senders: Vec::new(),
    };

    pub fn take(&mut self, sender: usize, has_worlds: bool, message: &mut &[u8]) {
        self.objects.take(has_worlds, 0, message);
        self.senders.resize(self.objects.len(), sender as u32);
    }
}

/// This rank's boxes and ghosts, sorted by id, so that a tie broken by index is broken by id.
#[derive(Default)]
pub(crate) struct Side {
    pub objects: Objects,
    /// Index among this rank's boxes, or [`NONE`] for a ghost.
    pub place: Vec<u32>,
    /// Sender of each ghost, or [`NONE`] for this rank's boxes.
    senders: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Local {
    pub statics: Side,
    pub moving: Side,
    pub generation: u64,
}

impl Side {
    /// Merges boxes and ghosts by id. Fails if two boxes have the same id.
    pub fn join(held: &Objects, ghosts: &Ghosts) -> Result<Self, String> {
        let [mut own, mut others] = [held.by_id(), ghosts.objects.by_id()].map(|places| places.into_iter().peekable());
        let mut side = Self::default();
        let count = held.len() + ghosts.objects.len();
        side.objects.boxes.reserve(count);
        side.objects.ids.reserve(count);
        side.place.reserve(count);
        for _ in 0..count {
            let id = |objects: &Objects, place: Option<&u32>| place.map(|&place| objects.ids[place as usize]);
            let next = [id(held, own.peek()), id(&ghosts.objects, others.peek())];
            let is_own = next[1].is_none_or(|other| next[0].is_some_and(|own| own <= other));
            let (objects, places) = if is_own {
                (held, &mut own)
            } else {
                (&ghosts.objects, &mut others)
            };
            let at = places.next().expect("so many are left");
            let from = at as usize;
            if side.objects.ids.last() == Some(&objects.ids[from]) {
                return Err(format!("two boxes have the id {}", objects.ids[from]));
            }
            side.objects.boxes.push(objects.boxes[from]);
            side.objects.ids.push(objects.ids[from]);
            side.objects.worlds.extend(objects.worlds.get(from));
            let (place, sender) = if is_own {
                (at, NONE)
            } else {
                (NONE, ghosts.senders[from])
            };
            side.place.push(place);
            side.senders.push(sender);
        }
        Ok(side)
    }
}

impl Local {
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            objects: Source::Host(&self.moving.objects.boxes),
            worlds: Source::Host(&self.moving.objects.worlds),
            statics: Statics {
                objects: Source::Host(&self.statics.objects.boxes),
                worlds: Source::Host(&self.statics.objects.worlds),
                generation: self.generation,
            },
            ..Scene::default()
        }
    }

    pub fn len(&self) -> usize {
        self.statics.place.len() + self.moving.place.len()
    }

    fn side(&self, object: u32) -> (&Side, usize) {
        match (object as usize).checked_sub(self.statics.place.len()) {
            Some(place) => (&self.moving, place),
            None => (&self.statics, object as usize),
        }
    }

    pub fn id(&self, object: u32) -> u64 {
        let (side, place) = self.side(object);
        side.objects.ids[place]
    }

    /// 0 with one world.
    pub fn world(&self, object: u32) -> u32 {
        let (side, place) = self.side(object);
        side.objects.worlds.get(place).copied().unwrap_or(0)
    }

    pub fn is_moving(&self, object: u32) -> bool {
        object as usize >= self.statics.place.len()
    }

    pub fn is_held(&self, object: u32) -> bool {
        let (side, place) = self.side(object);
        side.place[place] != NONE
    }

    /// Bounds of the object, as the caller passed them.
    pub fn object(&self, object: u32) -> Aabb {
        let (side, place) = self.side(object);
        side.objects.boxes[place]
    }

    /// Owner of the object if it is a ghost.
    pub fn sender(&self, object: u32) -> Option<usize> {
        let (side, place) = self.side(object);
        Some(side.senders[place] as usize).filter(|_| side.place[place] == NONE)
    }

    pub fn find(&self, id: u64) -> Option<u32> {
        let statics = self.statics.place.len();
        let in_side = |side: &Side| side.objects.ids.binary_search(&id).ok();
        let moving = || in_side(&self.moving).map(|place| place + statics);
        in_side(&self.statics).or_else(moving).map(|object| object as u32)
    }
}

pub(crate) const NOTHING: Aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);

pub(crate) fn bounds_of<'a>(objects: impl IntoIterator<Item = &'a Aabb>) -> Aabb {
    let join = |bounds: Aabb, object: &Aabb| {
        Aabb::new(
            [0, 1, 2].map(|axis| bounds.min[axis].min(object.min[axis])),
            [0, 1, 2].map(|axis| bounds.max[axis].max(object.max[axis])),
        )
    };
    objects
        .into_iter()
        .filter(|object| !object.is_ignored(Dimensions::Three))
        .fold(NOTHING, join)
}
