//! Finds, on the GPU, which entities of Bevy overlap and which of them a pointer is over. It tells both, and no frame
//! waits for the GPU.
//!
//! ```no_run
//! use bevy::camera::primitives::Aabb;
//! use bevy::prelude::*;
//! use bevy_gpu_broad_phase::{BroadPhaseObject, GpuBroadPhasePlugin, OverlapStart};
//!
//! App::new()
//!     .add_plugins((DefaultPlugins, GpuBroadPhasePlugin::default()))
//!     .add_systems(Startup, |mut commands: Commands| {
//!         let bounds = Aabb::from_min_max(Vec3::splat(-0.5), Vec3::splat(0.5));
//!         commands.spawn((BroadPhaseObject, bounds, Transform::from_xyz(0.0, 0.0, 0.0)));
//!         commands.spawn((BroadPhaseObject, bounds, Transform::from_xyz(0.5, 0.0, 0.0)));
//!     })
//!     .add_systems(Update, |mut starts: MessageReader<OverlapStart>| {
//!         starts.read().for_each(|start| println!("{} meets {}", start.a, start.b));
//!     })
//!     .run();
//! ```
//!
//! - [`BroadPhaseObject`] lets an entity take part. [`StaticObject`], [`OverlapLayers`] and [`OverlapOwner`] say more.
//! - [`OverlapStart`] and [`OverlapEnd`] come as messages, and for observers of entities with [`OverlapEventsEnabled`].
//!   [`Overlaps`] is what they come to.
//! - Pointers of `bevy_picking` hit the boxes of entities, with the feature `picking`: see `BroadPhasePicking`.
//! - `BroadPhaseOutput` (feature `render`) has pairs and tables as buffers, for passes of the render graph.
//! - `BroadPhaseGizmos` (feature `gizmos`) draws boxes, cells and pairs as lines.
//! - [`BroadPhaseDiagnostics`] tells how it goes.
//!
//! # When things come
//!
//! Boxes are those of the end of the frame, in `PostUpdate`. With a renderer the step runs in its `ExtractSchedule`, so
//! that the passes of a frame see the step of that frame. Events and hits come in `PreUpdate`, a frame or two later. No
//! event is lost, and no frame waits. [`BroadPhaseSystems`] names the sets to order systems by.
//!
//! # Where steps run
//!
//! On the renderer's device; without a renderer on a device of the plugin's own; and where neither device can, on the
//! CPU, which gives the same events. One warning says why.

mod bounds;
mod collect;
mod components;
mod engine;
#[cfg(feature = "gizmos")]
mod gizmos;
mod gpu;
#[cfg(feature = "gizmos")]
mod lines;
mod objects;
mod overlaps;
#[cfg(feature = "picking")]
mod picking;
mod plugin;
mod rays;
#[cfg(feature = "render")]
mod render;
mod schedule;
mod state;
mod tell;

pub use bounds::world_aabb;
pub use components::{BroadPhaseObject, OverlapEventsEnabled, OverlapLayers, OverlapOwner, StaticObject};
#[cfg(feature = "gizmos")]
pub use gizmos::BroadPhaseGizmos;
pub use gpu_broad_phase;
pub use objects::ObjectEntities;
pub use overlaps::{OverlapEnd, OverlapStart, Overlaps};
#[cfg(feature = "picking")]
pub use picking::BroadPhasePicking;
pub use plugin::GpuBroadPhasePlugin;
#[cfg(feature = "render")]
pub use render::BroadPhaseOutput;
pub use schedule::BroadPhaseSystems;
pub use state::BroadPhaseDiagnostics;

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
