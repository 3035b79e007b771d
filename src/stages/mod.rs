//! The stages of a step.

pub(crate) mod sort;
pub(crate) mod sorted;
pub(crate) mod statics;
