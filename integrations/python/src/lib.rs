//! Native part of the Python package. The public interface is in `python/gpu_broad_phase`.

mod arrays;
mod boxes;
mod candidates;
mod engine;
mod errors;
mod neighbors;
mod object_set;
mod origins;
mod questions;
mod steps;
mod work;

use pyo3::prelude::*;

/// glibc unmaps large freed arrays, and the page faults of the next call took up to 40 % of its time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::candidates::candidates;
    #[pymodule_export]
    use super::engine::{Engine, adapters};
    #[pymodule_export]
    use super::errors::{DeviceError, NoAdapterError};
    #[pymodule_export]
    use super::neighbors::neighbors;
    #[pymodule_export]
    use super::object_set::ObjectTable;
    #[pymodule_export]
    use super::questions::{query, rays};
    #[pymodule_export]
    use super::steps::{step, step_objects, why};
    #[pymodule_export]
    use super::work::forked;
}
