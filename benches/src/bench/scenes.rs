use anyhow::{Result, bail};
use gpu_broad_phase::{Aabb, Dimensions, Query, Ray};

use crate::generate::{Distribution, Random, boxes, check_room, vector};

const ALL_HITS_T: f32 = 16.0;

pub struct Scene {
    pub name: String,
    pub is_one_cell: bool,
    pub boxes: Vec<Aabb>,
    pub dimensions: Dimensions,
    world: [[f64; 3]; 2],
}

pub struct Rays {
    pub closest: Vec<Ray>,
    pub all: Vec<Ray>,
}

impl Scene {
    pub fn random(distribution: Distribution, count: u32, dimensions: Dimensions, seed: u64) -> Result<Self> {
        let axes = dimensions.count() as usize;
        check_room(count, 2 * axes)?;
        let boxes = distribution.boxes(count, axes, &mut Random::new(seed));
        let side = match distribution {
            Distribution::Uniform => Some(boxes::uniform_side(count, axes)),
            Distribution::PowerLaw => Some(boxes::power_law_side(count, axes)),
            _ => None,
        };
        Ok(Self {
            name: distribution.name().to_owned(),
            is_one_cell: distribution == Distribution::OneCell,
            world: side.map_or_else(|| bounds(&boxes), |side| [[0.0; 3], [side; 3]]),
            boxes,
            dimensions,
        })
    }

    /// Drops layers and groups, which peers lack. Fails without boxes, or if one is invalid or infinite.
    pub fn of_boxes(name: String, boxes: &[Aabb], dimensions: Dimensions) -> Result<Self> {
        if boxes.is_empty() {
            bail!("no boxes");
        }
        if let Some(row) = boxes.iter().position(|boxed| !is_finite(boxed)) {
            bail!("box {row} is infinite or invalid: peers need finite boxes");
        }
        let boxes: Vec<_> = boxes.iter().map(|boxed| Aabb::new(boxed.min, boxed.max)).collect();
        Ok(Self {
            name,
            is_one_cell: false,
            world: bounds(&boxes),
            boxes,
            dimensions,
        })
    }

    pub fn random_rays(&self, count: u32, seed: u64) -> Result<Rays> {
        let axes = self.dimensions.count() as usize;
        check_room(count, 2 * axes + 1)?;
        let random = &mut Random::new(seed.wrapping_add(1));
        let rows = boxes::rays(count, axes, self.world, ALL_HITS_T, random);
        let ray = |row: &[f32]| Ray::new(vector(&row[..axes]), vector(&row[axes..2 * axes]), row[2 * axes]);
        let all: Vec<_> = rows.chunks_exact(2 * axes + 1).map(ray).collect();
        let closest = all.iter().map(|ray| Ray {
            t_max: f32::INFINITY,
            ..*ray
        });
        Ok(Rays {
            closest: closest.collect(),
            all,
        })
    }
}

pub struct Spheres {
    pub within: Vec<Query>,
    /// Without a radius.
    pub nearest: Vec<Query>,
}

pub const NEAREST: u32 = 8;

impl Spheres {
    /// Spheres as large as the share of eight boxes in the world.
    pub fn new(scene: &Scene, rays: &Rays) -> Self {
        let [low, high] = scene.world;
        let axes = scene.dimensions.count();
        let volume: f64 = (0..axes as usize).map(|axis| high[axis] - low[axis]).product();
        let radius = 0.5 * (8.0 * volume / scene.boxes.len() as f64).powf(1.0 / f64::from(axes));
        let around = |radius: f32| {
            rays.closest
                .iter()
                .map(|ray| Query::sphere(ray.origin, radius))
                .collect()
        };
        Self {
            within: around(radius as f32),
            nearest: around(f32::MAX),
        }
    }
}

impl Rays {
    pub fn of_rays(rays: Vec<Ray>) -> Result<Self> {
        if rays.is_empty() {
            bail!("no rays");
        }
        let is_finite = |ray: &Ray| {
            let mut numbers = ray.origin.iter().chain(&ray.direction);
            numbers.all(|value| value.is_finite()) && ray.t_max >= 0.0
        };
        if let Some(row) = rays.iter().position(|ray| !is_finite(ray)) {
            bail!("ray {row} is infinite or invalid: peers need finite rays");
        }
        Ok(Self {
            closest: rays.clone(),
            all: rays,
        })
    }
}

pub fn is_finite(boxed: &Aabb) -> bool {
    (0..3).all(|axis| boxed.min[axis].is_finite() && boxed.max[axis].is_finite() && boxed.min[axis] <= boxed.max[axis])
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
