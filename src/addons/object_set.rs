use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::addons::events::ObjectNames;
use crate::addons::mirror::{self, Mirror};
use crate::api::error::InputError;
use crate::api::input::Source;
use crate::api::memory::MemoryUse;
use crate::api::scene::{Scene, Statics};
use crate::api::types::{Aabb, PairEvent, STATIC_BIT};
use crate::gpu::preparation::Preparation;
use crate::shared::bounds::LARGEST_COUNT;
use crate::step::broad_phase::GpuBroadPhase;

/// Box of a free slot: an excluded point at the origin.
const FREE: Aabb = Aabb::point([0.0; 3]).with_group(Aabb::EXCLUDED);

/// Identifies an object of one [`ObjectSet`]. Once the object is removed, the handle is stale forever.
///
/// A handle is also stale in other sets, if a program has up to 1,024 sets and no slot has held a million objects.
/// Handles of moving objects sort before those of static ones, each kind by index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Handle {
    /// Index, with the top bit set for static objects.
    slot: u32,
    /// Generation of the slot while it holds the object. Always odd.
    generation: u32,
}

impl Handle {
    /// Index of the object in [`ObjectSet::slots`] or, if static, in [`ObjectSet::static_slots`]. Results use this
    /// index if the set has no static objects; otherwise see [`ObjectSet::object_of`].
    pub const fn index(self) -> u32 {
        self.slot & !STATIC_BIT
    }

    /// Returns `true` if the object is static.
    pub const fn is_static(self) -> bool {
        self.slot & STATIC_BIT != 0
    }
}

impl From<PairEvent> for [Handle; 2] {
    /// Returns the handles of a pair's objects, if the step used an [`ObjectSet`]. They may be stale if the pair ended.
    fn from(event: PairEvent) -> Self {
        [(event.a, event.a_generation), (event.b, event.b_generation)]
            .map(|(slot, generation)| Handle { slot, generation })
    }
}

impl From<[Handle; 2]> for PairEvent {
    /// Returns the event of a pair. Pass its objects in result order: static first, then by index.
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

/// The object of a handle was removed, or the [`Handle`] belongs to another set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stale handle {0:?}: its object was removed, or is of another set")]
pub struct StaleHandle(
    /// The stale handle.
    pub Handle,
);

const fn is_live(generation: u32) -> bool {
    generation % 2 == 1
}

/// Boxes with [`Handle`]s that persist across steps, mirrored in device buffers.
///
/// An object keeps its index while it lives; insertions reuse free indices. Every change takes constant time.
/// [`upload`](Self::upload) uploads changes since its last call and returns the input of a step:
///
/// ```no_run
/// # use gpu_broad_phase::{Aabb, GpuBroadPhase, ObjectSet, wgpu};
/// # fn frame(
/// #     device: &wgpu::Device, queue: &wgpu::Queue, encoder: &mut wgpu::CommandEncoder,
/// #     broad_phase: &mut GpuBroadPhase,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let mut objects = ObjectSet::new();
/// let ball = objects.insert(Aabb::new([0.0; 3], [1.0; 3]));
/// let wall = objects.insert_static(Aabb::new([-9.0; 3], [9.0, 9.0, 0.0]));
/// objects.move_to(ball, [0.5; 3], [1.5; 3])?;
/// let input = objects.upload(device, encoder)?;
/// broad_phase.step(encoder, input)?;
/// // A pair of both names them so.
/// assert_eq!((objects.object_of(wall)?, objects.object_of(ball)?), (0, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Static objects
///
/// Use [`insert_static`](Self::insert_static) for objects that seldom change: steps reuse the table of static objects
/// until one of them changes (see [`Statics`]). They never pair with each other. To make one a moving object, remove it
/// and [`insert`](Self::insert) it.
///
/// In results, a static object's index is its slot; a moving object's is its slot plus the number of [static
/// slots](Self::static_slots) at that step. [`object_of`](Self::object_of) and [`handle_of`](Self::handle_of) convert.
pub struct ObjectSet {
    moving: Part,
    statics: Part,
    /// Generation of the last uploaded static slots, unique among all sets; 0 without an upload.
    generation: u64,
}

#[derive(Default)]
struct Part {
    boxes: Vec<Aabb>,
    /// Generation of new slots: even, and far from the generations in other sets.
    first_generation: u32,
    /// Per slot, `first_generation` plus the number of insertions and removals. Odd while it has an object.
    generations: Vec<u32>,
    /// Per slot: true if `changed` contains it.
    listed: Vec<bool>,
    free: Vec<u32>,
    changed: Vec<u32>,
    live: usize,
    mirror: Mirror,
}

impl ObjectSet {
    /// Creates an empty set. The first [`upload`](Self::upload) creates its buffers.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates an empty set with host memory for `objects` moving objects.
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

    /// Adds a moving object.
    ///
    /// # Panics
    /// At the 2^29th slot (16 GiB).
    pub fn insert(&mut self, object: Aabb) -> Handle {
        let (slot, generation) = self.moving.insert(object);
        Handle { slot, generation }
    }

    /// Adds a static object.
    ///
    /// # Panics
    /// At the 2^29th slot (16 GiB).
    pub fn insert_static(&mut self, object: Aabb) -> Handle {
        let (slot, generation) = self.statics.insert(object);
        Handle {
            slot: slot | STATIC_BIT,
            generation,
        }
    }

    /// Removes an object and returns its box.
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn remove(&mut self, handle: Handle) -> Result<Aabb, StaleHandle> {
        let object = *self.get(handle)?;
        self.part_mut(handle).release(handle.index());
        Ok(object)
    }

    /// Removes all objects. Slots and memory stay.
    pub fn clear(&mut self) {
        self.moving.clear();
        self.statics.clear();
    }

    /// Returns the box of an object.
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn get(&self, handle: Handle) -> Result<&Aabb, StaleHandle> {
        let (part, index) = (self.part(handle), handle.index() as usize);
        // Handles from events or files may have any index.
        match part.generations.get(index) {
            Some(&generation) if generation == handle.generation && is_live(generation) => Ok(&part.boxes[index]),
            _ => Err(StaleHandle(handle)),
        }
    }

    /// Replaces a box, including layers and group. Identical bits do not count as a change.
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn set(&mut self, handle: Handle, object: Aabb) -> Result<(), StaleHandle> {
        self.change(handle, |_| object)
    }

    /// Replaces the bounds of an object.
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn move_to(&mut self, handle: Handle, min: [f32; 3], max: [f32; 3]) -> Result<(), StaleHandle> {
        self.change(handle, |object| Aabb { min, max, ..object })
    }

    /// Makes steps ignore an object until it is [included](Self::include): sets [`Aabb::EXCLUDED`].
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn exclude(&mut self, handle: Handle) -> Result<(), StaleHandle> {
        self.change(handle, |object| object.with_group(object.group | Aabb::EXCLUDED))
    }

    /// Includes an object again: clears [`Aabb::EXCLUDED`].
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn include(&mut self, handle: Handle) -> Result<(), StaleHandle> {
        self.change(handle, |object| object.with_group(object.group & !Aabb::EXCLUDED))
    }

    /// Returns `true` if steps ignore the object.
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn is_excluded(&self, handle: Handle) -> Result<bool, StaleHandle> {
        Ok(self.get(handle)?.group & Aabb::EXCLUDED != 0)
    }

    /// Sets the layers and mask of an object: see [`Aabb::layers`].
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn set_layers(&mut self, handle: Handle, membership: u16, mask: u16) -> Result<(), StaleHandle> {
        self.change(handle, |object| object.with_layers(membership, mask))
    }

    /// Returns `true` if the object is in the set.
    pub fn contains(&self, handle: Handle) -> bool {
        self.get(handle).is_ok()
    }

    /// Returns the object's index in results, such as [`Pair::a`](crate::Pair::a). Each new static slot shifts the
    /// indices of moving objects by one.
    ///
    /// # Errors
    /// [`StaleHandle`]: no such object.
    pub fn object_of(&self, handle: Handle) -> Result<u32, StaleHandle> {
        self.get(handle)?;
        let first = if handle.is_static() {
            0
        } else {
            self.statics.boxes.len()
        };
        Ok(first as u32 + handle.index())
    }

    /// Returns the handle of the object with this index in results. `None` for free slots, indices past the slots, and
    /// [`NONE`](crate::NONE).
    ///
    /// Indices refer to the current slots: since an earlier step, slots may have been reused, and moving objects
    /// shifted.
    pub fn handle_of(&self, object: u32) -> Option<Handle> {
        let statics = self.statics.boxes.len() as u32;
        let (part, index, mark) = match object.checked_sub(statics) {
            None => (&self.statics, object, STATIC_BIT),
            Some(index) => (&self.moving, index, 0),
        };
        let generation = part.generations.get(index as usize).copied()?;
        is_live(generation).then_some(Handle {
            slot: index | mark,
            generation,
        })
    }

    /// Returns object names for [`PairEvents::record`](crate::PairEvents::record). Call it when you record the step,
    /// before further insertions or removals. Each `record` uploads all generations, 4 bytes per slot.
    pub fn names(&self) -> ObjectNames<'_> {
        ObjectNames {
            static_count: self.statics.boxes.len() as u32,
            static_generations: Source::Host(&self.statics.generations),
            generations: Source::Host(&self.moving.generations),
        }
    }

    /// Number of objects, including static and excluded ones.
    pub fn len(&self) -> usize {
        self.moving.live + self.statics.live
    }

    /// Returns true if the set has no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the objects in result order.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &Aabb)> {
        (0..)
            .zip(self.statics.boxes.iter().chain(&self.moving.boxes))
            .filter_map(|(index, object)| Some((self.handle_of(index)?, object)))
    }

    /// Boxes of the moving slots, for [`Source::Host`] and [`cpu::step`](crate::cpu::step). Free slots are excluded
    /// points at the origin and count in [`Counters::excluded`](crate::Counters::excluded).
    ///
    /// The number of slots never falls. It is the peak number of objects, plus one per slot retired because it has held
    /// 2^31 objects.
    pub fn slots(&self) -> &[Aabb] {
        &self.moving.boxes
    }

    /// Boxes of the static slots, like [`slots`](Self::slots).
    pub fn static_slots(&self) -> &[Aabb] {
        &self.statics.boxes
    }

    /// Returns the slots as a host scene without other inputs, for the CPU engine or a `Snapshot` of a faulty frame.
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

    /// Records the upload of changes since the last call. Returns the objects as input of a step recorded later into
    /// `encoder`. Never submits, waits or reads back. Calls and steps may alternate in one encoder: each step sees the
    /// objects as of the call before it.
    ///
    /// - **Buffers** hold [`slots`](Self::slots) and [`static_slots`](Self::static_slots), with the usages `STORAGE`,
    ///   `COPY_SRC` and `COPY_DST`. Capacity doubles as needed, by a copy on the device.
    /// - **Cost**: 36 bytes per changed slot and a compute pass; nothing without changes. If over half of the static or
    ///   moving slots changed, or on a new device, all slots of that kind are uploaded.
    /// - **Order**: submit the encoders of all calls in call order, and query a step's table before the next call. If
    ///   an encoder is dropped, the next call uploads all slots, and steps recorded in between return
    ///   [`ReadBackError::NotSubmitted`](crate::ReadBackError::NotSubmitted).
    /// - **Device**: needs [`GpuBroadPhase::required_limits`](crate::GpuBroadPhase::required_limits).
    ///
    /// # Errors
    /// [`InputError::TooMany`], [`InputError::BufferTooLarge`]: the slots exceed the device's limits. Nothing is
    /// recorded; changes stay pending.
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

    /// Prepares the pipelines of partial uploads: see [`Preparation`].
    pub fn prepare(&mut self, broad_phase: &GpuBroadPhase) -> Preparation {
        let context = broad_phase.context();
        self.moving
            .mirror
            .prepare(context)
            .and(self.statics.mirror.prepare(context))
    }

    /// Drops the device buffers. The next [`upload`](Self::upload) uploads all slots, and its step rebuilds the static
    /// table. Needed for a device of another wgpu instance, which may compare equal to the old one.
    pub fn invalidate(&mut self) {
        self.moving.mirror.invalidate();
        self.statics.mirror.invalidate();
        self.generation = 0;
    }

    /// Bytes of device memory by purpose.
    pub fn memory(&self) -> MemoryUse {
        let [moving, statics] = [&self.moving, &self.statics].map(|part| part.mirror.bytes());
        MemoryUse {
            inputs: moving + statics,
            ..MemoryUse::default()
        }
    }

    /// Bytes that the last [`upload`](Self::upload) took from the host.
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

/// Generation of new slots in set number `set`. Those of the first `2^n` sets differ by at least `2^(32 - n)`.
const fn first_generation(set: u32) -> u32 {
    set.reverse_bits() & !1
}

fn next_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Part {
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
        // The lowest index is freed last, so that it is reused first.
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

    /// Adds a free slot and lists it in `changed`: the device has no box there yet.
    fn add_slot(&mut self) -> u32 {
        let index = self.boxes.len() as u32;
        assert!(
            u64::from(index) + 1 < LARGEST_COUNT,
            "too many slots: a step has fewer than 2^29 objects"
        );
        self.boxes.push(FREE);
        self.generations.push(self.first_generation);
        self.listed.push(false);
        self.list(index);
        index
    }

    /// Frees a slot. If its generation has wrapped, it is never reused: old handles would become valid again.
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

    /// New slots contain zeros on the device.
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
