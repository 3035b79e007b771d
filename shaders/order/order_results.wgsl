// uses: common/counters, common/prelude, order/shown

// Results of queries: by query, then by object.

alias Row = u32;

@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(6) var<storage, read> offsets: array<u32>;

fn shown() -> u32 {
    return shown_of(COUNTER_RESULTS_NEEDED, params.first_result, params.result_capacity);
}

fn first_key_of(row: u32) -> u32 {
    return walk_of(params.first_result + row, params.query_count);
}

fn second_key_of(row: u32) -> u32 {
    return rows[row];
}
