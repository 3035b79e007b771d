// uses: common/wide

// Rows of an output in ascending order: radix sorted by their second key, then stably by their first. Rows of pairs
// store both keys. The first key of a hit or result is its ray or query, found by binary search in `offsets`.

struct OrderParams {
    // Word of the counters where the 64-bit number of needed rows begins.
    needed_word: u32,
    // Place of the first row that the output shows.
    first: u32,
    // Rows that there is room for.
    capacity: u32,
    // Words of a row.
    row_words: u32,
    // Rays or queries; 0 for pairs.
    walks: u32,
}

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> rows: array<u32>;
@group(0) @binding(2) var<storage, read> counters: array<u32>;
// Where the rows of each ray or query begin. Those of pairs are not read.
@group(0) @binding(6) var<storage, read> offsets: array<u32>;

// Rows of the output that its page shows.
fn shown() -> u32 {
    let needed = vec2<u32>(counters[order.needed_word], counters[order.needed_word + 1u]);
    return rows_shown(needed, order.first, order.capacity);
}

// The walk whose row has this place: the last one whose rows begin no later.
fn walk_of(place: u32) -> u32 {
    var low = 0u;
    var high = order.walks;
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

fn first_key_of(row: u32) -> u32 {
    if (order.walks == 0u) {
        return rows[order.row_words * row];
    }
    return walk_of(order.first + row);
}

fn second_key_of(row: u32) -> u32 {
    return rows[order.row_words * row + select(0u, 1u, order.walks == 0u)];
}
