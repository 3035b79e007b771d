//! The plugin in whole apps, on the adapters that are there.

mod common;
mod events;
#[cfg(feature = "gizmos")]
mod gizmos;
mod picking;
mod queries;
mod rendering;
