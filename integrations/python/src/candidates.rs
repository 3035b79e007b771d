//! Collision candidates: elements of a mesh whose boxes meet, and that share no vertex.

use gpu_broad_phase::{Aabb, Pair};
use numpy::ndarray::ArrayView2;
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Matrix, Numbers, table};
use crate::boxes::{round_down, round_up};
use crate::engine::{Engine, Filter, Kind, Side};
use crate::work;

/// Says on a device whether two elements share a vertex. Each has three words, the vertices that it is made of.
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

/// Pairs of a thread's share.
const SHARE: usize = 1 << 16;

/// Kinds of pairs, in the order in which they are answered: the places of both kinds of elements, vertices, edges and
/// faces, in the order in which boxes stand, and whether the second one is named first.
const KINDS: [(usize, usize, bool); 6] = [
    (0, 0, false),
    (0, 1, true),
    (1, 1, false),
    (1, 2, false),
    (0, 2, true),
    (2, 2, false),
];

/// The box of an element in double precision.
type Bounds = [[f64; 3]; 2];

fn meet(a: &Bounds, b: &Bounds) -> bool {
    (0..3).all(|axis| a[0][axis] <= b[1][axis] && b[0][axis] <= a[1][axis])
}

fn around(a: &Bounds, b: &Bounds) -> Bounds {
    [
        std::array::from_fn(|axis| a[0][axis].min(b[0][axis])),
        std::array::from_fn(|axis| a[1][axis].max(b[1][axis])),
    ]
}

/// The elements that get boxes, vertices before edges before faces.
struct Elements {
    bounds: Vec<Bounds>,
    /// Vertices of each, the last one again where it has fewer than three.
    vertices: Vec<[u32; 3]>,
    /// Where edges begin, and where faces do.
    starts: [usize; 2],
}

impl Elements {
    fn kind(&self, element: u32) -> usize {
        self.starts.iter().filter(|&&start| element as usize >= start).count()
    }

    fn are_incident(&self, a: u32, b: u32) -> bool {
        let others = &self.vertices[b as usize];
        self.vertices[a as usize].iter().any(|vertex| others.contains(vertex))
    }

    fn meet(&self, a: u32, b: u32) -> bool {
        meet(&self.bounds[a as usize], &self.bounds[b as usize])
    }

    /// The pairs of each kind that is wanted, under the numbers of their elements.
    fn split(&self, pairs: &[Pair], wanted: &[(usize, usize, bool)]) -> Vec<Vec<[u32; 2]>> {
        let first = [0, self.starts[0] as u32, self.starts[1] as u32];
        let share = |pairs: &[Pair]| {
            let mut lists = vec![Vec::new(); wanted.len()];
            for pair in pairs {
                let (a, b) = (self.kind(pair.a), self.kind(pair.b));
                let at = wanted.iter().position(|&(of_a, of_b, _)| (of_a, of_b) == (a, b));
                if let Some(at) = at {
                    let (a, b) = (pair.a - first[a], pair.b - first[b]);
                    lists[at].push(if wanted[at].2 { [b, a] } else { [a, b] });
                }
            }
            lists
        };
        let shares: Vec<_> = pairs.par_chunks(SHARE).map(share).collect();
        let list = |at: usize| {
            let parts: Vec<_> = shares.iter().map(|share| &share[at][..]).collect();
            parts.concat()
        };
        (0..wanted.len()).into_par_iter().map(list).collect()
    }
}

/// Checks and copies rows of vertices, the last vertex again up to three.
fn corners(name: &str, rows: ArrayView2<'_, u32>, vertices: usize) -> PyResult<Vec<[u32; 3]>> {
    let corner = |(row, of_row): (usize, numpy::ndarray::ArrayView1<'_, u32>)| {
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

/// Pairs of elements, a table per kind that is wanted, in the order of [`KINDS`].
#[pyfunction]
#[pyo3(signature = (engine, start, end, edges, faces, *, inflation, wanted, progress))]
#[allow(clippy::too_many_arguments, reason = "by name, from one place")]
pub fn candidates<'py>(
    py: Python<'py>,
    engine: &Engine,
    start: Matrix<'py>,
    end: Option<Matrix<'py>>,
    edges: PyReadonlyArray2<'py, u32>,
    faces: PyReadonlyArray2<'py, u32>,
    inflation: f64,
    wanted: [bool; 6],
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyArray2<u32>>>> {
    let mut state = engine.lock(py)?;
    let state = &mut *state;
    let frames = [Some(start.view()), end.as_ref().map(Matrix::view)];
    let (edges, faces) = (edges.as_array(), faces.as_array());
    let kinds: Vec<_> = KINDS
        .into_iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted)
        .map(|(kind, _)| kind)
        .collect();
    let lists = work::run(py, progress.as_ref(), || {
        let elements = elements(frames, edges, faces, inflation, &kinds)?;
        let last = &mut state.last;
        last.worlds.clear();
        last.excluded.clear();
        last.boxes.clear();
        let of_kinds = |kind: usize| {
            let partners = kinds.iter().fold(0, |mask, &(a, b, _)| {
                mask | if a == kind { 1 << b } else { 0 } | if b == kind { 1 << a } else { 0 }
            });
            (1 << kind, partners)
        };
        let layers = [0, 1, 2].map(of_kinds);
        let aabb = |(element, bounds): (usize, &Bounds)| {
            let (membership, mask) = layers[elements.kind(element as u32)];
            Aabb::new(bounds[0].map(round_down), bounds[1].map(round_up)).with_layers(membership, mask)
        };
        last.boxes.par_extend(elements.bounds.par_iter().enumerate().map(aabb));
        let admits = |a: u32, b: u32| !elements.are_incident(a, b) && elements.meet(a, b);
        let kind = Kind {
            pair_filter: Some(NOT_INCIDENT),
            ..Kind::default()
        };
        let filter = Filter {
            admits: Some(&admits),
            words: bytemuck::cast_slice(&elements.vertices),
        };
        let result = state.step(kind, filter)?;
        let mut pairs = result.pairs;
        if let Side::Device(_) = state.side {
            // The device looked at boxes in single precision.
            let is_exact = |pair: &Pair| elements.meet(pair.a, pair.b);
            pairs = pairs.into_par_iter().filter(is_exact).collect();
        }
        Ok::<_, PyErr>(elements.split(&pairs, &kinds))
    })??;
    lists.into_iter().map(|list| table(py, list)).collect()
}

/// Elements with the boxes that they sweep from one frame to the other.
fn elements(
    frames: [Option<Numbers<'_>>; 2],
    edges: ArrayView2<'_, u32>,
    faces: ArrayView2<'_, u32>,
    inflation: f64,
    kinds: &[(usize, usize, bool)],
) -> PyResult<Elements> {
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
    let of_vertices: Vec<Bounds> = (0..count).into_par_iter().map(vertex).collect();
    let uses = |kind: usize| kinds.iter().any(|&(a, b, _)| a == kind || b == kind);
    let mut elements = Elements {
        bounds: Vec::new(),
        vertices: Vec::new(),
        starts: [0; 2],
    };
    if uses(0) {
        elements.bounds.extend_from_slice(&of_vertices);
        elements.vertices.extend((0..count as u32).map(|vertex| [vertex; 3]));
    }
    let of_element = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|vertex| &of_vertices[vertex as usize]);
        around(&around(a, b), c)
    };
    let others = [("edges", edges), ("faces", faces)];
    for (kind, (name, rows)) in others.into_iter().enumerate() {
        elements.starts[kind] = elements.bounds.len();
        if uses(kind + 1) {
            let corners = corners(name, rows, count)?;
            elements.bounds.par_extend(corners.par_iter().map(of_element));
            elements.vertices.extend(corners);
        }
    }
    Ok(elements)
}
