// uses: common/prelude, common/wide, common/workgroup, pairs/pair_sums

// Places of pairs. The uniform scheme has them in the buffer, from a scan. The others have places within tiles, and
// sums of tiles. No place passes the largest u32.

@group(0) @binding(7) var<storage, read_write> pair_offsets: array<u32>;

fn counted(word: u32) -> u32 {
    return pair_offsets[word];
}

// Where the pairs of a row begin and end, looked up once: the buffer is written to, so that a compiler would look again
// each time.
fn places_of(row: u32) -> vec2<u32> {
    if (params.scheme == SCHEME_UNIFORM) {
        return vec2<u32>(pair_offsets[row], pair_offsets[row + 1u]);
    }
    let word = row_word(row);
    let before = saturate64(before_tile(row / WORKGROUP));
    return vec2<u32>(saturating_sum(before, pair_offsets[word]), saturating_sum(before, pair_offsets[word + 1u]));
}
