//! Rays and queries of which the device says how many are asked.

pub mod device_count;
pub mod gather_input;
