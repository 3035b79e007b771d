//! The public interface: plain input and output data, and errors.

pub(crate) mod backend;
pub(crate) mod counters;
pub(crate) mod descriptor;
pub(crate) mod error;
pub(crate) mod frustum;
pub(crate) mod input;
pub(crate) mod local_origin;
pub(crate) mod memory;
pub(crate) mod output;
pub(crate) mod pair_filter;
pub(crate) mod queries;
pub(crate) mod result;
pub(crate) mod scene;
#[cfg(feature = "snapshot")]
pub(crate) mod snapshot;
pub(crate) mod types;
