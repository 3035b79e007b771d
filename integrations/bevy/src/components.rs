//! What an entity says of itself.

use bevy::ecs::component::Component;
use bevy::transform::components::Transform;
use gpu_broad_phase::Aabb;

/// Lets an entity take part. Its box is its `bevy::camera::primitives::Aabb`, moved by its `GlobalTransform`. Bevy
/// makes the `Aabb` of meshes; insert one for anything else. Until there is one, the entity takes no part.
///
/// `Visibility` does not matter for overlaps. Bevy's `Disabled` takes the entity out while it is there. So does any
/// other component that was registered by `World::register_disabling_component` before the app's plugins were finished.
#[derive(Component, Clone, Copy, Debug, Default)]
#[require(Transform)]
pub struct BroadPhaseObject;

/// Marks an entity with [`BroadPhaseObject`] that seldom moves. Static entities never overlap one another. They cost
/// next to nothing while none of them changes. Where one changes, all of them are sorted anew.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct StaticObject;

/// The layers that an entity is a member of and those that it meets. Two entities overlap where each one's
/// `membership` shares a bit with the other's `mask`. Without this component: all layers.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapLayers {
    /// Layers that the entity is a member of, a bit each.
    pub membership: u16,
    /// Layers that the entity meets, a bit each.
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

/// Whose part an entity is: entities of one owner never overlap. A number below 2^30, of your choice; higher bits are
/// not looked at. 0 is nobody, as without this component.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlapOwner(pub u32);

/// A box with the filters of its entity.
pub(crate) fn filtered(bounds: Aabb, layers: Option<&OverlapLayers>, owner: Option<&OverlapOwner>) -> Aabb {
    let OverlapLayers { membership, mask } = layers.copied().unwrap_or_default();
    let owner = owner.map_or(0, |owner| owner.0 & Aabb::OWNER_MASK);
    bounds.with_layers(membership, mask).with_owner(owner)
}

/// Lets observers of an entity hear [`OverlapStart`](crate::OverlapStart) and [`OverlapEnd`](crate::OverlapEnd). The
/// messages of these types need no such component.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct OverlapEventsEnabled;
