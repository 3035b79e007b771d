//! Rays and queries of which the device says how many are asked.

pub mod limit_asked;
pub mod take_asked;
