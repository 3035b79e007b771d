// uses: common/counters, common/prelude, order/shown

// Hits: by ray, then by object.

alias Row = vec2<u32>;

@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(6) var<storage, read> offsets: array<u32>;

fn shown() -> u32 {
    return shown_of(COUNTER_HITS_NEEDED, params.first_hit, params.hit_capacity);
}

fn first_key_of(row: u32) -> u32 {
    return walk_of(params.first_hit + row, params.ray_count);
}

fn second_key_of(row: u32) -> u32 {
    return rows[row].x;
}
