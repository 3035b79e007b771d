//! Finds neighbours within a radius, exact in double precision.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gpu_broad_phase::Pair;
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::Matrix;
use crate::cells::{Lattice, Spaces, Vector, distance, dot, length};
use crate::engine::Engine;
use crate::work;

/// Rows per parallel task.
const SHARE: usize = 1024;

/// Two neighbours, and their places in each other's lists.
struct Near {
    points: [u32; 2],
    /// As of [`Spaces::points_of`].
    image: u32,
    places: [u32; 2],
}

/// Splits neighbours by [`SHARE`].
fn shares<'a, T>(mut rest: &'a mut [T], offsets: &[i64]) -> Vec<&'a mut [T]> {
    let ends = offsets[1..].chunks(SHARE).map(|share| share[share.len() - 1]);
    let mut begin = 0;
    let split = |end| {
        let (share, others) = std::mem::take(&mut rest).split_at_mut((end - begin) as usize);
        (rest, begin) = (others, end);
        share
    };
    ends.map(split).collect()
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
        let is_near = |offset: Vector| {
            let squared = dot(offset, offset);
            if limit.is_normal() && squared.is_normal() {
                squared <= limit
            } else {
                length(offset) <= radius
            }
        };
        let rows = spaces.points.len();
        let counts: Vec<_> = (0..rows).map(|_| AtomicU32::new(0)).collect();
        let count = |row: u32| counts[row as usize].fetch_add(1, Ordering::Relaxed);
        let near = |pair: &Pair| {
            let ([a, b], image) = spaces.points_of(*pair);
            let (_, _, offset) = spaces.follow(a as usize, Spaces::link(b, image, false));
            is_near(offset).then(|| {
                let places = match half {
                    true => [count(a.min(b)); 2],
                    false => [count(a), count(b)],
                };
                Near {
                    points: [a, b],
                    image,
                    places,
                }
            })
        };
        let near: Vec<Vec<_>> = pairs
            .par_chunks(16 * SHARE)
            .map(|pairs| pairs.iter().filter_map(near).collect())
            .collect();
        let mut offsets = vec![0; rows + 1];
        for (row, count) in counts.into_iter().enumerate() {
            offsets[row + 1] = offsets[row] + i64::from(count.into_inner());
        }
        let count = offsets[rows] as usize;
        let links: Vec<_> = (0..count).map(|_| AtomicU64::new(0)).collect();
        let write = |row: u32, place: u32, link: u64| {
            links[offsets[row as usize] as usize + place as usize].store(link, Ordering::Relaxed);
        };
        near.par_iter().flatten_iter().for_each(|near| {
            let ([a, b], [place, other_place]) = (near.points, near.places);
            if !half || a <= b {
                write(a, place, Spaces::link(b, near.image, false));
            }
            if !half || a > b {
                write(b, other_place, Spaces::link(a, near.image, true));
            }
        });
        drop(near);
        let mut lists = Self {
            objects: vec![0; count],
            distances: vec![0.0; count],
            shifts: vec![[0; 3]; count],
            vectors: vec![[0.0; 3]; if has_vectors { count } else { 0 }],
            offsets,
        };
        let offsets = &lists.offsets;
        let objects = shares(&mut lists.objects, offsets);
        let distances = shares(&mut lists.distances, offsets);
        let shifts = shares(&mut lists.shifts, offsets);
        let vectors = match has_vectors {
            true => shares(&mut lists.vectors, offsets),
            false => objects.iter().map(|_| &mut [][..]).collect(),
        };
        let shares = (objects, distances, shifts, vectors).into_par_iter().enumerate();
        shares.for_each(|(share, (objects, distances, shifts, vectors))| {
            let first = share * SHARE;
            let mut sorted = Vec::new();
            for row in first..(first + SHARE).min(rows) {
                let [begin, end] = [row, row + 1].map(|row| offsets[row] as usize);
                sorted.clear();
                sorted.extend(links[begin..end].iter().map(|link| link.load(Ordering::Relaxed)));
                sorted.sort_unstable();
                for (link, at) in sorted.iter().zip(begin - offsets[first] as usize..) {
                    let (other, shift, offset) = spaces.follow(row, *link);
                    objects[at] = i64::from(other);
                    distances[at] = distance(offset);
                    if has_vectors {
                        vectors[at] = offset;
                    }
                    if !spaces.homes.is_empty() {
                        shifts[at] = shift;
                    }
                }
            }
        });
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
    let worlds = worlds.as_ref().map(PyReadonlyArray1::as_array);
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
        let is_periodic = lattices.iter().any(|lattice| lattice.vectors != [[0.0; 3]; 3]);
        let mut spaces = Spaces {
            points,
            worlds,
            lattices,
            homes: Vec::new(),
            images: Vec::new(),
        };
        if is_periodic {
            let far = |row| PyValueError::new_err(format!("points[{row}] is more than 2^29 cells away"));
            spaces.move_home().map_err(far)?;
        }
        let extents = spaces.extents();
        if is_periodic {
            let many = |count| {
                PyOverflowError::new_err(format!(
                    "radius is {radius:?}, and {count:.0} images of points may be within it: 2^29 are possible"
                ))
            };
            spaces.add_images(&extents, radius).map_err(many)?;
        }
        let pairs = spaces.pairs(finder, &extents, radius)?;
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
