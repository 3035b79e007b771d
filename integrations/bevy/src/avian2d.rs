//! A broad phase for [Avian](https://github.com/avianphysics/avian), in two dimensions.
//!
//! ```no_run
//! use avian2d::prelude::*;
//! use bevy::prelude::*;
//! use bevy_gpu_broad_phase::avian2d::AvianBroadPhasePlugin;
//!
//! let physics = PhysicsPlugins::default().build().disable::<BvhBroadPhasePlugin>();
//! App::new().add_plugins((DefaultPlugins, physics.add(AvianBroadPhasePlugin::new())));
//! ```

use ::avian2d as avian;

const DIMENSIONS: gpu_broad_phase::Dimensions = gpu_broad_phase::Dimensions::Two;

#[path = "avian/plugin.rs"]
mod plugin;
#[path = "avian/search.rs"]
mod search;
#[path = "avian/table.rs"]
mod table;

pub use plugin::AvianBroadPhasePlugin;
