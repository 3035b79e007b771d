//! Reference pass of `shaders/rays/ray.wgsl`. Doubles cannot overflow here, so this one test equals both of the
//! shader's.

use crate::api::types::SweptRay;
use crate::layout::grid::{Params, flush, ordered, unordered};

pub(crate) const LARGEST_FLOAT: f32 = f32::MAX;
pub(crate) const FAR_WIDENING: f64 = 1.0 + 4.0 * f32::EPSILON as f64;
const SPARE_BITS: u32 = 29;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadedRay {
    /// Origin, with denormals flushed.
    pub origin: [f32; 3],
    /// Largest parameter: finite, or −1 if nothing is hit.
    pub t_max: f32,
    /// Direction, with denormals flushed.
    pub direction: [f32; 3],
    /// True if the ray is valid; see [`Ray`](crate::Ray) and [`SweptRay`].
    pub valid: bool,
    /// Correctly rounded inverse of the direction; 1 on axes without motion.
    pub inverse: [f32; 3],
    /// Origin as ordered integers, with denormals kept.
    pub origin_ordered: [i32; 3],
    pub moves: [bool; 3],
    pub world: u32,
    /// Smallest parameter: finite, at least 0.
    pub t_min: f32,
    /// Half extents of the swept box, with denormals flushed.
    pub half_extents: [f32; 3],
    pub layers: u32,
}

/// Correctly rounded `1 / x` of a normal float up to 2^126, from its bits.
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

/// Reads only `dimensions` and `world_count` of `params`.
pub fn load_ray(params: &Params, ray: &SweptRay) -> LoadedRay {
    let SweptRay {
        mut ray,
        mut half_extents,
        t_min,
        world,
        ..
    } = *ray;
    if params.dimensions == 2 {
        (ray.origin[2], ray.direction[2], half_extents[2]) = (0.0, 0.0, 0.0);
    }
    let magnitude = |value: f32| value.to_bits() & 0x7fff_ffff;
    let limit = ray.t_max.to_bits();
    let t_max = if limit > 0x8000_0000 {
        -1.0
    } else {
        flush(f32::from_bits((limit & 0x7fff_ffff).min(0x7f7f_ffff)))
    };
    let start = if t_min > 0.0 { flush(t_min.min(f32::MAX)) } else { 0.0 };
    let moves = ray.direction.map(|component| magnitude(component) >= 0x0080_0000);
    LoadedRay {
        valid: ray.origin.iter().all(|&component| magnitude(component) < 0x7f80_0000)
            && ray
                .direction
                .iter()
                .all(|&component| magnitude(component) <= 0x7e80_0000)
            && !ray.t_max.is_nan()
            && !t_min.is_nan()
            && half_extents.iter().all(|&extent| {
                magnitude(extent) < 0x7f80_0000 && (extent.is_sign_positive() || magnitude(extent) == 0)
            })
            && world < params.world_count,
        t_max: if t_min == f32::INFINITY || start > t_max {
            -1.0
        } else {
            t_max
        },
        moves,
        world,
        t_min: start,
        half_extents: half_extents.map(flush),
        layers: ray.layers,
        origin: ray.origin.map(flush),
        direction: ray.direction.map(flush),
        origin_ordered: ray.origin.map(ordered),
        inverse: std::array::from_fn(|axis| {
            // Rounded as `reciprocal`.
            if moves[axis] { 1.0 / ray.direction[axis] } else { 1.0 }
        }),
    }
}

/// Rounds to the mantissa of a float, ties to even, with any exponent.
pub(crate) fn rounded(value: f64) -> f64 {
    let bits = value.to_bits();
    let half = (1 << (SPARE_BITS - 1)) - 1 + (bits >> SPARE_BITS & 1);
    f64::from_bits((bits + half) >> SPARE_BITS << SPARE_BITS)
}

/// Returns `to - from` of finite floats, rounded like a float, with any exponent.
pub(crate) fn way(from: f32, to: f32) -> f64 {
    let way = to - from;
    if way.is_finite() {
        f64::from(way)
    } else {
        2.0 * f64::from(0.5 * to - 0.5 * from)
    }
}

pub(crate) fn grown(bound: i32, extent: f32, direction: i32) -> i32 {
    let infinity = ordered(f32::INFINITY);
    let moved = ordered(unordered(bound) + direction as f32 * extent);
    if bound.abs() == infinity {
        bound
    } else {
        (moved + direction).clamp(-infinity, infinity)
    }
}

/// Returns the parameter at which the ray enters the box of ordered integers, at least `t_min`; `None` if it misses.
pub fn enter_box(ray: &LoadedRay, low: &[i32; 3], high: &[i32; 3]) -> Option<f32> {
    let mut near = 0.0f64;
    let mut far = f64::from(ray.t_max);
    for axis in 0..3 {
        let (mut low, mut high) = (low[axis], high[axis]);
        if ray.half_extents[axis] > 0.0 {
            low = grown(low, ray.half_extents[axis], -1);
            high = grown(high, ray.half_extents[axis], 1);
        }
        let origin = ray.origin_ordered[axis];
        if !ray.moves[axis] {
            if low > origin || origin > high {
                return None;
            }
            continue;
        }
        let (first, last) = if ray.inverse[axis] > 0.0 {
            (low, high)
        } else {
            (high, low)
        };
        let endless = ordered(f32::INFINITY.copysign(ray.inverse[axis]));
        if first == endless {
            return None;
        }
        let at = |bound: i32| rounded(way(unordered(origin), unordered(bound)) * f64::from(ray.inverse[axis]));
        if first != -endless {
            near = near.max(at(first));
        }
        if last == -endless {
            return None;
        }
        if last != endless {
            far = far.min(at(last));
        }
    }
    let start = near.max(f64::from(ray.t_min));
    if far < 0.0 || start > rounded(far * FAR_WIDENING) || start > f64::from(f32::MAX) {
        return None;
    }
    let near = if near > f64::from(f32::MIN_POSITIVE) {
        near as f32
    } else {
        0.0
    };
    Some(near.max(ray.t_min).min(ray.t_max))
}
