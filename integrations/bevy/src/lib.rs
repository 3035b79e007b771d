//! A plugin for Bevy that finds overlapping entities, entities in or near a place, and entities under a pointer, on the
//! GPU. Results arrive a frame or two later, so no frame waits for the GPU.
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
//! Begin with [`BroadPhaseObject`], [`OverlapStart`] and [`BroadPhaseQuery`]. Features: `picking` (pointers of
//! `bevy_picking`), `render` (`BroadPhaseOutput`: pairs and tables as buffers for your passes), `gizmos` (lines).
//!
//! # Timing
//!
//! A *step* finds the overlaps of the boxes at the end of a frame, in `PostUpdate`. With a renderer it runs in
//! `ExtractSchedule`, so the frame's passes see its results. Events, hits and query results arrive in `PreUpdate`, and
//! no event is lost. [`BroadPhaseSystems`] names the system sets.
//!
//! # Device
//!
//! Steps run on the renderer's device, or without a renderer on the plugin's own. If neither works or the device is
//! lost, the CPU takes over after a warning, with the same results, until the renderer recovers.

#[allow(clippy::duplicate_mod, reason = "Avian's two crates have the same interface")]
#[cfg(feature = "avian2d")]
pub mod avian2d;
#[allow(clippy::duplicate_mod, reason = "Avian's two crates have the same interface")]
#[cfg(feature = "avian3d")]
pub mod avian3d;
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
pub use components::{BroadPhaseObject, OverlapEventsEnabled, OverlapGroup, OverlapLayers, StaticObject};
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
