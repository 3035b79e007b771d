//! Finds, on the GPU, which axis-aligned bounding boxes overlap and which of them each ray meets.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod broad_phase;
mod counters;
mod descriptor;
mod error;
mod gpu;
pub mod grid;
mod headless;
mod plan;
mod readback;
pub mod reference;
mod result;
pub mod shaders;
mod types;

pub use broad_phase::{GpuBroadPhase, Source, StepInput, StepOutput};
pub use counters::{Counters, STATUS_CUT, STATUS_ENTRIES, STATUS_HITS, STATUS_PAIRS};
pub use descriptor::{BroadPhaseDescriptor, Capacities, Growth, RayMode, Scheme};
pub use error::{CreateError, DescriptorError, HeadlessError, ReadBackError, StepError};
pub use grid::MAX_COVER;
pub use headless::{Headless, HeadlessDescriptor, adapters};
pub use result::{StageTime, StepResult};
pub use types::{Aabb, NONE, Pair, Ray, RayHit};
pub use wgpu;
