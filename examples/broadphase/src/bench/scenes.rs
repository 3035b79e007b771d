//! What is measured: scenes that are made or read, and rays through them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use gpu_broad_phase::{Aabb, Ray};

use crate::args::{BenchArgs, Make, ReadingArgs};
use crate::engine::is_finite;
use crate::generate::{Random, boxes, boxes_of, check_room};
use crate::input;
use crate::mesh::Kind;
use crate::report::Reporter;

/// The scenes that can be made.
const MADE: [Make; 5] = [
    Make::Uniform,
    Make::PowerLaw,
    Make::Clustered,
    Make::Planar,
    Make::OneCell,
];
/// The largest parameter of made rays, where all hits are asked for.
const ALL_HITS_T: f32 = 16.0;
/// Elements whose boxes a folder of two frames stands for.
const ALL_ELEMENTS: [Kind; 3] = [Kind::Vertices, Kind::Edges, Kind::Faces];

pub enum Source {
    Made(Make),
    File(PathBuf),
    /// Of two frames of a mesh.
    Folder(PathBuf),
}

pub struct Scene {
    pub name: String,
    pub is_one_cell: bool,
    pub boxes: Vec<Aabb>,
    pub dimensions: u8,
    /// Two corners.
    world: [[f64; 3]; 2],
}

/// The same rays to be asked for their closest hit and for all.
pub struct Rays {
    pub closest: Vec<Ray>,
    pub all: Vec<Ray>,
}

impl Source {
    /// What is named, apart by commas.
    pub fn parse(names: &str) -> Result<Vec<Self>> {
        if Path::new(names).exists() {
            return Ok(vec![Self::of_path(Path::new(names))]);
        }
        names.split(',').map(Self::of_name).collect()
    }

    fn of_name(name: &str) -> Result<Self> {
        let known = MADE.map(|kind| kind.to_possible_value());
        if let Some(place) = known.iter().flatten().position(|known| known.matches(name, false)) {
            return Ok(Self::Made(MADE[place]));
        }
        let names: Vec<_> = known.iter().flatten().map(|known| known.get_name()).collect();
        ensure!(
            input::exists(Path::new(name)),
            "{name}: no such file, and not one of {}",
            names.join(", ")
        );
        Ok(Self::of_path(Path::new(name)))
    }

    fn of_path(path: &Path) -> Self {
        if path.is_dir() {
            Self::Folder(path.to_owned())
        } else {
            Self::File(path.to_owned())
        }
    }

    /// The sizes that it is measured in; a file has its own.
    pub fn counts(&self, args: &BenchArgs) -> Vec<Option<u32>> {
        match self {
            Self::Made(_) => args.count.iter().copied().map(Some).collect(),
            Self::File(_) | Self::Folder(_) => vec![None],
        }
    }

    pub fn load(&self, count: Option<u32>, args: &BenchArgs, reporter: Reporter) -> Result<Scene> {
        match (self, count) {
            (Self::Made(kind), Some(count)) => make(*kind, count, args),
            (Self::Folder(path), _) => {
                let reading = ReadingArgs {
                    dimensions: args.reading.dimensions,
                    elements: ALL_ELEMENTS.to_vec(),
                    next: Some(path.join("frame1.ply")),
                };
                read(&path.join("frame0.ply"), path, &reading, reporter)
            }
            (Self::File(path), _) => read(path, path, &args.reading, reporter),
            (Self::Made(_), None) => unreachable!("made scenes have counts"),
        }
    }
}

fn make(kind: Make, count: u32, args: &BenchArgs) -> Result<Scene> {
    let dimensions = args.reading.dimensions.unwrap_or(3);
    let axes = usize::from(dimensions);
    check_room(count, 2 * axes)?;
    let values = boxes_of(kind, count, axes, &mut Random::new(args.seed)).context("no boxes")?;
    let corner =
        |row: &[f32], from: usize| std::array::from_fn(|axis| if axis < axes { row[from + axis] } else { 0.0 });
    let boxes: Vec<_> = values
        .chunks_exact(2 * axes)
        .map(|row| Aabb::new(corner(row, 0), corner(row, axes)))
        .collect();
    let side = match kind {
        Make::Uniform => Some(boxes::uniform_side(count, axes)),
        Make::PowerLaw => Some(boxes::power_law_side(count, axes)),
        _ => None,
    };
    let name = kind.to_possible_value().context("a kind without a name")?;
    Ok(Scene {
        name: name.get_name().to_owned(),
        is_one_cell: kind == Make::OneCell,
        world: side.map_or_else(|| bounds(&boxes), |side| [[0.0; 3], [side; 3]]),
        boxes,
        dimensions,
    })
}

fn read(path: &Path, named: &Path, reading: &ReadingArgs, reporter: Reporter) -> Result<Scene> {
    let scene = input::scene(path, reading, reporter)?;
    let name = || named.display().to_string();
    ensure!(!scene.boxes.is_empty(), "{}: no boxes", name());
    // Trees and grids on the CPU have no notion of others.
    if let Some(row) = scene.boxes.iter().position(|boxed| !is_finite(boxed)) {
        let text = "infinite or invalid, which peers do not know what to do with";
        anyhow::bail!("{}: box {row} is {text}", name());
    }
    // Peers have no filters either.
    let boxes: Vec<_> = scene
        .boxes
        .iter()
        .map(|boxed| Aabb::new(boxed.min, boxed.max))
        .collect();
    let stem = named.file_stem().unwrap_or_default();
    Ok(Scene {
        name: stem.to_string_lossy().replace(',', " "),
        is_one_cell: false,
        world: bounds(&boxes),
        boxes,
        dimensions: scene.dimensions,
    })
}

fn bounds(boxes: &[Aabb]) -> [[f64; 3]; 2] {
    let of = |corner: fn(&Aabb) -> [f32; 3], start: f64, pick: fn(f64, f64) -> f64| {
        std::array::from_fn(|axis| {
            let values = boxes.iter().map(|boxed| f64::from(corner(boxed)[axis]));
            values.fold(start, pick)
        })
    };
    [
        of(|boxed| boxed.min, f64::INFINITY, f64::min),
        of(|boxed| boxed.max, f64::NEG_INFINITY, f64::max),
    ]
}

impl Scene {
    /// The rays that are asked for, if any.
    pub fn rays(&self, args: &BenchArgs, reporter: Reporter) -> Result<Option<Rays>> {
        if let Some(path) = &args.rays {
            let given = input::rays(path, self.dimensions, reporter)?;
            ensure!(!given.is_empty(), "{}: no rays", path.display());
            let is_fit = |ray: &Ray| {
                let numbers = ray.origin.iter().chain(&ray.direction);
                numbers.clone().all(|value| value.is_finite()) && ray.t_max >= 0.0
            };
            if let Some(row) = given.iter().position(|ray| !is_fit(ray)) {
                anyhow::bail!("{}: ray {row} is infinite or invalid", path.display());
            }
            return Ok(Some(Rays {
                closest: given.clone(),
                all: given,
            }));
        }
        let Some(count) = args.ray_count else { return Ok(None) };
        let axes = usize::from(self.dimensions);
        check_room(count, 2 * axes + 1)?;
        // Not the numbers that the boxes are made of.
        let random = &mut Random::new(args.seed.wrapping_add(1));
        let values = boxes::rays(count, axes, self.world, ALL_HITS_T, random);
        let vector =
            |row: &[f32], from: usize| std::array::from_fn(|axis| if axis < axes { row[from + axis] } else { 0.0 });
        let all: Vec<_> = values
            .chunks_exact(2 * axes + 1)
            .map(|row| Ray::new(vector(row, 0), vector(row, axes), row[2 * axes]))
            .collect();
        let closest = all.iter().map(|ray| Ray {
            t_max: f32::INFINITY,
            ..*ray
        });
        Ok(Some(Rays {
            closest: closest.collect(),
            all,
        }))
    }
}
