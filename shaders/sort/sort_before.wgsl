// uses: common/box, sort/sort, sort/sort_tiles

@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read> digit_counts: array<u32>;

fn value_at(index: u32) -> u32 {
    if (index < sort.unwritten) {
        return index | PRIMARY_FLAGS;
    }
    return values[index];
}

// Sum of a digit value's counts in consecutive rows, by four loads at a time.
fn sum_rows(first: u32, end: u32, digit: u32) -> u32 {
    var sums = vec4<u32>(0u);
    for (var row = first; row < end; row += 4u) {
        let rows = row + vec4<u32>(0u, 1u, 2u, 3u);
        let words = sort.counts + digit + (min(rows, vec4<u32>(end - 1u)) << vec4<u32>(sort.bits));
        let counts = vec4<u32>(
            digit_counts[words.x],
            digit_counts[words.y],
            digit_counts[words.z],
            digit_counts[words.w],
        );
        sums += select(vec4<u32>(0u), counts, rows < vec4<u32>(end));
    }
    return sums.x + sums.y + sums.z + sums.w;
}

// Number of keys with the value `digit`: in earlier tiles, and in all.
fn keys_before(tile: u32, digit: u32) -> vec2<u32> {
    let groups = groups_of(sort.levels);
    var group = group_of(tile, sort.levels);
    var before = sum_rows(0u, group, digit);
    let all = before + sum_rows(group, groups, digit);
    var row = groups;
    for (var level = sort.levels; level > 0u; level -= 1u) {
        let first = group << sort.group_bits;
        group = group_of(tile, level - 1u);
        before += sum_rows(row + first, row + group, digit);
        row += groups_of(level - 1u);
    }
    return vec2<u32>(before, all);
}
