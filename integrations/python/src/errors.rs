use gpu_broad_phase::{BroadPhaseError, DescriptorError, InputError, ReadBackError};
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

fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

fn advice(error: &BroadPhaseError) -> &'static str {
    match error {
        BroadPhaseError::Input(error) | BroadPhaseError::Descriptor(DescriptorError::NoStepFits(error)) => {
            match error {
                InputError::BufferTooLarge { .. } => ": use backend=\"cpu\" or \"auto\"",
                InputError::MemoryLimit { .. } => ": raise max_bytes",
                _ => "",
            }
        }
        BroadPhaseError::ReadBack(ReadBackError::Timeout(_)) => ": raise timeout, or use backend=\"cpu\"",
        BroadPhaseError::NoAdapter { .. } => ": use backend=\"cpu\" or \"auto\"; adapters() lists GPUs",
        BroadPhaseError::DeviceLost => ": create another BroadPhase",
        BroadPhaseError::NoDevice(_)
        | BroadPhaseError::Create(_)
        | BroadPhaseError::Step(_)
        | BroadPhaseError::ReadBack(_)
        | BroadPhaseError::LoopsCut => ": use backend=\"cpu\"",
        _ => "",
    }
}

pub fn raised(error: BroadPhaseError) -> PyErr {
    let text = format!("{}{}", whole(&error), advice(&error));
    match error {
        BroadPhaseError::Descriptor(_) | BroadPhaseError::Input(_) => PyValueError::new_err(text),
        BroadPhaseError::TooManyResults { .. } => PyOverflowError::new_err(text),
        BroadPhaseError::NoAdapter { .. } => NoAdapterError::new_err(text),
        BroadPhaseError::NoStep => no_step(),
        _ => DeviceError::new_err(text),
    }
}

pub fn no_step() -> PyErr {
    PyRuntimeError::new_err("there is nothing to ask yet, or the last step failed: call step() with the boxes first")
}
