//! Device code: pipelines, buffers, and the recording of stages.

pub(crate) mod adapter;
pub(crate) mod bindings;
pub(crate) mod buffers;
pub(crate) mod device_context;
pub(crate) mod filled;
pub(crate) mod group;
pub(crate) mod link;
pub(crate) mod pipelines;
pub(crate) mod preparation;
pub(crate) mod readback;
pub(crate) mod reading;
pub(crate) mod recorder;
pub(crate) mod scope;
pub(crate) mod shader;
pub(crate) mod shared_pipelines;
pub(crate) mod staging;
pub(crate) mod submission_probe;
pub(crate) mod timing;
pub(crate) mod upload;
pub(crate) mod waiting;
