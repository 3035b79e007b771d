//! A ray and the exact test of a box against it: the twin of `shaders/common/ray.wgsl`.
//!
//! The slab test (Kay and Kajiya, "Ray Tracing Complex Scenes", 1986) in one formula that gives the same bits on every
//! device.

use crate::grid::{flush, ordered, unordered};
use crate::types::Ray;

pub(crate) const LARGEST_FLOAT: f32 = f32::MAX;
/// 1 + 2^-21 outweighs the rounding of a difference, an inverse and a product on both sides, so that no hit of exact
/// arithmetic is lost.
const FAR_WIDENING: f32 = f32::from_bits(0x3f80_0004);

/// A ray as the passes hold it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadedRay {
    /// Where it starts, denormals flushed.
    pub origin: [f32; 3],
    /// The largest parameter: finite, or −1 where nothing is hit.
    pub t_max: f32,
    /// Where it goes, denormals flushed.
    pub direction: [f32; 3],
    /// Neither a NaN nor an infinite origin nor a direction component beyond 2^126.
    pub valid: bool,
    /// Correctly rounded inverses of the direction; 1 where it is zero.
    pub inverse: [f32; 3],
    /// The origin as ordered integers, denormals kept.
    pub origin_ordered: [i32; 3],
    /// Which axes the ray moves along.
    pub moves: [bool; 3],
    /// The world that it is cast in.
    pub world: u32,
}

/// Correctly rounded `1 / x` of the bits of a normal float up to 2^126, by long division of mantissas: 2^47 / m in three
/// steps.
pub fn reciprocal(bits: u32) -> f32 {
    let one = 0x0080_0000u32;
    let mantissa = (bits & 0x007f_ffff) | one;
    let exponent = (bits >> 23) & 0xff;
    let mut remainder = one;
    let mut quotient = 0u32;
    for _ in 0..3 {
        let wide = remainder << 8;
        quotient = (quotient << 8) | (wide / mantissa);
        remainder = wide % mantissa;
    }
    quotient += u32::from(remainder * 2 > mantissa);
    let magnitude = if mantissa == one {
        254u32.wrapping_sub(exponent) << 23
    } else {
        (253u32.wrapping_sub(exponent) << 23).wrapping_add(quotient.wrapping_sub(one))
    };
    f32::from_bits(magnitude | (bits & 0x8000_0000))
}

/// The ray as the passes hold it.
pub fn load_ray(ray: &Ray) -> LoadedRay {
    let magnitude = |value: f32| value.to_bits() & 0x7fff_ffff;
    let limit = ray.t_max.to_bits();
    let moves = ray.direction.map(|component| magnitude(component) >= 0x0080_0000);
    LoadedRay {
        valid: ray.origin.iter().all(|&component| magnitude(component) < 0x7f80_0000)
            && ray
                .direction
                .iter()
                .all(|&component| magnitude(component) <= 0x7e80_0000)
            && magnitude(ray.t_max) <= 0x7f80_0000,
        t_max: if limit > 0x8000_0000 {
            -1.0
        } else {
            flush(f32::from_bits((limit & 0x7fff_ffff).min(0x7f7f_ffff)))
        },
        moves,
        world: 0,
        origin: ray.origin.map(flush),
        direction: ray.direction.map(flush),
        origin_ordered: ray.origin.map(ordered),
        inverse: std::array::from_fn(|axis| {
            if moves[axis] {
                reciprocal(ray.direction[axis].to_bits())
            } else {
                1.0
            }
        }),
    }
}

/// Where the ray enters the box of ordered integers, if it does.
pub fn enter_box(ray: &LoadedRay, low: &[i32; 3], high: &[i32; 3]) -> Option<f32> {
    let mut t = 0f32;
    let mut limit = ray.t_max * FAR_WIDENING;
    for axis in 0..3 {
        // An axis without motion is met always or never.
        let (near, far) = if ray.moves[axis] {
            let at = |bound: i32| flush(flush(flush(unordered(bound)) - ray.origin[axis]) * ray.inverse[axis]);
            let (near, far) = if ray.inverse[axis] > 0.0 {
                (at(low[axis]), at(high[axis]))
            } else {
                (at(high[axis]), at(low[axis]))
            };
            (near, far * FAR_WIDENING)
        } else if low[axis] <= ray.origin_ordered[axis] && ray.origin_ordered[axis] <= high[axis] {
            (0.0, LARGEST_FLOAT)
        } else {
            (0.0, -1.0)
        };
        t = t.max(near);
        limit = limit.min(far);
    }
    (t <= limit && t <= LARGEST_FLOAT).then_some(t.min(ray.t_max))
}
