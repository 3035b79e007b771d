use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::entity::Entity;
use bevy::ecs::event::Event;
use bevy::ecs::world::{Mut, World};

use crate::components::OverlapEventsEnabled;
use crate::overlaps::{OverlapEnd, OverlapEvents, OverlapStart, Overlaps};
use crate::state::BroadPhase;

pub(crate) fn tell(world: &mut World) {
    let mut events = OverlapEvents::default();
    world.resource_scope(|world, mut broad_phase: Mut<BroadPhase>| {
        broad_phase.take_results();
        let mut overlaps = world.resource_mut::<Overlaps>();
        // If a pair began in one step and ended in the next, its end waits for the next frame, since readers cannot see
        // the order of two events.
        let (updates, events) = (&mut broad_phase.updates, &mut events);
        while let Some(update) = updates.pop_front_if(|update| !overlaps.contradicts(update, events)) {
            overlaps.bypass_change_detection().apply(update, events);
        }
        if !(events.ended.is_empty() && events.started.is_empty()) {
            overlaps.set_changed();
        }
    });
    // Observers and message readers see the final `Overlaps`.
    let ended = events.ended.iter().map(|end| [end.a, end.b]);
    trigger(world, ended, |a, b| OverlapEnd { a, b });
    let started = events.started.iter().map(|start| [start.a, start.b]);
    trigger(world, started, |a, b| OverlapStart { a, b });
    world.write_message_batch(events.ended);
    world.write_message_batch(events.started);
}

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
