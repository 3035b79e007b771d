//! Scenes and rays from files.

mod csv;
mod mesh;
mod npy;
mod obj;
mod ply;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_broad_phase::{Aabb, Ray, Snapshot};
use indicatif::{ProgressBar, ProgressBarIter};

use crate::args::ReadingArgs;
use crate::mesh::{Between, Elements, Kind, Mesh, Selection, round_down, round_up};
use crate::report::Reporter;

/// Boxes, and where they come from.
pub struct Scene {
    pub boxes: Vec<Aabb>,
    pub dimensions: u8,
    /// Of a mesh; boxes of a table are their own ids.
    pub elements: Option<Elements>,
}

/// Rows of numbers, all of the same width.
struct Table {
    columns: usize,
    values: Vec<f64>,
    /// Layers and owner of each row, where the file names them.
    filters: Option<Vec<[u32; 2]>>,
}

impl Table {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }
}

/// Reads the boxes of a scene. Every error names the file.
pub fn scene(path: &Path, reading: &ReadingArgs, reporter: Reporter) -> Result<Scene> {
    scene_between(path, reading, &[], false, reporter)
}

/// As [`scene`], for pairs of just these kinds of elements, or of elements that share no vertex.
pub fn scene_between(
    path: &Path,
    reading: &ReadingArgs,
    between: &[Between],
    free: bool,
    reporter: Reporter,
) -> Result<Scene> {
    let scene = match extension(path).as_str() {
        "ply" | "obj" => {
            let selection = Selection::new(&reading.elements, between)?;
            mesh::scene(path, reading.next.as_deref(), &selection, reporter)?
        }
        "csv" | "npy" => {
            for (given, option) in [
                (!reading.elements.is_empty(), "--elements"),
                (reading.next.is_some(), "--next"),
                (!between.is_empty(), "--between"),
                (free, "--free"),
            ] {
                if given {
                    bail!("{}: {option} needs a mesh (.ply, .obj)", path.display());
                }
            }
            table(path, reporter)
                .and_then(boxes_of_table)
                .with_context(|| path.display().to_string())?
        }
        _ => bail!("{}: not a .csv, .npy, .ply or .obj file by its name", path.display()),
    };
    if let Some(asked) = reading.dimensions
        && asked != scene.dimensions
    {
        bail!(
            "{}: the scene is {}D, --dimensions {asked} was asked for",
            path.display(),
            scene.dimensions
        );
    }
    Ok(scene)
}

/// Gives boxes of one body one owner: bodies from a file with an integer per box, or per vertex of a mesh, -1 for none.
pub fn set_owners(scene: &mut Scene, path: &Path, reporter: Reporter) -> Result<()> {
    let mut set = || {
        if scene.boxes.iter().any(|boxed| boxed.owner != 0) {
            bail!("the scene's own column of owners says which boxes make no pair");
        }
        let owners = owners(&table(path, reporter)?)?;
        let (what, count) = match &scene.elements {
            Some(elements) => ("vertices", elements.totals[0]),
            None => ("boxes", scene.boxes.len()),
        };
        if owners.len() != count {
            bail!("{} rows, the scene has {count} {what}", owners.len());
        }
        for (boxed, index) in scene.boxes.iter_mut().zip(0..) {
            boxed.owner = match &scene.elements {
                None => owners[index as usize],
                Some(elements) => {
                    let vertices = elements.vertices(index);
                    let owner = owners[vertices[0] as usize];
                    if let Some(other) = vertices.iter().find(|&&vertex| owners[vertex as usize] != owner) {
                        bail!(
                            "vertices {} and {other} are of two bodies, and element {} has both",
                            vertices[0],
                            elements.id(index)
                        );
                    }
                    owner
                }
            };
        }
        Ok(())
    };
    set().with_context(|| path.display().to_string())
}

/// Owner words of bodies: one more than their number, and 0 for none.
fn owners(table: &Table) -> Result<Vec<u32>> {
    if table.columns != 1 {
        bail!("{} columns; bodies need 1", table.columns);
    }
    let most = f64::from(Aabb::OWNER_MASK - 1);
    let owner = |(row, &body): (usize, &f64)| {
        if body.fract() != 0.0 || !(-1.0..=most).contains(&body) {
            bail!("row {row}: {body} is no body; integers from -1 to {most} are");
        }
        Ok((body + 1.0) as u32)
    };
    table.values.iter().enumerate().map(owner).collect()
}

/// Reads two frames of one mesh with faces. Every error names the file.
pub fn frames(paths: [&Path; 2], reporter: Reporter) -> Result<[Mesh; 2]> {
    mesh::frames(paths, &Selection::new(&[Kind::Faces], &[])?, reporter)
}

/// Reads rays for a scene of so many dimensions.
pub fn rays(path: &Path, dimensions: u8, reporter: Reporter) -> Result<Vec<Ray>> {
    let read = || {
        let table = table(path, reporter)?;
        if table.filters.is_some() {
            bail!("rays have no layers and no owner");
        }
        let rays_dimensions = match table.columns {
            7 => 3,
            5 => 2,
            columns => bail!("{columns} columns; rays need 7 (origin, direction, t_max), in 2D 5"),
        };
        if rays_dimensions != dimensions {
            bail!("the rays are {rays_dimensions}D and the scene is {dimensions}D");
        }
        let axes = usize::from(dimensions);
        Ok(table
            .rows()
            .map(|row| {
                let vector =
                    |from: usize| std::array::from_fn(|axis| if axis < axes { row[from + axis] as f32 } else { 0.0 });
                Ray::new(vector(0), vector(axes), row[2 * axes] as f32)
            })
            .collect())
    };
    read().with_context(|| path.display().to_string())
}

/// Reads query boxes for a scene of so many dimensions.
pub fn boxes(path: &Path, dimensions: u8, reporter: Reporter) -> Result<Vec<Aabb>> {
    let read = || {
        let scene = boxes_of_table(table(path, reporter)?)?;
        if scene.dimensions != dimensions {
            bail!("the boxes are {}D and the scene is {dimensions}D", scene.dimensions);
        }
        Ok(scene.boxes)
    };
    read().with_context(|| path.display().to_string())
}

/// Reads points as boxes of zero size.
pub fn points(path: &Path, dimensions: Option<u8>, reporter: Reporter) -> Result<Scene> {
    let read = || {
        let table = table(path, reporter)?;
        if table.filters.is_some() {
            bail!("points have no layers and no owner");
        }
        let axes = match table.columns {
            3 => 3,
            2 => 2,
            columns => bail!("{columns} columns; points need 3, in 2D 2"),
        };
        if let Some(asked) = dimensions
            && usize::from(asked) != axes
        {
            bail!("the points are {axes}D, --dimensions {asked} was asked for");
        }
        let point = |row: &[f64]| {
            Aabb::point(std::array::from_fn(
                |axis| if axis < axes { row[axis] as f32 } else { 0.0 },
            ))
        };
        Ok(Scene {
            boxes: table.rows().map(point).collect(),
            dimensions: axes as u8,
            elements: None,
        })
    };
    read().with_context(|| path.display().to_string())
}

/// Reads a step that was kept.
pub fn snapshot(path: &Path, reporter: Reporter) -> Result<Snapshot> {
    let read = || {
        let snapshot = Snapshot::read(&mut Input::open(path, reporter)?.reader)?;
        let worlds = snapshot.descriptor.worlds;
        if worlds > MOST_WORLDS {
            bail!("{worlds} worlds; at most {MOST_WORLDS} are replayed");
        }
        Ok(snapshot)
    };
    read().with_context(|| path.display().to_string())
}

/// Each takes a word of the answer, and none of the file: these are as many as the smallest binding of a device counts
/// pairs of.
const MOST_WORLDS: u32 = 1 << 25;

fn boxes_of_table(table: Table) -> Result<Scene> {
    let dimensions: u8 = match table.columns {
        6 => 3,
        4 => 2,
        columns => bail!("{columns} columns; boxes need 6 (mins then maxes), in 2D 4"),
    };
    let axes = usize::from(dimensions);
    let mut boxes: Vec<_> = table
        .rows()
        .map(|row| {
            let corner = |from: usize, round: fn(f64) -> f32| {
                std::array::from_fn(|axis| if axis < axes { round(row[from + axis]) } else { 0.0 })
            };
            Aabb::new(corner(0, round_down), corner(axes, round_up))
        })
        .collect();
    for (boxed, &[layers, owner]) in boxes.iter_mut().zip(table.filters.iter().flatten()) {
        boxed.layers = layers;
        boxed.owner = owner;
    }
    Ok(Scene {
        boxes,
        dimensions,
        elements: None,
    })
}

fn table(path: &Path, reporter: Reporter) -> Result<Table> {
    let table = match extension(path).as_str() {
        "csv" => csv::read(path, reporter)?,
        "npy" => npy::read(path, reporter)?,
        _ => bail!("not a .csv or .npy file by its name"),
    };
    // The last number stands for "none" in the library.
    if table.values.len() / table.columns >= u32::MAX as usize {
        bail!("more rows than ids of 32 bits can name");
    }
    Ok(table)
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// The start of a text of the file, in one line, for an error.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut start: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() {
        start.push('…');
    }
    start
}

/// An open file with a bar over its bytes.
struct Input {
    reader: BufReader<ProgressBarIter<File>>,
    /// The file's size: what a header may claim at most.
    length: u64,
    bar: ProgressBar,
}

impl Input {
    fn open(path: &Path, reporter: Reporter) -> Result<Self> {
        // To open a pipe is to wait for whoever writes to it.
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            bail!("not a file");
        }
        if metadata.len() == 0 {
            bail!("the file is empty");
        }
        let file = File::open(path)?;
        let bar = reporter.bar(metadata.len(), "reading");
        Ok(Self {
            reader: BufReader::with_capacity(1 << 16, bar.wrap_read(file)),
            length: metadata.len(),
            bar,
        })
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
