//! Who answers: a GPU, or the CPU reference.

use anyhow::{Result, bail};
use gpu_broad_phase::wgpu::{AdapterInfo, Backends};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, DescriptorError, Dimensions, Headless, HeadlessDescriptor, HeadlessError, Ray, Scheme,
    StepError, StepResult, reference,
};
use pollster::block_on;

use crate::args::{Backend, EngineArgs, SchemeArgs, SchemeName};
use crate::input::Scene;
use crate::report::Reporter;

pub struct Engine {
    backing: Backing,
    /// Whether the CPU may take over from a GPU.
    is_free_choice: bool,
    reporter: Reporter,
}

enum Backing {
    Gpu(Box<Headless>),
    Cpu(BroadPhaseDescriptor<'static>),
}

impl Engine {
    /// `auto` falls back to the CPU; what is asked for by name has to exist.
    pub fn open(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        Ok(Self {
            backing: Backing::open(args, descriptor, reporter)?,
            is_free_choice: is_free_choice(args),
            reporter,
        })
    }

    pub fn step(&mut self, objects: &[Aabb], rays: &[Ray]) -> Result<StepResult> {
        self.step_scene(&gpu_broad_phase::Scene {
            objects,
            rays: rays.into(),
            ..Default::default()
        })
    }

    /// As [`step`](Self::step), for all that a scene can hold.
    pub fn step_scene(&mut self, scene: &gpu_broad_phase::Scene<'_>) -> Result<StepResult> {
        let descriptor = match &mut self.backing {
            Backing::Cpu(descriptor) => *descriptor,
            Backing::Gpu(headless) => match block_on(headless.step_scene(scene)) {
                Err(error) if self.is_free_choice && is_too_large(&error) => {
                    self.reporter.warn(format!("{error}, the CPU reference answers"));
                    *headless.broad_phase().descriptor()
                }
                result => return Ok(result?),
            },
        };
        self.backing = Backing::Cpu(descriptor);
        Ok(reference::step_scene(&descriptor, scene)?)
    }

    /// Bytes of the device's buffers.
    pub fn memory(&self) -> Option<u64> {
        match &self.backing {
            Backing::Gpu(headless) => Some(headless.broad_phase().memory()),
            Backing::Cpu(_) => None,
        }
    }
}

/// Whether the input is more than one binding of the device holds.
fn is_too_large(error: &HeadlessError) -> bool {
    matches!(
        error,
        HeadlessError::Step(StepError::Descriptor(DescriptorError::BufferTooLarge { .. }))
    )
}

impl Backing {
    fn open(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
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

pub fn dimensions(scene: &Scene) -> Dimensions {
    match scene.dimensions {
        2 => Dimensions::Two,
        _ => Dimensions::Three,
    }
}

pub fn scheme(args: &SchemeArgs, scene: &Scene, reporter: Reporter) -> Result<Scheme> {
    if args.cell_size.is_some() && args.scheme != SchemeName::Uniform {
        bail!("--cell-size needs --scheme uniform");
    }
    if args.min_scale.is_some() && args.scheme != SchemeName::Adaptive {
        bail!("--min-scale needs --scheme adaptive");
    }
    Ok(match args.scheme {
        SchemeName::Hierarchical => Scheme::Hierarchical,
        SchemeName::Uniform => Scheme::Uniform {
            cell_size: args.cell_size.unwrap_or_else(|| {
                let cell_size = default_cell_size(scene);
                reporter.say(format!("cell size: {cell_size}"));
                cell_size
            }),
        },
        SchemeName::Adaptive => Scheme::Adaptive {
            min_scale: args.min_scale.unwrap_or_else(|| {
                let min_scale = default_min_scale(scene);
                reporter.say(format!("smallest scale: {min_scale}"));
                min_scale
            }),
        },
    })
}

/// The median longest side; where that is zero (points), the side of a cube that holds one object on average.
pub fn default_cell_size(scene: &Scene) -> f32 {
    let mut sides = longest_sides(scene);
    let middle = sides.len() / 2;
    let median = match sides.get(middle) {
        Some(_) => *sides.select_nth_unstable_by(middle, f64::total_cmp).1,
        None => 0.0,
    };
    usable_length(scene, median, LARGEST_CELL)
}

/// The smallest longest side above zero, but no finer than the largest box has layers for.
pub fn default_min_scale(scene: &Scene) -> f32 {
    let sides = longest_sides(scene);
    let largest = sides.iter().copied().fold(0.0, f64::max);
    let positive = sides.into_iter().filter(|&side| side > 0.0);
    let smallest = positive.fold(largest, f64::min).max(largest / LAYERED);
    usable_length(scene, smallest, LARGEST_SCALE)
}

/// 32 layers hold boxes 2^31 times as long as the finest cell, less a few layers for boxes across their borders.
const LAYERED: f64 = (1_u32 << 27) as f64;

/// What the library takes as a length, 2^-100 to 2^100 or 2^90, less some room for rounding.
const SMALLEST_LENGTH: f64 = 1e-30;
const LARGEST_CELL: f64 = 1e30;
const LARGEST_SCALE: f64 = 1e27;

/// Of every box that takes part and has finite bounds.
fn longest_sides(scene: &Scene) -> Vec<f64> {
    let boxes = scene.boxes.iter().filter(|boxed| is_finite(boxed));
    let side = |boxed: &Aabb| {
        let sides = (0..3).map(|axis| f64::from(boxed.max[axis]) - f64::from(boxed.min[axis]));
        sides.fold(0.0, f64::max)
    };
    boxes.map(side).collect()
}

fn usable_length(scene: &Scene, length: f64, largest: f64) -> f32 {
    let length = if length > 0.0 { length } else { spacing(scene) };
    if length > 0.0 {
        length.clamp(SMALLEST_LENGTH, largest) as f32
    } else {
        1.0
    }
}

/// The side of a cube, or a square, that holds one object on average.
fn spacing(scene: &Scene) -> f64 {
    let boxes: Vec<_> = scene.boxes.iter().filter(|boxed| is_finite(boxed)).collect();
    let extents = (0..3).map(|axis| {
        let low = boxes.iter().map(|boxed| f64::from(boxed.min[axis]));
        let high = boxes.iter().map(|boxed| f64::from(boxed.max[axis]));
        high.fold(f64::NEG_INFINITY, f64::max) - low.fold(f64::INFINITY, f64::min)
    });
    let count = boxes.len() as f64;
    let along = if scene.dimensions == 2 {
        count.sqrt()
    } else {
        count.cbrt()
    };
    extents.fold(0.0, f64::max) / along
}

/// Whether a box takes part and has finite bounds.
pub fn is_finite(boxed: &Aabb) -> bool {
    (0..3).all(|axis| boxed.min[axis].is_finite() && boxed.max[axis].is_finite() && boxed.min[axis] <= boxed.max[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(boxes: &[Aabb]) -> Scene {
        Scene {
            boxes: boxes.to_vec(),
            dimensions: 3,
            elements: None,
        }
    }

    fn cube(side: f32) -> Aabb {
        Aabb::new([0.0; 3], [side; 3])
    }

    /// More boxes than one binding of 128 MiB holds; none takes part, so that the CPU is done soon.
    #[test]
    fn the_cpu_answers_what_a_free_choice_of_gpu_cannot_hold() {
        let boxes = vec![Aabb::new([f32::NAN; 3], [0.0; 3]); (128 << 20) / size_of::<Aabb>() + 1];
        let args = EngineArgs {
            backend: Backend::Auto,
            adapter: None,
        };
        let mut engine = Engine::open(&args, BroadPhaseDescriptor::default(), Reporter { quiet: true }).unwrap();
        let counters = engine.step(&boxes, &[]).unwrap().counters;
        assert_eq!((counters.invalid as usize, counters.pairs_needed), (boxes.len(), 0));
    }

    #[test]
    fn the_cell_size_is_the_median_and_never_zero() {
        let size = |boxes: &[Aabb]| default_cell_size(&scene(boxes));
        assert_eq!(size(&[cube(1.0), cube(2.0), cube(9.0), cube(f32::NAN)]), 2.0);
        assert_eq!(size(&[]), 1.0);
        assert_eq!(size(&[cube(0.0)]), 1.0);
        let points = scene(&[Aabb::point([0.0; 3]), Aabb::point([8.0; 3])]);
        assert_eq!(default_cell_size(&points), 8.0 / 2_f32.cbrt());
        let flat = Scene {
            dimensions: 2,
            ..points
        };
        assert_eq!(default_cell_size(&flat), 8.0 / 2_f32.sqrt());
        assert!(size(&[Aabb::new([f32::MIN; 3], [f32::MAX; 3])]) <= 1e30);
    }

    #[test]
    fn the_smallest_scale_leaves_layers_for_the_largest_box() {
        let scale = |boxes: &[Aabb]| default_min_scale(&scene(boxes));
        assert_eq!(scale(&[cube(4.0), cube(0.5), cube(0.0), cube(f32::NAN)]), 0.5);
        assert_eq!(scale(&[]), 1.0);
        assert_eq!(
            scale(&[Aabb::point([0.0; 3]), Aabb::point([8.0; 3])]),
            8.0 / 2_f32.cbrt()
        );
        assert_eq!(scale(&[cube(1e-20), cube(2_f32.powi(27))]), 1.0);
        assert!(scale(&[Aabb::new([f32::MIN; 3], [f32::MAX; 3])]) <= 2_f32.powi(90));
    }
}
