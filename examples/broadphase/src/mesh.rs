use std::ops::Range;

use anyhow::{Result, bail};
use clap::ValueEnum;
use gpu_broad_phase::{Aabb, LocalOrigin};

use crate::report::counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    Vertices,
    Edges,
    Faces,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    pub positions: Vec<[f64; 3]>,
    pub faces: Lists,
    /// Edges may repeat, and may also be edges of faces.
    pub edges: Vec<[u32; 2]>,
}

impl Mesh {
    /// Edges of faces and of the file without duplicates, as (smaller, larger) vertex, sorted by larger, then smaller.
    /// Edges from a vertex to itself are dropped.
    pub fn unique_edges(&self) -> Vec<[u32; 2]> {
        let mut keys = Vec::with_capacity(self.faces.items.len() + self.edges.len());
        let key = |[a, b]: [u32; 2]| u64::from(a.max(b)) << 32 | u64::from(a.min(b));
        for face in self.faces.iter() {
            let ends = face.iter().skip(1).chain(&face[..1]);
            keys.extend(face.iter().zip(ends).map(|(&a, &b)| key([a, b])));
        }
        keys.extend(self.edges.iter().map(|&edge| key(edge)));
        keys.retain(|&key| key >> 32 != key & u64::from(u32::MAX));
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().map(|key| [key as u32, (key >> 32) as u32]).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lists {
    ends: Vec<usize>,
    items: Vec<u32>,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            ends: vec![0],
            items: Vec::new(),
        }
    }
}

impl Lists {
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push(&mut self, list: &[u32]) {
        self.items.extend_from_slice(list);
        self.ends.push(self.items.len());
    }

    pub fn get(&self, index: usize) -> &[u32] {
        &self.items[self.ends[index]..self.ends[index + 1]]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.ends.windows(2).map(|ends| &self.items[ends[0]..ends[1]])
    }
}

/// Two kinds, in the order of [`Kind`].
pub type Between = (Kind, Kind);

#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    kinds: Vec<Kind>,
    /// Empty if all kinds may form pairs.
    between: Vec<Between>,
    /// Option to name in errors, if kinds are selected by one.
    option: Option<&'static str>,
}

impl Selection {
    /// Selects the kinds of `between`; if empty, those of `elements`; if both are empty, faces.
    pub fn new(elements: &[Kind], between: &[Between]) -> Result<Self> {
        let mut kinds: Vec<_> = between.iter().flat_map(|&(a, b)| [a, b]).collect();
        if kinds.is_empty() {
            kinds = if elements.is_empty() {
                vec![Kind::Faces]
            } else {
                elements.to_vec()
            };
        }
        kinds.sort();
        kinds.dedup();
        if let Some(missing) = kinds
            .iter()
            .find(|kind| !elements.is_empty() && !elements.contains(kind))
        {
            bail!(
                "--between needs {}, which --elements leaves out: add it",
                missing.name()
            );
        }
        Ok(Self {
            kinds,
            between: between.to_vec(),
            option: Some(if between.is_empty() { "--elements" } else { "--between" }),
        })
    }

    pub fn fixed_faces() -> Self {
        Self {
            kinds: vec![Kind::Faces],
            between: Vec::new(),
            option: None,
        }
    }

    pub fn is_only(&self, kind: Kind) -> bool {
        self.kinds == [kind]
    }

    fn contains(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Fails if a selected kind is missing. `notes` may explain why.
    pub fn check(&self, mesh: &Mesh, notes: &[String]) -> Result<()> {
        let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
        if mesh.positions.is_empty() {
            bail!("no vertices{notes}");
        }
        let loose = mesh.edges.len();
        let (missing, present) = match mesh.faces.is_empty() {
            true if self.contains(Kind::Faces) && loose > 0 => {
                (format!("no faces, {}", counted(loose as u64, "edge")), Kind::Edges)
            }
            true if self.contains(Kind::Faces) => ("no faces".to_owned(), Kind::Vertices),
            true if self.contains(Kind::Edges) && loose == 0 => ("no edges and no faces".to_owned(), Kind::Vertices),
            _ => return Ok(()),
        };
        let kind = present.name();
        match self.option {
            Some("--between") => bail!("{missing}{notes}; use --between {kind},{kind}"),
            Some(option) => bail!("{missing}{notes}; use {option} {kind}"),
            None => bail!("{missing}{notes}"),
        }
    }

    /// Each kind gets a layer, so that exactly the pairs of `between` are found.
    fn layered(&self, boxed: Aabb, kind: Kind) -> Aabb {
        if self.between.is_empty() || self.kinds.len() == 1 {
            return boxed;
        }
        let layer = |kind: Kind| 1 << kind as u16;
        let partners = self.between.iter().fold(0, |mask, &(a, b)| {
            let of_first = if kind == a { layer(b) } else { 0 };
            let of_second = if kind == b { layer(a) } else { 0 };
            mask | of_first | of_second
        });
        boxed.with_layers(layer(kind), partners)
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Vertices => "vertices",
            Self::Edges => "edges",
            Self::Faces => "faces",
        }
    }
}

#[derive(Debug)]
pub struct Elements {
    pub totals: [usize; 3],
    /// Edges in order of id, as (smaller, larger) vertex.
    pub edges: Vec<[u32; 2]>,
    /// One span of boxes per kind. Ids ascend with the box index.
    spans: Vec<Span>,
    vertices: Lists,
}

#[derive(Debug)]
struct Span {
    kind: Kind,
    boxes: Range<usize>,
    first_id: u32,
}

impl Span {
    fn index_of(&self, local_id: u32) -> Option<u32> {
        let index = self.boxes.start + local_id as usize;
        self.boxes.contains(&index).then_some(index as u32)
    }
}

impl Elements {
    fn span(&self, index: u32) -> &Span {
        let at = self
            .spans
            .iter()
            .position(|span| span.boxes.contains(&(index as usize)));
        &self.spans[at.unwrap_or(0)]
    }

    pub fn kind(&self, index: u32) -> Kind {
        self.span(index).kind
    }

    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.spans.iter().map(|span| span.kind)
    }

    /// Id in the whole mesh, with elements without boxes.
    pub fn id(&self, index: u32) -> u32 {
        self.span(index).first_id + self.local_id(index)
    }

    pub fn index_of(&self, id: u32) -> Option<u32> {
        self.spans
            .iter()
            .find_map(|span| span.index_of(id.checked_sub(span.first_id)?))
    }

    /// Box of the element with number `id` of its kind.
    pub fn index_of_local(&self, kind: Kind, id: u32) -> Option<u32> {
        self.spans.iter().find(|span| span.kind == kind)?.index_of(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = (Kind, u32, usize)> {
        self.spans
            .iter()
            .map(|span| (span.kind, span.first_id, span.boxes.len()))
    }

    pub fn local_id(&self, index: u32) -> u32 {
        index - self.span(index).boxes.start as u32
    }

    pub fn vertices(&self, index: u32) -> &[u32] {
        self.vertices.get(index as usize)
    }

    pub fn are_incident(&self, a: u32, b: u32) -> bool {
        let b = self.vertices(b);
        self.vertices(a).iter().any(|vertex| b.contains(vertex))
    }
}

/// Boxes around elements in one or two frames, measured from `origin`: vertices, edges, then faces.
pub fn boxes(
    mesh: &Mesh,
    next: Option<&Mesh>,
    selection: &Selection,
    origin: LocalOrigin,
) -> Result<(Vec<Aabb>, Elements)> {
    let later = next.unwrap_or(mesh);
    let frames = mesh.positions.iter().zip(&later.positions);
    let corners: Vec<_> = frames.map(|(&from, &to)| vertex_box([from, to], origin)).collect();
    let edges = mesh.unique_edges();
    let totals = [corners.len(), edges.len(), mesh.faces.len()];
    // The library reserves the largest id for "none".
    if totals.iter().sum::<usize>() >= u32::MAX as usize {
        bail!("too many elements: {}; ids have 32 bits", totals.iter().sum::<usize>());
    }

    let mut boxes = Vec::new();
    let mut elements = Elements {
        totals,
        edges,
        spans: Vec::new(),
        vertices: Lists::default(),
    };
    let mut lists = Lists::default();
    let mut first_id = 0;
    for (kind, total) in [Kind::Vertices, Kind::Edges, Kind::Faces].into_iter().zip(totals) {
        if selection.contains(kind) {
            elements.spans.push(Span {
                kind,
                boxes: boxes.len()..boxes.len() + total,
                first_id,
            });
            let mut add = |vertices: &[u32]| {
                let members = vertices.iter().map(|&vertex| corners[vertex as usize]);
                if let Some(union) = members.reduce(union) {
                    boxes.push(selection.layered(union, kind));
                    lists.push(vertices);
                }
            };
            match kind {
                Kind::Vertices => (0..total as u32).for_each(|vertex| add(&[vertex])),
                Kind::Edges => elements.edges.iter().for_each(|edge| add(edge)),
                Kind::Faces => mesh.faces.iter().for_each(&mut add),
            }
        }
        first_id += total as u32;
    }
    elements.vertices = lists;
    Ok((boxes, elements))
}

/// Bounds `[min, max]` of a sample of elements, of the largest kind that the mesh has.
pub fn sample(mesh: &Mesh) -> Vec<[[f64; 3]; 2]> {
    let bounds = |vertices: &[u32]| {
        let positions = vertices.iter().map(|&vertex| mesh.positions[vertex as usize]);
        let empty = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        positions.fold(empty, |[low, high], position| {
            [
                std::array::from_fn(|axis| low[axis].min(position[axis])),
                std::array::from_fn(|axis| high[axis].max(position[axis])),
            ]
        })
    };
    let [faces, edges, vertices] = [mesh.faces.len(), mesh.edges.len(), mesh.positions.len()].map(LocalOrigin::sample);
    if !mesh.faces.is_empty() {
        return faces.map(|face| bounds(mesh.faces.get(face))).collect();
    }
    if !mesh.edges.is_empty() {
        return edges.map(|edge| bounds(&mesh.edges[edge])).collect();
    }
    vertices.map(|vertex| [mesh.positions[vertex]; 2]).collect()
}

/// Bounds are rounded to f32, then moved outward by one float, as in the known answers of published scenes.
fn vertex_box(frames: [[f64; 3]; 2], origin: LocalOrigin) -> Aabb {
    let [from, to] = frames.map(|at| {
        let at: [f32; 3] = std::array::from_fn(|axis| (at[axis] - origin.position[axis]) as f32);
        Aabb::new(at.map(f32::next_down), at.map(f32::next_up))
    });
    union(from, to)
}

/// Keeps NaN, so that a box with such a vertex becomes invalid.
fn union(a: Aabb, b: Aabb) -> Aabb {
    let lower = |a: f32, b: f32| if a < b || a.is_nan() { a } else { b };
    let upper = |a: f32, b: f32| if a > b || a.is_nan() { a } else { b };
    Aabb::new(
        std::array::from_fn(|axis| lower(a.min[axis], b.min[axis])),
        std::array::from_fn(|axis| upper(a.max[axis], b.max[axis])),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> Mesh {
        let mut faces = Lists::default();
        faces.push(&[0, 1, 2, 3]);
        Mesh {
            positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
            faces,
            edges: Vec::new(),
        }
    }

    #[test]
    fn edges_are_sorted_by_their_larger_vertex() {
        assert_eq!(square().unique_edges(), [[0, 1], [1, 2], [0, 3], [2, 3]]);
    }

    #[test]
    fn loose_edges_join_those_of_faces_and_each_is_there_once() {
        let mut mesh = square();
        mesh.edges = vec![[2, 0], [3, 2], [1, 1], [0, 2]];
        assert_eq!(mesh.unique_edges(), [[0, 1], [0, 2], [1, 2], [0, 3], [2, 3]]);
    }

    #[test]
    fn ids_keep_their_numbers_when_kinds_are_left_out() {
        let selection = Selection::new(&[], &[(Kind::Vertices, Kind::Faces)]).unwrap();
        let (boxes, elements) = boxes(&square(), None, &selection, LocalOrigin::default()).unwrap();
        assert_eq!(boxes.len(), 5);
        assert_eq!((elements.id(3), elements.id(4)), (3, 8));
        assert_eq!((elements.local_id(3), elements.local_id(4)), (3, 0));
        let back = |index: u32| elements.index_of_local(elements.kind(index), elements.local_id(index));
        for index in 0..boxes.len() as u32 {
            assert_eq!(
                (elements.index_of(elements.id(index)), back(index)),
                (Some(index), Some(index))
            );
        }
        assert_eq!(
            (elements.index_of(u32::MAX), elements.index_of_local(Kind::Edges, 0)),
            (None, None)
        );
        assert_eq!((elements.kind(3), elements.kind(4)), (Kind::Vertices, Kind::Faces));
        assert!(elements.are_incident(0, 4));
        assert!(!elements.are_incident(0, 1));
        assert_eq!((boxes[0].layers, boxes[4].layers), (1 | 4 << 16, 4 | 1 << 16));
    }

    #[test]
    fn layers_let_just_the_kinds_through_that_are_asked_for() {
        let all = [Kind::Vertices, Kind::Edges, Kind::Faces];
        let asked = [(Kind::Vertices, Kind::Faces), (Kind::Edges, Kind::Edges)];
        let selection = Selection::new(&[], &asked).unwrap();
        let words = all.map(|kind| selection.layered(Aabb::point([0.0; 3]), kind).layers);
        let meet = |a: u32, b: u32| a & b >> 16 != 0 && b & a >> 16 != 0;
        for (a, first) in all.into_iter().enumerate() {
            for (b, second) in all.into_iter().enumerate() {
                let named = (first.min(second), first.max(second));
                assert_eq!(meet(words[a], words[b]), asked.contains(&named), "{named:?}");
            }
        }
    }

    #[test]
    fn a_vertex_that_is_not_a_number_makes_every_box_over_it_invalid() {
        let mut mesh = square();
        mesh.positions[1][0] = f64::NAN;
        let selection = Selection::new(&[Kind::Vertices, Kind::Edges, Kind::Faces], &[]).unwrap();
        let (boxes, _) = boxes(&mesh, Some(&square()), &selection, LocalOrigin::default()).unwrap();
        let invalid: Vec<_> = (0..boxes.len()).filter(|&at| boxes[at].min[0].is_nan()).collect();
        assert_eq!(invalid, [1, 4, 5, 8]);
    }
}
