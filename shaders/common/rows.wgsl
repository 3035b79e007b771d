// uses: common/cells, common/grid

// Rows of cells as ranges of sorted entries.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;

// Up to two ranges, since a row of hashed slots may wrap past the end of its level's part. They are walked in one loop
// over all entries.
struct Row {
    begin: u32,
    // Entries of the first range.
    unwrapped: u32,
    wrapped_begin: u32,
    // Entries of both.
    count: u32,
}

fn row_entry(row: Row, k: u32) -> u32 {
    return select(row.wrapped_begin + (k - row.unwrapped), row.begin + k, k < row.unwrapped);
}

// The entries of the cells x_from..=x_to (detailed x), y, z, which must lie within the level's bounds for y and z and
// be fewer than the slots of a hashed level. Other cells and worlds may share hashed slots.
fn row_of(level: Level, x_from: i32, x_to: i32, y: i32, z: i32, world: u32) -> Row {
    let from_cell = max(x_from, level.lower_x) >> level.x_shift;
    let to_cell = min(x_to, level.upper_x) >> level.x_shift;
    if (max(x_from, level.lower_x) > min(x_to, level.upper_x)) {
        return Row(0u, 0u, 0u, 0u);
    }
    return row_at(level.table_base, level.table_mask, bucket_of(level, from_cell, y, z, world), u32(to_cell - from_cell));
}

// The entries of a slot and of so many slots behind it, in a level's part of the table.
fn row_at(base: u32, mask: u32, slot: u32, length: u32) -> Row {
    let begin = starts[base + slot];
    if (length <= mask - slot) {
        let count = starts[base + slot + length + 1u] - begin;
        return Row(begin, count, 0u, count);
    }
    // Only hashed slots wrap, of which there are one more than the mask says.
    let rest = length - (mask - slot);
    let unwrapped = starts[base + mask + 1u] - begin;
    return Row(begin, unwrapped, starts[base], unwrapped + starts[base + rest] - starts[base]);
}

// The same of any number of cells. Rows of a stencil never need it, and drivers that take both sides of a branch load
// for it.
fn long_row_of(level: Level, x_from: i32, x_to: i32, y: i32, z: i32, world: u32) -> Row {
    let cells = (min(x_to, level.upper_x) >> level.x_shift) - (max(x_from, level.lower_x) >> level.x_shift);
    if (cells > 0 && u32(cells) > level.table_mask) {
        let begin = starts[level.table_base];
        let all = starts[level.table_base + level.table_size] - begin;
        return Row(begin, all, 0u, all);
    }
    return row_of(level, x_from, x_to, y, z, world);
}

// What is looked at without cells: entries of which those in home cells count, or records of all objects of which those
// in cells do.
struct Listing {
    first: u32,
    count: u32,
    is_of_records: bool,
}

// How often, in the mean, a walk may meet an object in its cells before looking at each one once is less.
const MOST_MEETINGS: u32 = 4u;

// Entries begin.., ..end of a world's share of the large list, which it may have in common with others.
fn large_list(world: u32) -> vec2<u32> {
    let key = large_key(grid.table_cells, world);
    return vec2<u32>(starts[key], starts[key + 1u]);
}

// All entries of a world on a level, with those of others where slots are hashed.
fn level_entries(level: Level, world: u32) -> vec2<u32> {
    if (level.table_mask == DENSE) {
        let base = level.table_base + world * level.stride_world;
        return vec2<u32>(starts[base], starts[base + level.stride_world]);
    }
    return vec2<u32>(starts[level.table_base], starts[level.table_base + level.table_size]);
}
