// uses: common/prelude, common/workgroup

// How many pairs a row has, from what counting left: the uniform scheme has counts until they are scanned, the others
// have places within tiles.

@group(0) @binding(3) var<storage, read> pair_offsets: array<u32>;

fn count_of(row: u32) -> u32 {
    if (params.scheme == SCHEME_UNIFORM) {
        return pair_offsets[row];
    }
    // A tile has one word more than rows.
    let word = row + row / WORKGROUP;
    return pair_offsets[word + 1u] - pair_offsets[word];
}
