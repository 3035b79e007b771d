//! Objects that live across steps: boxes under handles, and a buffer on the device that follows them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::addons::events::ObjectNames;
use crate::addons::mirror::{self, Mirror};
use crate::api::error::InputError;
use crate::api::input::Source;
use crate::api::memory::MemoryUse;
use crate::api::scene::{Scene, Statics};
use crate::api::types::{Aabb, PairEvent, STATIC_SLOT};
use crate::gpu::preparation::Preparation;
use crate::shared::bounds::LARGEST_COUNT;
use crate::step::broad_phase::GpuBroadPhase;

/// What a slot without an object holds: a point at the origin that takes no part.
const FREE: Aabb = Aabb::point([0.0; 3]).with_owner(Aabb::EXCLUDED);

/// Names an object of one [`ObjectSet`], for good: once the object is removed, the handle is stale and names nothing
/// again.
///
/// Of use with the set that made it alone. Another set takes it for stale: sets count the generations of their slots
/// from numbers that are far apart. With up to 1,024 sets in a program, no two have a handle in common before a slot
/// had a million objects.
///
/// Handles order by part, moving objects first, then by index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Handle {
    /// The slot; the top bit is set where it is one of the static part.
    slot: u32,
    /// Odd, as that of a slot with an object.
    generation: u32,
}

impl Handle {
    /// The index of the object in [`ObjectSet::slots`], or in [`ObjectSet::static_slots`] for a static one. In a set
    /// without static objects it names the object in results, too; else [`ObjectSet::object_of`] says how results name
    /// it.
    pub const fn index(self) -> u32 {
        self.slot & !STATIC_SLOT
    }

    /// Whether the object is a static one.
    pub const fn is_static(self) -> bool {
        self.slot & STATIC_SLOT != 0
    }
}

impl From<PairEvent> for [Handle; 2] {
    /// The objects of an event: of use where the step's objects were those of an [`ObjectSet`]. That of an event that
    /// ended may be gone.
    fn from(event: PairEvent) -> Self {
        [(event.a, event.a_generation), (event.b, event.b_generation)]
            .map(|(slot, generation)| Handle { slot, generation })
    }
}

impl From<[Handle; 2]> for PairEvent {
    /// The event of a pair, its objects in the order of their names in results: static ones first, then by index.
    fn from([a, b]: [Handle; 2]) -> Self {
        Self {
            a: a.slot,
            a_generation: a.generation,
            b: b.slot,
            b_generation: b.generation,
        }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Handle")
            .field("index", &self.index())
            .field("is_static", &self.is_static())
            .field("generation", &self.generation)
            .finish()
    }
}

/// A handle whose object was removed, or that is of another set: see [`Handle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no object of the set")]
pub struct StaleHandle(
    /// The handle.
    pub Handle,
);

/// Whether the slot with this generation has an object.
const fn is_live(generation: u32) -> bool {
    generation % 2 == 1
}

/// Boxes that live across steps, each under a [`Handle`], and buffers on the device that follow them.
///
/// An object keeps its index for as long as it lives; the next insertion takes the index of a removed one. Every change
/// takes constant time. [`upload`](Self::upload) uploads what changed since its last call and gives the sources of a
/// step:
///
/// ```no_run
/// # use gpu_broad_phase::{Aabb, GpuBroadPhase, ObjectSet, Scene, wgpu};
/// # fn frame(
/// #     device: &wgpu::Device, queue: &wgpu::Queue, encoder: &mut wgpu::CommandEncoder,
/// #     broad_phase: &mut GpuBroadPhase,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let mut objects = ObjectSet::new();
/// let ball = objects.insert(Aabb::new([0.0; 3], [1.0; 3]));
/// let wall = objects.insert_static(Aabb::new([-9.0; 3], [9.0, 9.0, 0.0]));
/// objects.move_to(ball, [0.5; 3], [1.5; 3])?;
/// let input = Scene {
///     rays: Default::default(),
///     ..objects.upload(device, encoder)?
/// };
/// broad_phase.step(encoder, input)?;
/// // A pair of both names them so.
/// assert_eq!((objects.object_of(wall)?, objects.object_of(ball)?), (0, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Static objects
///
/// Objects that seldom change belong into the static part, with [`insert_static`](Self::insert_static): steps keep
/// their table while none of them changes (see [`Statics`]), and a change to any of them lets the next step build it
/// anew. Static objects never pair with one another. Results name the static slots first, then the others: static
/// object `i` is `i`, any other is its index plus the number of [static slots](Self::static_slots) at the time of the
/// step. [`object_of`](Self::object_of) and [`handle_of`](Self::handle_of) translate. To make a static object move,
/// remove it and insert it again.
pub struct ObjectSet {
    moving: Part,
    statics: Part,
    /// Which state of the static part was recorded last; no two sets have one in common.
    generation: u64,
}

/// The moving or the static objects.
#[derive(Default)]
struct Part {
    boxes: Vec<Aabb>,
    /// The generation of a slot that had no object yet: an even number, and another one than that of other sets.
    first_generation: u32,
    /// Of each slot the first generation and the number of insertions and removals: odd while it has an object.
    generations: Vec<u32>,
    /// Whether a slot is listed in `changed`.
    listed: Vec<bool>,
    /// Slots without an object that may get one.
    free: Vec<u32>,
    /// Slots whose box is not yet recorded for upload, once each.
    changed: Vec<u32>,
    live: usize,
    mirror: Mirror,
}

impl ObjectSet {
    /// A set without objects. Buffers on the device come with the first [`upload`](Self::upload).
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// A set without objects that has room on the host for `objects` that move.
    pub fn with_capacity(objects: usize) -> Self {
        static SETS: AtomicU32 = AtomicU32::new(0);
        let first_generation = first_generation(SETS.fetch_add(1, Ordering::Relaxed));
        Self {
            moving: Part {
                boxes: Vec::with_capacity(objects),
                first_generation,
                generations: Vec::with_capacity(objects),
                listed: Vec::with_capacity(objects),
                ..Part::default()
            },
            statics: Part {
                first_generation,
                ..Part::default()
            },
            generation: 0,
        }
    }

    /// Adds an object.
    ///
    /// # Panics
    /// With the 2^31st slot: 64 GiB of boxes.
    pub fn insert(&mut self, object: Aabb) -> Handle {
        let (slot, generation) = self.moving.insert(object);
        Handle { slot, generation }
    }

    /// Adds an object to the static part.
    ///
    /// # Panics
    /// With the 2^31st slot: 64 GiB of boxes.
    pub fn insert_static(&mut self, object: Aabb) -> Handle {
        let (slot, generation) = self.statics.insert(object);
        Handle {
            slot: slot | STATIC_SLOT,
            generation,
        }
    }

    /// Takes an object out and returns its box.
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn remove(&mut self, handle: Handle) -> Result<Aabb, StaleHandle> {
        let object = *self.get(handle)?;
        self.part_mut(handle).release(handle.index());
        Ok(object)
    }

    /// Removes all objects: their handles are stale from now on. Slots stay, and so does room for as many objects.
    pub fn clear(&mut self) {
        self.moving.clear();
        self.statics.clear();
    }

    /// The box of an object.
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn get(&self, handle: Handle) -> Result<&Aabb, StaleHandle> {
        let (part, index) = (self.part(handle), handle.index() as usize);
        // A handle made of an event, or read from a file, may have any number.
        match part.generations.get(index) {
            Some(&generation) if generation == handle.generation && is_live(generation) => Ok(&part.boxes[index]),
            _ => Err(StaleHandle(handle)),
        }
    }

    /// Gives an object another box, layers and owner word included. The same bits once more are no change.
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn set(&mut self, handle: Handle, object: Aabb) -> Result<(), StaleHandle> {
        self.change(handle, |_| object)
    }

    /// Gives an object other bounds.
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn move_to(&mut self, handle: Handle, min: [f32; 3], max: [f32; 3]) -> Result<(), StaleHandle> {
        self.change(handle, |object| Aabb { min, max, ..object })
    }

    /// Lets an object take no part in steps, until it is [included](Self::include) again: sets [`Aabb::EXCLUDED`].
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn exclude(&mut self, handle: Handle) -> Result<(), StaleHandle> {
        self.change(handle, |object| object.with_owner(object.owner | Aabb::EXCLUDED))
    }

    /// Lets an object take part in steps again: clears [`Aabb::EXCLUDED`].
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn include(&mut self, handle: Handle) -> Result<(), StaleHandle> {
        self.change(handle, |object| object.with_owner(object.owner & !Aabb::EXCLUDED))
    }

    /// Whether an object takes no part in steps.
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn is_excluded(&self, handle: Handle) -> Result<bool, StaleHandle> {
        Ok(self.get(handle)?.owner & Aabb::EXCLUDED != 0)
    }

    /// Makes an object a member of the layers in `membership` that meets the layers in `mask`: see [`Aabb::layers`].
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn set_layers(&mut self, handle: Handle, membership: u16, mask: u16) -> Result<(), StaleHandle> {
        self.change(handle, |object| object.with_layers(membership, mask))
    }

    /// Whether the object is still in the set.
    pub fn contains(&self, handle: Handle) -> bool {
        self.get(handle).is_ok()
    }

    /// How results of a step name the object: [`Pair::a`](crate::Pair::a), [`Pair::b`](crate::Pair::b),
    /// [`RayHit::object`](crate::RayHit::object) and the like. A new static slot moves the names of all that move.
    ///
    /// # Errors
    /// [`StaleHandle`] where the object is no longer in the set.
    pub fn object_of(&self, handle: Handle) -> Result<u32, StaleHandle> {
        self.get(handle)?;
        let first = if handle.is_static() {
            0
        } else {
            self.statics.boxes.len()
        };
        Ok(first as u32 + handle.index())
    }

    /// The object that results name so now; `None` for a free slot, for one past the slots and for
    /// [`NONE`](crate::NONE). Results speak of the objects at the time of their step: one that was removed since may
    /// have passed its index on, and a static slot that is new since has moved the names of moving objects by one.
    pub fn handle_of(&self, object: u32) -> Option<Handle> {
        let statics = self.statics.boxes.len() as u32;
        let (part, index, mark) = match object.checked_sub(statics) {
            None => (&self.statics, object, STATIC_SLOT),
            Some(index) => (&self.moving, index, 0),
        };
        let generation = part.generations.get(index as usize).copied()?;
        is_live(generation).then_some(Handle {
            slot: index | mark,
            generation,
        })
    }

    /// Names of the objects that last from step to step, for [`PairEvents::record`](crate::PairEvents::record). They
    /// are those of the set as it is: take them along with the step, before anything is inserted or removed. Unlike
    /// boxes they are uploaded as a whole, 4 bytes a slot.
    pub fn names(&self) -> ObjectNames<'_> {
        ObjectNames {
            static_count: self.statics.boxes.len() as u32,
            static_generations: Source::Host(&self.statics.generations),
            generations: Source::Host(&self.moving.generations),
        }
    }

    /// Objects in the set, static and excluded ones among them.
    pub fn len(&self) -> usize {
        self.moving.live + self.statics.live
    }

    /// Whether the set has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects, in the order of their names in results.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &Aabb)> {
        (0..)
            .zip(self.statics.boxes.iter().chain(&self.moving.boxes))
            .filter_map(|(index, object)| Some((self.handle_of(index)?, object)))
    }

    /// The boxes that move by index, as steps see them: for [`Source::Host`] and
    /// [`cpu::step`](crate::cpu::step). Free slots hold points at the origin with [`Aabb::EXCLUDED`], which
    /// steps count as [`Counters::excluded`](crate::Counters::excluded). Slots are as many as objects have ever been in
    /// the set at once (and one more for each 2^31 objects that an index had); they never become fewer.
    pub fn slots(&self) -> &[Aabb] {
        &self.moving.boxes
    }

    /// The static boxes by index, like [`slots`](Self::slots).
    pub fn static_slots(&self) -> &[Aabb] {
        &self.statics.boxes
    }

    /// The slots as a scene on the host with nothing else in it: for the CPU's answer, or for a `Snapshot` of a frame
    /// that went wrong.
    ///
    /// ```
    /// use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, ObjectSet, Ray, Scene, cpu};
    ///
    /// let mut objects = ObjectSet::new();
    /// objects.insert(Aabb::new([0.0; 3], [1.0; 3]));
    /// let rays = [Ray::new([0.5, 0.5, 9.0], [0.0, 0.0, -1.0], 99.0)];
    /// let scene = Scene {
    ///     rays: rays[..].into(),
    ///     ..objects.scene()
    /// };
    /// let result = cpu::step_scene(&BroadPhaseDescriptor::default(), &scene)?;
    /// assert_eq!(result.ray_hits[0].t, 8.0);
    /// # Ok::<(), gpu_broad_phase::BroadPhaseError>(())
    /// ```
    pub fn scene(&self) -> Scene<'_> {
        let is_recorded = self.statics.changed.is_empty() && self.generation != 0;
        Scene {
            objects: Source::Host(&self.moving.boxes),
            statics: Statics {
                objects: Source::Host(&self.statics.boxes),
                worlds: Source::default(),
                generation: if is_recorded {
                    self.generation
                } else {
                    next_generation()
                },
            },
            ..Scene::default()
        }
    }

    /// Records the upload of what changed since the last call, and gives the objects as the input of a step that is
    /// recorded into `encoder` afterwards, with its static ones where there are any, and nothing else in it. Never
    /// submits, waits or reads back. Calls and steps may take turns in one encoder: each step sees the objects as they
    /// were at the call before it.
    ///
    /// The sources are buffers of the set's own with the usages `STORAGE`, `COPY_SRC` and `COPY_DST`, that hold
    /// [`slots`](Self::slots) and [`static_slots`](Self::static_slots). Their room doubles as needed; what they held is
    /// then copied on the device. A change takes 36 bytes, its slot and its box, and a compute pass puts it in place.
    /// Where more than half of the slots of a part changed all its boxes are uploaded as a whole, and so they are in
    /// the first call and in the first with another device. After no change nothing is recorded.
    ///
    /// The encoders of all calls have to be submitted, in the order of the calls. Where one is dropped instead, or
    /// submitted in another order, the next call uploads everything; a step that was recorded meanwhile is told as
    /// [`ReadBackError::NotSubmitted`](crate::ReadBackError::NotSubmitted). So is what is asked of an earlier step's
    /// table, where that reads the layers and owners of these buffers and a later upload was submitted first. The
    /// device needs [`GpuBroadPhase::required_limits`](crate::GpuBroadPhase::required_limits).
    ///
    /// # Errors
    /// [`InputError::TooMany`] or [`InputError::BufferTooLarge`] where the slots do not fit the device.
    /// Nothing is recorded then, and no change is lost.
    pub fn upload(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Scene<'_>, InputError> {
        for part in [&mut self.moving, &mut self.statics] {
            part.mirror.uploaded = 0;
        }
        mirror::check_count(device, self.moving.boxes.len())?;
        mirror::check_count(device, self.statics.boxes.len())?;
        let mut input = Scene::default();
        if !self.statics.boxes.is_empty() {
            if !self.statics.changed.is_empty() || self.generation == 0 {
                self.generation = next_generation();
            }
            input.statics = Statics {
                objects: self.statics.record(device, encoder)?,
                generation: self.generation,
                ..Statics::default()
            };
        }
        input.objects = self.moving.record(device, encoder)?;
        Ok(input)
    }

    /// What makes its pipelines ahead of the first upload of single boxes, on the device of a broad phase: see
    /// [`Preparation`].
    pub fn prepare(&mut self, broad_phase: &GpuBroadPhase) -> Preparation {
        let context = broad_phase.context();
        self.moving
            .mirror
            .prepare(context)
            .and(self.statics.mirror.prepare(context))
    }

    /// Drops the buffers on the device, so that the next [`upload`](Self::upload) starts over and uploads everything,
    /// and the step after it builds the table of static objects anew. Another device is found out without it.
    pub fn invalidate(&mut self) {
        self.moving.mirror.invalidate();
        self.statics.mirror.invalidate();
        self.generation = 0;
    }

    /// Bytes of the buffers on the device, and what they are for.
    pub fn memory(&self) -> MemoryUse {
        let [moving, statics] = [&self.moving, &self.statics].map(|part| part.mirror.bytes());
        MemoryUse {
            inputs: moving + statics,
            ..MemoryUse::default()
        }
    }

    /// Bytes that the last [`upload`](Self::upload) uploads, once submitted; copies on the device do not count.
    pub const fn uploaded_bytes(&self) -> u64 {
        self.moving.mirror.uploaded + self.statics.mirror.uploaded
    }

    fn part(&self, handle: Handle) -> &Part {
        if handle.is_static() {
            &self.statics
        } else {
            &self.moving
        }
    }

    fn part_mut(&mut self, handle: Handle) -> &mut Part {
        if handle.is_static() {
            &mut self.statics
        } else {
            &mut self.moving
        }
    }

    fn change(&mut self, handle: Handle, change: impl FnOnce(Aabb) -> Aabb) -> Result<(), StaleHandle> {
        let object = change(*self.get(handle)?);
        self.part_mut(handle).write(handle.index(), object);
        Ok(())
    }
}

impl Default for ObjectSet {
    fn default() -> Self {
        Self::new()
    }
}

/// The generation that the slots of a set begin with, the first of all sets with 0. Those of the first `2^n` sets are
/// `2^(32 - n)` apart or more.
const fn first_generation(set: u32) -> u32 {
    // Even, so that a slot without an object is told.
    set.reverse_bits() & !1
}

/// A number that no set had before.
fn next_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Part {
    /// Returns the slot and its generation.
    fn insert(&mut self, object: Aabb) -> (u32, u32) {
        let index = self.free.pop().unwrap_or_else(|| self.add_slot());
        let generation = &mut self.generations[index as usize];
        *generation = generation.wrapping_add(1);
        let generation = *generation;
        self.live += 1;
        self.write(index, object);
        (index, generation)
    }

    fn clear(&mut self) {
        // The lowest index is free last and thus taken first.
        for index in (0..self.generations.len() as u32).rev() {
            if is_live(self.generations[index as usize]) {
                self.release(index);
            }
        }
    }

    fn record(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Source<'_, Aabb>, InputError> {
        let (buffer, recording) = self.mirror.update(device, encoder, &self.boxes, &self.changed)?;
        for index in self.changed.drain(..) {
            self.listed[index as usize] = false;
        }
        Ok(Source::filled(buffer, self.boxes.len() as u32, recording))
    }

    /// A slot at the end. It is listed as changed whatever comes into it: the device has no box there yet.
    fn add_slot(&mut self) -> u32 {
        let index = self.boxes.len() as u32;
        assert!(u64::from(index) + 1 < LARGEST_COUNT, "more slots than a step can have");
        self.boxes.push(FREE);
        self.generations.push(self.first_generation);
        self.listed.push(false);
        self.list(index);
        index
    }

    /// Takes the object out of a slot that has one. The slot is not used again once its generation has wrapped, since
    /// an old handle would come alive.
    fn release(&mut self, index: u32) {
        self.write(index, FREE);
        self.live -= 1;
        let generation = &mut self.generations[index as usize];
        *generation = generation.wrapping_add(1);
        if *generation != self.first_generation {
            self.free.push(index);
        }
    }

    fn write(&mut self, index: u32, object: Aabb) {
        let held = &mut self.boxes[index as usize];
        if bytemuck::bytes_of(held) != bytemuck::bytes_of(&object) {
            *held = object;
            self.list(index);
        }
    }

    fn list(&mut self, index: u32) {
        let listed = &mut self.listed[index as usize];
        if !*listed {
            *listed = true;
            self.changed.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Aabb = Aabb::new([0.0; 3], [1.0; 3]);

    /// As if everything was uploaded.
    fn forget_changes(set: &mut ObjectSet) {
        set.moving.changed.clear();
        set.moving.listed.fill(false);
    }

    #[test]
    fn a_slot_is_listed_once_however_often_it_changes() {
        let mut set = ObjectSet::new();
        let [a, b] = [set.insert(UNIT), set.insert(UNIT)];
        set.move_to(a, [1.0; 3], [2.0; 3]).unwrap();
        assert_eq!(set.moving.changed, [0, 1]);
        forget_changes(&mut set);
        for step in 1..9 {
            set.move_to(b, [step as f32; 3], [9.0; 3]).unwrap();
            set.exclude(b).unwrap();
        }
        set.remove(b).unwrap();
        assert_eq!(set.insert(UNIT).index(), b.index());
        assert_eq!(set.moving.changed, [1]);
    }

    #[test]
    fn only_other_bits_are_a_change() {
        let mut set = ObjectSet::new();
        let nan = Aabb::new([f32::NAN; 3], [0.0; 3]).with_layers(3, 5);
        let handle = set.insert(nan);
        forget_changes(&mut set);
        set.set(handle, nan).unwrap();
        set.move_to(handle, nan.min, nan.max).unwrap();
        set.include(handle).unwrap();
        set.set_layers(handle, 3, 5).unwrap();
        assert!(set.moving.changed.is_empty());
        set.move_to(handle, nan.min, [-0.0; 3]).unwrap();
        assert_eq!(set.moving.changed, [0]);
    }

    /// The device has zeros there, which are no excluded box.
    #[test]
    fn a_new_slot_is_listed_even_if_its_box_is_that_of_a_free_one() {
        let mut set = ObjectSet::new();
        set.insert(FREE);
        assert_eq!(set.moving.changed, [0]);
    }

    #[test]
    fn a_slot_whose_generation_would_wrap_is_never_used_again() {
        let mut set = ObjectSet::new();
        let first = set.insert(UNIT);
        let end = set.moving.first_generation;
        set.moving.generations[0] = end.wrapping_sub(3);
        set.remove(set.handle_of(0).unwrap()).unwrap();
        let last = set.insert(UNIT);
        assert_eq!((last.index(), last.generation), (0, end.wrapping_sub(1)));
        set.remove(last).unwrap();
        assert_eq!(set.insert(UNIT).index(), 1);
        assert_eq!(set.handle_of(0), None);
        for handle in [first, last] {
            assert_eq!(set.get(handle), Err(StaleHandle(handle)));
        }
        assert_eq!(set.slots()[0], FREE);
        set.clear();
        assert_eq!((set.insert(UNIT).index(), set.len()), (1, 1));
    }

    #[test]
    fn the_generations_of_sets_are_far_apart() {
        let mut firsts: Vec<_> = (0..1024).map(first_generation).collect();
        assert!(firsts.iter().all(|&first| !is_live(first)));
        firsts.sort_unstable();
        // A million objects take two million generations.
        assert!(firsts.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000));
        assert!(u32::MAX - firsts[1023] >= 2_000_000);
    }

    #[test]
    fn handles_of_another_set_are_stale() {
        let mut sets = [ObjectSet::new(), ObjectSet::default(), ObjectSet::with_capacity(9)];
        let handles = sets.each_mut().map(|set| [set.insert(UNIT), set.insert_static(UNIT)]);
        for (own, set) in sets.iter_mut().enumerate() {
            for (of, handle) in (0..)
                .zip(handles)
                .flat_map(|(of, both)| both.map(|handle| (of, handle)))
            {
                assert_eq!(set.contains(handle), of == own);
                if of != own {
                    let told = Err(StaleHandle(handle));
                    assert_eq!(set.remove(handle), told);
                    assert_eq!(set.set(handle, FREE), told.map(drop));
                    assert_eq!(set.object_of(handle), told.map(|_| 0));
                }
            }
            assert_eq!(set.len(), 2);
        }
    }

    #[test]
    fn clearing_makes_handles_stale_and_low_indices_come_first_again() {
        let mut set = ObjectSet::with_capacity(3);
        let old = [UNIT; 3].map(|object| set.insert(object));
        set.clear();
        assert!(set.is_empty() && set.iter().next().is_none());
        assert_eq!(set.slots(), [FREE; 3]);
        let new = [UNIT; 3].map(|object| set.insert(object));
        assert_eq!(new.map(Handle::index), [0, 1, 2]);
        assert!(old.iter().all(|&handle| !set.contains(handle)));
        assert!(new.iter().all(|&handle| set.contains(handle)));
    }
}
