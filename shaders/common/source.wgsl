// needs: source_word

// Reads elements from source buffers of any layout.

// Flags of box layouts. UNFILTERED: there are no filter words. CENTER_HALF: centre and half extents replace the two
// corners.
const UNFILTERED: u32 = 1u;
const CENTER_HALF: u32 = 2u;

struct SourceLayout {
    first: u32,
    stride: u32,
    // For boxes, number of words from the lower corner to the upper one, or from the centre to the half extents.
    second: u32,
    // 0 if an element's words are copied unchanged.
    flags: u32,
}

// Bounds of boxes with centre and half extents, computed in integers so that all devices and the CPU agree.

const INFINITE: u32 = 0x7f800000u;
const NOT_A_NUMBER: u32 = 0x7fc00000u;

// Bits of the smallest float not below the exact sum of `value` and `length >= 0`, both finite; infinity on overflow.
fn sum_upward(value: u32, length: u32) -> u32 {
    let sizes = vec2<u32>(value & 0x7fffffffu, length);
    let exponents = max(sizes >> vec2<u32>(23u), vec2<u32>(1u));
    let top = max(exponents.x, exponents.y);
    let implied = select(vec2<u32>(0u), vec2<u32>(0x00800000u), sizes >= vec2<u32>(0x00800000u));
    // Both sizes become integers in units of 2^(top - 156). Only the smaller one may lose bits.
    let mantissas = ((sizes & vec2<u32>(0x007fffffu)) | implied) << vec2<u32>(6u);
    let apart = min(vec2<u32>(top) - exponents, vec2<u32>(31u));
    let whole = mantissas >> apart;
    let is_negative = value >= 0x80000000u;
    let is_raised = ((whole << apart) != mantissas) & vec2<bool>(!is_negative, true);
    let parts = bitcast<vec2<i32>>(whole + select(vec2<u32>(0u), vec2<u32>(1u), is_raised));
    let sum = select(parts.x, -parts.x, is_negative) + parts.y;
    if (sum == 0) {
        return 0u;
    }
    let magnitude = u32(abs(sum));
    // Denormals have the unit of the smallest normal float, so the shift has a minimum.
    let shift = max(i32(firstLeadingBit(magnitude)) - 23, 7 - i32(top));
    let right = u32(max(shift, 0));
    let kept = magnitude >> right;
    let is_above = sum > 0 && (kept << right) != magnitude;
    let mantissa = (kept + select(0u, 1u, is_above)) << u32(max(-shift, 0));
    // The leading bit of the mantissa adds one to the exponent, and so does a carry.
    let bits = (u32(i32(top) + shift - 7) << 23u) + mantissa;
    return select(min(bits, INFINITE), bits | 0x80000000u, sum < 0);
}

// Lower or upper bound of the smallest box of floats around `center - half ..= center + half`. Returns NaN if an
// argument is NaN or `half` is negative.
fn bound_around(center: u32, half: u32, is_upper: bool) -> u32 {
    let place = center & 0x7fffffffu;
    let extent = half & 0x7fffffffu;
    if (place > INFINITE || extent > INFINITE || half > 0x80000000u) {
        return NOT_A_NUMBER;
    }
    // To round down, the negated value is rounded up.
    let side = select(0x80000000u, 0u, is_upper);
    if (extent == INFINITE) {
        return INFINITE | side;
    }
    if (place == INFINITE) {
        return center;
    }
    let bound = sum_upward(center ^ side, extent);
    return select(bound ^ side, 0u, bound == 0u);
}

// Word `part` of an element, converted to the packed layout (`Aabb` for boxes).
fn element_word(source: SourceLayout, element: u32, part: u32) -> u32 {
    let place = source.first + source.stride * element;
    let axis = part & 3u;
    let is_upper = part > 3u;
    if (source.flags == 0u) {
        return source_word(place + part);
    }
    if (axis == 3u) {
        if ((source.flags & UNFILTERED) != 0u) {
            return select(0xffffffffu, 0u, is_upper);
        }
        return source_word(place + part);
    }
    let low = source_word(place + axis);
    let high = source_word(place + source.second + axis);
    if ((source.flags & CENTER_HALF) != 0u) {
        return bound_around(low, high, is_upper);
    }
    return select(low, high, is_upper);
}
