//! Tests without a device.

#[path = "../common/agreement.rs"]
mod agreement;
#[path = "../common/rng.rs"]
mod rng;
#[path = "../common/wild.rs"]
#[allow(dead_code, reason = "devices are asked for more")]
mod wild;

mod crowds;
mod files;
mod language;
mod math_types;
mod messages;
mod pair_rule;
mod reference;
mod serde;
mod structure;
