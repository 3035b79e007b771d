// uses: common/cells, common/grid, common/worlds

// Rows of cells, as ranges of sorted entries.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;

// Up to two ranges of entries, walked in one loop: a row of hashed buckets may wrap around.
struct Row {
    begin: u32,
    // Number of entries in the first range.
    unwrapped: u32,
    wrapped_begin: u32,
    // Number of entries in both ranges.
    count: u32,
}

// End of the range of candidate `k`, at most `end`.
fn range_end(row: Row, k: u32, end: u32) -> u32 {
    return min(end, select(end, row.unwrapped, k < row.unwrapped));
}

fn row_entry(row: Row, k: u32) -> u32 {
    return select(row.wrapped_begin + (k - row.unwrapped), row.begin + k, k < row.unwrapped);
}

// Entries of the cells `x_from ..= x_to` (fine x) in row `y`, `z`. `y` and `z` must be within the level's bounds. On a
// hashed level, buckets also hold entries of other cells and worlds.
fn row_of(level: Level, x_from: i32, x_to: i32, y: i32, z: i32, world: u32) -> Row {
    let from_cell = max(x_from, level.lower_x) >> level.x_shift;
    let to_cell = min(x_to, level.upper_x) >> level.x_shift;
    if (max(x_from, level.lower_x) > min(x_to, level.upper_x)) {
        return Row(0u, 0u, 0u, 0u);
    }
    let slot = unmasked_bucket_of(level, from_cell, y, z, world);
    return long_row_at(level.table_base, level.table_mask, slot, u32(to_cell - from_cell));
}

// `row_at` for any slot, before the mask, and any length: a row with more cells than the level has buckets is the whole
// level. The slots of two rows differ only by strides, which take fewer registers than `level`.
fn long_row_at(base: u32, mask: u32, slot: u32, length: u32) -> Row {
    return row_at(base, mask, select(slot & mask, 0u, length > mask), min(length, mask));
}

// Entries of a bucket and of the next `length` buckets. `slot` counts from the level's first bucket, `base`.
fn row_at(base: u32, mask: u32, slot: u32, length: u32) -> Row {
    let begin = starts[base + slot];
    if (length <= mask - slot) {
        let count = starts[base + slot + length + 1u] - begin;
        return Row(begin, count, 0u, count);
    }
    // Only hashed levels wrap around; they have `mask + 1` buckets.
    let rest = length - (mask - slot);
    let unwrapped = starts[base + mask + 1u] - begin;
    return Row(begin, unwrapped, starts[base], unwrapped + starts[base + rest] - starts[base]);
}

// Objects to test without cells: either a range of entries, of which primary ones count, or all records, of which those
// in cells count.
struct Listing {
    row: Row,
    is_of_records: bool,
}

fn range_of(begin: u32, end: u32) -> Row {
    let count = end - begin;
    return Row(begin, count, 0u, count);
}

// If a walk by cells would meet each object more often than this on average, testing each object once is cheaper.
const MAX_MEETINGS_PER_OBJECT: u32 = 4u;

// Entries of the large list that objects of `world` meet: its bucket, which worlds may share, and that of all worlds.
fn large_list(world: u32) -> Row {
    let end = starts[ignored_key(grid.table_cells)];
    if (!WORLDS || params.world_count <= 1u || world == ALL_WORLDS) {
        return range_of(starts[grid.table_cells], end);
    }
    let key = large_key(grid.table_cells, world);
    let begin = starts[key];
    let unwrapped = starts[key + 1u] - begin;
    let wrapped_begin = starts[large_key(grid.table_cells, ALL_WORLDS)];
    return Row(begin, unwrapped, wrapped_begin, unwrapped + end - wrapped_begin);
}

// Entries `x .. y` of a world on a level; on a hashed level, of all worlds.
fn level_entries(level: Level, world: u32) -> vec2<u32> {
    if (level.table_mask == DENSE && !(WORLDS && world == ALL_WORLDS)) {
        let base = level.table_base + world * level.stride_world;
        return vec2<u32>(starts[base], starts[base + level.stride_world]);
    }
    return vec2<u32>(starts[level.table_base], starts[level.table_base + level.table_size]);
}
