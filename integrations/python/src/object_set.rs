use std::mem::{forget, take};

use gpu_broad_phase::{Aabb, Handle, LocalOrigin, ObjectSet, Pair, PairEvent};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use parking_lot::MutexGuard;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Each, EachView, Matrix, Numbers, pairs};
use crate::boxes::{self, BoxArrays};
use crate::origins::{self, Bounds, Placed, bounds};
use crate::work::{self, FairMutex};

/// A handle has 64 bits: generation (high), slot (low).
#[pyclass(frozen, module = "gpu_broad_phase._native")]
pub struct ObjectTable {
    objects: FairMutex<Objects>,
    /// Number of forks at creation.
    forks: usize,
}

pub struct Objects {
    pub set: ObjectSet,
    pub has_events: bool,
    /// Pairs of the last step as ascending handles.
    pub pairs: Vec<[u64; 2]>,
    /// Number of the engine whose device holds the boxes, or 0.
    pub device_owner: u64,
    /// Boxes as given, from the first number on that float32 does not hold.
    given: Option<Given>,
    placed: Placed,
    /// True if no box changed since `placed` was chosen.
    is_settled: bool,
}

/// Boxes by slot.
struct Given {
    statics: Vec<Bounds>,
    moving: Vec<Bounds>,
}

pub struct Events {
    begun: Vec<[u64; 2]>,
    ended: Vec<[u64; 2]>,
}

type All<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyAny>);

pub type EventRows<'py> = (Bound<'py, PyArray2<u64>>, Bound<'py, PyArray2<u64>>);

fn number_of(handle: Handle) -> u64 {
    let event = PairEvent::from([handle, handle]);
    u64::from(event.a_generation) << 32 | u64::from(event.a)
}

fn handle_of(number: u64) -> Handle {
    let [handle, _] = <[Handle; 2]>::from(PairEvent {
        a: number as u32,
        a_generation: (number >> 32) as u32,
        ..PairEvent::default()
    });
    handle
}

fn stale(handle: u64) -> PyErr {
    PyKeyError::new_err(format!("no object of the set has the handle {handle}: was it removed?"))
}

impl Given {
    fn new(set: &ObjectSet) -> Self {
        let [statics, moving] = [set.static_slots(), set.slots()].map(|slots| slots.iter().map(bounds).collect());
        Self { statics, moving }
    }

    fn place(&mut self, handle: u64) -> &mut Bounds {
        let slot = handle as u32;
        let index = (slot & (u32::MAX >> 1)) as usize;
        let part = match slot == index as u32 {
            true => &mut self.moving,
            false => &mut self.statics,
        };
        if index >= part.len() {
            part.resize(index + 1, [[0.0; 3]; 2]);
        }
        &mut part[index]
    }
}

impl Events {
    pub fn into_arrays(self, py: Python<'_>) -> PyResult<EventRows<'_>> {
        let rows = |handles| pairs(py, bytemuck::allocation::cast_vec(handles));
        Ok((rows(self.begun)?, rows(self.ended)?))
    }
}

impl Objects {
    /// Returns boxes, and true if float32 holds all numbers.
    fn read<'a>(
        &self,
        py: Python<'_>,
        [lower, upper]: [Numbers<'a>; 2],
        layers: EachView<'a, u32>,
        groups: EachView<'a, u32>,
    ) -> PyResult<(Vec<Aabb>, bool)> {
        let given = BoxArrays {
            name: "boxes",
            lower,
            upper,
            layers,
            groups,
            checked: true,
        };
        let mut boxes = Vec::new();
        let origin = self.placed.origin;
        let are_exact = work::run(py, None, || boxes::read(given, origin, &mut boxes))??;
        Ok((boxes, are_exact))
    }

    /// Stores boxes as given, if they or earlier ones are not exact.
    fn store(&mut self, handles: impl Iterator<Item = u64>, [lower, upper]: [Numbers<'_>; 2], are_exact: bool) {
        if are_exact && self.given.is_none() {
            return;
        }
        let set = &self.set;
        let given = self.given.get_or_insert_with(|| Given::new(set));
        for (row, handle) in handles.enumerate() {
            *given.place(handle) = [lower.row(row), upper.row(row)];
        }
        self.is_settled = false;
    }

    fn sample(&self, given: &Given) -> Vec<Bounds> {
        let statics = given.statics.len();
        origins::sample_objects(statics + given.moving.len(), |slot| {
            let (aabb, bounds) = match slot < statics {
                true => (&self.set.static_slots()[slot], given.statics[slot]),
                false => (&self.set.slots()[slot - statics], given.moving[slot - statics]),
            };
            (aabb.group & Aabb::EXCLUDED == 0).then_some(bounds)
        })
    }

    /// Chooses another origin if that of the last step no longer serves.
    pub fn settle(&mut self, cell: Option<f64>) -> Placed {
        let Some(given) = self.given.as_ref().filter(|_| !self.is_settled) else {
            return self.placed;
        };
        let seen = self.sample(given);
        let origin = self.placed.origin.updated(seen.iter().copied(), cell);
        let has_moved = origin != self.placed.origin;
        self.placed = Placed {
            origin,
            are_exact: false,
            coarse: origin.coarse_step(seen),
        };
        self.is_settled = true;
        if has_moved {
            let handles: Vec<_> = self.set.iter().map(|(handle, _)| handle).collect();
            for handle in handles {
                let Some(given) = &mut self.given else { break };
                let [min, max] = *given.place(number_of(handle));
                let Aabb { min, max, .. } = origin.aabb(min, max);
                // The set has just named the handle.
                let _ = self.set.move_to(handle, min, max);
            }
        }
        self.placed
    }

    /// True if the next step measures from an origin.
    fn has_origin(&self) -> bool {
        let zero = LocalOrigin::default();
        self.given.as_ref().is_some_and(|given| match self.is_settled {
            true => self.placed.origin != zero,
            false => self.placed.origin.updated(self.sample(given), None) != zero,
        })
    }

    /// Returns the events, and the step's pairs as handles.
    pub fn events(&self, pairs: &[Pair]) -> (Events, Vec<[u64; 2]>) {
        // Free slots never pair, so `object` has a handle.
        let number = |object: u32| self.set.handle_of(object).map_or(u64::MAX, number_of);
        let mut now: Vec<_> = pairs.par_iter().map(|pair| [number(pair.a), number(pair.b)]).collect();
        now.par_sort_unstable();
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        let (mut old, mut new) = (self.pairs.iter().peekable(), now.iter().peekable());
        loop {
            match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(before), Some(after)) if before == after => {
                    old.next();
                    new.next();
                }
                (Some(before), after) if after.is_none_or(|after| before < after) => {
                    ended.push(**before);
                    old.next();
                }
                _ => begun.extend(new.next()),
            }
        }
        (Events { begun, ended }, now)
    }
}

impl ObjectTable {
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Objects>> {
        self.objects.lock(py)
    }
}

impl Drop for ObjectTable {
    fn drop(&mut self) {
        if self.forks != work::forks() {
            // The device buffers belong to the parent process.
            forget(take(&mut self.objects.get_mut().set));
        }
    }
}

#[pymethods]
impl ObjectTable {
    #[new]
    fn new(events: bool) -> Self {
        Self {
            objects: FairMutex::new(Objects {
                set: ObjectSet::new(),
                has_events: events,
                pairs: Vec::new(),
                device_owner: 0,
                given: None,
                placed: Placed::default(),
                is_settled: true,
            }),
            forks: work::forks(),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.set.len())
    }

    #[pyo3(signature = (*, lower, upper, layers, groups, is_static))]
    #[allow(clippy::too_many_arguments, reason = "by name, from one place")]
    fn insert<'py>(
        &self,
        py: Python<'py>,
        lower: Matrix<'py>,
        upper: Matrix<'py>,
        layers: Each<'py, u32>,
        groups: Each<'py, u32>,
        is_static: bool,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let corners = [lower.view(), upper.view()];
        let mut objects = self.lock(py)?;
        let (bounds, are_exact) = objects.read(py, corners, layers.view(), groups.view())?;
        if objects.set.slots().len().max(objects.set.static_slots().len()) + bounds.len() >= 1 << 29 {
            return Err(PyValueError::new_err("a set has room for 2^29 objects"));
        }
        let insert = |aabb: Aabb| {
            number_of(match is_static {
                true => objects.set.insert_static(aabb),
                false => objects.set.insert(aabb),
            })
        };
        let handles: Vec<_> = bounds.into_iter().map(insert).collect();
        objects.store(handles.iter().copied(), corners, are_exact);
        Ok(PyArray1::from_vec(py, handles))
    }

    /// Keeps layers and groups. Moves nothing if a handle is invalid.
    #[pyo3(signature = (handles, *, lower, upper))]
    fn move_to<'py>(
        &self,
        py: Python<'py>,
        handles: PyReadonlyArray1<'py, u64>,
        lower: Matrix<'py>,
        upper: Matrix<'py>,
    ) -> PyResult<()> {
        let corners = [lower.view(), upper.view()];
        let mut objects = self.lock(py)?;
        let (bounds, are_exact) = objects.read(py, corners, EachView::All(0), EachView::All(0))?;
        let handles = handles.as_array();
        objects.check(handles.iter().copied())?;
        for (&handle, aabb) in handles.iter().zip(bounds) {
            let moved = objects.set.move_to(handle_of(handle), aabb.min, aabb.max);
            moved.map_err(|_| stale(handle))?;
        }
        objects.store(handles.iter().copied(), corners, are_exact);
        Ok(())
    }

    /// Removes nothing if a handle is invalid.
    fn remove<'py>(&self, py: Python<'py>, handles: PyReadonlyArray1<'py, u64>) -> PyResult<()> {
        let mut objects = self.lock(py)?;
        let handles = handles.as_array();
        objects.check(handles.iter().copied())?;
        for &handle in handles {
            objects.set.remove(handle_of(handle)).map_err(|_| stale(handle))?;
        }
        if objects.set.is_empty() {
            (objects.given, objects.placed) = (None, Placed::default());
        }
        Ok(())
    }

    fn contains<'py>(
        &self,
        py: Python<'py>,
        handles: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let objects = self.lock(py)?;
        let contains = |&handle: &u64| objects.set.contains(handle_of(handle));
        let handles = handles.as_array();
        Ok(PyArray1::from_vec(py, handles.iter().map(contains).collect()))
    }

    /// Object indices, as in results.
    fn objects_of<'py>(
        &self,
        py: Python<'py>,
        handles: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let objects = self.lock(py)?;
        let handles = handles.as_array();
        let object = |&handle: &u64| {
            let object = objects.set.object_of(handle_of(handle));
            object.map(i64::from).map_err(|_| stale(handle))
        };
        Ok(PyArray1::from_vec(
            py,
            handles.iter().map(object).collect::<PyResult<_>>()?,
        ))
    }

    fn handles_of<'py>(
        &self,
        py: Python<'py>,
        objects: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let held = self.lock(py)?;
        let handle = |&object: &u32| {
            let handle = held.set.handle_of(object).map(number_of);
            handle.ok_or_else(|| PyKeyError::new_err(format!("the set has no object {object}")))
        };
        let objects = objects.as_array();
        Ok(PyArray1::from_vec(
            py,
            objects.iter().map(handle).collect::<PyResult<_>>()?,
        ))
    }

    /// Handles in result order, and boxes as min, max: float64 with an origin, else float32.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<All<'py>> {
        let mut objects = self.lock(py)?;
        let has_origin = objects.has_origin();
        let Objects { set, given, .. } = &mut *objects;
        let handles: Vec<_> = set.iter().map(|(handle, _)| number_of(handle)).collect();
        let shape = [handles.len(), 6];
        let boxes = match given {
            Some(given) if has_origin => {
                let boxes: Vec<Bounds> = handles.iter().map(|&handle| *given.place(handle)).collect();
                let numbers = bytemuck::allocation::cast_vec(boxes);
                PyArray1::<f64>::from_vec(py, numbers).reshape(shape)?.into_any()
            }
            _ => {
                let boxes: Vec<_> = set.iter().map(|(_, aabb)| [aabb.min, aabb.max]).collect();
                let numbers = bytemuck::allocation::cast_vec(boxes);
                PyArray1::<f32>::from_vec(py, numbers).reshape(shape)?.into_any()
            }
        };
        Ok((PyArray1::from_vec(py, handles), boxes))
    }
}

impl Objects {
    fn check(&self, handles: impl Iterator<Item = u64>) -> PyResult<()> {
        let mut seen: Vec<_> = handles.collect();
        if let Some(&handle) = seen.iter().find(|&&handle| !self.set.contains(handle_of(handle))) {
            return Err(stale(handle));
        }
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(PyValueError::new_err(format!("the handle {} comes twice", pair[0]))),
            None => Ok(()),
        }
    }
}
