//! Finds mesh elements whose boxes overlap and that share no vertex.

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Pair, Queries, Query, QueryInput, Scene, Source};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Matrix, Numbers, indices, pairs};
use crate::engine::{Engine, Finder};
use crate::origins::{self, Bounds};
use crate::work;

/// Excludes elements with a common vertex. An element has three words, its vertices.
pub const NOT_INCIDENT: &str = "
fn admits_pair(a: u32, b: u32) -> bool {
    for (var i = 0u; i < 3u; i += 1u) {
        let vertex = pair_data(3u * a + i);
        if vertex == pair_data(3u * b) || vertex == pair_data(3u * b + 1u) || vertex == pair_data(3u * b + 2u) {
            return false;
        }
    }
    return true;
}
";

/// Pair kinds in result order. Element kinds: 0 vertices, 1 edges, 2 faces.
const KINDS: [[usize; 2]; 6] = [[0, 0], [1, 0], [1, 1], [1, 2], [2, 0], [2, 2]];

fn meet(a: &Bounds, b: &Bounds) -> bool {
    (0..3).all(|axis| a[0][axis] <= b[1][axis] && b[0][axis] <= a[1][axis])
}

fn around(a: &Bounds, b: &Bounds) -> Bounds {
    [
        std::array::from_fn(|axis| a[0][axis].min(b[0][axis])),
        std::array::from_fn(|axis| a[1][axis].max(b[1][axis])),
    ]
}

/// Elements of one or two kinds.
#[derive(Default)]
struct Elements {
    bounds: Vec<Bounds>,
    /// Vertices per element. The last one is repeated up to three.
    vertices: Vec<[u32; 3]>,
    /// Index of the first element of the second kind.
    second: Option<usize>,
}

impl Elements {
    fn add(&mut self, of_vertices: &[Bounds], vertices: &[[u32; 3]]) {
        let bounds = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|vertex| &of_vertices[vertex as usize]);
            around(&around(a, b), c)
        };
        self.bounds.par_extend(vertices.par_iter().map(bounds));
        self.vertices.extend_from_slice(vertices);
    }

    /// Results are exact from any origin, and found faster from one near the elements.
    fn boxes(&self, groups: Option<ArrayView1<'_, u32>>) -> Vec<Aabb> {
        let origin = origins::near(&self.bounds);
        let aabb = |(element, bounds): (usize, &Bounds)| {
            // An element has the group of its first vertex.
            let group = groups.map_or(0, |groups| groups[self.vertices[element][0] as usize]);
            origin.aabb(bounds[0], bounds[1]).with_group(group)
        };
        self.bounds.par_iter().enumerate().map(aabb).collect()
    }

    fn are_incident(&self, a: u32, b: u32) -> bool {
        let others = &self.vertices[b as usize];
        self.vertices[a as usize].iter().any(|vertex| others.contains(vertex))
    }

    fn meet(&self, a: u32, b: u32) -> bool {
        meet(&self.bounds[a as usize], &self.bounds[b as usize])
    }

    fn are_candidates(&self, a: u32, b: u32) -> bool {
        !self.are_incident(a, b) && self.meet(a, b)
    }
}

/// Checks vertex indices and pads rows to three vertices.
fn corners(name: &str, rows: ArrayView2<'_, u32>, vertices: usize) -> PyResult<Vec<[u32; 3]>> {
    let corner = |(row, of_row): (usize, ArrayView1<'_, u32>)| {
        if let Some(vertex) = of_row.iter().find(|&&vertex| vertex as usize >= vertices) {
            return Err(PyValueError::new_err(format!(
                "{name}[{row}] names vertex {vertex}, and there are {vertices}"
            )));
        }
        let last = of_row.len() - 1;
        Ok(std::array::from_fn(|corner| of_row[corner.min(last)]))
    };
    rows.rows().into_iter().enumerate().map(corner).collect()
}

fn swept(frames: [Option<Numbers<'_>>; 2], inflation: f64) -> PyResult<Vec<Bounds>> {
    let frames: Vec<_> = frames.into_iter().flatten().collect();
    let count = frames[0].rows();
    let names = ["vertices0", "vertices1"];
    for (name, frame) in names.iter().zip(&frames) {
        let is_bad = |&row: &usize| frame.row(row).iter().any(|number| !number.is_finite());
        if let Some(row) = (0..count).into_par_iter().find_first(is_bad) {
            return Err(PyValueError::new_err(format!("{name}[{row}] is not finite")));
        }
    }
    let vertex = |row: usize| {
        let start = frames[0].row(row);
        let end = frames.last().map_or(start, |frame| frame.row(row));
        let [min, max] = around(&[start, start], &[end, end]);
        [min.map(|bound| bound - inflation), max.map(|bound| bound + inflation)]
    };
    Ok((0..count).into_par_iter().map(vertex).collect())
}

/// Returns one table per wanted pair kind, in the order of [`KINDS`].
#[pyfunction]
#[pyo3(signature = (engine, start, end, edges, faces, *, inflation, groups, wanted, progress))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn candidates<'py>(
    py: Python<'py>,
    engine: &Engine,
    start: Matrix<'py>,
    end: Option<Matrix<'py>>,
    edges: PyReadonlyArray2<'py, u32>,
    faces: PyReadonlyArray2<'py, u32>,
    inflation: f64,
    groups: Option<PyReadonlyArray1<'py, u32>>,
    wanted: [bool; 6],
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyArray2<i64>>>> {
    let mut state = engine.lock(py)?;
    let finder = &mut state.finder;
    let frames = [Some(start.view()), end.as_ref().map(Matrix::view)];
    let (edges, faces) = (edges.as_array(), faces.as_array());
    let groups = groups.as_ref().map(PyReadonlyArray1::as_array);
    let lists = work::run(py, progress.as_ref(), || {
        let of_vertices = swept(frames, inflation)?;
        let count = of_vertices.len();
        let vertices = (0..count as u32).map(|vertex| [vertex; 3]).collect();
        let rows = [
            vertices,
            corners("edges", edges, count)?,
            corners("faces", faces, count)?,
        ];
        let kinds = KINDS.into_iter().zip(wanted).filter(|(_, is_wanted)| *is_wanted);
        let mut lists = Vec::new();
        for ([first, second], _) in kinds {
            let mut elements = Elements::default();
            elements.add(&of_vertices, &rows[first]);
            if second != first {
                elements.second = Some(elements.bounds.len());
                elements.add(&of_vertices, &rows[second]);
            }
            lists.push(indices(&found(finder, &elements, groups)?));
        }
        Ok::<_, PyErr>(lists)
    })??;
    lists.into_iter().map(|list| pairs(py, list)).collect()
}

/// Returned indices count within each kind.
fn found(finder: &mut Finder, elements: &Elements, groups: Option<ArrayView1<'_, u32>>) -> PyResult<Vec<Pair>> {
    let boxes = elements.boxes(groups);
    finder.choose(&boxes);
    if let Some(second) = elements.second {
        return found_between(finder, elements, &boxes, second);
    }
    let descriptor = BroadPhaseDescriptor {
        pair_filter: Some(NOT_INCIDENT),
        ..finder.plain
    };
    let scene = Scene {
        objects: boxes[..].into(),
        pair_filter_data: bytemuck::cast_slice(&elements.vertices).into(),
        ..Scene::default()
    };
    let admits = |a: u32, b: u32| elements.are_candidates(a, b);
    let mut pairs = finder.step_aside(&descriptor, &scene, Some(&admits))?.pairs;
    if finder.broad_phase.gpu().is_some() {
        // The device compared in single precision.
        let is_exact = |pair: &Pair| elements.meet(pair.a, pair.b);
        pairs = pairs.into_par_iter().filter(is_exact).collect();
    }
    Ok(pairs)
}

/// By queries of the kind with fewer elements, because pairs would also be found within each kind.
fn found_between(finder: &mut Finder, elements: &Elements, boxes: &[Aabb], second: usize) -> PyResult<Vec<Pair>> {
    let (first, others) = boxes.split_at(second);
    let is_swapped = others.len() < first.len();
    let (queries, objects) = if is_swapped { (others, first) } else { (first, others) };
    let queries: Vec<_> = queries.par_iter().copied().map(Query::overlaps).collect();
    let scene = Scene {
        objects: objects.into(),
        query: QueryInput {
            queries: Queries::General(Source::Host(&queries)),
            ..QueryInput::default()
        },
        ..Scene::default()
    };
    let descriptor = BroadPhaseDescriptor {
        pairs: false,
        ..finder.plain
    };
    let result = finder.step_aside(&descriptor, &scene, None)?;
    let of_query = |query: usize| {
        let [from, to] = [query, query + 1].map(|query| result.query_offsets[query] as usize);
        let pairs = result.query_objects[from..to].iter().map(move |&object| {
            if is_swapped {
                Pair {
                    a: object,
                    b: query as u32,
                }
            } else {
                Pair {
                    a: query as u32,
                    b: object,
                }
            }
        });
        pairs.filter(|pair| elements.are_candidates(pair.a, second as u32 + pair.b))
    };
    let mut pairs: Vec<_> = (0..queries.len()).into_par_iter().flat_map_iter(of_query).collect();
    if is_swapped {
        pairs.par_sort_unstable_by_key(|pair| (pair.a, pair.b));
    }
    Ok(pairs)
}
