//! Measurements and verification of gpu-broad-phase. `broadphase` calls them for `bench`, `verify`, `stats` and `replay`.

pub mod bench;
mod device;
pub mod generate;
mod reporter;
pub mod stats;
pub mod verify;

pub use device::{Gpu, title};
pub use reporter::{Reporter, grouped};
