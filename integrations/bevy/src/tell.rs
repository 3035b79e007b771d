//! Tells what has arrived: messages, observers and the set of overlaps.

use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::entity::Entity;
use bevy::ecs::event::Event;
use bevy::ecs::world::{Mut, World};

use crate::components::OverlapEventsEnabled;
use crate::overlaps::{OverlapEnd, OverlapStart, Overlaps, ErrorReport};
use crate::state::BroadPhase;

pub(crate) fn tell(world: &mut World) {
    let mut told = ErrorReport::default();
    world.resource_scope(|world, mut broad_phase: Mut<BroadPhase>| {
        broad_phase.await_errors();
        let mut overlaps = world.resource_mut::<Overlaps>();
        // What began in one step and ended in the next is told in two frames: readers could not tell which came first.
        let (updates, told) = (&mut broad_phase.updates, &mut told);
        while let Some(update) = updates.pop_front_if(|update| !overlaps.contradicts(update, told)) {
            overlaps.bypass_change_detection().apply(update, told);
        }
        if !(told.ended.is_empty() && told.started.is_empty()) {
            overlaps.set_changed();
        }
    });
    // Observers see the set as it is after all of them, and so do readers of messages.
    let ended = told.ended.iter().map(|end| [end.a, end.b]);
    trigger(world, ended, |a, b| OverlapEnd { a, b });
    let started = told.started.iter().map(|start| [start.a, start.b]);
    trigger(world, started, |a, b| OverlapStart { a, b });
    world.write_message_batch(told.ended);
    world.write_message_batch(told.started);
}

/// Tells observers of each entity that listens.
fn trigger<'t, E: Event<Trigger<'t>: Default>>(
    world: &mut World,
    pairs: impl Iterator<Item = [Entity; 2]>,
    event: impl Fn(Entity, Entity) -> E,
) {
    for [a, b] in pairs.flat_map(|[a, b]| [[a, b], [b, a]]) {
        let target = world.get_entity(a);
        if target.is_ok_and(|entity| entity.contains::<OverlapEventsEnabled>()) {
            world.trigger(event(a, b));
        }
    }
}
