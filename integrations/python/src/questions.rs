use gpu_broad_phase::{Aabb, LocalOrigin, Queries, Query, QueryInput, QueryMode, Ray, RayMode, Rays, Source, SweptRay};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Each, Lengths, Matrix, Numbers, columns, indices};
use crate::boxes::{self, BoxArrays};
use crate::engine::{Engine, State};
use crate::work;

fn single([x, y, z]: [f64; 3]) -> [f32; 3] {
    [x as f32, y as f32, z as f32]
}

/// First row with a bad number, by its axis.
fn first(numbers: Numbers<'_>, is_bad: impl Fn(f64, usize) -> bool + Sync) -> Option<usize> {
    let has_bad = |&row: &usize| {
        numbers
            .row(row)
            .into_iter()
            .zip(0..)
            .any(|(number, axis)| is_bad(number, axis))
    };
    (0..numbers.rows()).into_par_iter().find_first(has_bad)
}

/// Half extents of a box and of its rounding. Bad ones stay bad.
fn summed(given: f64, rounding: f32) -> f32 {
    if rounding > 0.0 && given > 0.0 {
        boxes::round_up((given + f64::from(rounding)).next_up())
    } else if given == 0.0 {
        rounding
    } else {
        boxes::round_up(given)
    }
}

/// Objects, floats, and offsets or words per ray.
type Arrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<i64>>,
);

/// Hit objects, or -1, their parameters, and offsets. With `any`, one word per ray.
#[pyfunction]
#[pyo3(signature = (
    engine, *, origins, directions, t_min, t_max, half_extents, layers, worlds, mode, checked, progress
))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn rays<'py>(
    py: Python<'py>,
    engine: &Engine,
    origins: Matrix<'py>,
    directions: Matrix<'py>,
    t_min: Lengths<'py>,
    t_max: Lengths<'py>,
    half_extents: Option<Matrix<'py>>,
    layers: Each<'py, u32>,
    worlds: Each<'py, u32>,
    mode: &str,
    checked: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Arrays<'py>> {
    let mode = match mode {
        "closest" => RayMode::Closest,
        "any" => RayMode::Any,
        "all" => RayMode::All,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no mode {mode:?}: closest, any and all are known"
            )));
        }
    };
    let mut state = engine.lock(py)?;
    let State { finder, last, .. } = &mut *state;
    let (origins, directions) = (origins.view(), directions.view());
    let half_extents = half_extents.as_ref().map(Matrix::view);
    let (t_min, t_max) = (t_min.view(), t_max.view());
    let (layers, worlds) = (layers.view(), worlds.view());
    let ((objects, floats), offsets) = work::run(py, progress.as_ref(), || {
        let bad = |name: &str, row: usize, what: &str| PyValueError::new_err(format!("{name}[{row}] {what}"));
        let origin = last.origin_for(finder, || origins.are_exact() && directions.are_exact())?;
        if checked {
            let is_far = |number: f64, axis: usize| !((number - origin.position[axis]) as f32).is_finite();
            if let Some(row) = first(origins, is_far) {
                return Err(bad("origins", row, "is not finite in float32"));
            }
            let longest = f64::from(f32::from_bits((127 + 126) << 23));
            if let Some(row) = first(directions, |number, _| number.is_nan() || number.abs() > longest) {
                return Err(bad("directions", row, "is not finite, or longer than 2^126"));
            }
            let is_bad = |number: f64, _| !(number as f32).is_finite() || number < 0.0;
            if let Some(row) = half_extents.and_then(|half_extents| first(half_extents, is_bad)) {
                return Err(bad("half_extents", row, "is not finite in float32, or negative"));
            }
            let rows = 0..origins.rows();
            if let Some(row) = rows.clone().into_par_iter().find_first(|&row| t_min.at(row).is_nan()) {
                return Err(bad("t_min", row, "is a NaN"));
            }
            if let Some(row) = rows.into_par_iter().find_first(|&row| t_max.at(row).is_nan()) {
                return Err(bad("t_max", row, "is a NaN"));
            }
        }
        let are_singles = matches!((origins, directions), (Numbers::Single(_), Numbers::Single(_)));
        let is_plain = are_singles && origin == LocalOrigin::default();
        let swept = |row: usize| {
            let (from, along, t_max) = (origins.row(row), directions.row(row), t_max.at(row));
            let mut swept = match is_plain {
                true => SweptRay::new(Ray::new(single(from), single(along), boxes::round_up(t_max))),
                false => origin.swept_ray(from, along, t_max),
            };
            if let Some(half_extents) = half_extents {
                let given = half_extents.row(row);
                swept.half_extents = std::array::from_fn(|axis| summed(given[axis], swept.half_extents[axis]));
            }
            swept.ray.layers = layers.at(row);
            swept.t_min = boxes::round_down(t_min.at(row));
            swept.with_world(worlds.at(row))
        };
        let rays: Vec<_> = (0..origins.rows()).into_par_iter().map(swept).collect();
        let input = QueryInput {
            rays: Rays::Swept(Source::Host(&rays)),
            ..QueryInput::default()
        };
        finder.set_ray_mode(mode);
        let result = finder.ask(&input)?;
        Ok(match mode {
            RayMode::Any => (Default::default(), indices(&result.ray_any)),
            RayMode::Closest => (columns(&result.ray_hits, -1), Vec::new()),
            _ => (columns(&result.ray_hits, -1), offsets(&result.ray_offsets)),
        })
    })??;
    Ok(arrays(py, objects, floats, offsets))
}

fn arrays(py: Python<'_>, objects: Vec<i64>, floats: Vec<f32>, offsets: Vec<i64>) -> Arrays<'_> {
    let [objects, offsets] = [objects, offsets].map(|numbers| PyArray1::from_vec(py, numbers));
    (objects, PyArray1::from_vec(py, floats), offsets)
}

/// Without rays or queries, the engine returns no offsets.
fn offsets(of_rows: &[u32]) -> Vec<i64> {
    indices(if of_rows.is_empty() { &[0] } else { of_rows })
}

/// Objects and offsets. With `nearest`: objects, or the number of objects, and squared distances.
#[pyfunction]
#[pyo3(signature = (engine, *, name, lower, upper, radius, layers, groups, worlds, nearest, checked, progress))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn query<'py>(
    py: Python<'py>,
    engine: &Engine,
    name: &str,
    lower: Matrix<'py>,
    upper: Matrix<'py>,
    radius: Lengths<'py>,
    layers: Each<'py, u32>,
    groups: Each<'py, u32>,
    worlds: Each<'py, u32>,
    nearest: Option<u32>,
    checked: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Arrays<'py>> {
    let mut state = engine.lock(py)?;
    let State { finder, last, .. } = &mut *state;
    let given = BoxArrays {
        name: if name == "points" { "points" } else { "boxes" },
        lower: lower.view(),
        upper: upper.view(),
        layers: layers.view(),
        groups: groups.view(),
        checked,
    };
    let (radius, worlds) = (radius.view(), worlds.view());
    let ((objects, floats), offsets) = work::run(py, progress.as_ref(), || {
        let mut bounds: Vec<Aabb> = Vec::new();
        let origin = last.origin_for(finder, || given.lower.are_exact() && given.upper.are_exact())?;
        boxes::read(given, origin, &mut bounds)?;
        let is_bad = |row: &usize| radius.at(*row).is_nan() || radius.at(*row) < 0.0;
        if let Some(row) = (0..bounds.len()).into_par_iter().find_first(is_bad).filter(|_| checked) {
            return Err(PyValueError::new_err(format!(
                "radius[{row}] is {:?}, which is no length",
                radius.at(row)
            )));
        }
        let query = |(row, bounds): (usize, Aabb)| Query {
            bounds,
            radius: boxes::round_up(radius.at(row)),
            world: worlds.at(row),
            reserved: [0; 2],
        };
        let queries: Vec<_> = bounds.into_par_iter().enumerate().map(query).collect();
        let input = QueryInput {
            queries: Queries::General(Source::Host(&queries)),
            query_mode: nearest.map_or(QueryMode::All, QueryMode::Nearest),
            ..QueryInput::default()
        };
        let result = finder.ask(&input)?;
        Ok(match nearest {
            Some(_) => (columns(&result.query_nearest, last.boxes.len() as i64), Vec::new()),
            None => (
                (indices(&result.query_objects), Vec::new()),
                offsets(&result.query_offsets),
            ),
        })
    })??;
    Ok(arrays(py, objects, floats, offsets))
}
