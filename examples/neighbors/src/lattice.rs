use crate::{Vector, dot, length};

fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn unit(vector: Vector) -> Vector {
    vector.map(|number| number / length(vector))
}

/// Vectors of a cell, zero on axes without a period.
#[derive(Clone, Copy, Default)]
pub struct Lattice {
    pub vectors: [Vector; 3],
    /// Times a position: its coordinates in cells.
    pub(crate) reciprocal: [Vector; 3],
    /// Cells per distance.
    pub(crate) density: Vector,
}

impl Lattice {
    /// Returns `None` if the vectors are in one plane, or the reciprocal overflows.
    pub fn new(vectors: [Vector; 3]) -> Option<Self> {
        let mut axes = vectors.map(|vector| if length(vector) > 0.0 { unit(vector) } else { vector });
        for axis in 0..3 {
            let [next, last] = [axes[(axis + 1) % 3], axes[(axis + 2) % 3]];
            // Axes without a period are perpendicular to the others.
            if length(axes[axis]) == 0.0 {
                let other = if length(last) > 0.0 { last } else { next };
                let least = (0..3).min_by(|&a, &b| other[a].abs().total_cmp(&other[b].abs()))?;
                let aside = std::array::from_fn(|at| f64::from(u8::from(at == least)));
                axes[axis] = match (length(next) > 0.0, length(last) > 0.0) {
                    (true, true) => unit(cross(next, last)),
                    (false, false) => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]][axis],
                    _ => unit(cross(other, aside)),
                };
            }
        }
        let volume = dot(axes[0], cross(axes[1], axes[2]));
        let mut reciprocal = [[0.0; 3]; 3];
        for axis in 0..3 {
            let size = length(vectors[axis]);
            if size > 0.0 {
                let normal = cross(axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
                reciprocal[axis] = normal.map(|number| number / volume / size);
            }
        }
        let is_flat = volume.is_nan() || volume.abs() < 1e-13;
        let is_good = !is_flat && reciprocal.iter().flatten().all(|number| number.is_finite());
        let density = reciprocal.map(length);
        is_good.then_some(Self {
            vectors,
            reciprocal,
            density,
        })
    }

    /// Coordinates of a position in cells, 0 on axes without a period.
    #[inline]
    pub fn scaled(&self, position: Vector) -> Vector {
        self.reciprocal.map(|axis| dot(axis, position))
    }
}
