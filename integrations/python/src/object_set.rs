use std::mem::{forget, take};

use gpu_broad_phase::{Aabb, Handle, ObjectSet, Pair, PairEvent};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use parking_lot::MutexGuard;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Each, EachView, Matrix, pairs};
use crate::boxes::{self, BoxArrays};
use crate::work::{self, FairMutex};

/// An object set. A handle has 64 bits: generation (high), slot (low).
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
}

pub struct Events {
    begun: Vec<[u64; 2]>,
    ended: Vec<[u64; 2]>,
}

type All<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray2<f32>>);

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

fn read<'a>(
    py: Python<'_>,
    lower: &'a Matrix<'_>,
    upper: &'a Matrix<'_>,
    layers: EachView<'a, u32>,
    owners: EachView<'a, u32>,
) -> PyResult<Vec<Aabb>> {
    let given = BoxArrays {
        name: "boxes",
        lower: lower.view(),
        upper: upper.view(),
        layers,
        owners,
        checked: true,
    };
    let mut bounds = Vec::new();
    work::run(py, None, || boxes::read(given, &mut bounds))??;
    Ok(bounds)
}

impl Events {
    pub fn into_arrays(self, py: Python<'_>) -> PyResult<EventRows<'_>> {
        let rows = |handles| pairs(py, bytemuck::allocation::cast_vec(handles));
        Ok((rows(self.begun)?, rows(self.ended)?))
    }
}

impl Objects {
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
            }),
            forks: work::forks(),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.set.len())
    }

    #[pyo3(signature = (*, lower, upper, layers, owners, is_static))]
    #[allow(clippy::too_many_arguments, reason = "by name, from one place")]
    fn insert<'py>(
        &self,
        py: Python<'py>,
        lower: Matrix<'py>,
        upper: Matrix<'py>,
        layers: Each<'py, u32>,
        owners: Each<'py, u32>,
        is_static: bool,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let bounds = read(py, &lower, &upper, layers.view(), owners.view())?;
        let mut objects = self.lock(py)?;
        if objects.set.slots().len().max(objects.set.static_slots().len()) + bounds.len() >= 1 << 29 {
            return Err(PyValueError::new_err("a set has room for 2^29 objects"));
        }
        let insert = |aabb: Aabb| {
            number_of(match is_static {
                true => objects.set.insert_static(aabb),
                false => objects.set.insert(aabb),
            })
        };
        Ok(PyArray1::from_vec(py, bounds.into_iter().map(insert).collect()))
    }

    /// Keeps layers and owners. Moves nothing if a handle is invalid.
    #[pyo3(signature = (handles, *, lower, upper))]
    fn move_to<'py>(
        &self,
        py: Python<'py>,
        handles: PyReadonlyArray1<'py, u64>,
        lower: Matrix<'py>,
        upper: Matrix<'py>,
    ) -> PyResult<()> {
        let bounds = read(py, &lower, &upper, EachView::All(0), EachView::All(0))?;
        let mut objects = self.lock(py)?;
        let handles = handles.as_array();
        objects.check(handles.iter().copied())?;
        for (&handle, aabb) in handles.iter().zip(bounds) {
            let moved = objects.set.move_to(handle_of(handle), aabb.min, aabb.max);
            moved.map_err(|_| stale(handle))?;
        }
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

    /// Handles in result order, and boxes as min, max.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<All<'py>> {
        let objects = self.lock(py)?;
        let (handles, bounds): (Vec<_>, Vec<_>) = objects
            .set
            .iter()
            .map(|(handle, aabb)| (number_of(handle), [aabb.min, aabb.max]))
            .unzip();
        let shape = [bounds.len(), 6];
        let bounds = PyArray1::from_vec(py, bytemuck::allocation::cast_vec(bounds)).reshape(shape)?;
        Ok((PyArray1::from_vec(py, handles), bounds))
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
