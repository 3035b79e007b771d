use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{Format, Input, MESHES, Points, WideScene, gltf, name, obj, ply, stl, warn_all};
use crate::args::ReadingArgs;
use crate::mesh::{Kind, Mesh, Selection};
use crate::report::{Reporter, counted};

pub fn scene(
    path: &Path,
    input: Input,
    reading: &ReadingArgs,
    selection: Selection,
    reporter: Reporter,
) -> Result<WideScene> {
    let dimensions = reading.dimensions.unwrap_or(3);
    let mut mesh = read(path, input, &selection, dimensions, reporter)?;
    let mut next = match &reading.next {
        Some(next) => Some(second(path, &mesh, next, &selection, dimensions, reporter)?),
        None => None,
    };
    if dimensions == 2 {
        let level = mesh.positions[0][2];
        flatten(&mut mesh, level).with_context(|| name(path))?;
        if let (Some(next), Some(path)) = (&mut next, &reading.next) {
            flatten(next, level).with_context(|| name(path))?;
        }
    }
    let points = mesh.edges.iter().filter(|[a, b]| a == b).count();
    if points > 0 {
        let edges = counted(points as u64, "edge");
        warn_all(path, [format!("skipped {edges} from a vertex to itself")]);
    }
    Ok(WideScene::of_mesh(path, mesh, next, selection, dimensions))
}

pub fn frames(paths: [&Path; 2], selection: &Selection, reporter: Reporter) -> Result<[Mesh; 2]> {
    let [mesh_path, next_path] = paths;
    let input = Input::open(mesh_path, reporter).with_context(|| name(mesh_path))?;
    let mesh = read(mesh_path, input, selection, 3, reporter)?;
    let next = second(mesh_path, &mesh, next_path, selection, 3, reporter)?;
    Ok([mesh, next])
}

fn second(
    mesh_path: &Path,
    mesh: &Mesh,
    path: &Path,
    selection: &Selection,
    dimensions: u8,
    reporter: Reporter,
) -> Result<Mesh> {
    let input = Input::open(path, reporter).with_context(|| name(path))?;
    let next = read(path, input, selection, dimensions, reporter)?;
    check_frames(mesh, &next).with_context(|| format!("{} against {}", name(path), name(mesh_path)))?;
    Ok(next)
}

/// Returns vertices as points, in 2D for `Some(2)` or a PLY without z, and the numbers of edges and faces.
pub fn points(
    path: &Path,
    mut input: Input,
    dimensions: Option<u8>,
    reporter: Reporter,
) -> Result<(Points, [usize; 2])> {
    let selection = Selection::new(&[Kind::Vertices], &[])?;
    let (mut mesh, lacks_z) = parse(
        path,
        &mut input,
        &selection,
        dimensions.filter(|&axes| axes == 2),
        reporter,
    )?;
    let is_flat = lacks_z || dimensions == Some(2);
    if is_flat {
        let level = mesh.positions[0][2];
        flatten(&mut mesh, level)?;
    }
    if mesh.positions.len() >= u32::MAX as usize {
        bail!("too many vertices: ids have 32 bits");
    }
    let points = Points {
        positions: mesh.positions,
        dimensions: if is_flat { 2 } else { 3 },
        cell: None,
    };
    Ok((points, [mesh.edges.len(), mesh.faces.len()]))
}

fn read(path: &Path, mut input: Input, selection: &Selection, dimensions: u8, reporter: Reporter) -> Result<Mesh> {
    let parsed = parse(path, &mut input, selection, Some(dimensions), reporter);
    let (mesh, _) = parsed.with_context(|| name(path))?;
    Ok(mesh)
}

/// The flag is true for a PLY without z. Errors do not name the file.
fn parse(
    path: &Path,
    input: &mut Input,
    selection: &Selection,
    dimensions: Option<u8>,
    reporter: Reporter,
) -> Result<(Mesh, bool)> {
    let mut notes = Vec::new();
    let (mut lacks_z, mut remark) = (false, None);
    let mesh = match input.format {
        Format::Ply => {
            let contents = ply::read(input, dimensions, selection.is_only(Kind::Vertices), &mut notes)?;
            (lacks_z, remark) = (contents.lacks_z, contents.remark);
            contents.mesh
        }
        Format::Obj => obj::read(&mut input.reader, dimensions.unwrap_or(3), &mut notes)?,
        Format::Stl => stl::read(input, &mut notes)?,
        Format::Gltf => gltf::read(&input.bytes()?, input.folder.as_deref(), &mut notes)?,
        table => bail!("{}; use a mesh ({MESHES})", table.name()),
    };
    selection.check(&mesh, &notes)?;
    warn_all(path, notes);
    if let Some(remark) = remark {
        reporter.say(format!("{}: {remark}", name(path)));
    }
    Ok((mesh, lacks_z))
}

/// Fails if z differs from `level`.
fn flatten(mesh: &mut Mesh, level: f64) -> Result<()> {
    for (vertex, position) in mesh.positions.iter_mut().enumerate() {
        if position[2] != level {
            bail!(
                "vertex {vertex} has z {}, others {level}: --dimensions 2 needs a constant z",
                position[2]
            );
        }
        position[2] = 0.0;
    }
    Ok(())
}

/// Frames may differ only in vertex positions.
fn check_frames(mesh: &Mesh, next: &Mesh) -> Result<()> {
    let (before, after) = (mesh.positions.len(), next.positions.len());
    if before != after {
        bail!("vertex count differs: {after}, {before} in the first frame");
    }
    let (before, after) = (mesh.faces.len(), next.faces.len());
    if before != after {
        bail!("face count differs: {after}, {before} in the first frame");
    }
    if let Some(face) = mesh.faces.iter().zip(next.faces.iter()).position(|(a, b)| a != b) {
        bail!("face {face} has other vertices than in the first frame");
    }
    if mesh.edges != next.edges {
        let [before, after] = [mesh, next].map(Mesh::unique_edges);
        if before.len() != after.len() {
            bail!(
                "edge count differs: {}, {} in the first frame",
                after.len(),
                before.len()
            );
        }
        if let Some(edge) = before.iter().zip(&after).position(|(a, b)| a != b) {
            bail!("edge {edge} has other vertices than in the first frame");
        }
    }
    Ok(())
}

/// Elements with too few vertices. They are skipped without an id, but their vertex indices are checked.
pub struct Short {
    what: &'static str,
    least: usize,
    places: Vec<u64>,
    /// Largest vertex index of the skipped elements, with its line or row.
    largest: Option<(u32, u64)>,
}

impl Short {
    pub fn faces() -> Self {
        Self::of("face", 3)
    }

    pub fn lines() -> Self {
        Self::of("line", 2)
    }

    pub fn strips() -> Self {
        Self::of("strip", 3)
    }

    fn of(what: &'static str, least: usize) -> Self {
        Self {
            what,
            least,
            places: Vec::new(),
            largest: None,
        }
    }

    pub fn takes(&mut self, place: u64, vertices: &[u32]) -> bool {
        let is_short = vertices.len() < self.least;
        if is_short {
            self.places.push(place);
            self.largest = vertices.iter().map(|&vertex| (vertex, place)).chain(self.largest).max();
        }
        is_short
    }

    /// Largest vertex index if it is out of range, with its line or row.
    pub fn missing(&self, vertices: usize) -> Option<(u32, u64)> {
        self.largest.filter(|&(vertex, _)| vertex as usize >= vertices)
    }

    fn row_of(&self, element: usize) -> u64 {
        self.places
            .iter()
            .fold(element as u64, |row, &place| row + u64::from(place <= row))
    }

    pub fn report(&self, place: &str, notes: &mut Vec<String>) {
        if let Some(first) = self.places.first() {
            let (count, least) = (counted(self.places.len() as u64, self.what), self.least);
            notes.push(format!(
                "skipped {count} of fewer than {least} vertices, the first in {place} {first}; skipped ones get no ids"
            ));
        }
    }
}

pub fn check_vertices(mesh: &Mesh, short: &Short) -> Result<()> {
    let count = mesh.positions.len();
    if let Some((vertex, face)) = short.missing(count) {
        bail!("face {face}: unknown vertex {vertex}: there are {count}, from 0");
    }
    for (face, vertices) in mesh.faces.iter().enumerate() {
        if let Some(vertex) = vertices.iter().find(|&&vertex| vertex as usize >= count) {
            bail!(
                "face {}: unknown vertex {vertex}: there are {count}, from 0",
                short.row_of(face)
            );
        }
    }
    for (edge, vertices) in mesh.edges.iter().enumerate() {
        if let Some(vertex) = vertices.iter().find(|&&vertex| vertex as usize >= count) {
            bail!("edge {edge}: unknown vertex {vertex}: there are {count}, from 0");
        }
    }
    Ok(())
}
