//! Measurements and verification for the commands `bench`, `verify`, `stats` and `replay` of `broadphase`.

pub mod bench;
mod device;
pub mod generate;
mod reporter;
pub mod stats;
pub mod verify;

pub use device::{Gpu, title};
pub use reporter::{Reporter, grouped};
