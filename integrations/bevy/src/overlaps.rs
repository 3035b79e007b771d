use bevy::ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use bevy::ecs::event::EntityEvent;
use bevy::ecs::message::Message;
use bevy::ecs::resource::Resource;
use bevy::platform::collections::HashSet;

/// Two entities started to overlap. Boxes that touch overlap.
///
/// Sent once per pair as a [`Message`], and to observers of each entity with
/// [`OverlapEventsEnabled`](crate::OverlapEventsEnabled), which is then `a`. Events arrive a frame or two after the
/// boxes met. The first events of a large scene take a few frames. Within a frame, a pair's [`OverlapEnd`] comes first.
#[derive(EntityEvent, Message, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverlapStart {
    /// One of the entities. For an observer, the entity it observes.
    #[event_target]
    pub a: Entity,
    /// The other entity.
    pub b: Entity,
}

/// Two entities no longer overlap, or one was despawned, disabled or lost its valid box. Sent like [`OverlapStart`].
///
/// Either entity may no longer exist. Observers of the other one are still called.
#[derive(EntityEvent, Message, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverlapEnd {
    /// One of the entities. For an observer, the entity it observes.
    #[event_target]
    pub a: Entity,
    /// The other entity.
    pub b: Entity,
}

/// The current overlaps, as changed by all [`OverlapStart`] and [`OverlapEnd`] messages so far.
#[derive(Resource, Debug, Default)]
pub struct Overlaps {
    partners: EntityHashMap<EntityHashSet>,
    len: usize,
}

impl Overlaps {
    /// Returns `true` if the entities overlap.
    pub fn contains(&self, a: Entity, b: Entity) -> bool {
        self.partners.get(&a).is_some_and(|partners| partners.contains(&b))
    }

    /// Returns the entities that overlap `entity`, in no particular order.
    pub fn of(&self, entity: Entity) -> impl Iterator<Item = Entity> + '_ {
        self.partners.get(&entity).into_iter().flatten().copied()
    }

    /// Number of overlapping pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if no entities overlap.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over all pairs, each once, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = [Entity; 2]> + '_ {
        let of_each = |(&a, partners): (&Entity, &EntityHashSet)| {
            partners
                .iter()
                .filter(move |&&b| a < b)
                .map(move |&b| [a, b])
                .collect::<Vec<_>>()
        };
        self.partners.iter().flat_map(of_each)
    }

    fn insert(&mut self, [a, b]: [Entity; 2]) -> bool {
        let is_new = self.partners.entry(a).or_default().insert(b);
        if is_new {
            self.partners.entry(b).or_default().insert(a);
            self.len += 1;
        }
        is_new
    }

    fn remove(&mut self, [a, b]: [Entity; 2]) -> bool {
        let mut was_there = false;
        for (one, other) in [(a, b), (b, a)] {
            if let Some(partners) = self.partners.get_mut(&one) {
                was_there |= partners.remove(&other);
                if partners.is_empty() {
                    self.partners.remove(&one);
                }
            }
        }
        self.len -= usize::from(was_there);
        was_there
    }

    /// Returns `true` if `update` ends pairs that `events` start. One frame cannot send both.
    pub(crate) fn contradicts(&self, update: &Update, events: &OverlapEvents) -> bool {
        if events.started.is_empty() {
            return false;
        }
        let (pairs, are_ended) = match update {
            Update::Changes { ended, .. } => (ended, true),
            Update::Whole(pairs) => (pairs, false),
        };
        let pairs = set_of(pairs);
        let mut started = events.started.iter();
        started.any(|&OverlapStart { a, b }| pairs.contains(&[a, b]) == are_ended)
    }

    /// Applies `update` and adds the changes to `events`. If an entity only got a new handle, its pairs end and begin
    /// in one update, without events.
    pub(crate) fn apply(&mut self, update: Update, events: &mut OverlapEvents) {
        let (ended, begun) = match update {
            Update::Changes { mut ended, begun } => {
                if !ended.is_empty() && !begun.is_empty() {
                    let stay = set_of(&begun);
                    ended.retain(|&pair| !stay.contains(&ordered(pair)));
                }
                (ended, begun)
            }
            Update::Whole(pairs) => {
                let now = set_of(&pairs);
                let ended = self.iter().filter(|pair| !now.contains(pair)).collect();
                (ended, pairs)
            }
        };
        for pair in ended {
            if self.remove(pair) {
                let [a, b] = ordered(pair);
                events.ended.push(OverlapEnd { a, b });
            }
        }
        for pair in begun {
            if self.insert(pair) {
                let [a, b] = ordered(pair);
                events.started.push(OverlapStart { a, b });
            }
        }
    }
}

fn ordered([a, b]: [Entity; 2]) -> [Entity; 2] {
    if a < b { [a, b] } else { [b, a] }
}

fn set_of(pairs: &[[Entity; 2]]) -> HashSet<[Entity; 2]> {
    pairs.iter().copied().map(ordered).collect()
}

#[derive(Debug)]
pub(crate) enum Update {
    Changes {
        ended: Vec<[Entity; 2]>,
        begun: Vec<[Entity; 2]>,
    },
    Whole(Vec<[Entity; 2]>),
}

/// `ended` is sent first.
#[derive(Debug, Default)]
pub(crate) struct OverlapEvents {
    pub ended: Vec<OverlapEnd>,
    pub started: Vec<OverlapStart>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::ecs::world::World;

    #[test]
    fn whole_pairs_are_told_as_their_difference() {
        let mut world = World::new();
        let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
        let (mut overlaps, mut events) = (Overlaps::default(), OverlapEvents::default());
        overlaps.apply(Update::Whole(vec![[b, a], [b, c]]), &mut events);
        assert_eq!((overlaps.len(), events.started.len()), (2, 2));
        assert!(overlaps.contains(a, b) && overlaps.contains(b, a) && !overlaps.contains(a, c));
        let mut events = OverlapEvents::default();
        overlaps.apply(Update::Whole(vec![[c, a], [c, b]]), &mut events);
        assert_eq!(
            events.ended,
            [OverlapEnd {
                a: ordered([a, b])[0],
                b: ordered([a, b])[1]
            }]
        );
        assert_eq!(
            events.started,
            [OverlapStart {
                a: ordered([a, c])[0],
                b: ordered([a, c])[1]
            }]
        );
        assert_eq!(overlaps.of(c).count(), 2);
        let mut events = OverlapEvents::default();
        overlaps.apply(
            Update::Changes {
                ended: vec![[a, c]],
                begun: vec![[a, c]],
            },
            &mut events,
        );
        // The pair ends and begins, because one entity has a new handle.
        assert_eq!((events.ended.len(), events.started.len(), overlaps.len()), (0, 0, 2));
        for (ended, begun) in [(vec![[a, c]], Vec::new()), (Vec::new(), vec![[a, c]])] {
            overlaps.apply(Update::Changes { ended, begun }, &mut events);
        }
        assert_eq!((events.ended.len(), events.started.len(), overlaps.len()), (1, 1, 2));
        let ends = Update::Changes {
            ended: vec![[c, a]],
            begun: Vec::new(),
        };
        assert!(overlaps.contradicts(&ends, &events) && overlaps.contradicts(&Update::Whole(Vec::new()), &events));
        assert!(!overlaps.contradicts(&ends, &OverlapEvents::default()));
        overlaps.apply(Update::Whole(Vec::new()), &mut events);
        assert!(overlaps.is_empty() && overlaps.partners.is_empty() && overlaps.iter().next().is_none());
    }
}
