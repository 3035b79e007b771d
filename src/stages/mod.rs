//! Stages of a step, which do not use the module `step`. Each stage has its passes, buffers, plan, uniform blocks
//! and recorded dispatches.

pub(crate) mod input;
pub(crate) mod order;
pub(crate) mod pairs;
pub(crate) mod queries;
pub(crate) mod rays;
pub(crate) mod scan;
pub(crate) mod shape;
pub(crate) mod sort;
pub(crate) mod table;
pub(crate) mod walks;
