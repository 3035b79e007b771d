use crate::api::backend::Backend;
use crate::api::counters::Counters;
use crate::api::descriptor::{self, BroadPhaseDescriptor, Growth, RayMode};
use crate::api::error::{BroadPhaseError, DescriptorError, InputError};
use crate::api::result::StepResult;
use crate::api::scene::{QueryInput, Scene};
use crate::api::types::{Aabb, Ray};
use crate::cpu::CpuBroadPhase;
use crate::gpu::adapter::{choose, choose_hardware};
use crate::step::broad_phase::GpuBroadPhase;
use crate::step::warnings::Warnings;
use crate::step::whole::Whole;

const LABEL: &str = "gpu_broad_phase";

/// Finds pairs, ray hits and query results, and returns them as vectors.
///
/// It runs on a GPU if there is one, else on the [CPU engine](crate::cpu): see [`Backend`]. Both return the same
/// results; with [`ResultOrder::Sorted`](crate::ResultOrder::Sorted), the same bytes, except that squared distances may
/// differ within 4 ulps. If you have your own encoder, use [`GpuBroadPhase`].
///
/// Calls are futures, since browsers cannot block; on native targets, wait with [`block_on`](crate::block_on), as in
/// the [quick start](crate). A call submits to the GPU, waits for it and polls its device.
pub struct BroadPhase {
    engine: Engine,
    /// True if the CPU engine may take over from a device.
    is_auto: bool,
    warnings: Warnings,
}

enum Engine {
    Gpu(Box<Whole>),
    Cpu(Box<CpuBroadPhase>),
}

impl BroadPhase {
    /// Creates a broad phase with [`Backend::Auto`].
    ///
    /// # Errors
    /// [`Descriptor`](BroadPhaseError::Descriptor): a value of the descriptor is out of range.
    pub async fn new(descriptor: &BroadPhaseDescriptor<'_>) -> Result<Self, BroadPhaseError> {
        Self::with_backend(descriptor, Backend::Auto).await
    }

    /// Creates a broad phase on the given backend.
    ///
    /// # Errors
    /// As [`new`](Self::new). [`Backend::Gpu`] and [`Backend::Adapter`] also fail with:
    /// - [`NoBackend`](BroadPhaseError::NoBackend): the program was built without any backend of wgpu.
    /// - [`NoAdapter`](BroadPhaseError::NoAdapter), [`NoDevice`](BroadPhaseError::NoDevice): no such GPU was found, or
    ///   it returned no device.
    /// - [`Create`](BroadPhaseError::Create): the adapter's limits are too low, or the device refused the pipelines.
    pub async fn with_backend(
        descriptor: &BroadPhaseDescriptor<'_>,
        backend: Backend<'_>,
    ) -> Result<Self, BroadPhaseError> {
        Self::with_pipeline_cache(descriptor, backend, |_, _| None).await
    }

    /// Creates a broad phase with your cache of compiled pipelines ([`GpuBroadPhase::with_pipeline_cache`]).
    ///
    /// `cache` creates the cache on the device. It is called only if the device has
    /// [`PIPELINE_CACHE`](wgpu::Features::PIPELINE_CACHE). A cache that the device refuses, such as one of another
    /// device, is ignored.
    ///
    /// ```no_run
    /// # use gpu_broad_phase::{Backend, BroadPhase, BroadPhaseDescriptor, wgpu};
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let saved = std::fs::read("pipelines").ok();
    /// let mut cache = None;
    /// let descriptor = BroadPhaseDescriptor::default();
    /// let broad_phase = BroadPhase::with_pipeline_cache(&descriptor, Backend::Auto, |_, device| {
    ///     let descriptor = wgpu::PipelineCacheDescriptor {
    ///         label: None,
    ///         data: saved.as_deref(),
    ///         fallback: true,
    ///     };
    ///     // SAFETY: nobody but this program writes the file.
    ///     cache = Some(unsafe { device.create_pipeline_cache(&descriptor) });
    ///     cache.clone()
    /// })
    /// .await?;
    /// // … steps …
    /// if let Some(data) = cache.and_then(|cache| cache.get_data()) {
    ///     std::fs::write("pipelines", data)?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_backend`](Self::with_backend).
    pub async fn with_pipeline_cache(
        descriptor: &BroadPhaseDescriptor<'_>,
        backend: Backend<'_>,
        cache: impl FnOnce(&wgpu::AdapterInfo, &wgpu::Device) -> Option<wgpu::PipelineCache>,
    ) -> Result<Self, BroadPhaseError> {
        descriptor::validate(descriptor)?;
        let is_auto = backend == Backend::Auto;
        let adapter = match backend {
            Backend::Auto => choose_hardware().await,
            Backend::Cpu => None,
            _ if wgpu::Instance::enabled_backend_features().is_empty() => return Err(BroadPhaseError::NoBackend),
            Backend::Gpu(backends) => choose(backends, None).await,
            Backend::Adapter { backends, name } => choose(backends, Some(name)).await,
        };
        let engine = match adapter {
            None if is_auto || backend == Backend::Cpu => Engine::cpu(descriptor)?,
            None => {
                let wanted = backend.wanted();
                return Err(BroadPhaseError::NoAdapter { wanted });
            }
            Some(adapter) => match Whole::open(adapter, descriptor, cache).await {
                Ok(gpu) => Engine::Gpu(Box::new(gpu)),
                Err(error) if is_auto && is_of_device(&error) => {
                    log::warn!("{LABEL}: {error}; using the CPU engine");
                    Engine::cpu(descriptor)?
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self {
            engine,
            is_auto,
            warnings: Warnings::default(),
        })
    }

    /// Returns the adapter in use, `None` on the CPU.
    pub fn adapter_info(&self) -> Option<&wgpu::AdapterInfo> {
        self.on_gpu().map(Whole::adapter_info)
    }

    /// Returns the device in use, `None` on the CPU.
    pub fn device(&self) -> Option<&wgpu::Device> {
        self.on_gpu().map(Whole::device)
    }

    /// Returns the queue in use, `None` on the CPU.
    pub fn queue(&self) -> Option<&wgpu::Queue> {
        self.on_gpu().map(Whole::queue)
    }

    /// Returns the broad phase on the device, `None` on the CPU.
    pub fn gpu(&self) -> Option<&GpuBroadPhase> {
        self.on_gpu().map(Whole::broad_phase)
    }

    /// Returns the options in use, without the label.
    pub fn descriptor(&self) -> BroadPhaseDescriptor<'_> {
        match &self.engine {
            Engine::Gpu(gpu) => gpu.broad_phase().descriptor(),
            Engine::Cpu(cpu) => cpu.descriptor(),
        }
    }

    /// Replaces the options, as [`GpuBroadPhase::set_descriptor`] does, and discards the table of the last step.
    ///
    /// With [`Backend::Auto`], the CPU engine takes over if even an empty step with these options exceeds the device's
    /// limits.
    ///
    /// # Errors
    /// As [`with_backend`](Self::with_backend). The broad phase then stays unchanged.
    pub fn set_descriptor(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), BroadPhaseError> {
        if let Engine::Gpu(gpu) = &mut self.engine {
            match gpu.set_descriptor(descriptor) {
                Err(error) if self.is_auto && is_of_device(&error) => {
                    log::warn!("{LABEL}: {error}; using the CPU engine from now on");
                }
                set => return set,
            }
        }
        self.engine = Engine::cpu(descriptor)?;
        Ok(())
    }

    /// Replaces the [`ray_mode`](crate::OutputOptions::ray_mode).
    ///
    /// The table of the last step is kept, so [`query`](Self::query) can cast rays in another mode.
    pub fn set_ray_mode(&mut self, mode: RayMode) {
        match &mut self.engine {
            Engine::Gpu(gpu) => gpu.set_ray_mode(mode),
            Engine::Cpu(cpu) => cpu.set_ray_mode(mode),
        }
    }

    /// Finds the pairs of boxes and the hits of rays.
    ///
    /// With [`Growth::Grow`](crate::Growth::Grow) the result is complete: the step is repeated with larger buffers, and
    /// results larger than one binding are read in pages. With [`Growth::Fixed`](crate::Growth::Fixed) the result is a
    /// valid prefix, and the counters have the number of rows needed. In both cases, the step is repeated until its
    /// walks have enough rounds of box tests.
    ///
    /// # Errors
    /// - [`Input`](BroadPhaseError::Input): the input exceeds a limit.
    /// - [`TooManyResults`](BroadPhaseError::TooManyResults): the result has more rows than 32-bit offsets can reach.
    /// - [`DeviceLost`](BroadPhaseError::DeviceLost), [`Step`](BroadPhaseError::Step),
    ///   [`ReadBack`](BroadPhaseError::ReadBack), [`LoopsCut`](BroadPhaseError::LoopsCut): the device failed.
    /// - [`Cancelled`](BroadPhaseError::Cancelled): by a [`CancelToken`](crate::cpu::CancelToken).
    pub async fn step(&mut self, objects: &[Aabb], rays: &[Ray]) -> Result<StepResult, BroadPhaseError> {
        let scene = Scene {
            objects: objects.into(),
            query: QueryInput {
                rays: rays.into(),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        self.step_scene(&scene).await
    }

    /// Runs a step on a complete scene. Its inputs are on the host or on this broad phase's device.
    ///
    /// # Errors
    /// As [`step`](Self::step), and:
    /// - [`WorldsMissing`](crate::InputError::WorldsMissing): with several worlds, the number of world ids is not the
    ///   number of objects.
    /// - [`NotOnHost`](crate::InputError::NotOnHost), on the CPU: an input is on a device.
    /// - [`PairFilterOnCpu`](BroadPhaseError::PairFilterOnCpu), on the CPU: the descriptor has a
    ///   [`pair_filter`](BroadPhaseDescriptor::pair_filter).
    pub async fn step_scene(&mut self, scene: &Scene<'_>) -> Result<StepResult, BroadPhaseError> {
        self.answer(scene, None).await
    }

    /// Like [`step_scene`](Self::step_scene), but also takes the pair filter as a Rust function, for the CPU.
    ///
    /// A device runs the WGSL of [`pair_filter`](BroadPhaseDescriptor::pair_filter). The CPU calls `admits_pair` with
    /// the smaller index first. Make sure that both return the same results.
    ///
    /// # Errors
    /// As [`step_scene`](Self::step_scene).
    pub async fn step_scene_where(
        &mut self,
        scene: &Scene<'_>,
        admits_pair: &(dyn Fn(u32, u32) -> bool + Sync),
    ) -> Result<StepResult, BroadPhaseError> {
        self.answer(scene, Some(admits_pair)).await
    }

    /// Runs rays and queries against the table of the last step, without rebuilding it.
    ///
    /// The result is as complete as a [`step`](Self::step)'s, but has no pairs.
    ///
    /// # Errors
    /// As [`step_scene`](Self::step_scene), and [`NoStep`](BroadPhaseError::NoStep) before the first step or after a
    /// failed one.
    pub async fn query(&mut self, input: &QueryInput<'_>) -> Result<StepResult, BroadPhaseError> {
        let result = match &mut self.engine {
            Engine::Gpu(gpu) => gpu.query(input).await?,
            Engine::Cpu(cpu) => cpu.query(input)?,
        };
        self.log(&result.counters, false);
        Ok(result)
    }

    fn log(&mut self, counters: &Counters, is_of_step: bool) {
        let grows = self.descriptor().outputs.growth == Growth::Grow;
        self.warnings.observe(LABEL, counters, is_of_step, grows);
    }

    async fn answer(
        &mut self,
        scene: &Scene<'_>,
        admits: Option<&(dyn Fn(u32, u32) -> bool + Sync)>,
    ) -> Result<StepResult, BroadPhaseError> {
        let result = self.answer_on_engine(scene, admits).await?;
        self.log(&result.counters, true);
        Ok(result)
    }

    async fn answer_on_engine(
        &mut self,
        scene: &Scene<'_>,
        admits: Option<&(dyn Fn(u32, u32) -> bool + Sync)>,
    ) -> Result<StepResult, BroadPhaseError> {
        let gpu = match &mut self.engine {
            Engine::Gpu(gpu) => gpu,
            Engine::Cpu(cpu) => return cpu.step(scene, admits),
        };
        match gpu.step_scene(scene).await {
            Err(error @ BroadPhaseError::Input(InputError::BufferTooLarge { .. })) if self.is_auto => {
                let mut cpu = CpuBroadPhase::new(&gpu.broad_phase().descriptor())?;
                match cpu.step(scene, admits) {
                    // The CPU lacks the input or the filter, so the device's error is returned.
                    Err(BroadPhaseError::Input(InputError::NotOnHost { .. }) | BroadPhaseError::PairFilterOnCpu) => {
                        Err(error)
                    }
                    answer => {
                        log::warn!("{LABEL}: {error}; using the CPU engine from now on");
                        self.engine = Engine::Cpu(Box::new(cpu));
                        answer
                    }
                }
            }
            answer => answer,
        }
    }

    fn on_gpu(&self) -> Option<&Whole> {
        match &self.engine {
            Engine::Gpu(gpu) => Some(gpu),
            Engine::Cpu(_) => None,
        }
    }
}

/// Returns true if the device caused the error, so that the CPU engine can take over.
const fn is_of_device(error: &BroadPhaseError) -> bool {
    match error {
        BroadPhaseError::Descriptor(DescriptorError::NoStepFits(_)) => true,
        BroadPhaseError::Descriptor(_) => false,
        _ => true,
    }
}

impl Engine {
    fn cpu(descriptor: &BroadPhaseDescriptor<'_>) -> Result<Self, BroadPhaseError> {
        Ok(Self::Cpu(Box::new(CpuBroadPhase::new(descriptor)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes more boxes than a binding of 128 MiB holds. All boxes are invalid, so the CPU is done soon.
    #[test]
    fn the_cpu_takes_over_from_a_device_that_cannot_bind_the_input() {
        let boxes = vec![Aabb::new([f32::NAN; 3], [0.0; 3]); (128 << 20) / size_of::<Aabb>() + 1];
        let any = Backend::Gpu(wgpu::Backends::all());
        let opened = pollster::block_on(BroadPhase::with_backend(&BroadPhaseDescriptor::default(), any));
        let mut broad_phase = match opened {
            Err(BroadPhaseError::NoAdapter { .. } | BroadPhaseError::NoBackend) => return,
            opened => opened.expect("a broad phase"),
        };
        let mut step = |is_auto| {
            // Set here, since `Backend::Auto` would choose a device only on hardware.
            broad_phase.is_auto = is_auto;
            let result = pollster::block_on(broad_phase.step(&boxes, &[]));
            (result, broad_phase.gpu().is_some())
        };
        let (refused, is_on_gpu) = step(false);
        let Err(BroadPhaseError::Input(InputError::BufferTooLarge { .. })) = refused else {
            panic!("{refused:?}");
        };
        assert!(is_on_gpu);
        let (answer, is_on_gpu) = step(true);
        assert_eq!(answer.expect("an answer").counters.invalid as usize, boxes.len());
        assert!(!is_on_gpu);
    }
}
