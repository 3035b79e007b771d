use bevy::ecs::component::Component;
use bevy::transform::components::Transform;
use gpu_broad_phase::Aabb;

/// Adds an entity to the broad phase. Its box is its `bevy::camera::primitives::Aabb`, transformed by its
/// `GlobalTransform`. Bevy creates the `Aabb` of meshes. Insert one for other entities, which are ignored without it.
///
/// `Visibility` does not affect overlaps. Bevy's `Disabled` removes the entity while present. So does any component
/// that is registered with `World::register_disabling_component` before the first update.
#[derive(Component, Clone, Copy, Debug, Default)]
#[require(Transform)]
pub struct BroadPhaseObject;

/// Marks a [`BroadPhaseObject`] that seldom moves. Static entities never overlap each other. They cost almost nothing
/// until one of them changes, and then all of them are sorted again.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct StaticObject;

/// Layer filter. Two entities overlap only if the `membership` of each shares a bit with the `mask` of the other.
/// Default, and without this component: all layers.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapLayers {
    /// Layers of the entity, a bit each.
    pub membership: u16,
    /// Layers that the entity can overlap, one bit per layer.
    pub mask: u16,
}

impl Default for OverlapLayers {
    fn default() -> Self {
        Self {
            membership: u16::MAX,
            mask: u16::MAX,
        }
    }
}

/// Group of an entity: a number below 2^30; higher bits are ignored. Entities of the same group never overlap. 0, as
/// without this component, means no group.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlapGroup(pub u32);

pub(crate) fn filtered(bounds: Aabb, layers: Option<&OverlapLayers>, group: Option<&OverlapGroup>) -> Aabb {
    let OverlapLayers { membership, mask } = layers.copied().unwrap_or_default();
    let group = group.map_or(0, |group| group.0 & Aabb::GROUP_MASK);
    bounds.with_layers(membership, mask).with_group(group)
}

/// Sends [`OverlapStart`](crate::OverlapStart) and [`OverlapEnd`](crate::OverlapEnd) events to observers of the entity.
/// Messages of these types are sent without it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct OverlapEventsEnabled;
