//! Errors, as TypeScript takes them: an `Error` whose name says which class it becomes.

use gpu_broad_phase::{BroadPhaseError, CreateError};
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

impl<E: Into<BroadPhaseError>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let kind = match error {
            BroadPhaseError::Create(CreateError::Limit { .. }) => Self::NO_DEVICE,
            BroadPhaseError::DeviceLost => Self::LOST,
            BroadPhaseError::Descriptor(_) | BroadPhaseError::Input(_) | BroadPhaseError::TooManyResults { .. } => {
                Self::REFUSED
            }
            _ => Self::OTHER,
        };
        Self::of(kind, &error)
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = js_sys::Error::new(&failure.message);
        error.set_name(failure.kind);
        error.into()
    }
}
