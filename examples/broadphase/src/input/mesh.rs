//! What all mesh files have in common: checks of their faces and loose edges, and the second frame.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{Format, Input, MESHES, Scene, gltf, name, obj, ply, stl};
use crate::args::ReadingArgs;
use crate::mesh::{Lists, Mesh, Selection, boxes};
use crate::report::Reporter;

/// Boxes of a mesh whose first frame is open.
pub fn scene(
    path: &Path,
    input: Input,
    reading: &ReadingArgs,
    selection: &Selection,
    reporter: Reporter,
) -> Result<Scene> {
    let dimensions = reading.dimensions.unwrap_or(3);
    let mut mesh = read(path, input, selection, dimensions)?;
    let mut next = match &reading.next {
        Some(next) => Some(second(path, &mesh, next, selection, dimensions, reporter)?),
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
        reporter.say(format!(
            "{}: {points} edges from a vertex to itself are left out",
            name(path)
        ));
    }
    let (boxes, elements) = boxes(&mesh, next.as_ref(), selection).with_context(|| name(path))?;
    let [vertices, edges, faces] = elements.totals;
    reporter.say(format!(
        "{}: {vertices} vertices, {edges} edges, {faces} faces",
        name(path)
    ));
    Ok(Scene {
        boxes,
        dimensions,
        elements: Some(elements),
    })
}

/// Two frames of one mesh.
pub fn frames(paths: [&Path; 2], selection: &Selection, reporter: Reporter) -> Result<[Mesh; 2]> {
    let [mesh_path, next_path] = paths;
    let input = Input::open(mesh_path, reporter).with_context(|| name(mesh_path))?;
    let mesh = read(mesh_path, input, selection, 3)?;
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
    let next = read(path, input, selection, dimensions)?;
    check_frames(mesh, &next).with_context(|| format!("{} against {}", name(path), name(mesh_path)))?;
    Ok(next)
}

fn read(path: &Path, mut input: Input, selection: &Selection, dimensions: u8) -> Result<Mesh> {
    let mut read = || {
        let mesh = match input.format {
            Format::Ply => ply::read(&mut input, dimensions)?,
            Format::Obj => obj::read(&mut input.reader, dimensions)?,
            Format::Stl => stl::read(&mut input)?,
            Format::Gltf => gltf::read(&input.bytes()?, input.folder.as_deref())?,
            table => bail!("{}; a mesh ({MESHES}) is needed", table.name()),
        };
        selection.check(&mesh)?;
        Ok(mesh)
    };
    read().with_context(|| name(path))
}

/// Takes the third coordinate away, which has to be the same everywhere.
fn flatten(mesh: &mut Mesh, level: f64) -> Result<()> {
    for (vertex, position) in mesh.positions.iter_mut().enumerate() {
        if position[2] != level {
            bail!(
                "vertex {vertex} has z {}, others {level}; --dimensions 2 needs one z for all",
                position[2]
            );
        }
        position[2] = 0.0;
    }
    Ok(())
}

/// The second frame moves vertices and changes nothing else.
fn check_frames(mesh: &Mesh, next: &Mesh) -> Result<()> {
    let (before, after) = (mesh.positions.len(), next.positions.len());
    if before != after {
        bail!("{after} vertices, {before} in the first frame");
    }
    let (before, after) = (mesh.faces.len(), next.faces.len());
    if before != after {
        bail!("{after} faces, {before} in the first frame");
    }
    if let Some(face) = mesh.faces.iter().zip(next.faces.iter()).position(|(a, b)| a != b) {
        bail!("face {face} has other vertices than in the first frame");
    }
    if mesh.edges != next.edges {
        // Only the set of all edges matters.
        let [before, after] = [mesh, next].map(Mesh::unique_edges);
        if before.len() != after.len() {
            bail!("{} edges, {} in the first frame", after.len(), before.len());
        }
        if let Some(edge) = before.iter().zip(&after).position(|(a, b)| a != b) {
            bail!("edge {edge} has other vertices than in the first frame");
        }
    }
    Ok(())
}

/// Adds a face whose vertices may come later in the file.
pub fn push_face(faces: &mut Lists, vertices: &[u32]) -> Result<()> {
    if vertices.len() < 3 {
        bail!("{} vertices, 3 are the least", vertices.len());
    }
    faces.push(vertices);
    Ok(())
}

/// Holds every face and every loose edge to the vertices that are there.
pub fn check_vertices(mesh: &Mesh) -> Result<()> {
    let count = mesh.positions.len();
    for (face, vertices) in mesh.faces.iter().enumerate() {
        if let Some(vertex) = vertices.iter().find(|&&vertex| vertex as usize >= count) {
            bail!("face {face}: vertex {vertex}, there are {count} from 0");
        }
    }
    for (edge, vertices) in mesh.edges.iter().enumerate() {
        if let Some(vertex) = vertices.iter().find(|&&vertex| vertex as usize >= count) {
            bail!("edge {edge}: vertex {vertex}, there are {count} from 0");
        }
    }
    Ok(())
}
