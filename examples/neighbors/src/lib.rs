//! Neighbours within a radius, with all periodic images, exact in f64.
//!
//! [`Spaces::boxes`] returns f32 boxes around points and images for a step; their pairs include all neighbours.
//! [`Links`] keeps the pairs that are near in f64.

mod lattice;
mod links;
mod ruler;
mod spaces;
#[cfg(test)]
mod tests;

pub use lattice::Lattice;
pub use links::{Links, SHARE};
pub use spaces::{Boxes, Refused, Spaces};

pub type Vector = [f64; 3];

pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Avoids squares, which may overflow or become 0.
pub fn length(vector: Vector) -> f64 {
    vector.into_iter().fold(0.0, f64::hypot)
}

/// [`length`], faster where squares are normal numbers.
pub fn distance(offset: Vector) -> f64 {
    let squared = dot(offset, offset);
    if squared.is_normal() {
        squared.sqrt()
    } else {
        length(offset)
    }
}

/// Largest float ≤ `number`. Branches would be mispredicted, so there are none.
pub fn round_down(number: f64) -> f32 {
    let nearest = number as f32;
    stepped(nearest, -i32::from(f64::from(nearest) > number))
}

/// Smallest float ≥ `number`.
pub fn round_up(number: f64) -> f32 {
    let nearest = number as f32;
    stepped(nearest, i32::from(f64::from(nearest) < number))
}

/// The next float up or down. It never crosses 0, because rounding keeps the sign.
fn stepped(float: f32, step: i32) -> f32 {
    let bits = float.to_bits() as i32;
    // Bits of negative floats ascend as the floats descend.
    let sign = 1 | (bits >> 31);
    f32::from_bits((bits + sign * step) as u32)
}
