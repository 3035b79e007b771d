//! The plugin in whole apps, on the adapters that are there.

mod common;
mod events;
mod picking;
mod rendering;
