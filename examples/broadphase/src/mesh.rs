//! Boxes, ids and incidence of the elements of a mesh.

use std::ops::Range;

use anyhow::{Result, bail};
use clap::ValueEnum;
use gpu_broad_phase::Aabb;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    Vertices,
    Edges,
    Faces,
}

/// Vertex positions, polygons and loose edges, as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    pub positions: Vec<[f64; 3]>,
    pub faces: Lists,
    /// Edges that the file names by themselves. Some may be edges of faces too, some may come twice.
    pub edges: Vec<[u32; 2]>,
}

impl Mesh {
    /// Unique edges, loose ones and those of faces, as (smaller, larger) vertex, by larger, then smaller. An edge from
    /// a vertex to itself is none.
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

/// Lists of vertices in one flat array.
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

/// Two kinds whose elements may pair, the first one before the other.
pub type Between = (Kind, Kind);

/// Which elements get a box, and which of them may pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    kinds: Vec<Kind>,
    /// Empty where all may.
    between: Vec<Between>,
}

impl Selection {
    /// `between` decides the kinds; without both the kinds are faces.
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
            bail!("--between asks for {} that --elements leaves out", missing.name());
        }
        Ok(Self {
            kinds,
            between: between.to_vec(),
        })
    }

    fn contains(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Refuses a mesh that has none of a kind that is asked for.
    pub fn check(&self, mesh: &Mesh) -> Result<()> {
        if mesh.positions.is_empty() {
            bail!("no vertices");
        }
        let loose = mesh.edges.len();
        match mesh.faces.is_empty() {
            true if self.contains(Kind::Faces) && loose > 0 => {
                bail!("no faces; the file has {loose} edges: --elements edges gives them boxes")
            }
            true if self.contains(Kind::Faces) => bail!("no faces"),
            true if self.contains(Kind::Edges) && loose == 0 => bail!("no edges and no faces"),
            _ => Ok(()),
        }
    }

    /// Layers that let exactly the pairs of `between` through: a layer per kind.
    fn layered(&self, boxed: Aabb, kind: Kind) -> Aabb {
        // Where one kind pairs with itself alone there is nothing to keep apart.
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

/// What stands behind each box of a mesh: its id, and the vertices that it is made of.
#[derive(Debug)]
pub struct Elements {
    /// Vertices, edges and faces of the whole mesh.
    pub totals: [usize; 3],
    /// All edges of the mesh in the order of their ids, as (smaller, larger) vertex.
    pub edges: Vec<[u32; 2]>,
    /// Boxes of one kind each; ids ascend with the boxes.
    spans: Vec<Span>,
    vertices: Lists,
}

/// The boxes of one kind.
#[derive(Debug)]
struct Span {
    kind: Kind,
    boxes: Range<usize>,
    /// The id of the first one.
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

    /// The kinds that have boxes.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.spans.iter().map(|span| span.kind)
    }

    /// The id of a box: its number among all elements of the mesh, whether they have a box or not.
    pub fn id(&self, index: u32) -> u32 {
        self.span(index).first_id + self.local_id(index)
    }

    /// The box of this id.
    pub fn index_of(&self, id: u32) -> Option<u32> {
        self.spans
            .iter()
            .find_map(|span| span.index_of(id.checked_sub(span.first_id)?))
    }

    /// The box of this number among the elements of a kind.
    pub fn index_of_local(&self, kind: Kind, id: u32) -> Option<u32> {
        self.spans.iter().find(|span| span.kind == kind)?.index_of(id)
    }

    /// Of each kind that has boxes the id of the first one, and how many there are.
    pub fn ids(&self) -> impl Iterator<Item = (Kind, u32, usize)> {
        self.spans
            .iter()
            .map(|span| (span.kind, span.first_id, span.boxes.len()))
    }

    /// The number of a box's element among those of its kind.
    pub fn local_id(&self, index: u32) -> u32 {
        index - self.span(index).boxes.start as u32
    }

    /// The vertices that a box is made of.
    pub fn vertices(&self, index: u32) -> &[u32] {
        self.vertices.get(index as usize)
    }

    /// Whether two boxes belong to elements that share a vertex.
    pub fn are_incident(&self, a: u32, b: u32) -> bool {
        let b = self.vertices(b);
        self.vertices(a).iter().any(|vertex| b.contains(vertex))
    }
}

/// The boxes of the selected elements over one frame or two, vertices before edges before faces.
pub fn boxes(mesh: &Mesh, next: Option<&Mesh>, selection: &Selection) -> Result<(Vec<Aabb>, Elements)> {
    let corners: Vec<_> = match next {
        Some(next) => {
            let frames = mesh.positions.iter().zip(&next.positions);
            frames.map(|(&from, &to)| [from, to]).map(vertex_box).collect()
        }
        None => mesh.positions.iter().map(|&at| vertex_box([at, at])).collect(),
    };
    let edges = mesh.unique_edges();
    let totals = [corners.len(), edges.len(), mesh.faces.len()];
    // The largest u32 stands for "none" in the library.
    if totals.iter().sum::<usize>() >= u32::MAX as usize {
        bail!(
            "{} elements are more than ids of 32 bits can name",
            totals.iter().sum::<usize>()
        );
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

/// The box of a vertex in two frames: each bound rounded to f32, then one step outward, which makes up for the
/// rounding. The known answers of published scenes hold for just these boxes.
fn vertex_box(frames: [[f64; 3]; 2]) -> Aabb {
    let [from, to] = frames.map(|at| {
        Aabb::new(
            at.map(|value| (value as f32).next_down()),
            at.map(|value| (value as f32).next_up()),
        )
    });
    union(from, to)
}

/// The box around two boxes. A NaN stays, so that the box counts as invalid instead of losing a vertex.
fn union(a: Aabb, b: Aabb) -> Aabb {
    let lower = |a: f32, b: f32| if a < b || a.is_nan() { a } else { b };
    let upper = |a: f32, b: f32| if a > b || a.is_nan() { a } else { b };
    Aabb::new(
        std::array::from_fn(|axis| lower(a.min[axis], b.min[axis])),
        std::array::from_fn(|axis| upper(a.max[axis], b.max[axis])),
    )
}

/// The largest f32 that is not above `value`.
pub fn round_down(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) > value {
        nearest.next_down()
    } else {
        nearest
    }
}

/// The smallest f32 that is not below `value`.
pub fn round_up(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) < value {
        nearest.next_up()
    } else {
        nearest
    }
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
    fn rounding_is_outward_and_exact_where_it_can_be() {
        assert_eq!(round_down(0.1), 0.1f32.next_down());
        assert_eq!(round_up(0.1), 0.1f32);
        assert_eq!(round_down(0.5), 0.5);
        assert_eq!(round_up(1e300), f32::INFINITY);
        assert_eq!(round_down(1e300), f32::MAX);
        assert_eq!(round_up(1e-60), f32::from_bits(1));
        assert!(round_up(f64::NAN).is_nan());
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
        let (boxes, elements) = boxes(&square(), None, &selection).unwrap();
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
        let (boxes, _) = boxes(&mesh, Some(&square()), &selection).unwrap();
        let invalid: Vec<_> = (0..boxes.len()).filter(|&at| boxes[at].min[0].is_nan()).collect();
        assert_eq!(invalid, [1, 4, 5, 8]);
    }
}
