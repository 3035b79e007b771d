//! Tests without a device.

mod box_tests;
mod cancel;
mod crowds;
mod files;
mod language;
mod math_types;
mod messages;
mod pair_rule;
mod serde;
mod structure;
mod wild;
