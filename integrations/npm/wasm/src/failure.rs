//! Errors, as TypeScript takes them: an `Error` whose name says which class it becomes.

use gpu_broad_phase::{CreateError, DescriptorError, ReadBackError, ReferenceError, StepError};
use wasm_bindgen::JsValue;

/// An error with the name of its kind.
#[derive(Clone)]
pub struct Failure {
    kind: &'static str,
    message: String,
}

impl Failure {
    /// No adapter, or one that gives no device.
    pub const NO_DEVICE: &str = "NoDevice";
    /// Settings or an input that cannot be taken.
    pub const REFUSED: &str = "Refused";
    /// The device is lost.
    pub const LOST: &str = "Lost";
    /// Anything else.
    pub const OTHER: &str = "Other";

    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The error with all that it stems from.
    fn of(kind: &'static str, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            message = format!("{message}: {inner}");
            source = inner.source();
        }
        Self { kind, message }
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        let kind = match error {
            CreateError::Descriptor(_) => Self::REFUSED,
            CreateError::Limit { .. } => Self::NO_DEVICE,
            CreateError::DeviceLost => Self::LOST,
            _ => Self::OTHER,
        };
        Self::of(kind, &error)
    }
}

impl From<DescriptorError> for Failure {
    fn from(error: DescriptorError) -> Self {
        Self::of(Self::REFUSED, &error)
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        let kind = match error {
            StepError::Input(_) => Self::REFUSED,
            StepError::DeviceLost => Self::LOST,
            _ => Self::OTHER,
        };
        Self::of(kind, &error)
    }
}

impl From<ReadBackError> for Failure {
    fn from(error: ReadBackError) -> Self {
        let kind = match error {
            ReadBackError::DeviceLost => Self::LOST,
            _ => Self::OTHER,
        };
        Self::of(kind, &error)
    }
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        Self::of(Self::REFUSED, &error)
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = js_sys::Error::new(&failure.message);
        error.set_name(failure.kind);
        error.into()
    }
}
