mod common;
mod events;
#[cfg(feature = "gizmos")]
mod gizmos;
mod picking;
mod queries;
mod rendering;
