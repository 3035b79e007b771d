// 64-bit counts in two words, low word first.

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

// Returns at most the largest u32, so that no offset wraps to a valid place.
fn saturate64(value: vec2<u32>) -> u32 {
    return select(value.x, 0xffffffffu, value.y != 0u);
}

// Number of a list's `found` rows that are in the page of `capacity` rows from `first` on.
fn rows_shown(found: vec2<u32>, first: u32, capacity: u32) -> u32 {
    let all = saturate64(found);
    return min(all - min(all, first), capacity);
}

fn saturating_product(a: u32, b: u32) -> u32 {
    if (b != 0u && a > 0xffffffffu / b) {
        return 0xffffffffu;
    }
    return a * b;
}

fn saturating_sum(a: u32, b: u32) -> u32 {
    return a + min(b, 0xffffffffu - a);
}
