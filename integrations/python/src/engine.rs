//! What finds things: a GPU, or the CPU, and the boxes of the last step.

use std::mem::{ManuallyDrop, take};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{OutputOptions, 
    Aabb, BroadPhaseDescriptor, Counters, Dimensions, Headless, HeadlessDescriptor, Pair, PairOrder, QueryInput,
    RayMode, Scene, Scheme, StepResult,
};
use numpy::ndarray::{ArrayView1, ArrayView2};
use parking_lot::MutexGuard;
use pollster::block_on;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wgpu::{AdapterInfo, Backends, DeviceType};

use crate::errors::{self, NoAdapterError};
use crate::work::{self, Turns};

/// A broad phase, and what it was last given.
#[pyclass(frozen, module = "gpu_broad_phase._native")]
pub struct Engine {
    state: Turns<State>,
    /// Forks before it was made.
    forks: usize,
    /// `None` on the CPU.
    adapter: Option<AdapterInfo>,
}

pub struct State {
    /// Dropped by the process alone that made it.
    pub side: ManuallyDrop<Side>,
    pub descriptor: BroadPhaseDescriptor<'static>,
    /// That of the last step. A table that was built again for rays has another.
    pub of_step: BroadPhaseDescriptor<'static>,
    /// Which of all engines this is.
    pub number: u64,
    /// How cells are chosen; what the caller leaves open is told by the boxes of the first step.
    scheme: Choice,
    /// What the last step was given.
    pub last: LastStep,
    /// Boxes that are read and not yet checked. A step that is refused leaves the last one as it was.
    pub spare: Vec<Aabb>,
    pub counters: Counters,
    /// How long the library took for the last answer.
    taken: Duration,
    /// Whether there is a table to ask.
    has_table: bool,
}

/// The boxes of a step and what belongs to them, as results number them.
#[derive(Default)]
pub struct LastStep {
    pub boxes: Vec<Aabb>,
    pub worlds: Vec<u32>,
    pub excluded: Vec<Pair>,
}

pub enum Side {
    Device(Box<Headless>),
    Cpu(Box<CpuBroadPhase<'static>>),
}

#[derive(Clone, Copy)]
enum Choice {
    Fixed,
    Uniform,
    Adaptive,
}

/// The error of a side. What a device says is larger than most.
pub enum Failure {
    Device(Box<gpu_broad_phase::HeadlessError>),
    Cpu(gpu_broad_phase::ReferenceError),
    Create(gpu_broad_phase::CreateError),
    /// There is no table to ask.
    NoStep,
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Device(error) => errors::of_device(&error),
            Failure::Cpu(error) => errors::of_cpu(&error),
            Failure::Create(error) => errors::of_create(error),
            Failure::NoStep => errors::no_step(),
        }
    }
}

/// What is looked at first. GL looks for a display, and its libraries complain where there is none.
const FIRST: Backends = Backends::VULKAN.union(Backends::METAL).union(Backends::DX12);

/// The backends that an adapter may be of; `None` for all.
fn backends_of(name: &str) -> PyResult<Option<Backends>> {
    Ok(match name {
        "auto" | "gpu" => None,
        "vulkan" => Some(Backends::VULKAN),
        "metal" => Some(Backends::METAL),
        "dx12" => Some(Backends::DX12),
        "gl" => Some(Backends::GL),
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no backend {name:?}: auto, gpu, cpu, vulkan, metal, dx12 and gl are known"
            )));
        }
    })
}

/// Whether a GPU was used by the process that this one is the fork of.
fn check_fork() -> PyResult<()> {
    match work::forks() {
        0 => Ok(()),
        _ => Err(NoAdapterError::new_err(
            "a process that was forked cannot use a GPU, since drivers do not come along: start it by \
             multiprocessing's spawn or forkserver, or use backend=\"cpu\"",
        )),
    }
}

fn open(
    backends: Option<Backends>,
    adapter: Option<&str>,
    descriptor: BroadPhaseDescriptor<'static>,
) -> Result<Headless, Failure> {
    let descriptor = HeadlessDescriptor {
        backends,
        adapter,
        broad_phase: descriptor,
    };
    block_on(Headless::with_descriptor(&descriptor)).map_err(|error| Failure::Device(error.into()))
}

/// The best GPU, if there is one that is no software and has more than GL.
fn open_best(descriptor: BroadPhaseDescriptor<'static>) -> Option<Headless> {
    /// Looking takes longer than many a step.
    static THERE_IS_NONE: AtomicBool = AtomicBool::new(false);
    if THERE_IS_NONE.load(Ordering::Relaxed) {
        return None;
    }
    // The library takes hardware before software.
    let best = open(Some(FIRST), None, descriptor).ok();
    let hardware = best.filter(|headless| headless.adapter_info().device_type != DeviceType::Cpu);
    THERE_IS_NONE.store(hardware.is_none(), Ordering::Relaxed);
    hardware
}

/// Each adapter's name, backend, kind and driver.
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
outputs: OutputOptions { pair_order: if sort {
                PairOrder::Sorted
            } else {
                PairOrder::Deterministic
            }, max_bytes, timeout, ..Default::default() },
..BroadPhaseDescriptor::default()
};
        // What cannot work is told on every side in the same way.
        let cpu = || CpuBroadPhase::new(&descriptor).map(Box::new);
        let side = match backend {
            "cpu" => Side::Cpu(cpu().map_err(|error| errors::of_create(error.into()))?),
            "auto" if adapter.is_none() => {
                let cpu = cpu().map_err(|error| errors::of_create(error.into()))?;
                // The child of a fork has no GPU.
                let best = (work::forks() == 0).then(|| py.detach(|| open_best(descriptor)));
                match best.flatten() {
                    Some(headless) => Side::Device(headless.into()),
                    None => Side::Cpu(cpu),
                }
            }
            _ => {
                check_fork()?;
                let backends = backends_of(backend)?;
                let headless = py.detach(|| match backends {
                    // A place of an adapter counts all of them.
                    None if adapter.is_none() => {
                        open(Some(FIRST), None, descriptor).or_else(|_| open(None, None, descriptor))
                    }
                    _ => open(backends, adapter, descriptor),
                })?;
                Side::Device(headless.into())
            }
        };
        /// Objects that lie on a device know by it whose device that is.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let adapter = match &side {
            Side::Device(headless) => Some(headless.adapter_info().clone()),
            Side::Cpu(_) => None,
        };
        Ok(Self {
            state: Turns::new(State {
                side: ManuallyDrop::new(side),
                descriptor,
                of_step: descriptor,
                number: NEXT.fetch_add(1, Ordering::Relaxed),
                scheme: choice,
                last: LastStep::default(),
                spare: Vec::new(),
                counters: Counters::default(),
                taken: Duration::ZERO,
                has_table: false,
            }),
            forks: work::forks(),
            adapter,
        })
    }

    /// The adapter as [`adapters`] tells it; `None` on the CPU.
    #[getter]
    fn adapter<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.adapter.as_ref().map(|info| described(py, info)).transpose()
    }

    /// What the last step counted, and what it was made with.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.lock(py)?;
        let dict = counts(py, &state.counters)?;
        let (name, size) = match state.descriptor.scheme {
            Scheme::Uniform { cell_size } => ("uniform", Some(cell_size)),
            Scheme::Adaptive { min_scale } => ("adaptive", Some(min_scale)),
            _ => ("hierarchical", None),
        };
        dict.set_item("scheme", name)?;
        dict.set_item("cell_size", size)?;
        dict.set_item("seconds", state.taken.as_secs_f64())?;
        dict.set_item(
            "device_bytes",
            match &*state.side {
                Side::Device(headless) => headless.broad_phase().memory().total(),
                Side::Cpu(_) => 0,
            },
        )?;
        Ok(dict)
    }
}

impl Engine {
    /// The state, once no other thread works with it.
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        if self.adapter.is_some() && self.forks != work::forks() {
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
        // The threads that a device waits for in the end are those of the process that made it.
        if self.forks == work::forks() {
            // SAFETY: nobody looks at it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.state.get_mut().side) };
        }
    }
}

impl State {
    /// Takes another descriptor, if it is another one.
    fn describe(&mut self, wanted: BroadPhaseDescriptor<'static>) -> Result<(), Failure> {
        if wanted == self.descriptor {
            return Ok(());
        }
        match &mut *self.side {
            Side::Device(headless) => headless.set_descriptor(&wanted).map_err(Failure::Create)?,
            Side::Cpu(cpu) => {
                let new = CpuBroadPhase::new(&wanted).map_err(|error| Failure::Create(error.into()))?;
                **cpu = new;
            }
        }
        self.descriptor = wanted;
        self.has_table = false;
        Ok(())
    }

    /// Gets ready for a step of some kind.
    fn prepare(&mut self, kind: Kind) -> Result<(), Failure> {
        self.describe(BroadPhaseDescriptor {
            worlds: kind.worlds,
            pairs: kind.pairs,
            periods: kind.periods,
            pair_filter: kind.pair_filter,
            ..self.descriptor
        })
    }

    /// Chooses the scheme where that is left to the boxes of the first step.
    fn choose(&mut self, boxes: &[Aabb]) -> Result<(), Failure> {
        let dimensions = self.descriptor.dimensions;
        let scheme = match self.scheme {
            _ if boxes.is_empty() => return Ok(()),
            Choice::Fixed => return Ok(()),
            Choice::Uniform => Scheme::uniform_for(boxes, dimensions),
            Choice::Adaptive => Scheme::adaptive_for(boxes, dimensions),
        };
        self.describe(BroadPhaseDescriptor {
            scheme,
            ..self.descriptor
        })?;
        self.scheme = Choice::Fixed;
        Ok(())
    }

    /// A step with boxes that were put into [`last`](Self::last).
    pub fn step(&mut self, kind: Kind, filter: Filter<'_>) -> Result<StepResult, Failure> {
        let last = take(&mut self.last);
        let result = self.choose(&last.boxes).and_then(|()| {
            self.prepare(kind)?;
            self.of_step = self.descriptor;
            self.scene(&last.scene(filter.words), filter.admits)
        });
        self.last = last;
        result
    }

    /// A step with a scene, which is that of [`last`](Self::last) or of the same boxes on the device.
    pub fn scene(&mut self, scene: &Scene<'_>, admits: Option<&Admits<'_>>) -> Result<StepResult, Failure> {
        self.has_table = false;
        let began = Instant::now();
        let result = match &mut *self.side {
            Side::Device(headless) => {
                block_on(headless.step_scene(scene)).map_err(|error| Failure::Device(error.into()))?
            }
            Side::Cpu(cpu) => match admits {
                Some(admits) => cpu.step_scene_where(scene, admits),
                None => cpu.step_scene(scene),
            }
            .map_err(Failure::Cpu)?,
        };
        self.taken = began.elapsed();
        self.has_table = true;
        self.counters = result.counters;
        Ok(result)
    }

    /// A step with points that ask for their neighbours. There is no table to ask afterwards: its points are not those
    /// that the caller gave.
    pub fn neighbors(&mut self, scene: &Scene<'_>, periods: [f32; 3]) -> Result<StepResult, Failure> {
        self.prepare(Kind {
            pairs: false,
            periods,
            ..Kind::default()
        })?;
        let result = self.scene(scene, None);
        self.forget_table();
        result
    }

    /// Takes the table away, since other boxes come. What ends meanwhile leaves none.
    pub fn drop_table(&mut self) {
        self.has_table = false;
    }

    /// Takes the table away, and the boxes: they are not those that the caller gave.
    pub fn forget_table(&mut self) {
        self.last = LastStep::default();
        self.has_table = false;
    }

    /// Gets ready for a step with these objects, which lie elsewhere too.
    pub fn prepare_objects(&mut self, boxes: &[Aabb], pairs: bool) -> Result<(), Failure> {
        self.choose(boxes)?;
        self.prepare(Kind {
            pairs,
            ..Kind::default()
        })?;
        self.of_step = self.descriptor;
        Ok(())
    }

    /// Asks the table of the last step.
    pub fn ask(&mut self, input: &QueryInput<'_>, ray_mode: Option<RayMode>) -> Result<StepResult, Failure> {
        if !self.has_table {
            return Err(Failure::NoStep);
        }
        if let Some(mode) = ray_mode.filter(|&mode| mode != self.descriptor.outputs.ray_mode) {
            if let Side::Cpu(cpu) = &mut *self.side {
                cpu.set_ray_mode(mode);
                self.descriptor.outputs.ray_mode = mode;
            } else {
                // Another mode takes the table with it. Pairs were handed out.
                self.describe(BroadPhaseDescriptor {
outputs: OutputOptions { ray_mode: mode, ..self.descriptor.outputs },
pairs: false,
pair_filter: None,
..self.descriptor
})?;
                let (last, counters) = (take(&mut self.last), self.counters);
                let built = self.scene(&last.scene(&[]), None);
                self.last = last;
                built?;
                self.counters = counters;
            }
        }
        let began = Instant::now();
        let result = match &mut *self.side {
            Side::Device(headless) => block_on(headless.query(input)).map_err(|error| Failure::Device(error.into()))?,
            Side::Cpu(cpu) => cpu.query(input).map_err(Failure::Cpu)?,
        };
        self.taken = began.elapsed();
        Ok(result)
    }
}

/// What differs from step to step.
#[derive(Clone, Copy)]
pub struct Kind {
    pub worlds: u32,
    pub pairs: bool,
    pub periods: [f32; 3],
    pub pair_filter: Option<&'static str>,
}

impl Default for Kind {
    fn default() -> Self {
        Self {
            worlds: 1,
            pairs: true,
            periods: [0.0; 3],
            pair_filter: None,
        }
    }
}

/// Says which objects may pair, where not all may.
pub type Admits<'a> = dyn Fn(u32, u32) -> bool + Sync + 'a;

/// What parts pairs beside layers and owners, in both forms: a function for the CPU, and the words that the function of
/// the device reads.
#[derive(Clone, Copy, Default)]
pub struct Filter<'a> {
    pub admits: Option<&'a Admits<'a>>,
    pub words: &'a [u32],
}

impl LastStep {
    /// Takes the pairs that are not wanted, a row each.
    pub fn exclude(&mut self, rows: Option<ArrayView2<'_, u32>>) {
        self.excluded.clear();
        let pair = |row: ArrayView1<'_, u32>| Pair { a: row[0], b: row[1] };
        self.excluded
            .extend(rows.iter().flat_map(|rows| rows.rows().into_iter().map(pair)));
    }

    pub fn scene<'a>(&'a self, filter_words: &'a [u32]) -> Scene<'a> {
        Scene {
            objects: self.boxes[..].into(),
            worlds: self.worlds[..].into(),
            excluded_pairs: self.excluded[..].into(),
            pair_filter_data: filter_words.into(),
            ..Scene::default()
        }
    }
}

/// What a step counted.
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
