//! Random boxes, points and rays, the same on every machine.

pub mod boxes;
mod random;

use anyhow::{Result, ensure};
use gpu_broad_phase::Aabb;

pub use random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    Uniform,
    PowerLaw,
    Clustered,
    Planar,
    OneCell,
    Lattice,
}

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
    fn too_many_rows_fail_before_they_are_made() {
        assert!(check_room(1_000, 7).is_ok());
        assert!(check_room(u32::MAX, 1 << 30).is_err());
        assert!(check_room(u32::MAX, usize::MAX).is_err());
    }
}
