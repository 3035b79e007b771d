//! Bounds of boxes with center and half extents, as in `shaders/common/source.wgsl`.

const INFINITE: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// Bits of the smallest float not below `value + length`, both finite, `length` not negative. Overflow gives infinity.
const fn sum_upward(value: u32, length: u32) -> u32 {
    let is_negative = value >= SIGN;
    let exponents = [exponent(value & !SIGN), exponent(length)];
    let top = if exponents[0] > exponents[1] {
        exponents[0]
    } else {
        exponents[1]
    };
    // Fixed point in units of 2^(top - 156), six bits below the larger operand's last bit. Only the smaller operand may
    // lose bits.
    let magnitude = raised(value & !SIGN, top - exponents[0], !is_negative);
    let sum = if is_negative { -magnitude } else { magnitude } + raised(length, top - exponents[1], true);
    if sum == 0 {
        return 0;
    }
    let magnitude = sum.unsigned_abs();
    let (to_mantissa, to_denormal) = (8 - magnitude.leading_zeros() as i32, 7 - top as i32);
    let shift = if to_mantissa > to_denormal {
        to_mantissa
    } else {
        to_denormal
    };
    let mantissa = if shift > 0 {
        let kept = magnitude >> shift;
        kept + (sum > 0 && kept << shift != magnitude) as u32
    } else {
        magnitude << -shift
    };
    // The mantissa includes its leading bit, which adds one to the exponent, as does a carry.
    let bits = (((top as i32 + shift - 7) as u32) << 23) + mantissa;
    match sum {
        ..=0 => bits | SIGN,
        _ if bits > INFINITE => INFINITE,
        _ => bits,
    }
}

const fn exponent(magnitude: u32) -> u32 {
    match magnitude >> 23 {
        0 => 1,
        exponent => exponent,
    }
}

/// Mantissa with six more bits, shifted right by `shift`. Rounded up if `upward`, else toward zero.
const fn raised(magnitude: u32, shift: u32, upward: bool) -> i32 {
    let implied = if magnitude >> 23 == 0 { 0 } else { 0x0080_0000 };
    let mantissa = ((magnitude & 0x007f_ffff) | implied) << 6;
    let shift = if shift > 31 { 31 } else { shift };
    let kept = mantissa >> shift;
    (kept + (upward && kept << shift != mantissa) as u32) as i32
}

/// Bits of one bound of the smallest float box around `center - half` to `center + half`. NaN if an operand is NaN or
/// `half` is negative.
pub(crate) const fn bound_around(center: u32, half: u32, is_upper: bool) -> u32 {
    let (place, extent) = (center & !SIGN, half & !SIGN);
    if place > INFINITE || extent > INFINITE || half > SIGN {
        return 0x7fc0_0000;
    }
    // The lower bound is the negated upper bound of the box mirrored at zero.
    let side = if is_upper { 0 } else { SIGN };
    if extent == INFINITE {
        return INFINITE | side;
    }
    if place == INFINITE {
        return center;
    }
    match sum_upward(center ^ side, extent) {
        0 => 0,
        bound => bound ^ side,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// Compares `float` with the exact sum `a + b`: the sum in doubles plus its rounding error.
    fn against_sum(float: f32, a: f32, b: f32) -> Ordering {
        let [a, b] = [a, b].map(f64::from);
        let sum = a + b;
        let of_b = sum - a;
        let rest = (a - (sum - of_b)) + (b - of_b);
        let order = f64::from(float).total_cmp(&sum);
        if f64::from(float) == sum {
            0.0f64.partial_cmp(&rest).unwrap()
        } else {
            order
        }
    }

    #[test]
    fn bounds_are_the_nearest_floats_outward() {
        let mut state = 7u64;
        let mut bits = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let mut exact = 0;
        for index in 0..2_000_000u32 {
            let [mut center, mut half] = [bits(), bits() & !SIGN];
            // Special operands: of similar size, denormal, or with few bits.
            match index % 6 {
                0 => half = (center & 0x7f80_0000).wrapping_add((bits() % 5) << 23) & !SIGN | half & 0x007f_ffff,
                1 => half = (center & !SIGN).wrapping_add(bits() % 3),
                2 => [center, half] = [center & 0x81ff_ffff, half & 0x01ff_ffff],
                3 => [center, half] = [center & 0xfff8_0000, half & 0x7ff8_0000],
                4 => center = half ^ (bits() & SIGN),
                _ => {}
            }
            let [center, half] = [center, half].map(f32::from_bits);
            if !center.is_finite() || !half.is_finite() {
                continue;
            }
            let [low, high] =
                [false, true].map(|is_upper| f32::from_bits(bound_around(center.to_bits(), half.to_bits(), is_upper)));
            let what = format!("{center:e} +- {half:e}: {low:e} to {high:e}");
            let (above, below) = (against_sum(high, center, half), against_sum(-low, -center, half));
            assert!(above.is_ge() && below.is_ge(), "{what}");
            exact += u32::from(above.is_eq()) + u32::from(below.is_eq());
            if above.is_gt() {
                assert!(against_sum(high.next_down(), center, half).is_lt(), "{what}");
            }
            if below.is_gt() {
                assert!(against_sum((-low).next_down(), -center, half).is_lt(), "{what}");
            }
            assert!(low.to_bits() != SIGN && high.to_bits() != SIGN, "{what}");
        }
        assert!(exact > 100_000, "{exact}");
    }

    #[test]
    fn invalid_boxes_have_no_bounds_and_endless_ones_infinite_bounds() {
        let bounds = |center: f32, half: f32| {
            [false, true].map(|is_upper| f32::from_bits(bound_around(center.to_bits(), half.to_bits(), is_upper)))
        };
        for (center, half) in [
            (0.0, -1.0),
            (0.0, -1e-45),
            (f32::NAN, 1.0),
            (1.0, f32::NAN),
            (1.0, f32::NEG_INFINITY),
        ] {
            assert!(bounds(center, half).into_iter().all(f32::is_nan), "{center} +- {half}");
        }
        let (low, high) = (f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(bounds(3.0, high), [low, high]);
        assert_eq!(bounds(low, high), [low, high]);
        assert_eq!(bounds(high, 1.0), [high, high]);
        assert_eq!(bounds(f32::MAX, f32::MAX), [0.0, high]);
        assert_eq!(bounds(f32::MAX, 1e-45), [f32::MAX.next_down(), high]);
        assert_eq!(bounds(1.0, -0.0), [1.0, 1.0]);
    }
}
