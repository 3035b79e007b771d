// uses: common/box, sort/sort, sort/sort_tiles

@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read> digit_counts: array<u32>;
@group(0) @binding(7) var<storage, read> digit_sums: array<u32>;

fn value_at(index: u32) -> u32 {
    if (index < sort.unwritten) {
        return index | PRIMARY_FLAGS;
    }
    return values[index];
}

// Number of keys with the value `digit` in earlier tiles.
fn keys_before(tile: u32, digit: u32) -> u32 {
    let own_group = tile / sort.group_tiles;
    var before = 0u;
    for (var other = 0u; other < own_group; other += 1u) {
        before += digit_sums[group_word(other, digit)];
    }
    for (var other = own_group * sort.group_tiles; other < tile; other += 1u) {
        before += digit_counts[count_word(other, digit)];
    }
    return before;
}
