//! A broad phase for [Avian](https://github.com/avianphysics/avian), in three dimensions.
//!
//! ```no_run
//! use avian3d::prelude::*;
//! use bevy::prelude::*;
//! use bevy_gpu_broad_phase::avian3d::AvianBroadPhasePlugin;
//!
//! let physics = PhysicsPlugins::default().build().disable::<BvhBroadPhasePlugin>();
//! App::new().add_plugins((DefaultPlugins, physics.add(AvianBroadPhasePlugin::new())));
//! ```

use ::avian3d as avian;

const DIMENSIONS: gpu_broad_phase::Dimensions = gpu_broad_phase::Dimensions::Three;

#[path = "avian/plugin.rs"]
mod plugin;
#[path = "avian/search.rs"]
mod search;
#[path = "avian/table.rs"]
mod table;

pub use plugin::AvianBroadPhasePlugin;
