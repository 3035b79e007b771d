//! Errors of the library as exceptions.

use gpu_broad_phase::{CreateError, HeadlessError, InputError, ReadBackError, ReferenceError, StepError};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    gpu_broad_phase,
    NoAdapterError,
    PyRuntimeError,
    "There is no GPU, or none of the wanted backend or name."
);
create_exception!(
    gpu_broad_phase,
    DeviceError,
    PyRuntimeError,
    "The GPU refused the work, was lost, or did not answer in time."
);

/// An error and what led to it, in one line.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

pub fn of_device(error: &HeadlessError) -> PyErr {
    let text = whole(error);
    match error {
        HeadlessError::NoAdapter { .. } => NoAdapterError::new_err(text),
        HeadlessError::Create(CreateError::Descriptor(_)) | HeadlessError::Step(StepError::Input(_)) => {
            PyValueError::new_err(text)
        }
        HeadlessError::Step(StepError::NoStep) | HeadlessError::ReadBack(ReadBackError::NoStep) => no_step(),
        HeadlessError::TooManyResults { .. } => PyOverflowError::new_err(text),
        _ => DeviceError::new_err(text),
    }
}

pub fn of_create(error: CreateError) -> PyErr {
    of_device(&error.into())
}

pub fn of_cpu(error: &ReferenceError) -> PyErr {
    match error {
        ReferenceError::NoStep => no_step(),
        ReferenceError::Input(InputError::TooMany {
            what: "pairs" | "hits" | "results of queries",
            ..
        }) => PyOverflowError::new_err(whole(error)),
        _ => PyValueError::new_err(whole(error)),
    }
}

pub fn no_step() -> PyErr {
    PyRuntimeError::new_err("there is nothing to ask yet, or the last step failed: call step() with the boxes first")
}
