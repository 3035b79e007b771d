//! Who answers: a GPU, or the CPU reference.

use anyhow::{Result, bail};
use gpu_broad_phase::wgpu::{AdapterInfo, Backends};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Headless, HeadlessDescriptor, HeadlessError, Ray, Scheme, StepResult, reference,
};
use pollster::block_on;

use crate::args::{Backend, EngineArgs, SchemeArgs, SchemeName};
use crate::report::Reporter;

pub enum Engine {
    Gpu(Box<Headless>),
    Cpu(BroadPhaseDescriptor<'static>),
}

impl Engine {
    /// `auto` falls back to the CPU; what is asked for by name has to exist.
    pub fn open(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        let Some(backends) = backends(args.backend) else {
            if args.adapter.is_some() {
                bail!("--adapter names a GPU, --backend cpu asks for none");
            }
            reporter.say("adapter: none, CPU reference");
            return Ok(Self::Cpu(descriptor));
        };
        let request = HeadlessDescriptor {
            backends: Some(backends),
            adapter: args.adapter.as_deref(),
            broad_phase: descriptor,
        };
        match block_on(Headless::with_descriptor(&request)) {
            Ok(headless) => {
                reporter.say(format!("adapter: {}", title(headless.adapter_info())));
                Ok(Self::Gpu(Box::new(headless)))
            }
            Err(error @ (HeadlessError::NoAdapter { .. } | HeadlessError::NoDevice(_))) if is_free_choice(args) => {
                let reason = match error {
                    HeadlessError::NoAdapter { .. } => "no adapter found".to_owned(),
                    error => error.to_string(),
                };
                reporter.warn(format!("{reason}, the CPU reference answers"));
                Ok(Self::Cpu(descriptor))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub fn step(&mut self, objects: &[Aabb], rays: &[Ray]) -> Result<StepResult> {
        match self {
            Self::Gpu(headless) => Ok(block_on(headless.step(objects, rays))?),
            Self::Cpu(descriptor) => Ok(reference::step(descriptor, objects, rays)?),
        }
    }
}

/// Whether nothing in particular is asked for, so that what is missing may be left out.
pub fn is_free_choice(args: &EngineArgs) -> bool {
    args.backend == Backend::Auto && args.adapter.is_none()
}

/// The adapter in words.
pub fn title(info: &AdapterInfo) -> String {
    format!("{} ({:?})", info.name, info.backend)
}

/// What the library is to look among; none for the CPU.
pub fn backends(backend: Backend) -> Option<Backends> {
    match backend {
        Backend::Auto => Some(Backends::all()),
        Backend::Vulkan => Some(Backends::VULKAN),
        Backend::Gl => Some(Backends::GL),
        Backend::Metal => Some(Backends::METAL),
        Backend::Dx12 => Some(Backends::DX12),
        Backend::Cpu => None,
    }
}

pub fn scheme(args: &SchemeArgs, objects: &[Aabb], reporter: Reporter) -> Result<Scheme> {
    match (args.scheme, args.cell_size) {
        (SchemeName::Hierarchical, None) => Ok(Scheme::Hierarchical),
        (SchemeName::Hierarchical, Some(_)) => bail!("--cell-size needs --scheme uniform"),
        (SchemeName::Uniform, Some(cell_size)) => Ok(Scheme::Uniform { cell_size }),
        (SchemeName::Uniform, None) => {
            let cell_size = default_cell_size(objects);
            reporter.say(format!("cell size: {cell_size}"));
            Ok(Scheme::Uniform { cell_size })
        }
    }
}

/// The median longest side; where that is zero (points), the side of a cube that holds one object on average.
pub fn default_cell_size(objects: &[Aabb]) -> f32 {
    let boxes: Vec<_> = objects.iter().filter(|boxed| is_finite(boxed)).collect();
    if boxes.is_empty() {
        return 1.0;
    }
    let mut sides: Vec<f64> = boxes
        .iter()
        .map(|boxed| {
            let sides = (0..3).map(|axis| f64::from(boxed.max[axis]) - f64::from(boxed.min[axis]));
            sides.fold(0.0, f64::max)
        })
        .collect();
    let middle = sides.len() / 2;
    let median = *sides.select_nth_unstable_by(middle, f64::total_cmp).1;
    let spacing = || {
        let extents = (0..3).map(|axis| {
            let low = boxes
                .iter()
                .map(|boxed| f64::from(boxed.min[axis]))
                .fold(f64::INFINITY, f64::min);
            let high = boxes
                .iter()
                .map(|boxed| f64::from(boxed.max[axis]))
                .fold(f64::NEG_INFINITY, f64::max);
            high - low
        });
        extents.fold(0.0, f64::max) / (boxes.len() as f64).cbrt()
    };
    let size = if median > 0.0 { median } else { spacing() };
    if size > 0.0 {
        size.clamp(SMALLEST_CELL, LARGEST_CELL) as f32
    } else {
        1.0
    }
}

/// What the library takes as a cell size, 2^-100 to 2^100, less some room for rounding.
const SMALLEST_CELL: f64 = 1e-30;
const LARGEST_CELL: f64 = 1e30;

/// Whether a box takes part and has finite bounds.
pub fn is_finite(boxed: &Aabb) -> bool {
    (0..3).all(|axis| boxed.min[axis].is_finite() && boxed.max[axis].is_finite() && boxed.min[axis] <= boxed.max[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cell_size_is_the_median_and_never_zero() {
        let cube = |side: f32| Aabb::new([0.0; 3], [side; 3]);
        assert_eq!(
            default_cell_size(&[cube(1.0), cube(2.0), cube(9.0), cube(f32::NAN)]),
            2.0
        );
        assert_eq!(default_cell_size(&[]), 1.0);
        assert_eq!(default_cell_size(&[cube(0.0)]), 1.0);
        assert_eq!(
            default_cell_size(&[Aabb::point([0.0; 3]), Aabb::point([8.0; 3])]),
            8.0 / 2_f32.cbrt()
        );
        assert!(default_cell_size(&[Aabb::new([f32::MIN; 3], [f32::MAX; 3])]) <= 1e30);
    }
}
