//! What an entity says of itself.

use bevy::ecs::component::Component;
use bevy::transform::components::Transform;

/// Lets an entity take part: with a `bevy::camera::primitives::Aabb`, which Bevy makes for meshes and you insert for
/// anything else, and a `GlobalTransform`. Without an `Aabb` it waits until it gets one.
///
/// `Visibility` does not matter for overlaps. Bevy's `Disabled` takes the entity out while it is there.
#[derive(Component, Clone, Copy, Debug, Default)]
#[require(Transform)]
pub struct BroadPhaseObject;

/// Marks an entity that seldom moves, beside [`BroadPhaseObject`]. Static entities never overlap one another, and are
/// not sorted again while none of them changes. Where one changes, all of them are sorted anew.
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

/// Whose part an entity is: entities of one owner never overlap. A number below 2^30; higher bits are not looked at. 0
/// is nobody, as without this component.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlapOwner(pub u32);

/// Lets observers of an entity hear [`OverlapStart`](crate::OverlapStart) and [`OverlapEnd`](crate::OverlapEnd). The
/// messages of these types need no such component.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct OverlapEventsEnabled;
