use avian2d as avian;
use bevy_gpu_broad_phase::avian2d::AvianBroadPhasePlugin;

#[path = "flat.rs"]
mod flat;
#[path = "harness.rs"]
mod harness;
