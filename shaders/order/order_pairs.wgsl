// uses: common/counters, common/prelude, order/shown

// Pairs: by the first object, then by the second.

alias Row = vec2<u32>;

@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(6) var<storage, read> offsets: array<u32>;

fn shown() -> u32 {
    return shown_of(COUNTER_PAIRS_NEEDED, params.first_pair, params.pair_capacity);
}

fn first_key_of(row: u32) -> u32 {
    return rows[row].x;
}

fn second_key_of(row: u32) -> u32 {
    return rows[row].y;
}
