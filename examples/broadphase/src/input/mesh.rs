//! What all mesh files have in common: checks of their faces and loose edges, and the second frame.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{Scene, extension, obj, ply};
use crate::mesh::{Lists, Mesh, Selection, boxes};
use crate::report::Reporter;

pub fn scene(path: &Path, next: Option<&Path>, selection: &Selection, reporter: Reporter) -> Result<Scene> {
    let (mesh, next) = match next {
        Some(next) => {
            let [mesh, next] = frames([path, next], selection, reporter)?;
            (mesh, Some(next))
        }
        None => (read(path, selection, reporter)?, None),
    };
    let points = mesh.edges.iter().filter(|[a, b]| a == b).count();
    if points > 0 {
        reporter.say(format!(
            "{}: {points} edges from a vertex to itself are left out",
            path.display()
        ));
    }
    let (boxes, elements) = boxes(&mesh, next.as_ref(), selection).with_context(|| path.display().to_string())?;
    let [vertices, edges, faces] = elements.totals;
    reporter.say(format!(
        "{}: {vertices} vertices, {edges} edges, {faces} faces",
        path.display()
    ));
    Ok(Scene {
        boxes,
        dimensions: 3,
        elements: Some(elements),
    })
}

/// Two frames of one mesh.
pub fn frames(paths: [&Path; 2], selection: &Selection, reporter: Reporter) -> Result<[Mesh; 2]> {
    let [mesh_path, next_path] = paths;
    let mesh = read(mesh_path, selection, reporter)?;
    let next = read(next_path, selection, reporter)?;
    check_frames(&mesh, &next).with_context(|| format!("{} against {}", next_path.display(), mesh_path.display()))?;
    Ok([mesh, next])
}

fn read(path: &Path, selection: &Selection, reporter: Reporter) -> Result<Mesh> {
    let read = || {
        let mesh = match extension(path).as_str() {
            "ply" => ply::read(path, reporter)?,
            "obj" => obj::read(path, reporter)?,
            _ => bail!("not a .ply or .obj file by its name"),
        };
        selection.check(&mesh)?;
        Ok(mesh)
    };
    read().with_context(|| path.display().to_string())
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
