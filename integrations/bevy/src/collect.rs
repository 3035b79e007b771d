//! Takes what changed of entities over into the objects.

use bevy::camera::primitives::Aabb;
use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::entity::Entity;
use bevy::ecs::entity_disabling::Disabled;
use bevy::ecs::lifecycle::RemovedComponents;
use bevy::ecs::query::{Added, Changed, Has, Or, QueryData, With};
use bevy::ecs::system::{Query, ResMut, SystemParam};
use bevy::transform::components::GlobalTransform;

use crate::bounds::world_aabb;
use crate::components::{BroadPhaseObject, OverlapLayers, OverlapOwner, StaticObject};
use crate::state::BroadPhase;

/// What an object is made of.
#[derive(QueryData)]
pub(crate) struct Parts {
    entity: Entity,
    bounds: &'static Aabb,
    transform: &'static GlobalTransform,
    layers: Option<&'static OverlapLayers>,
    owner: Option<&'static OverlapOwner>,
    is_static: Has<StaticObject>,
}

type HasChanged = Or<(
    Changed<Aabb>,
    Changed<GlobalTransform>,
    Changed<OverlapLayers>,
    Changed<OverlapOwner>,
    Added<StaticObject>,
    Added<BroadPhaseObject>,
)>;

/// Components that were taken away or came back into view: what change detection does not tell.
#[derive(SystemParam)]
pub(crate) struct Removed<'w, 's> {
    objects: RemovedComponents<'w, 's, BroadPhaseObject>,
    bounds: RemovedComponents<'w, 's, Aabb>,
    transforms: RemovedComponents<'w, 's, GlobalTransform>,
    layers: RemovedComponents<'w, 's, OverlapLayers>,
    owners: RemovedComponents<'w, 's, OverlapOwner>,
    statics: RemovedComponents<'w, 's, StaticObject>,
    disabled: RemovedComponents<'w, 's, Disabled>,
}

pub(crate) fn collect(
    mut broad_phase: ResMut<BroadPhase>,
    changed: Query<Parts, (With<BroadPhaseObject>, HasChanged)>,
    all: Query<Parts, With<BroadPhaseObject>>,
    newly_disabled: Query<Entity, (With<BroadPhaseObject>, Added<Disabled>)>,
    mut removed: Removed,
) {
    let objects = &mut broad_phase.bypass_change_detection().objects;
    let put = |objects: &mut crate::objects::Objects, parts: PartsItem| {
        let bounds = world_aabb(parts.bounds, parts.transform).map(|bounds| {
            let OverlapLayers { membership, mask } = parts.layers.copied().unwrap_or_default();
            let owner = parts
                .owner
                .map_or(0, |owner| owner.0 & gpu_broad_phase::Aabb::OWNER_MASK);
            bounds.with_layers(membership, mask).with_owner(owner)
        });
        objects.put(parts.entity, bounds, parts.is_static);
    };
    let Removed {
        objects: marks,
        bounds,
        transforms,
        layers,
        owners,
        statics,
        disabled,
    } = &mut removed;
    let again = (marks.read().chain(bounds.read()).chain(transforms.read()))
        .chain(layers.read().chain(owners.read()).chain(statics.read()))
        .chain(disabled.read())
        .chain(&newly_disabled);
    for entity in again {
        match all.get(entity) {
            Ok(parts) => put(objects, parts),
            Err(_) => objects.remove(entity),
        }
    }
    for parts in &changed {
        put(objects, parts);
    }
}
