use anyhow::{Error, Result, bail};
use gpu_broad_phase::wgpu::Backends;
use gpu_broad_phase::{
    self as lib, Aabb, BroadPhase, BroadPhaseDescriptor, BroadPhaseError, Dimensions, GpuBroadPhase, InputError,
    MemoryUse, OutputOptions, Scheme, StepResult, block_on, cpu,
};
use measure::title;

use crate::args::{Backend, EngineArgs, SchemeArgs, SchemeName};
use crate::input::Scene;
use crate::pipeline_cache::CacheFile;
use crate::report::Reporter;

pub struct Engine {
    pub broad_phase: BroadPhase,
    #[expect(dead_code, reason = "saved on drop")]
    cache_file: Option<CacheFile>,
    names_no_backend: bool,
    reporter: Reporter,
}

impl Engine {
    pub fn open(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        Ok(Self::open_on(
            backend(args, lib::Backend::Auto)?,
            args,
            descriptor,
            reporter,
        )?)
    }

    /// Like [`open`](Self::open), but `--backend auto` prefers a software adapter to the CPU engine, to verify shaders.
    pub fn open_any(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>, reporter: Reporter) -> Result<Self> {
        let backend = backend(args, lib::Backend::Gpu(Backends::all()))?;
        match Self::open_on(backend, args, descriptor, reporter) {
            Err(error @ (BroadPhaseError::NoAdapter { .. } | BroadPhaseError::NoDevice(_)))
                if names_no_backend(args) =>
            {
                reporter.warn(format!("{error}: using the CPU engine"));
                Ok(Self::open_on(lib::Backend::Cpu, args, descriptor, reporter)?)
            }
            opened => Ok(opened?),
        }
    }

    fn open_on(
        backend: lib::Backend<'_>,
        args: &EngineArgs,
        descriptor: BroadPhaseDescriptor<'static>,
        reporter: Reporter,
    ) -> Result<Self, BroadPhaseError> {
        let mut cache_file = None;
        let descriptor = ordered(args, descriptor);
        let broad_phase = block_on(BroadPhase::with_pipeline_cache(&descriptor, backend, |info, device| {
            cache_file = CacheFile::open(args.pipeline_cache.as_deref(), info, device);
            cache_file.as_ref().map(CacheFile::cache)
        }))?;
        reporter.say(match (broad_phase.adapter_info(), backend) {
            (Some(info), _) => format!("adapter: {}", title(info)),
            (None, lib::Backend::Auto) => {
                "adapter: none, CPU engine (no hardware GPU; `broadphase info` lists software adapters)".to_owned()
            }
            (None, _) => "adapter: none, CPU engine".to_owned(),
        });
        Ok(Self {
            broad_phase,
            cache_file,
            names_no_backend: names_no_backend(args),
            reporter,
        })
    }

    pub fn step(&mut self, objects: &[Aabb]) -> Result<StepResult> {
        self.step_scene(&lib::Scene {
            objects: objects.into(),
            ..Default::default()
        })
    }

    pub fn step_scene(&mut self, scene: &lib::Scene<'_>) -> Result<StepResult> {
        let was_on_gpu = self.gpu().is_some();
        let mut result = block_on(self.broad_phase.step_scene(scene));
        if let Err(BroadPhaseError::Input(InputError::BufferTooLarge { .. })) = result
            && self.names_no_backend
        {
            let descriptor = self.broad_phase.descriptor();
            self.broad_phase = block_on(BroadPhase::with_backend(&descriptor, lib::Backend::Cpu))?;
            result = block_on(self.broad_phase.step_scene(scene));
        }
        if was_on_gpu && self.gpu().is_none() {
            self.reporter
                .warn("the input exceeds a binding of the device: using the CPU engine");
        }
        Ok(result?)
    }

    pub fn set_descriptor(&mut self, args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>) -> Result<()> {
        Ok(self.broad_phase.set_descriptor(&ordered(args, descriptor))?)
    }

    /// Number of shaders compiled so far; `None` on the CPU.
    pub fn shaders(&self) -> Option<usize> {
        self.gpu().map(GpuBroadPhase::pipelines_made)
    }

    pub fn step_on_cpu(&self, scene: &lib::Scene<'_>) -> Result<StepResult> {
        Ok(cpu::step_scene(&self.broad_phase.descriptor(), scene)?)
    }

    pub fn gpu(&self) -> Option<&GpuBroadPhase> {
        self.broad_phase.gpu()
    }

    pub fn memory(&self) -> Option<MemoryUse> {
        self.gpu().map(GpuBroadPhase::memory)
    }
}

pub fn has_too_many_pairs(error: &Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(BroadPhaseError::TooManyResults { what: "pairs", .. })
    )
}

fn backend<'a>(args: &'a EngineArgs, auto: lib::Backend<'a>) -> Result<lib::Backend<'a>> {
    Ok(match (backends(args.backend), args.adapter.as_deref()) {
        (Some(backends), Some(name)) => lib::Backend::Adapter { backends, name },
        (Some(_), None) if args.backend == Backend::Auto => auto,
        (Some(backends), None) => lib::Backend::Gpu(backends),
        (None, None) => lib::Backend::Cpu,
        (None, Some(_)) => bail!("--adapter conflicts with --backend cpu: remove one"),
    })
}

fn ordered(args: &EngineArgs, descriptor: BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        outputs: OutputOptions {
            order: args.order.map_or(descriptor.outputs.order, Into::into),
            ..descriptor.outputs
        },
        ..descriptor
    }
}

/// Returns true without --backend and --adapter. Unusable adapters may then be skipped.
pub fn names_no_backend(args: &EngineArgs) -> bool {
    args.backend == Backend::Auto && args.adapter.is_none()
}

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

/// Like [`scheme_from_args`], but warns that the adaptive scheme is slow on meshes.
pub fn scheme(args: &SchemeArgs, scene: &Scene, reporter: Reporter) -> Result<Scheme> {
    if args.scheme == SchemeName::Adaptive && scene.elements.is_some() {
        reporter.say("adaptive takes five to six times as long as hierarchical on meshes, with the same results");
    }
    scheme_from_args(args, &scene.boxes, dimensions(scene), reporter)
}

pub fn cell(args: &SchemeArgs) -> Option<f64> {
    match (args.cell_size, args.min_scale) {
        (Some(cell_size), _) => Some(cell_size.into()),
        (None, min_scale) => Some(f64::from(min_scale?).log2().ceil().exp2()),
    }
}

pub fn scheme_from_args(
    args: &SchemeArgs,
    boxes: &[Aabb],
    dimensions: Dimensions,
    reporter: Reporter,
) -> Result<Scheme> {
    if args.cell_size.is_some() && args.scheme != SchemeName::Uniform {
        bail!("--cell-size needs --scheme uniform");
    }
    if args.min_scale.is_some() && args.scheme != SchemeName::Adaptive {
        bail!("--min-scale needs --scheme adaptive");
    }
    Ok(match (args.scheme, args.cell_size, args.min_scale) {
        (SchemeName::Hierarchical, ..) => Scheme::Hierarchical,
        (SchemeName::Uniform, Some(cell_size), _) => Scheme::Uniform { cell_size },
        (SchemeName::Adaptive, _, Some(min_scale)) => Scheme::Adaptive { min_scale },
        (SchemeName::Uniform, None, _) => {
            let scheme = Scheme::uniform_for(boxes, dimensions);
            if let Scheme::Uniform { cell_size } = scheme {
                reporter.say(format!("cell size: {cell_size}"));
            }
            scheme
        }
        (SchemeName::Adaptive, _, None) => {
            let scheme = Scheme::adaptive_for(boxes, dimensions);
            if let Scheme::Adaptive { min_scale } = scheme {
                reporter.say(format!("smallest scale: {min_scale}"));
            }
            scheme
        }
    })
}
