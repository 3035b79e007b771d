// uses: sort/sort

// Layout of the counts: rows of a word per digit value. The first rows are of the largest groups of tiles, then come
// those of smaller groups, and last those of single tiles (level 0). A group has `1 << sort.group_bits` of the next
// smaller ones. The scatter pass adds up the groups before its tile, so no scan pass is needed.

// Maximum bits of a digit (also read by Rust code), and number of its values.
const MAX_DIGIT_BITS: u32 = 8u;
const MAX_DIGITS: u32 = 256u;
// Some of these passes have 256 invocations, one per digit value, and `sort_scatter` sorts twice by four bits.
const_assert MAX_DIGITS == 1u << MAX_DIGIT_BITS && MAX_DIGIT_BITS == 8u;

fn group_of(tile: u32, level: u32) -> u32 {
    return tile >> (sort.group_bits * level);
}

fn groups_of(level: u32) -> u32 {
    return group_of(sort.tiles - 1u, level) + 1u;
}

// First row of a level.
fn first_row(level: u32) -> u32 {
    var row = 0u;
    for (var above = sort.levels; above > level; above -= 1u) {
        row += groups_of(above);
    }
    return row;
}
