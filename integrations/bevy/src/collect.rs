use bevy::camera::primitives::Aabb;
use bevy::ecs::change_detection::DetectChangesMut;
use bevy::ecs::entity::Entity;
use bevy::ecs::entity_disabling::DefaultQueryFilters;
use bevy::ecs::lifecycle::{AddEvent, RemoveEvent, RemovedComponents};
use bevy::ecs::observer::{Observer, On};
use bevy::ecs::query::{Added, Changed, Has, Or, QueryData, With};
use bevy::ecs::resource::Resource;
use bevy::ecs::system::{Query, ResMut, SystemParam};
use bevy::ecs::world::World;
use bevy::transform::components::GlobalTransform;

use crate::bounds::world_aabb;
use crate::components::{BroadPhaseObject, OverlapGroup, OverlapLayers, StaticObject, filtered};
use crate::state::BroadPhase;

#[derive(QueryData)]
pub(crate) struct Parts {
    entity: Entity,
    bounds: &'static Aabb,
    transform: &'static GlobalTransform,
    layers: Option<&'static OverlapLayers>,
    group: Option<&'static OverlapGroup>,
    is_static: Has<StaticObject>,
}

type HasChanged = Or<(
    Changed<Aabb>,
    Changed<GlobalTransform>,
    Changed<OverlapLayers>,
    Changed<OverlapGroup>,
    Added<StaticObject>,
    Added<BroadPhaseObject>,
)>;

/// Entities that gained or lost a component that hides them from queries, such as Bevy's `Disabled`.
#[derive(Resource, Default)]
pub(crate) struct Toggled(Vec<Entity>);

pub(crate) fn watch_disabling(world: &mut World) {
    let filters = world.get_resource::<DefaultQueryFilters>();
    let disabling: Vec<_> = filters
        .into_iter()
        .flat_map(|filters| filters.disabling_ids())
        .collect();
    for component in disabling {
        let added = |on: On<AddEvent>, mut toggled: ResMut<Toggled>| toggled.0.push(on.entity);
        let removed = |on: On<RemoveEvent>, mut toggled: ResMut<Toggled>| toggled.0.push(on.entity);
        world.spawn(Observer::new(added).with_component(component));
        world.spawn(Observer::new(removed).with_component(component));
    }
}

/// Readers of removed components, which change detection does not report.
#[derive(SystemParam)]
pub(crate) struct Removed<'w, 's> {
    objects: RemovedComponents<'w, 's, BroadPhaseObject>,
    bounds: RemovedComponents<'w, 's, Aabb>,
    transforms: RemovedComponents<'w, 's, GlobalTransform>,
    layers: RemovedComponents<'w, 's, OverlapLayers>,
    groups: RemovedComponents<'w, 's, OverlapGroup>,
    statics: RemovedComponents<'w, 's, StaticObject>,
}

pub(crate) fn collect(
    mut broad_phase: ResMut<BroadPhase>,
    changed: Query<Parts, (With<BroadPhaseObject>, HasChanged)>,
    all: Query<Parts, With<BroadPhaseObject>>,
    mut toggled: ResMut<Toggled>,
    mut removed: Removed,
) {
    let objects = &mut broad_phase.bypass_change_detection().objects;
    let put = |objects: &mut crate::objects::Objects, parts: PartsItem| {
        let bounds = world_aabb(parts.bounds, parts.transform);
        let bounds = bounds.map(|bounds| filtered(bounds, parts.layers, parts.group));
        objects.put(parts.entity, bounds, parts.is_static);
    };
    let Removed {
        objects: marks,
        bounds,
        transforms,
        layers,
        groups,
        statics,
    } = &mut removed;
    let again = (marks.read().chain(bounds.read()).chain(transforms.read()))
        .chain(layers.read().chain(groups.read()).chain(statics.read()))
        .chain(toggled.0.drain(..));
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
