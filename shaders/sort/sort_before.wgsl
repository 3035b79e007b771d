// uses: common/box, sort/sort, sort/sort_tiles

@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read> digit_counts: array<u32>;

fn value_at(index: u32) -> u32 {
    if (index < sort.unwritten) {
        return index | PRIMARY_FLAGS;
    }
    return values[index];
}

// Number of keys with the value `digit`: in earlier tiles, and in all.
fn keys_before(tile: u32, digit: u32) -> vec2<u32> {
    let own_group = group_of(tile);
    let groups = tile_groups();
    var keys = vec2<u32>(0u);
    for (var other = 0u; other < groups; other += 1u) {
        let count = digit_counts[group_row(sort.counts, sort.bits, other) + digit];
        keys += vec2<u32>(select(0u, count, other < own_group), count);
    }
    for (var other = own_group << sort.group_bits; other < tile; other += 1u) {
        keys.x += digit_counts[tile_row(sort.counts, sort.bits, other) + digit];
    }
    return keys;
}
