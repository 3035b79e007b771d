use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bevy::ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use gpu_broad_phase::{Aabb, Handle, ObjectSet, PairEvent};

/// Entities of a step's objects. Static objects have the lowest indices. Cloning copies nothing.
#[derive(Clone, Debug, Default)]
pub struct ObjectEntities {
    statics: Arc<Vec<Option<Entity>>>,
    moving: Arc<Vec<Option<Entity>>>,
}

impl ObjectEntities {
    /// Returns the entity of an object index in pairs, hits and table entries, or `None` if the index is free.
    pub fn entity(&self, object: u32) -> Option<Entity> {
        let index = object as usize;
        match index.checked_sub(self.statics.len()) {
            None => self.statics[index],
            Some(index) => self.moving.get(index).copied().flatten(),
        }
    }

    /// Number of object indices of static objects, including free ones.
    pub fn static_count(&self) -> u32 {
        self.statics.len() as u32
    }

    /// Number of all object indices, including free ones.
    pub fn object_count(&self) -> u32 {
        (self.statics.len() + self.moving.len()) as u32
    }

    fn set(&mut self, handle: Handle, entity: Option<Entity>) {
        let part = if handle.is_static() {
            &mut self.statics
        } else {
            &mut self.moving
        };
        let part = Arc::make_mut(part);
        let index = handle.index() as usize;
        if part.len() <= index {
            part.resize(index + 1, None);
        }
        part[index] = entity;
    }

    fn of_handle(&self, handle: Handle) -> Option<Entity> {
        let part = if handle.is_static() {
            &self.statics
        } else {
            &self.moving
        };
        part.get(handle.index() as usize).copied().flatten()
    }
}

#[derive(Default)]
pub(crate) struct Objects {
    pub set: ObjectSet,
    pub entities: ObjectEntities,
    handles: EntityHashMap<Handle>,
    /// Entities of removed handles, needed until the events of the first step without them arrive.
    gone: HashMap<Handle, Entity>,
    /// The handles of `gone`, each with that step.
    leaving: VecDeque<(u64, Handle)>,
    invalid: EntityHashSet,
    next_step: u64,
    /// True if an object changed since the last step.
    pub has_changed: bool,
}

impl Objects {
    /// `bounds` is `None` if invalid. `is_static` may change.
    pub fn put(&mut self, entity: Entity, bounds: Option<Aabb>, is_static: bool) {
        let Some(bounds) = bounds else {
            self.take_out(entity);
            self.invalid.insert(entity);
            return;
        };
        if !self.invalid.is_empty() {
            self.invalid.remove(&entity);
        }
        match self.handles.get(&entity) {
            Some(&handle) if handle.is_static() == is_static => {
                let before = self.set.get(handle).ok().copied();
                if before != Some(bounds) && self.set.set(handle, bounds).is_ok() {
                    self.has_changed = true;
                }
            }
            _ => {
                self.take_out(entity);
                let handle = if is_static {
                    self.set.insert_static(bounds)
                } else {
                    self.set.insert(bounds)
                };
                self.handles.insert(entity, handle);
                self.entities.set(handle, Some(entity));
                self.has_changed = true;
            }
        }
    }

    pub fn remove(&mut self, entity: Entity) {
        self.invalid.remove(&entity);
        self.take_out(entity);
    }

    fn take_out(&mut self, entity: Entity) {
        if let Some(handle) = self.handles.remove(&entity)
            && self.set.remove(handle).is_ok()
        {
            self.entities.set(handle, None);
            self.gone.insert(handle, entity);
            self.leaving.push_back((self.next_step, handle));
            self.has_changed = true;
        }
    }

    pub fn begin_step(&mut self) {
        self.has_changed = false;
        self.next_step += 1;
    }

    pub fn revision(&self) -> u64 {
        self.next_step + u64::from(self.has_changed)
    }

    /// Forgets removed entities whose events have arrived: all but the last `under_way` steps have results.
    pub fn end_steps(&mut self, under_way: usize) {
        let is_over = |(gone_since, _): &mut (u64, Handle)| *gone_since + (under_way as u64) < self.next_step;
        while let Some((_, handle)) = self.leaving.pop_front_if(is_over) {
            self.gone.remove(&handle);
        }
    }

    /// Returns the entities of an event, even if they were removed.
    pub fn entities_of(&self, event: PairEvent) -> Option<[Entity; 2]> {
        let [a, b] = <[Handle; 2]>::from(event).map(|handle| match self.set.contains(handle) {
            true => self.entities.of_handle(handle),
            false => self.gone.get(&handle).copied(),
        });
        Some([a?, b?])
    }

    #[cfg(test)]
    pub fn bounds(&self, entity: Entity) -> Option<&Aabb> {
        self.set.get(*self.handles.get(&entity)?).ok()
    }

    pub fn invalid_count(&self) -> usize {
        self.invalid.len()
    }

    pub fn gone_count(&self) -> usize {
        self.gone.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::ecs::world::World;

    #[test]
    fn entities_that_are_gone_are_known_until_their_events_have_come() {
        let mut world = World::new();
        let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
        let mut objects = Objects::default();
        let unit = Aabb::new([0.0; 3], [1.0; 3]);
        objects.put(a, Some(unit), false);
        objects.put(b, Some(unit), true);
        let event = PairEvent::from([objects.handles[&b], objects.handles[&a]]);
        objects.begin_step();
        objects.remove(a);
        // Entity `c` takes the slot of the removed object.
        objects.put(c, Some(unit), false);
        assert_eq!(objects.handles[&c].index(), 0);
        objects.begin_step();
        assert_eq!(objects.entities_of(event), Some([b, a]));
        objects.end_steps(1);
        assert_eq!(objects.entities_of(event), Some([b, a]));
        objects.end_steps(0);
        assert_eq!(objects.entities_of(event), None);
        assert_eq!(objects.gone_count(), 0);
        assert_eq!(
            (objects.entities.entity(0), objects.entities.entity(1)),
            (Some(b), Some(c))
        );
        assert_eq!(objects.entities.entity(2), None);
    }

    #[test]
    fn an_invalid_box_is_out_and_comes_back() {
        let mut world = World::new();
        let a = world.spawn_empty().id();
        let mut objects = Objects::default();
        let unit = Aabb::new([0.0; 3], [1.0; 3]);
        objects.put(a, Some(unit), false);
        objects.put(a, None, false);
        assert_eq!((objects.set.len(), objects.invalid_count()), (0, 1));
        objects.put(a, Some(unit), true);
        assert_eq!((objects.set.len(), objects.invalid_count()), (1, 0));
        assert_eq!(objects.bounds(a), Some(&unit));
        objects.put(a, None, true);
        objects.remove(a);
        assert_eq!(objects.invalid_count(), 0);
    }
}
