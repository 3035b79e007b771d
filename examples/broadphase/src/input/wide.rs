//! Input in f64, and the origin from which all of it is measured in f32.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gpu_broad_phase::{Aabb, LocalOrigin, Ray, Rays, Source, SweptRay};

use super::{Scene, Table, dimensions_of_boxes, invalid, name, row, warn_all, warn_of};
use crate::mesh::{Mesh, Selection, boxes, sample};
use crate::report::Reporter;

pub struct WideScene {
    path: PathBuf,
    pub dimensions: u8,
    content: Content,
}

enum Content {
    Table(Table),
    Mesh {
        mesh: Mesh,
        next: Option<Mesh>,
        selection: Selection,
    },
}

impl WideScene {
    pub(super) fn of_table(path: &Path, table: Table) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            dimensions: dimensions_of_boxes(&table)?,
            content: Content::Table(table),
        })
    }

    pub(super) fn of_mesh(path: &Path, mesh: Mesh, next: Option<Mesh>, selection: Selection, dimensions: u8) -> Self {
        Self {
            path: path.to_owned(),
            dimensions,
            content: Content::Mesh { mesh, next, selection },
        }
    }

    /// Scene without other inputs. Its origin is a multiple of `cell`.
    pub fn alone(self, cell: Option<f64>, reporter: Reporter) -> Result<Scene> {
        let origin = self.origin(true, cell, reporter);
        self.at(origin, reporter)
    }

    /// Origin of a scene and of other inputs, which are exact in f32 if `others_are_exact`. It is a multiple of `cell`.
    /// Warns if rounding is large beside the boxes.
    pub fn origin(&self, others_are_exact: bool, cell: Option<f64>, reporter: Reporter) -> LocalOrigin {
        if others_are_exact && self.is_exact() {
            return LocalOrigin::default();
        }
        let sample = self.sample();
        let origin = LocalOrigin::for_boxes(sample.iter().copied(), cell);
        if origin != LocalOrigin::default() {
            let [x, y, z] = origin.position;
            reporter.say(format!("coordinates are measured from {x},{y},{z}"));
        }
        if let Some([step, side]) = origin.coarse_step(sample) {
            warn_all(
                &self.path,
                [format!(
                    "coordinates are rounded to steps of up to {step}, and the median side of boxes is {side}: results \
                     may include boxes that are up to two steps apart"
                )],
            );
        }
        origin
    }

    fn is_exact(&self) -> bool {
        match &self.content {
            // Invalid rows are ignored, whatever their numbers.
            Content::Table(table) => table
                .rows()
                .all(|row| all_exact(row) || invalid::of_box(&corners(row)).is_some()),
            Content::Mesh { mesh, next, .. } => [Some(mesh), next.as_ref()]
                .into_iter()
                .flatten()
                .all(|mesh| all_exact(mesh.positions.as_flattened())),
        }
    }

    fn sample(&self) -> Vec<[[f64; 3]; 2]> {
        match &self.content {
            Content::Table(table) => LocalOrigin::sample(table.len())
                .map(|index| corners(&table.values[index * table.columns..][..table.columns]))
                .collect(),
            Content::Mesh { mesh, .. } => sample(mesh),
        }
    }

    pub fn at(self, origin: LocalOrigin, reporter: Reporter) -> Result<Scene> {
        let path = &self.path;
        let (boxes, elements) = match &self.content {
            Content::Table(table) => {
                warn_of(path, "boxes", table.rows().map(corners), invalid::of_box, row);
                (boxes_of_table(table, origin), None)
            }
            Content::Mesh { mesh, next, selection } => {
                let (boxes, elements) = boxes(mesh, next.as_ref(), selection, origin).with_context(|| name(path))?;
                let [vertices, edges, faces] = elements.totals;
                reporter.say(format!(
                    "{}: {vertices} vertices, {edges} edges, {faces} faces",
                    name(path)
                ));
                let bounds = boxes.iter().map(|boxed| bounds(boxed, origin));
                let id = |index| format!("element {}", elements.id(index as u32));
                warn_of(path, "elements", bounds, invalid::of_box, id);
                (boxes, Some(elements))
            }
        };
        Ok(Scene {
            boxes,
            dimensions: self.dimensions,
            elements,
            origin,
        })
    }
}

/// Query boxes and points.
pub struct WideBoxes {
    path: PathBuf,
    corners: Vec<[[f64; 3]; 2]>,
    filters: Vec<[u32; 2]>,
    /// Name of a row or vertex in warnings.
    place: fn(usize) -> String,
}

impl WideBoxes {
    pub(super) fn of_table(path: &Path, table: &Table) -> Self {
        Self {
            path: path.to_owned(),
            corners: table.rows().map(corners).collect(),
            filters: table.filters.clone().unwrap_or_default(),
            place: row,
        }
    }

    pub(super) fn of_points(path: &Path, points: Vec<[f64; 3]>, place: fn(usize) -> String) -> Self {
        Self {
            path: path.to_owned(),
            corners: points.into_iter().map(|point| [point; 2]).collect(),
            filters: Vec::new(),
            place,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_exact(&self) -> bool {
        all_exact(self.corners.as_flattened().as_flattened())
    }

    pub fn at(&self, origin: LocalOrigin) -> Vec<Aabb> {
        let boxes = self.corners.iter().map(|&[min, max]| origin.aabb(min, max)).collect();
        let boxes = filtered(boxes, &self.filters);
        warn_of(
            &self.path,
            "queries",
            self.corners.iter(),
            |corners| invalid::of_box(corners),
            self.place,
        );
        boxes
    }
}

pub struct WideRays {
    path: PathBuf,
    table: Table,
    axes: usize,
}

/// Rays are plain if they are exact in f32.
pub enum RayList {
    Plain(Vec<Ray>),
    Swept(Vec<SweptRay>),
}

impl WideRays {
    pub(super) fn new(path: &Path, table: Table, dimensions: u8) -> Self {
        Self {
            path: path.to_owned(),
            table,
            axes: usize::from(dimensions),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn count(&self) -> usize {
        self.table.len()
    }

    pub fn is_exact(&self) -> bool {
        self.table.rows().all(|row| all_exact(&row[..2 * self.axes]))
    }

    pub fn at(&self, origin: LocalOrigin) -> RayList {
        let axes = self.axes;
        let swept = |row: &[f64]| {
            let [start, direction] = [0, axes].map(|from| padded(&row[from..from + axes]));
            origin.swept_ray(start, direction, row.get(2 * axes).copied().unwrap_or(f64::INFINITY))
        };
        let rays: Vec<_> = self.table.rows().map(swept).collect();
        warn_of(
            &self.path,
            "rays",
            rays.iter(),
            |swept| invalid::of_ray(&swept.ray),
            row,
        );
        if rays.iter().all(|swept| swept.half_extents == [0.0; 3]) {
            return RayList::Plain(rays.into_iter().map(|swept| swept.ray).collect());
        }
        RayList::Swept(rays)
    }
}

impl RayList {
    pub fn as_rays(&self) -> Rays<'_> {
        match self {
            Self::Plain(rays) => Rays::Plain(Source::Host(rays)),
            Self::Swept(rays) => Rays::Swept(Source::Host(rays)),
        }
    }

    /// Rays without the half extents that cover their rounding.
    pub fn into_plain(self) -> Vec<Ray> {
        match self {
            Self::Plain(rays) => rays,
            Self::Swept(rays) => rays.into_iter().map(|swept| swept.ray).collect(),
        }
    }

    pub fn get(&self, ray: usize) -> SweptRay {
        match self {
            Self::Plain(rays) => rays[ray].into(),
            Self::Swept(rays) => rays[ray],
        }
    }
}

fn all_exact(numbers: &[f64]) -> bool {
    numbers.iter().all(|&number| LocalOrigin::is_exact(number))
}

/// Three coordinates. Missing ones are 0.
fn padded(numbers: &[f64]) -> [f64; 3] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or_default())
}

/// `[min, max]` in the coordinates of the file.
pub fn bounds(boxed: &Aabb, origin: LocalOrigin) -> [[f64; 3]; 2] {
    [boxed.min, boxed.max].map(|corner| origin.world(corner))
}

/// Lower and upper corner of a row: mins, then maxes.
fn corners(row: &[f64]) -> [[f64; 3]; 2] {
    let (min, max) = row.split_at(row.len() / 2);
    [padded(min), padded(max)]
}

fn boxes_of_table(table: &Table, origin: LocalOrigin) -> Vec<Aabb> {
    let boxes = table.rows().map(|row| {
        let [min, max] = corners(row);
        origin.aabb(min, max)
    });
    filtered(boxes.collect(), table.filters.as_deref().unwrap_or_default())
}

fn filtered(mut boxes: Vec<Aabb>, filters: &[[u32; 2]]) -> Vec<Aabb> {
    for (boxed, &[layers, group]) in boxes.iter_mut().zip(filters) {
        boxed.layers = layers;
        boxed.group = group;
    }
    boxes
}
