//! A plugin for Bevy that finds, on the GPU, which entities overlap, which of them lie in or near a place, and which of
//! them a pointer is over. Answers come a frame or two later: no frame waits for the GPU.
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
//! - [`BroadPhaseObject`] lets an entity take part, by its `Aabb` and its `GlobalTransform`. [`StaticObject`] marks
//!   what seldom moves. [`OverlapLayers`] and [`OverlapOwner`] say which entities overlap which.
//! - [`OverlapStart`] and [`OverlapEnd`] are messages. Observers of an entity with [`OverlapEventsEnabled`] get them,
//!   too. [`Overlaps`] is a resource with all pairs that overlap now.
//! - [`BroadPhaseQuery`] asks what lies in a box, in a sphere or at a position. [`BroadPhaseQueryResults`] is its
//!   answer.
//! - Pointers of `bevy_picking` hit the boxes of entities, with the feature `picking`: see `BroadPhasePicking`.
//! - `BroadPhaseOutput` (feature `render`) has pairs and tables as buffers, for your own passes of the render graph.
//! - `BroadPhaseGizmos` (feature `gizmos`) draws boxes, cells and pairs as lines.
//! - [`BroadPhaseDiagnostics`] counts objects and steps, and says whether they run on the GPU.
//!
//! # When things come
//!
//! A *step* finds what overlaps. Its boxes are those of the end of the frame, in `PostUpdate`. With a renderer the step
//! runs in `ExtractSchedule`, so that the passes of a frame see the step of that frame. Events, hits and results of
//! queries come in `PreUpdate`, a frame or two later. No event is lost. [`BroadPhaseSystems`] names the system sets.
//!
//! # Where steps run
//!
//! On the renderer's device. Without a renderer the plugin opens a device of its own. Where neither can run them, the
//! CPU does, with the same answers, and one warning says why. A lost device leaves the CPU. Where the renderer recovers
//! (`RenderErrorPolicy::Recover`), steps move to its new device.

mod batch;
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
mod queries;
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
pub use queries::{BroadPhaseQuery, BroadPhaseQueryResults};
#[cfg(feature = "render")]
pub use render::BroadPhaseOutput;
pub use schedule::BroadPhaseSystems;
pub use state::BroadPhaseDiagnostics;

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
