//! The exclusive scan that makes offsets of counts.

pub mod scan_apply;
pub mod scan_reduce;
pub mod scan_spine;
