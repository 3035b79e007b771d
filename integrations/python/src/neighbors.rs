//! Finds neighbours within a radius, exact in double precision.

use exact_neighbors::{Lattice, Links, Refused, SHARE, Spaces, Vector, distance, dot, length};
use gpu_broad_phase::{BroadPhaseDescriptor, OutputOptions, Pair, ResultOrder, Scene};
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::Matrix;
use crate::engine::{Engine, Finder};
use crate::work;

/// Bound of shifts, so that their sums fit `i32`.
const MOST_CELLS: u64 = 1 << 29;

/// Pairs that may be within the radius: a point, and a point or image.
fn pairs(finder: &mut Finder, spaces: &Spaces<'_>) -> PyResult<Vec<Pair>> {
    if (finder.broad_phase.gpu().is_none() || spaces.has_mostly_images())
        && let Some(pairs) = spaces.tested_pairs()
    {
        // As after a step.
        finder.has_table = false;
        return Ok(pairs);
    }
    let boxes = spaces.boxes();
    let scene = Scene {
        objects: boxes.boxes[..].into(),
        worlds: boxes.worlds[..].into(),
        ..Scene::default()
    };
    let descriptor = BroadPhaseDescriptor {
        margin: 0.0,
        worlds: boxes.world_count.next_power_of_two(),
        outputs: OutputOptions {
            order: ResultOrder::Deterministic,
            ..finder.plain.outputs
        },
        ..finder.plain
    };
    Ok(finder.step_aside(&descriptor, &scene, None)?.pairs)
}

#[derive(Default)]
struct Lists {
    offsets: Vec<i64>,
    objects: Vec<i64>,
    distances: Vec<f64>,
    shifts: Vec<[i32; 3]>,
    /// Empty unless requested.
    vectors: Vec<Vector>,
}

impl Lists {
    /// Lists pairs within the radius by row and shift.
    fn new(spaces: &Spaces<'_>, pairs: &[Pair], radius: f64, half: bool, has_vectors: bool) -> Self {
        let limit = radius * radius;
        let links = Links::new(spaces, pairs, half, |offset| {
            let squared = dot(offset, offset);
            if limit.is_normal() && squared.is_normal() {
                squared <= limit
            } else {
                length(offset) <= radius
            }
        });
        let count = links.count();
        let mut lists = Self {
            objects: vec![0; count],
            distances: vec![0.0; count],
            shifts: vec![[0; 3]; count],
            vectors: vec![[0.0; 3]; if has_vectors { count } else { 0 }],
            offsets: Vec::new(),
        };
        let objects = links.split(&mut lists.objects);
        let distances = links.split(&mut lists.distances);
        let shifts = links.split(&mut lists.shifts);
        let vectors = match has_vectors {
            true => links.split(&mut lists.vectors),
            false => objects.iter().map(|_| &mut [][..]).collect(),
        };
        let shares = (objects, distances, shifts, vectors).into_par_iter().enumerate();
        shares.for_each(|(share, (objects, distances, shifts, vectors))| {
            let first = share * SHARE;
            let rows = first..(first + SHARE).min(spaces.rows());
            let of_rows = rows.flat_map(|row| links.of(row).iter().map(move |&link| (row, link)));
            for (at, (row, link)) in of_rows.enumerate() {
                let (other, shift, offset) = spaces.follow(row, link);
                objects[at] = i64::from(other);
                distances[at] = distance(offset);
                if has_vectors {
                    vectors[at] = offset;
                }
                if spaces.is_periodic() {
                    shifts[at] = shift.map(|cells| cells as i32);
                }
            }
        });
        lists.offsets = links.offsets;
        lists
    }
}

type ListArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<i32>>,
    Option<Bound<'py, PyArray2<f64>>>,
);

#[pyfunction]
#[pyo3(signature = (engine, points, *, radius, cells, worlds, half, vectors, progress))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn neighbors<'py>(
    py: Python<'py>,
    engine: &Engine,
    points: Matrix<'py>,
    radius: f64,
    cells: PyReadonlyArray3<'py, f64>,
    worlds: Option<PyReadonlyArray1<'py, u32>>,
    half: bool,
    vectors: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<ListArrays<'py>> {
    let mut state = engine.lock(py)?;
    let finder = &mut state.finder;
    let (points, cells) = (points.view(), cells.as_array());
    let worlds: Option<Vec<_>> = worlds.map(|worlds| worlds.as_array().iter().copied().collect());
    let lists = work::run(py, progress.as_ref(), || {
        let points: Vec<_> = (0..points.rows()).into_par_iter().map(|row| points.row(row)).collect();
        let is_bad = |point: &Vector| point.iter().any(|number| !number.is_finite());
        if let Some(row) = points.par_iter().position_first(is_bad) {
            return Err(PyValueError::new_err(format!("points[{row}] is not finite")));
        }
        let lattice = |(at, cell): (usize, ArrayView2<'_, f64>)| {
            let vectors = std::array::from_fn(|axis| std::array::from_fn(|of| cell[[axis, of]]));
            Lattice::new(vectors).ok_or_else(|| {
                let name = if cells.len() == 9 {
                    "cell".into()
                } else {
                    format!("cell[{at}]")
                };
                PyValueError::new_err(format!(
                    "{name}: periodic vectors are in one plane, or too short or long"
                ))
            })
        };
        let lattices: Vec<_> = cells.outer_iter().enumerate().map(lattice).collect::<PyResult<_>>()?;
        let refused = |refused| match refused {
            Refused::Far(row) => PyValueError::new_err(format!("points[{row}] is more than 2^29 cells away")),
            Refused::Images(count) => PyOverflowError::new_err(format!(
                "radius is {radius:?}, and {count:.0} images of points may be within it: 2^26 are possible"
            )),
        };
        let spaces = Spaces::new(&points, worlds.as_deref(), &lattices, radius, MOST_CELLS).map_err(refused)?;
        let pairs = pairs(finder, &spaces)?;
        Ok(Lists::new(&spaces, &pairs, radius, half, vectors))
    })??;
    let shape = [lists.shifts.len(), 3];
    let vectors = vectors.then(|| PyArray1::from_vec(py, bytemuck::allocation::cast_vec(lists.vectors)).reshape(shape));
    Ok((
        PyArray1::from_vec(py, lists.offsets),
        PyArray1::from_vec(py, lists.objects),
        PyArray1::from_vec(py, lists.distances),
        PyArray1::from_vec(py, bytemuck::allocation::cast_vec(lists.shifts)).reshape(shape)?,
        vectors.transpose()?,
    ))
}
