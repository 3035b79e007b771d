// 64-bit counts as two words, low first.

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

// Offsets stop at the largest u32 instead of wrapping into valid places.
fn saturate64(value: vec2<u32>) -> u32 {
    return select(value.x, 0xffffffffu, value.y != 0u);
}

// Rows of a page from `first` on, at most `capacity`.
fn rows_shown(found: vec2<u32>, first: u32, capacity: u32) -> u32 {
    let all = saturate64(found);
    return min(all - min(all, first), capacity);
}

// Product, or the largest u32 on overflow.
fn saturating_product(a: u32, b: u32) -> u32 {
    if (b != 0u && a > 0xffffffffu / b) {
        return 0xffffffffu;
    }
    return a * b;
}

fn saturating_sum(a: u32, b: u32) -> u32 {
    return a + min(b, 0xffffffffu - a);
}
