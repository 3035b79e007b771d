//! Tests without a device.

mod crowds;
mod definition;
mod exact_rays;
mod files;
mod language;
mod math_types;
mod messages;
mod pair_rule;
mod reference;
mod serde;
mod structure;
