// uses: common/outward
// needs: given_word

// Elements as they lie in a caller's buffer.

// The form of boxes, a bit each: they have no filter words; they have a centre and half extents, not two corners.
const UNFILTERED: u32 = 1u;
const CENTER_HALF: u32 = 2u;

struct GivenLayout {
    // Word of the first element.
    first: u32,
    // Words from each to the next.
    stride: u32,
    // Boxes: words from the lower corner to the upper one, or from the centre to the half extents.
    second: u32,
    // 0 for words that are taken as they are.
    form: u32,
}

// A word of an element, as it is in a row of this crate's own.
fn element_word(given: GivenLayout, element: u32, part: u32) -> u32 {
    let place = given.first + given.stride * element;
    let axis = part & 3u;
    let is_upper = part > 3u;
    if (given.form == 0u) {
        return given_word(place + part);
    }
    if (axis == 3u) {
        if ((given.form & UNFILTERED) != 0u) {
            return select(0xffffffffu, 0u, is_upper);
        }
        return given_word(place + part);
    }
    let low = given_word(place + axis);
    let high = given_word(place + given.second + axis);
    if ((given.form & CENTER_HALF) != 0u) {
        return bound_around(low, high, is_upper);
    }
    return select(low, high, is_upper);
}
