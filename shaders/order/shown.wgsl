// uses: common/wide, order/order_{rows}

// Rows of an output in ascending order: radix sorted by their second key, then stably by their first.

@group(0) @binding(2) var<storage, read> counters: array<u32>;

// Rows of an output that its page shows.
fn shown_of(needed_word: u32, first: u32, capacity: u32) -> u32 {
    let needed = saturate64(vec2<u32>(counters[needed_word], counters[needed_word + 1u]));
    return min(needed - min(needed, first), capacity);
}

// The walk whose row has this place: the last one whose rows begin no later.
fn walk_of(place: u32, walks: u32) -> u32 {
    var low = 0u;
    var high = walks;
    for (; high - low > 1u; ) {
        let middle = low + (high - low) / 2u;
        if (offsets[middle] <= place) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
