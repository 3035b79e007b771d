// uses: common/wide

// Sort keys of an output's rows. Rows are radix sorted by the second key, then stably by the first; pairs of a scene
// with worlds then by world. Rows of pairs store both keys. The first key of a hit or result is its ray or query, found
// by binary search in `offsets`.

// For fields, see src/layout/blocks.rs.
struct OrderParams {
    needed_word: u32,
    first: u32,
    capacity: u32,
    row_words: u32,
    walks: u32,
    world_count: u32,
    static_count: u32,
}

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> rows: array<u32>;
@group(0) @binding(2) var<storage, read> counters: array<u32>;
// First row of each ray or query. Not read for pairs.
@group(0) @binding(6) var<storage, read> offsets: array<u32>;

fn shown() -> u32 {
    let needed = vec2<u32>(counters[order.needed_word], counters[order.needed_word + 1u]);
    return rows_shown(needed, order.first, order.capacity);
}

// Last ray or query whose rows begin no later than `place`.
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
