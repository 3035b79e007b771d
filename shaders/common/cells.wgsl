// uses: common/box, common/grid, common/prelude

// A constant, so that hot loops compile without other schemes.
override SCHEME: u32 = 0u;

// Level (NO_LEVEL: large list) and cells of an object's corners, x in fine cells.
struct Placement {
    level: u32,
    lower: vec3<i32>,
    upper: vec3<i32>,
}

// Exact: only lowers the exponent.
fn level_inverse(base_inverse: f32, level: u32) -> f32 {
    return bitcast<f32>(bitcast<u32>(base_inverse) - (level << 23u));
}

// `x_detail` is added to the exponent of x, so a cell is one product, however a compiler orders it.
fn axis_inverse(inverse: f32, x_detail: u32) -> vec3<f32> {
    return vec3<f32>(bitcast<f32>(bitcast<u32>(inverse) + (x_detail << 23u)), inverse, inverse);
}

fn x_detail() -> u32 {
    return select(0u, X_DETAIL, SCHEME == SCHEME_HIERARCHICAL);
}

// Cells along y and z that an object may extend past its own.
fn cell_reach() -> i32 {
    return select(0, 1, SCHEME == SCHEME_HIERARCHICAL);
}

// Correct as long as it is monotone in the position. Adaptive layers are shifted by half a cell: `inverse` is that of
// halves, and halves `2c - 1` and `2c` form cell c.
fn cell_of(position: vec3<f32>, inverse: vec3<f32>) -> vec3<i32> {
    let limit = vec3<f32>(1073741824.0);
    let cell = vec3<i32>(floor(clamp(flush(position * inverse), -limit, limit)));
    return select(cell, (cell + vec3<i32>(1)) >> vec3<u32>(1u), SCHEME == SCHEME_ADAPTIVE);
}

fn within_cell_limit(lower: vec3<i32>, upper: vec3<i32>) -> bool {
    let limit = vec3<i32>(select(CELL_LIMIT, CELL_LIMIT / 2, SCHEME == SCHEME_ADAPTIVE));
    return all(lower > -limit) && all(upper < limit);
}

// One entry per object. Hierarchical: the first level at which the corners are at most one cell apart (4 fine cells
// along x). Adaptive: the first layer with a cell that holds the box.
fn place_single_cell(low: vec3<u32>, high: vec3<u32>, base_inverse: f32) -> Placement {
    let box_min = flush_bits(low);
    let box_max = flush_bits(high);
    let reach = cell_reach();
    let span = vec3<i32>(reach << x_detail(), reach, reach);
    for (var level = 0u; level < MAX_LEVELS; level += 1u) {
        let inverse = axis_inverse(level_inverse(base_inverse, level), x_detail());
        let lower = cell_of(box_min, inverse);
        let upper = cell_of(box_max, inverse);
        if (within_cell_limit(lower, upper) && all(upper - lower <= span)) {
            return Placement(level, lower, upper);
        }
    }
    return Placement(NO_LEVEL, vec3<i32>(0), vec3<i32>(0));
}

// Uniform: all covered cells, at most MAX_COVER.
fn place_uniform(low: vec3<u32>, high: vec3<u32>, cell_inverse: f32) -> Placement {
    let lower = cell_of(flush_bits(low), vec3<f32>(cell_inverse));
    let upper = cell_of(flush_bits(high), vec3<f32>(cell_inverse));
    let cover = bitcast<vec3<u32>>(upper - lower);
    if (within_cell_limit(lower, upper) && all(cover < vec3<u32>(MAX_COVER))) {
        if ((cover.x + 1u) * (cover.y + 1u) * (cover.z + 1u) <= MAX_COVER) {
            return Placement(0u, lower, upper);
        }
    }
    return Placement(NO_LEVEL, vec3<i32>(0), vec3<i32>(0));
}

fn place(low: vec3<u32>, high: vec3<u32>, base_inverse: f32) -> Placement {
    if (params.scheme == SCHEME_UNIFORM) {
        return place_uniform(low, high, base_inverse);
    }
    return place_single_cell(low, high, base_inverse);
}

// Bucket of a cell within its level. `x` is already shifted by `x_shift`.
fn bucket_of(level: Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    return unmasked_bucket_of(level, x, y, z, world) & level.table_mask;
}

// Before masking. Grows by a stride from row to row.
fn unmasked_bucket_of(level: Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    return u32(x - (level.lower_x >> level.x_shift)) + u32(y - level.lower_y) * level.stride_y
        + u32(z - level.lower_z) * level.stride_z + world * level.stride_world;
}

fn key_of(level: Level, cell: vec3<i32>, world: u32) -> u32 {
    return level.table_base + bucket_of(level, cell.x >> level.x_shift, cell.y, cell.z, world);
}

// Keys past the cells: the large list, spread by world over its buckets; then ignored objects.
fn large_key(table_cells: u32, world: u32) -> u32 {
    return table_cells + (world & params.large_mask);
}

fn ignored_key(table_cells: u32) -> u32 {
    return table_cells + params.large_mask + 1u;
}

// Uniform: groups of entries by primary flags, in their order within a cell: all set; all but x; all but y; all but z;
// the rest. A pair counts only where each flag is set on one of its entries. So only the first four groups look for
// partners, and only among later entries. After Tsitsigkos and others, "A Two-layer Partitioning for Non-point Spatial
// Data" (2021).

const ENTRY_GROUPS: u32 = 5u;

fn entry_group(value: u32) -> u32 {
    let flags = value >> 29u;
    return select(select(select(select(4u, 3u, flags == 3u), 2u, flags == 5u), 1u, flags == 6u), 0u, flags == 7u);
}
