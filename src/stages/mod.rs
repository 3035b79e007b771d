//! The stages of a step. Each has its rows of the pass table, its buffers and their sizes, its uniform blocks, its
//! rounds, and the recording of its dispatches. None of them knows the step.

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
