//! Random boxes, points and rays, the same on every machine.

pub mod boxes;
mod motion;
mod random;
mod thin;

use anyhow::{Result, ensure};
use gpu_broad_phase::Aabb;

pub use motion::{Motion, Moving};
pub use random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    Uniform,
    PowerLaw,
    Clustered,
    Planar,
    OneCell,
    Lattice,
    /// Along one axis, on two, on three.
    Rods(u8),
    Pareto,
    Plates,
    CubesAndRods,
    Bars,
    Hair,
    Triangles,
}

/// Scenes of long and of flat boxes.
pub const THIN: [Distribution; 9] = [
    Distribution::Rods(1),
    Distribution::Rods(2),
    Distribution::Rods(3),
    Distribution::Pareto,
    Distribution::Plates,
    Distribution::CubesAndRods,
    Distribution::Bars,
    Distribution::Hair,
    Distribution::Triangles,
];

impl Distribution {
    /// As in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::PowerLaw => "power-law",
            Self::Clustered => "clustered",
            Self::Planar => "planar",
            Self::OneCell => "one-cell",
            Self::Lattice => "lattice",
            Self::Rods(1) => "rods",
            Self::Rods(2) => "rods-2",
            Self::Rods(_) => "rods-3",
            Self::Pareto => "pareto",
            Self::Plates => "plates",
            Self::CubesAndRods => "cubes-rods",
            Self::Bars => "bars",
            Self::Hair => "hair",
            Self::Triangles => "triangles",
        }
    }

    /// A row per box: `axes` mins, then `axes` maxes.
    pub fn rows(self, count: u32, axes: usize, random: &mut Random) -> Vec<f32> {
        let make = match self {
            Self::Uniform => boxes::uniform,
            Self::PowerLaw => boxes::power_law,
            Self::Clustered => boxes::clustered,
            Self::Planar => boxes::planar,
            Self::OneCell => boxes::one_cell,
            Self::Lattice => boxes::lattice,
            Self::Rods(directions) => return thin::rods(count, axes, usize::from(directions), random),
            Self::Pareto => thin::pareto,
            Self::Plates => thin::plates,
            Self::CubesAndRods => thin::cubes_and_rods,
            Self::Bars => thin::bars,
            Self::Hair => thin::hair,
            Self::Triangles => thin::triangles,
        };
        make(count, axes, random)
    }

    pub fn boxes(self, count: u32, axes: usize, random: &mut Random) -> Vec<Aabb> {
        let rows = self.rows(count, axes, random);
        let boxes = rows.chunks_exact(2 * axes);
        boxes
            .map(|row| Aabb::new(vector(&row[..axes]), vector(&row[axes..])))
            .collect()
    }
}

pub fn vector(coordinates: &[f32]) -> [f32; 3] {
    std::array::from_fn(|axis| coordinates.get(axis).copied().unwrap_or(0.0))
}

pub fn check_room(count: u32, columns: usize) -> Result<()> {
    let values = (count as usize).checked_mul(columns);
    let fits = |values| Vec::<f32>::new().try_reserve_exact(values).is_ok();
    ensure!(
        values.is_some_and(fits),
        "--count {count} exceeds memory: use a smaller count"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_thin_boxes_are_thin() {
        for axes in [2, 3] {
            for distribution in THIN {
                let boxes = distribution.boxes(3000, axes, &mut Random::new(1));
                let aspect = |boxed: &Aabb| {
                    let edges: Vec<_> = (0..axes).map(|axis| boxed.max[axis] - boxed.min[axis]).collect();
                    assert!(edges.iter().all(|edge| *edge >= 0.0), "{boxed:?}");
                    edges.iter().fold(0.0, |a: f32, b| a.max(*b)) / edges.iter().fold(f32::MAX, |a, b| a.min(*b))
                };
                let thin = boxes.iter().filter(|boxed| aspect(boxed) >= 4.0).count();
                assert_eq!(boxes.len(), 3000);
                assert!(thin >= 700, "{}: {thin}", distribution.name());
            }
        }
    }

    #[test]
    fn too_many_rows_fail_before_they_are_made() {
        assert!(check_room(1_000, 7).is_ok());
        assert!(check_room(u32::MAX, 1 << 30).is_err());
        assert!(check_room(u32::MAX, usize::MAX).is_err());
    }
}
