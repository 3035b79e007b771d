//! Steps: boxes in, pairs out.

use std::mem::{swap, take};

use gpu_broad_phase::reference::{PairRule, pair_rule};
use gpu_broad_phase::{Aabb, Scene, Source};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Each, Matrix, table};
use crate::boxes::{self, BoxArrays};
use crate::engine::{Engine, Failure, Filter, Kind, Side, counts};
use crate::errors;
use crate::object_set::{EventRows, ObjectTable};
use crate::work;

/// Pairs, pairs of each world, and counts.
type Found<'py> = (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyDict>);

fn found<'py>(py: Python<'py>, mut result: gpu_broad_phase::StepResult) -> PyResult<Found<'py>> {
    let pairs = table(py, take(&mut result.pairs))?;
    let of_worlds = PyArray1::from_vec(py, take(&mut result.world_pairs));
    Ok((pairs, of_worlds, counts(py, &result.counters)?))
}

#[pyfunction]
#[pyo3(signature = (engine, *, lower, upper, layers, owners, worlds, world_count, excluded, pairs, checked, progress))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn step<'py>(
    py: Python<'py>,
    engine: &Engine,
    lower: Matrix<'py>,
    upper: Matrix<'py>,
    layers: Each<'py, u32>,
    owners: Each<'py, u32>,
    worlds: Option<PyReadonlyArray1<'py, u32>>,
    world_count: u32,
    excluded: Option<PyReadonlyArray2<'py, u32>>,
    pairs: bool,
    checked: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Found<'py>> {
    let mut state = engine.lock(py)?;
    let state = &mut *state;
    let given = BoxArrays {
        name: "boxes",
        lower: lower.view(),
        upper: upper.view(),
        layers: layers.view(),
        owners: owners.view(),
        checked,
    };
    let worlds = worlds.as_ref().map(PyReadonlyArray1::as_array);
    let excluded = excluded.as_ref().map(PyReadonlyArray2::as_array);
    let result = work::run(py, progress.as_ref(), || {
        boxes::read(given, &mut state.spare)?;
        state.drop_table();
        swap(&mut state.last.boxes, &mut state.spare);
        state.last.worlds.clear();
        state.last.worlds.extend(worlds.iter().flatten());
        state.last.exclude(excluded);
        let kind = Kind {
            worlds: world_count,
            pairs,
            ..Kind::default()
        };
        let result = state.step(kind, Filter::default())?;
        Ok::<_, PyErr>(result)
    })??;
    found(py, result)
}

/// A step with the objects of a set: pairs as [`step`] gives them, and with events the pairs that began and those that
/// ended since the set's last step, as handles.
#[pyfunction]
#[pyo3(signature = (engine, objects, *, excluded, pairs, progress))]
pub fn step_objects<'py>(
    py: Python<'py>,
    engine: &Engine,
    objects: &ObjectTable,
    excluded: Option<PyReadonlyArray2<'py, u32>>,
    pairs: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Found<'py>, Option<EventRows<'py>>)> {
    let mut state = engine.lock(py)?;
    let state = &mut *state;
    let mut objects = objects.lock(py)?;
    let objects = &mut *objects;
    let excluded = excluded.as_ref().map(PyReadonlyArray2::as_array);
    let (result, events) = work::run(py, progress.as_ref(), || {
        state.drop_table();
        let last = &mut state.last;
        last.boxes.clear();
        let mark = |aabb: &Aabb| aabb.with_owner(aabb.owner | Aabb::STATIC);
        last.boxes.extend(objects.set.static_slots().iter().map(mark));
        last.boxes.extend(objects.set.slots());
        last.worlds.clear();
        last.exclude(excluded);
        let last = take(&mut state.last);
        let stepped = state.prepare_objects(&last.boxes, pairs).and_then(|()| {
            let excluded_pairs = Source::Host(&last.excluded[..]);
            match &*state.side {
                Side::Cpu(_) => {
                    let scene = objects.set.scene();
                    state.scene(
                        &Scene {
                            excluded_pairs,
                            ..scene
                        },
                        None,
                    )
                }
                Side::Device(headless) => {
                    let (device, queue) = (headless.device().clone(), headless.queue().clone());
                    let mut encoder = device.create_command_encoder(&Default::default());
                    if objects.lies_with != state.number {
                        // Another instance may give its device's buffers the same names.
                        objects.set.invalidate();
                        objects.lies_with = state.number;
                    }
                    let scene = objects.set.upload(&device, &mut encoder);
                    let scene = scene.map_err(|error| {
                        let error = gpu_broad_phase::StepError::Input(error);
                        Failure::Device(Box::new(error.into()))
                    })?;
                    queue.submit([encoder.finish()]);
                    state.scene(
                        &Scene {
                            excluded_pairs,
                            ..scene
                        },
                        None,
                    )
                }
            }
        });
        state.last = last;
        let result = stepped?;
        let events = (pairs && objects.tells_events).then(|| objects.events(&result.pairs));
        Ok::<_, PyErr>((result, events))
    })??;
    // Not before the call can no longer be ended.
    let events = events.map(|(events, now)| {
        objects.pairs = now;
        events.into_arrays(py)
    });
    let events = events.transpose()?;
    Ok((found(py, result)?, events))
}

/// Returns a sentence with the rule that decides whether two objects of the last step are a pair.
#[pyfunction]
pub fn why(py: Python<'_>, engine: &Engine, a: u32, b: u32) -> PyResult<String> {
    let state = engine.lock(py)?;
    if state.last.boxes.is_empty() {
        return Err(errors::no_step());
    }
    let scene = state.last.scene(&[]);
    let rule = pair_rule(&state.of_step, &scene, a, b).map_err(|error| errors::of_cpu(&error))?;
    let verdict = if rule == PairRule::Overlap { "are" } else { "are not" };
    Ok(format!("Boxes {a} and {b} {verdict} a pair: {rule}."))
}
