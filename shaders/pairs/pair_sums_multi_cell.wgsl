// uses: common/prelude, common/workgroup

// Stores the counts for a scan pass: walks of the uniform scheme leave no binding free for sums.

@group(0) @binding(7) var<storage, read_write> pair_offsets: array<u32>;

fn counted_rows() -> u32 {
    return params.entry_capacity;
}

fn count_before(row: u32) -> u32 {
    return pair_offsets[row];
}

fn put_count(tile: u32, local: u32, count: u32, is_row: bool, is_shared: bool) {
    if (is_row) {
        pair_offsets[tile * WORKGROUP + local] = count;
    }
}
