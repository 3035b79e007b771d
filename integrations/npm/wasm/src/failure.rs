//! Errors for TypeScript: an `Error` whose name selects the class to throw.

use gpu_broad_phase::{BroadPhaseError, CreateError};
use wasm_bindgen::JsValue;

#[derive(Clone)]
pub struct Failure {
    kind: &'static str,
    message: String,
}

impl Failure {
    pub const NO_DEVICE: &str = "NoDevice";
    pub const REFUSED: &str = "Refused";
    pub const LOST: &str = "Lost";
    pub const NO_RESULT: &str = "NoResult";
    pub const OTHER: &str = "Other";

    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Joins the messages of an error and its sources.
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
            BroadPhaseError::NoStep => Self::NO_RESULT,
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
