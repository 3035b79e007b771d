//! The radix sort of keys and values.

pub mod sort_histogram;
pub mod sort_scan;
pub mod sort_scatter;
