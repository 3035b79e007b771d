//! Input whose number or layout differs from what passes read.

pub mod device_count;
pub mod gather_input;
