pub mod device_count;
pub mod gather_input;
