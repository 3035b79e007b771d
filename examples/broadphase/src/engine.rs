//! Who answers: a GPU, or the CPU engine.

use anyhow::{Error, Result, bail};
use gpu_broad_phase::wgpu::{AdapterInfo, Backends, DeviceType};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, Headless, HeadlessDescriptor, HeadlessError, InputError, MemoryUse, Ray,
    ReferenceError, Scheme, Source, StepError, StepResult, adapters, cpu,
};
use pollster::block_on;

use crate::args::{Backend, EngineArgs, SchemeArgs, SchemeName};
use crate::input::Scene;
use crate::pipeline_cache::Kept;
use crate::report::Reporter;

pub struct Engine {
    backing: Backing,
    /// Whether the CPU may take over from a GPU.
    is_free_choice: bool,
    reporter: Reporter,
}

enum Backing {
    Gpu(
        Box<Headless>,
        #[expect(dead_code, reason = "saves itself when it is dropped")] Option<Kept>,
    ),
    Cpu(BroadPhaseDescriptor<'static>),
}

impl Engine {
    /// `auto` takes hardware, else the CPU, which is faster than a software adapter; what is asked for by name has to
    /// exist.
    pub fn open(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        let on_cpu = is_free_choice(args).then(reason_for_cpu).flatten();
        if let Some(reason) = &on_cpu {
            reporter.say(format!("adapter: none, CPU engine ({reason})"));
            let backing = Backing::Cpu(ordered(args, descriptor));
            return Ok(Self {
                backing,
                is_free_choice: true,
                reporter,
            });
        }
        Self::open_any(args, descriptor, reporter)
    }

    /// As [`open`](Self::open), for commands that show or check what shaders do: a software adapter is taken too.
    pub fn open_any(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        Ok(Self {
            backing: Backing::open(args, ordered(args, descriptor), reporter)?,
            is_free_choice: is_free_choice(args),
            reporter,
        })
    }

    pub fn step(&mut self, objects: &[Aabb], rays: &[Ray]) -> Result<StepResult> {
        self.step_scene(&gpu_broad_phase::Scene {
            objects: Source::Host(objects),
            rays: rays.into(),
            ..Default::default()
        })
    }

    /// As [`step`](Self::step), for all that a scene can hold.
    pub fn step_scene(&mut self, scene: &gpu_broad_phase::Scene<'_>) -> Result<StepResult> {
        let descriptor = match &mut self.backing {
            Backing::Cpu(descriptor) => *descriptor,
            Backing::Gpu(headless, _) => match block_on(headless.step_scene(scene)) {
                Err(error) if self.is_free_choice && is_too_large(&error) => {
                    self.reporter.warn(format!("{error}, the CPU engine answers"));
                    *headless.broad_phase().descriptor()
                }
                result => return Ok(result?),
            },
        };
        self.backing = Backing::Cpu(descriptor);
        Ok(cpu::step_scene(&descriptor, scene)?)
    }

    /// Takes another descriptor. Pipelines are made anew only where they depend on it.
    pub fn set_descriptor(&mut self, args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>) -> Result<()> {
        let descriptor = ordered(args, descriptor);
        match &mut self.backing {
            Backing::Cpu(own) => *own = descriptor,
            Backing::Gpu(headless, _) => headless.set_descriptor(&descriptor).map_err(HeadlessError::from)?,
        }
        Ok(())
    }

    /// Number of shaders made ready so far; none if the CPU answers.
    pub fn shaders(&self) -> Option<usize> {
        self.headless().map(|headless| headless.broad_phase().pipelines_made())
    }

    /// Makes the step of a device on the CPU.
    pub fn step_on_cpu(&self, scene: &gpu_broad_phase::Scene<'_>) -> Result<StepResult> {
        let descriptor = match &self.backing {
            Backing::Cpu(descriptor) => descriptor,
            Backing::Gpu(headless, _) => headless.broad_phase().descriptor(),
        };
        Ok(cpu::step_scene(descriptor, scene)?)
    }

    /// The device, unless the CPU answers.
    pub fn headless(&self) -> Option<&Headless> {
        match &self.backing {
            Backing::Gpu(headless, _) => Some(headless),
            Backing::Cpu(_) => None,
        }
    }

    /// What the device's buffers are for, in bytes.
    pub fn memory(&self) -> Option<MemoryUse> {
        match &self.backing {
            Backing::Gpu(headless, _) => Some(headless.broad_phase().memory()),
            Backing::Cpu(_) => None,
        }
    }
}

/// Whether a step failed for more pairs than can be returned.
pub fn has_too_many_pairs(error: &Error) -> bool {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(HeadlessError::TooManyResults { what, .. }), _) => *what == "pairs",
        (_, Some(ReferenceError::Input(InputError::TooMany { what, .. }))) => *what == "pairs",
        _ => false,
    }
}

/// Whether the input is more than one binding of the device holds.
fn is_too_large(error: &HeadlessError) -> bool {
    matches!(
        error,
        HeadlessError::Step(StepError::Input(InputError::BufferTooLarge { .. }))
    )
}

impl Backing {
    fn open(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        let Some(backends) = backends(args.backend) else {
            if args.adapter.is_some() {
                bail!("--adapter names a GPU, --backend cpu asks for none");
            }
            reporter.say("adapter: none, CPU engine");
            return Ok(Self::Cpu(descriptor));
        };
        let request = HeadlessDescriptor {
            backends: Some(backends),
            adapter: args.adapter.as_deref(),
            broad_phase: descriptor,
        };
        let mut kept = None;
        let opened = Headless::with_pipeline_cache(&request, |info, device| {
            kept = Kept::open(args.pipeline_cache.as_deref(), info, device);
            kept.as_ref().map(Kept::cache)
        });
        match block_on(opened) {
            Ok(headless) => {
                reporter.say(format!("adapter: {}", title(headless.adapter_info())));
                Ok(Self::Gpu(Box::new(headless), kept))
            }
            Err(error @ (HeadlessError::NoAdapter { .. } | HeadlessError::NoDevice(_))) if is_free_choice(args) => {
                let reason = match error {
                    HeadlessError::NoAdapter { .. } => "no adapter found".to_owned(),
                    error => error.to_string(),
                };
                reporter.warn(format!("{reason}: the CPU engine answers"));
                Ok(Self::Cpu(descriptor))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Why the CPU is to answer where anything may.
fn reason_for_cpu() -> Option<String> {
    let mut infos = Vec::new();
    // As the library does: GL is opened only if no other backend has hardware.
    for backends in [Backends::all() - Backends::GL, Backends::GL] {
        infos.extend(block_on(adapters(backends)).iter().map(|adapter| adapter.get_info()));
        if infos.iter().any(|info| info.device_type != DeviceType::Cpu) {
            return None;
        }
    }
    Some(infos.first().map_or("no adapter found".to_owned(), |info| {
        format!(
            "{} is software and slower; --backend {} takes it",
            info.name, info.backend
        )
    }))
}

fn ordered(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        pair_order: args.order.map_or(descriptor.pair_order, Into::into),
        ..descriptor
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
    if args.scheme == SchemeName::Adaptive && scene.elements.is_some() {
        reporter.say("adaptive takes five to six times as long as hierarchical on meshes, and finds the same");
    }
    Ok(match (args.scheme, args.cell_size, args.min_scale) {
        (SchemeName::Hierarchical, ..) => Scheme::Hierarchical,
        (SchemeName::Uniform, Some(cell_size), _) => Scheme::Uniform { cell_size },
        (SchemeName::Adaptive, _, Some(min_scale)) => Scheme::Adaptive { min_scale },
        (SchemeName::Uniform, None, _) => {
            let scheme = Scheme::uniform_for(&scene.boxes, dimensions(scene));
            if let Scheme::Uniform { cell_size } = scheme {
                reporter.say(format!("cell size: {cell_size}"));
            }
            scheme
        }
        (SchemeName::Adaptive, _, None) => {
            let scheme = Scheme::adaptive_for(&scene.boxes, dimensions(scene));
            if let Scheme::Adaptive { min_scale } = scheme {
                reporter.say(format!("smallest scale: {min_scale}"));
            }
            scheme
        }
    })
}

/// Whether a box takes part and has finite bounds.
pub fn is_finite(boxed: &Aabb) -> bool {
    (0..3).all(|axis| boxed.min[axis].is_finite() && boxed.max[axis].is_finite() && boxed.min[axis] <= boxed.max[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More boxes than one binding of 128 MiB holds; none takes part, so that the CPU is done soon.
    #[test]
    fn the_cpu_answers_what_a_free_choice_of_gpu_cannot_hold() {
        let boxes = vec![Aabb::new([f32::NAN; 3], [0.0; 3]); (128 << 20) / size_of::<Aabb>() + 1];
        let args = EngineArgs {
            backend: Backend::Auto,
            adapter: None,
            order: None,
            pipeline_cache: None,
        };
        // Software adapters are not chosen freely, and are what tests have.
        let mut engine = Engine::open_any(&args, BroadPhaseDescriptor::default(), Reporter { quiet: true }).unwrap();
        let counters = engine.step(&boxes, &[]).unwrap().counters;
        assert_eq!((counters.invalid as usize, counters.pairs_needed), (boxes.len(), 0));
    }
}
