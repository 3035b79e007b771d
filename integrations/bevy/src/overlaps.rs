//! Which entities overlap, and the events that tell of it.

use bevy::ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use bevy::ecs::event::EntityEvent;
use bevy::ecs::message::Message;
use bevy::ecs::resource::Resource;
use bevy::platform::collections::HashSet;

/// Two entities overlap that did not before. Boxes that touch overlap.
///
/// A [`Message`] comes once for each two entities. Observers of an entity with
/// [`OverlapEventsEnabled`](crate::OverlapEventsEnabled) hear it, too: then `a` is that entity. Both come a frame or
/// two after the boxes met, and the first ones of a large scene a few frames more. Where an [`OverlapEnd`] of the same
/// two comes in the same frame, it is the earlier one.
#[derive(EntityEvent, Message, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverlapStart {
    /// One of both; for observers the entity that they watch.
    #[event_target]
    pub a: Entity,
    /// The other.
    pub b: Entity,
}

/// Two entities no longer overlap, or one of them is gone, disabled or without a valid box. As [`OverlapStart`].
///
/// Either entity may be despawned by now. An observer of the other one hears it all the same.
#[derive(EntityEvent, Message, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverlapEnd {
    /// One of both; for observers the entity that they watch.
    #[event_target]
    pub a: Entity,
    /// The other.
    pub b: Entity,
}

/// Which entities overlap: what all [`OverlapStart`] and [`OverlapEnd`] messages so far come to.
#[derive(Resource, Debug, Default)]
pub struct Overlaps {
    partners: EntityHashMap<EntityHashSet>,
    len: usize,
}

impl Overlaps {
    /// Whether two entities overlap.
    pub fn contains(&self, a: Entity, b: Entity) -> bool {
        self.partners.get(&a).is_some_and(|partners| partners.contains(&b))
    }

    /// The entities that overlap this one, in no particular order.
    pub fn of(&self, entity: Entity) -> impl Iterator<Item = Entity> + '_ {
        self.partners.get(&entity).into_iter().flatten().copied()
    }

    /// How many pairs of entities overlap.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no entities overlap.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All pairs, each once, in no particular order.
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

    /// Whether an update ends what has just begun, so that both cannot be told in one frame.
    pub(crate) fn contradicts(&self, update: &Update, told: &ErrorReport) -> bool {
        if told.started.is_empty() {
            return false;
        }
        let (pairs, are_ended) = match update {
            Update::Changes { ended, .. } => (ended, true),
            Update::Whole(pairs) => (pairs, false),
        };
        let pairs = set_of(pairs);
        let mut started = told.started.iter();
        started.any(|&OverlapStart { a, b }| pairs.contains(&[a, b]) == are_ended)
    }

    /// Takes over what a step found, and adds what is new and what is gone to `told`. An entity that got another
    /// handle, such as one that became static, both ends and begins: its pairs stay and are not told.
    pub(crate) fn apply(&mut self, update: Update, told: &mut ErrorReport) {
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
                told.ended.push(OverlapEnd { a, b });
            }
        }
        for pair in begun {
            if self.insert(pair) {
                let [a, b] = ordered(pair);
                told.started.push(OverlapStart { a, b });
            }
        }
    }
}

fn ordered([a, b]: [Entity; 2]) -> [Entity; 2] {
    if a < b { [a, b] } else { [b, a] }
}

/// Pairs whatever their order, to look one up.
fn set_of(pairs: &[[Entity; 2]]) -> HashSet<[Entity; 2]> {
    pairs.iter().copied().map(ordered).collect()
}

/// What is known of the pairs after a step.
#[derive(Debug)]
pub(crate) enum Update {
    /// What differs from the step before.
    Changes {
        ended: Vec<[Entity; 2]>,
        begun: Vec<[Entity; 2]>,
    },
    /// All pairs, each once.
    Whole(Vec<[Entity; 2]>),
}

/// Events to be told, ended ones first.
#[derive(Debug, Default)]
pub(crate) struct ErrorReport {
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
        let (mut overlaps, mut told) = (Overlaps::default(), ErrorReport::default());
        overlaps.apply(Update::Whole(vec![[b, a], [b, c]]), &mut told);
        assert_eq!((overlaps.len(), told.started.len()), (2, 2));
        assert!(overlaps.contains(a, b) && overlaps.contains(b, a) && !overlaps.contains(a, c));
        let mut told = ErrorReport::default();
        overlaps.apply(Update::Whole(vec![[c, a], [c, b]]), &mut told);
        assert_eq!(
            told.ended,
            [OverlapEnd {
                a: ordered([a, b])[0],
                b: ordered([a, b])[1]
            }]
        );
        assert_eq!(
            told.started,
            [OverlapStart {
                a: ordered([a, c])[0],
                b: ordered([a, c])[1]
            }]
        );
        assert_eq!(overlaps.of(c).count(), 2);
        let mut told = ErrorReport::default();
        overlaps.apply(
            Update::Changes {
                ended: vec![[a, c]],
                begun: vec![[a, c]],
            },
            &mut told,
        );
        // It did not part: one of them has another handle.
        assert_eq!((told.ended.len(), told.started.len(), overlaps.len()), (0, 0, 2));
        for (ended, begun) in [(vec![[a, c]], Vec::new()), (Vec::new(), vec![[a, c]])] {
            overlaps.apply(Update::Changes { ended, begun }, &mut told);
        }
        assert_eq!((told.ended.len(), told.started.len(), overlaps.len()), (1, 1, 2));
        let ends = Update::Changes {
            ended: vec![[c, a]],
            begun: Vec::new(),
        };
        assert!(overlaps.contradicts(&ends, &told) && overlaps.contradicts(&Update::Whole(Vec::new()), &told));
        assert!(!overlaps.contradicts(&ends, &ErrorReport::default()));
        overlaps.apply(Update::Whole(Vec::new()), &mut told);
        assert!(overlaps.is_empty() && overlaps.partners.is_empty() && overlaps.iter().next().is_none());
    }
}
