use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, Counters, Dimensions, LocalOrigin, OutputOptions, Pair,
    QueryInput, RayMode, ResultOrder, Scene, Scheme, StepResult, block_on,
};
use numpy::ndarray::{ArrayView1, ArrayView2};
use parking_lot::MutexGuard;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use wgpu::{AdapterInfo, Backends, DeviceType};

use crate::errors::{self, NoAdapterError};
use crate::origins::{self, Placed};
use crate::work::{self, FairMutex};

#[pyclass(frozen, module = "gpu_broad_phase._native")]
pub struct Engine {
    state: FairMutex<State>,
    /// Number of forks at creation.
    forks: usize,
    /// GPU adapter at creation. `None` on the CPU.
    adapter: Option<AdapterInfo>,
    uses_gpu: Arc<AtomicBool>,
}

pub struct State {
    pub finder: Finder,
    pub last: LastStep,
    /// Boxes of a step that is being checked. A refused step does not change `last`.
    pub spare: Vec<Aabb>,
}

pub struct Finder {
    /// Dropped only by the process that created it.
    pub broad_phase: ManuallyDrop<BroadPhase>,
    /// Cleared when the CPU takes over.
    uses_gpu: Arc<AtomicBool>,
    pub plain: BroadPhaseDescriptor<'static>,
    pub number: u64,
    /// The scheme, or only its kind if the first boxes decide the cell size.
    scheme: Choice,
    counters: Counters,
    taken: Duration,
    /// Time of a table built again, which counts for the call that needed it.
    rebuilt: Duration,
    /// True if the caller may query the table.
    pub has_table: bool,
}

/// Objects of the last step, in result order.
#[derive(Default)]
pub struct LastStep {
    pub boxes: Vec<Aabb>,
    pub worlds: Vec<u32>,
    pub excluded: Vec<Pair>,
    pub placed: Placed,
    /// Origin of the table, if rays or queries needed another one than the step.
    moved: Option<LocalOrigin>,
    /// [`origins::for_questions`] of the boxes, once it is needed.
    for_questions: Option<LocalOrigin>,
    /// Origin of the last step of boxes that were not exact.
    pub latest: LocalOrigin,
}

#[derive(Clone, Copy)]
enum Choice {
    Fixed,
    Uniform,
    Adaptive,
}

fn backend_of<'a>(name: &str, adapter: Option<&'a str>) -> PyResult<Backend<'a>> {
    let backends = match name {
        "auto" | "gpu" => Backends::all(),
        "vulkan" => Backends::VULKAN,
        "metal" => Backends::METAL,
        "dx12" => Backends::DX12,
        "gl" => Backends::GL,
        "cpu" => return Ok(Backend::Cpu),
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no backend {name:?}: auto, gpu, cpu, vulkan, metal, dx12 and gl are known"
            )));
        }
    };
    match (name, adapter) {
        ("auto", None) if work::forks() > 0 => return Ok(Backend::Cpu),
        ("auto", None) => return Ok(Backend::Auto),
        _ => check_fork()?,
    }
    Ok(adapter.map_or(Backend::Gpu(backends), |name| Backend::Adapter { backends, name }))
}

fn check_fork() -> PyResult<()> {
    match work::forks() {
        0 => Ok(()),
        _ => Err(NoAdapterError::new_err(
            "a process that was forked cannot use a GPU, since drivers do not come along: start it by \
             multiprocessing's spawn or forkserver, or use backend=\"cpu\"",
        )),
    }
}

#[pyfunction]
pub fn adapters(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    check_fork()?;
    let found = py.detach(|| block_on(gpu_broad_phase::adapters(Backends::all())));
    found.iter().map(|adapter| described(py, &adapter.get_info())).collect()
}

fn described<'py>(py: Python<'py>, info: &AdapterInfo) -> PyResult<Bound<'py, PyDict>> {
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => "discrete",
        DeviceType::IntegratedGpu => "integrated",
        DeviceType::VirtualGpu => "virtual",
        DeviceType::Cpu => "software",
        DeviceType::Other => "other",
    };
    let dict = PyDict::new(py);
    dict.set_item("name", &info.name)?;
    dict.set_item("backend", info.backend.to_str())?;
    dict.set_item("kind", kind)?;
    dict.set_item("driver", format!("{} {}", info.driver, info.driver_info).trim())?;
    Ok(dict)
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (*, dimensions, scheme, cell_size, margin, sort, backend, adapter, max_bytes, timeout))]
    #[allow(clippy::too_many_arguments, reason = "by name, from one place")]
    fn new(
        py: Python<'_>,
        dimensions: u32,
        scheme: &str,
        cell_size: Option<f32>,
        margin: f32,
        sort: bool,
        backend: &str,
        adapter: Option<&str>,
        max_bytes: Option<u64>,
        timeout: f64,
    ) -> PyResult<Self> {
        let (scheme, choice) = match (scheme, cell_size) {
            ("hierarchical", None) => (Scheme::Hierarchical, Choice::Fixed),
            ("hierarchical", Some(_)) => {
                return Err(PyValueError::new_err(format!(
                    "the scheme {scheme:?} takes no cell_size"
                )));
            }
            ("uniform", Some(cell_size)) => (Scheme::Uniform { cell_size }, Choice::Fixed),
            ("adaptive", Some(min_scale)) => (Scheme::Adaptive { min_scale }, Choice::Fixed),
            ("uniform", None) => (Scheme::Hierarchical, Choice::Uniform),
            ("adaptive", None) => (Scheme::Hierarchical, Choice::Adaptive),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "there is no scheme {scheme:?}: hierarchical, uniform and adaptive are known"
                )));
            }
        };
        let timeout =
            Duration::try_from_secs_f64(timeout).map_err(|error| PyValueError::new_err(format!("timeout: {error}")))?;
        let descriptor = BroadPhaseDescriptor {
            dimensions: match dimensions {
                2 => Dimensions::Two,
                3 => Dimensions::Three,
                _ => return Err(PyValueError::new_err(format!("dimensions is {dimensions}, not 2 or 3"))),
            },
            scheme,
            margin,
            outputs: OutputOptions {
                order: if sort {
                    ResultOrder::Sorted
                } else {
                    ResultOrder::Deterministic
                },
                max_bytes,
                timeout,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let backend = backend_of(backend, adapter)?;
        let broad_phase = py.detach(|| block_on(BroadPhase::with_backend(&descriptor, backend)));
        let broad_phase = broad_phase.map_err(errors::raised)?;
        /// Number of the next engine. Object sets store it with their device buffers.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let adapter = broad_phase.adapter_info().cloned();
        let uses_gpu = Arc::new(AtomicBool::new(adapter.is_some()));
        Ok(Self {
            state: FairMutex::new(State {
                finder: Finder {
                    plain: BroadPhaseDescriptor {
                        sort: broad_phase.descriptor().sort,
                        ..descriptor
                    },
                    broad_phase: ManuallyDrop::new(broad_phase),
                    uses_gpu: Arc::clone(&uses_gpu),
                    number: NEXT.fetch_add(1, Ordering::Relaxed),
                    scheme: choice,
                    counters: Counters::default(),
                    taken: Duration::ZERO,
                    rebuilt: Duration::ZERO,
                    has_table: false,
                },
                last: LastStep::default(),
                spare: Vec::new(),
            }),
            forks: work::forks(),
            adapter,
            uses_gpu,
        })
    }

    /// Describes the adapter like [`adapters`], or returns `None` on the CPU.
    #[getter]
    fn adapter<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.gpu().map(|info| described(py, info)).transpose()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let State { finder, last, .. } = &*self.lock(py)?;
        let dict = counts(py, &finder.counters)?;
        let (name, size) = match finder.plain.scheme {
            Scheme::Uniform { cell_size } => ("uniform", Some(cell_size)),
            Scheme::Adaptive { min_scale } => ("adaptive", Some(min_scale)),
            _ => ("hierarchical", None),
        };
        dict.set_item("scheme", name)?;
        dict.set_item("cell_size", size)?;
        let origin = &last.origin().position[..finder.plain.dimensions.count() as usize];
        dict.set_item("origin", PyTuple::new(py, origin)?)?;
        dict.set_item("seconds", finder.taken.as_secs_f64())?;
        let memory = finder.broad_phase.gpu().map(|gpu| gpu.memory().total());
        dict.set_item("device_bytes", memory.unwrap_or(0))?;
        Ok(dict)
    }
}

impl Engine {
    /// Takes no lock, because progress callbacks may call it.
    fn gpu(&self) -> Option<&AdapterInfo> {
        self.adapter.as_ref().filter(|_| self.uses_gpu.load(Ordering::Relaxed))
    }

    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        if self.gpu().is_some() && self.forks != work::forks() {
            return Err(errors::DeviceError::new_err(
                "this broad phase uses a GPU of the process that this one was forked from: drivers do not come along. \
                 Start processes by multiprocessing's spawn or forkserver",
            ));
        }
        self.state.lock(py)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Dropping a device waits for threads, which a forked process lacks.
        if self.forks == work::forks() {
            // SAFETY: the field is not used after `drop`.
            unsafe { ManuallyDrop::drop(&mut self.state.get_mut().finder.broad_phase) };
        }
    }
}

impl Finder {
    /// Derives the cell size, if unspecified, from the first boxes.
    pub fn choose(&mut self, boxes: &[Aabb]) {
        let dimensions = self.plain.dimensions;
        self.plain.scheme = match self.scheme {
            _ if boxes.is_empty() => return,
            Choice::Fixed => return,
            Choice::Uniform => Scheme::uniform_for(boxes, dimensions),
            Choice::Adaptive => Scheme::adaptive_for(boxes, dimensions),
        };
        self.scheme = Choice::Fixed;
    }

    /// `admits` must match the descriptor's pair filter.
    pub fn step(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'static>,
        scene: &Scene<'_>,
        admits: Option<&(dyn Fn(u32, u32) -> bool + Sync)>,
    ) -> PyResult<StepResult> {
        self.has_table = false;
        if *descriptor != self.broad_phase.descriptor() {
            self.broad_phase.set_descriptor(descriptor).map_err(errors::raised)?;
        }
        let began = Instant::now();
        let result = block_on(async {
            match admits {
                Some(admits) => self.broad_phase.step_scene_where(scene, admits).await,
                None => self.broad_phase.step_scene(scene).await,
            }
        });
        self.uses_gpu.store(self.broad_phase.gpu().is_some(), Ordering::Relaxed);
        let result = result.map_err(errors::raised)?;
        self.taken = began.elapsed();
        self.has_table = true;
        self.counters = result.counters;
        Ok(result)
    }

    /// Like [`step`](Self::step) with boxes of the engine's own, whose table the caller cannot query.
    pub fn step_aside(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'static>,
        scene: &Scene<'_>,
        admits: Option<&(dyn Fn(u32, u32) -> bool + Sync)>,
    ) -> PyResult<StepResult> {
        let result = self.step(descriptor, scene, admits);
        self.has_table = false;
        result
    }

    /// Builds the table again, from another origin.
    fn rebuild(&mut self, scene: &Scene<'_>) -> PyResult<()> {
        let descriptor = BroadPhaseDescriptor {
            pairs: false,
            label: None,
            pair_filter: None,
            ..self.broad_phase.descriptor()
        };
        let counters = self.counters;
        self.step(&descriptor, scene, None)?;
        self.counters = counters;
        self.rebuilt = self.taken;
        Ok(())
    }

    /// Cell edge that an origin should be a multiple of.
    pub fn cell(&self) -> Option<f64> {
        match self.plain.scheme {
            Scheme::Uniform { cell_size } => Some(cell_size.into()),
            Scheme::Adaptive { min_scale } => Some(f64::from(min_scale).log2().ceil().exp2()),
            _ => None,
        }
    }

    pub fn set_ray_mode(&mut self, mode: RayMode) {
        self.plain.outputs.ray_mode = mode;
        self.broad_phase.set_ray_mode(mode);
    }

    pub fn ask(&mut self, input: &QueryInput<'_>) -> PyResult<StepResult> {
        if !self.has_table {
            return Err(errors::no_step());
        }
        let began = Instant::now();
        let rebuilt = std::mem::take(&mut self.rebuilt);
        let result = block_on(self.broad_phase.query(input)).map_err(errors::raised)?;
        self.taken = rebuilt + began.elapsed();
        Ok(result)
    }
}

impl LastStep {
    pub fn place(&mut self, placed: Placed) {
        self.placed = placed;
        (self.moved, self.for_questions) = (None, None);
    }

    /// Origin of the table.
    fn origin(&self) -> LocalOrigin {
        self.moved.unwrap_or(self.placed.origin)
    }

    /// Origin of the table for rays or queries. If those are not exact but the boxes are, rebuilds the table from
    /// another origin where the rounding would be coarse.
    pub fn origin_for(&mut self, finder: &mut Finder, are_exact: impl FnOnce() -> bool) -> PyResult<LocalOrigin> {
        let mut wanted = self.placed.origin;
        if self.placed.are_exact && finder.has_table && !are_exact() {
            let boxes = &self.boxes;
            wanted = *self.for_questions.get_or_insert_with(|| origins::for_questions(boxes));
        }
        if finder.has_table && wanted != self.origin() {
            let boxes = origins::moved(&self.boxes, wanted);
            finder.rebuild(&Scene {
                objects: boxes[..].into(),
                worlds: self.worlds[..].into(),
                ..Scene::default()
            })?;
            self.moved = Some(wanted);
        }
        Ok(wanted)
    }

    pub fn exclude(&mut self, rows: Option<ArrayView2<'_, u32>>) {
        self.excluded.clear();
        let pair = |row: ArrayView1<'_, u32>| Pair { a: row[0], b: row[1] };
        self.excluded
            .extend(rows.iter().flat_map(|rows| rows.rows().into_iter().map(pair)));
    }

    pub fn scene(&self) -> Scene<'_> {
        Scene {
            objects: self.boxes[..].into(),
            worlds: self.worlds[..].into(),
            excluded_pairs: self.excluded[..].into(),
            ..Scene::default()
        }
    }
}

pub fn counts<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("objects", counters.objects)?;
    dict.set_item("invalid", counters.invalid)?;
    dict.set_item("excluded", counters.excluded)?;
    dict.set_item("large", counters.large)?;
    dict.set_item("levels", counters.levels)?;
    dict.set_item("cells", counters.table_cells)?;
    dict.set_item("entries", counters.entries_needed)?;
    dict.set_item("pairs", counters.pairs_needed)?;
    Ok(dict)
}
