use gpu_broad_phase::{BroadPhaseError, CreateError, ReadBackError, StepError};

use crate::page::bytes;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    #[error(
        "This browser has no WebGPU. Chrome, Edge, Safari and Firefox have it in their recent versions, on most \
         systems."
    )]
    NoWebGpu,
    #[error("Browsers have WebGPU on pages of https and of localhost alone, and this is neither.")]
    NotSecure,
    #[error("The browser has WebGPU but gives no adapter: there is no GPU that it trusts, or its use is switched off.")]
    NoAdapter,
    #[error("The GPU gives no device: {0}")]
    NoDevice(String),
    #[error("The browser does not let this page draw: {0}")]
    NoCanvas(String),
    #[error("{what} take {}, and this device binds at most {}.", bytes(*needed), bytes(*limit))]
    TooLarge {
        what: &'static str,
        needed: u64,
        limit: u64,
    },
    #[error("The device has no room for the boxes: {0}")]
    NoRoom(String),
    #[error("The broad phase cannot be made: {0}")]
    Create(#[from] CreateError),
    #[error("A step cannot be made: {0}")]
    Step(#[from] StepError),
    #[error("The results cannot be read: {0}")]
    ReadBack(#[from] ReadBackError),
    #[error("The CPU engine cannot answer: {0}")]
    Reference(#[from] BroadPhaseError),
    #[error("The outputs did not come to hold all that was found.")]
    NeverWhole,
}
