//! Errors for TypeScript: an `Error` whose name selects the class to throw.

use gpu_broad_phase::{BroadPhaseError, CreateError, DescriptorError, InputError};
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
}

fn whole(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        message = format!("{message}: {inner}");
        source = inner.source();
    }
    message
}

fn message(error: &BroadPhaseError) -> String {
    let text = whole(error);
    match error {
        BroadPhaseError::Input(error) | BroadPhaseError::Descriptor(DescriptorError::NoStepFits(error)) => {
            match error {
                InputError::BufferTooLarge { .. } => {
                    format!("{text}: use cpu: true, or a device with larger requiredLimits")
                }
                InputError::MemoryLimit { .. } => format!("{text}: raise maxBytes"),
                _ => text,
            }
        }
        BroadPhaseError::Create(CreateError::Limit { limit, .. }) => {
            let text = text.replace(limit, &camel_case(limit));
            format!("{text}: request the device with this limit, or use cpu: true")
        }
        BroadPhaseError::DeviceLost => format!("{text}: create another broad phase"),
        _ => text,
    }
}

/// WebGPU's name of a limit of wgpu.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_uppercase() + rest
    })
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
        Self::new(kind, message(&error))
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = js_sys::Error::new(&failure.message);
        error.set_name(failure.kind);
        error.into()
    }
}
