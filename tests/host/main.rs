//! Tests without a device.

mod box_tests;
mod cancel;
mod crowds;
mod definition;
mod exact_rays;
mod files;
mod frames;
mod language;
mod math_types;
mod messages;
mod pair_rule;
mod plain_tree;
mod reference_passes;
mod serde;
mod structure;
mod wild;
