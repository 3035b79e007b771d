use std::mem::swap;

use gpu_broad_phase::reference::{PairRule, pair_rule};
use gpu_broad_phase::{BroadPhaseDescriptor, Counters, Scene, StepResult};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Each, Matrix, indices, pairs};
use crate::boxes::BoxArrays;
use crate::engine::{Engine, State, counts};
use crate::errors;
use crate::object_set::{EventRows, ObjectTable};
use crate::origins::{self, Coarse};
use crate::work;

/// Pairs, pairs per world, offsets of worlds, counters, and the rounding if it is coarse.
type Found<'py> = (
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyDict>,
    Coarse,
);

struct Results {
    pairs: Vec<i64>,
    of_worlds: Vec<i64>,
    world_offsets: Vec<i64>,
    counters: Counters,
    coarse: Coarse,
}

impl Results {
    fn new(result: StepResult, coarse: Coarse) -> Self {
        Self {
            pairs: indices(&result.pairs),
            of_worlds: indices(&result.world_pairs),
            world_offsets: indices(&result.world_offsets),
            counters: result.counters,
            coarse,
        }
    }

    fn into_arrays(self, py: Python<'_>) -> PyResult<Found<'_>> {
        Ok((
            pairs(py, self.pairs)?,
            PyArray1::from_vec(py, self.of_worlds),
            PyArray1::from_vec(py, self.world_offsets),
            counts(py, &self.counters)?,
            self.coarse,
        ))
    }
}

#[pyfunction]
#[pyo3(signature = (
    engine, *, lower, upper, layers, groups, worlds, world_count, excluded, finds_pairs, checked, progress
))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn step<'py>(
    py: Python<'py>,
    engine: &Engine,
    lower: Matrix<'py>,
    upper: Matrix<'py>,
    layers: Each<'py, u32>,
    groups: Each<'py, u32>,
    worlds: Option<PyReadonlyArray1<'py, u32>>,
    world_count: u32,
    excluded: Option<PyReadonlyArray2<'py, u32>>,
    finds_pairs: bool,
    checked: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Found<'py>> {
    let mut state = engine.lock(py)?;
    let State { finder, last, spare } = &mut *state;
    let given = BoxArrays {
        name: "boxes",
        lower: lower.view(),
        upper: upper.view(),
        layers: layers.view(),
        groups: groups.view(),
        checked,
    };
    let worlds = worlds.as_ref().map(PyReadonlyArray1::as_array);
    let excluded = excluded.as_ref().map(PyReadonlyArray2::as_array);
    let result = work::run(py, progress.as_ref(), || {
        let placed = origins::read(given, last.latest, finder.cell(), spare)?;
        finder.has_table = false;
        swap(&mut last.boxes, spare);
        last.place(placed);
        if !placed.are_exact {
            last.latest = placed.origin;
        }
        last.worlds.clear();
        last.worlds.extend(worlds.iter().flatten());
        last.exclude(excluded);
        finder.choose(&last.boxes);
        let descriptor = BroadPhaseDescriptor {
            worlds: world_count,
            pairs: finds_pairs,
            ..finder.plain
        };
        let result = finder.step(&descriptor, &last.scene(), None)?;
        Ok::<_, PyErr>(Results::new(result, placed.coarse))
    })??;
    result.into_arrays(py)
}

/// Returns pairs like [`step`], and events since the set's last step, as handles.
#[pyfunction]
#[pyo3(signature = (engine, objects, *, excluded, finds_pairs, progress))]
pub fn step_objects<'py>(
    py: Python<'py>,
    engine: &Engine,
    objects: &ObjectTable,
    excluded: Option<PyReadonlyArray2<'py, u32>>,
    finds_pairs: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Found<'py>, Option<EventRows<'py>>)> {
    let mut state = engine.lock(py)?;
    let State { finder, last, .. } = &mut *state;
    let mut objects = objects.lock(py)?;
    let objects = &mut *objects;
    let excluded = excluded.as_ref().map(PyReadonlyArray2::as_array);
    let (result, events) = work::run(py, progress.as_ref(), || {
        finder.has_table = false;
        let placed = objects.settle(finder.cell());
        last.place(placed);
        last.boxes.clear();
        let statics = objects.set.static_slots().iter();
        last.boxes.extend(statics.map(|object| object.into_static()));
        last.boxes.extend(objects.set.slots());
        last.worlds.clear();
        last.exclude(excluded);
        finder.choose(&last.boxes);
        let descriptor = BroadPhaseDescriptor {
            pairs: finds_pairs,
            ..finder.plain
        };
        let excluded_pairs = last.excluded[..].into();
        let scene = match finder.broad_phase.device().zip(finder.broad_phase.queue()) {
            None => objects.set.scene(),
            Some((device, queue)) => {
                if objects.device_owner != finder.number {
                    // Buffers of another device may compare equal, so boxes are uploaded again.
                    objects.set.invalidate();
                    objects.device_owner = finder.number;
                }
                let mut encoder = device.create_command_encoder(&Default::default());
                let scene = objects.set.upload(device, &mut encoder);
                let scene = scene.map_err(|error| errors::raised(error.into()))?;
                queue.submit([encoder.finish()]);
                scene
            }
        };
        let scene = Scene {
            excluded_pairs,
            ..scene
        };
        let result = finder.step(&descriptor, &scene, None)?;
        let events = (finds_pairs && objects.has_events).then(|| objects.events(&result.pairs));
        Ok::<_, PyErr>((Results::new(result, placed.coarse), events))
    })??;
    // The step can no longer be cancelled here.
    let events = events.map(|(events, now)| {
        objects.pairs = now;
        events.into_arrays(py)
    });
    let events = events.transpose()?;
    Ok((result.into_arrays(py)?, events))
}

/// Names the rule that decides whether two objects of the last step pair.
#[pyfunction]
pub fn why(py: Python<'_>, engine: &Engine, a: u32, b: u32) -> PyResult<String> {
    let State { finder, last, .. } = &*engine.lock(py)?;
    if !finder.has_table {
        return Err(errors::no_step());
    }
    let rule = pair_rule(&finder.broad_phase.descriptor(), &last.scene(), a, b).map_err(errors::raised)?;
    let verdict = if rule == PairRule::Overlap { "are" } else { "are not" };
    Ok(format!("Boxes {a} and {b} {verdict} a pair: {rule}."))
}
