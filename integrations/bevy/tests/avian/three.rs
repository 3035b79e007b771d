use avian3d as avian;
use bevy_gpu_broad_phase::avian3d::AvianBroadPhasePlugin;

#[path = "harness.rs"]
mod harness;
#[path = "pile.rs"]
mod pile;
#[path = "scenes.rs"]
mod scenes;
