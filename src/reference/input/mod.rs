//! Passes that bring input to the number and layout that later passes read.

pub mod device_count;
pub mod gather_input;
