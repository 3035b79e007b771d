// uses: common/box, common/grid, common/prelude

// A pipeline constant, so that hot loops compile without the code of other schemes.
override SCHEME: u32 = 0u;

// Level of an object, NO_LEVEL for the large list, and the cells of its two corners (fine cells along x).
struct Placement {
    level: u32,
    lower: vec3<i32>,
    upper: vec3<i32>,
}

// Inverse cell size of a level. Exact, since only the exponent changes.
fn level_inverse(base_inverse: f32, level: u32) -> f32 {
    return bitcast<f32>(bitcast<u32>(base_inverse) - (level << 23u));
}

// 1 / cell size per axis. Exact, since only exponents change.
fn whole_cell_inverse(inverse: f32, stretch: u32) -> vec3<f32> {
    let shifts = vec3<u32>(23u, 23u - STRETCH_BITS, 23u - 2u * STRETCH_BITS);
    let octaves = (vec3<u32>(stretch) << shifts) & vec3<u32>(0x7f800000u);
    return bitcast<vec3<f32>>(vec3<u32>(bitcast<u32>(inverse)) - octaves);
}

// 1 / cell size per axis, along x of fine cells. Computing a cell takes one product, which no compiler can reorder.
fn axis_inverse(inverse: f32, stretch: u32) -> vec3<f32> {
    let whole = bitcast<vec3<u32>>(whole_cell_inverse(inverse, stretch));
    return bitcast<vec3<f32>>(whole + vec3<u32>(x_detail() << 23u, 0u, 0u));
}

fn x_detail() -> u32 {
    return select(0u, X_DETAIL, SCHEME == SCHEME_HIERARCHICAL);
}

// Number of cells along y and z by which an object may extend past the cell of its lower corner.
fn cell_reach() -> i32 {
    return select(0, 1, SCHEME == SCHEME_HIERARCHICAL);
}

// Cell of `position`. Rounding is harmless, since the cell stays monotone in the position. Adaptive cells are shifted
// by half a cell: `inverse` is 1 / (half the cell size), and halves `2c - 1` and `2c` form cell `c`.
fn cell_of(position: vec3<f32>, inverse: vec3<f32>) -> vec3<i32> {
    let limit = vec3<f32>(1073741824.0);
    let cell = vec3<i32>(floor(clamp(flush(position * inverse), -limit, limit)));
    return select(cell, (cell + vec3<i32>(1)) >> vec3<u32>(1u), SCHEME == SCHEME_ADAPTIVE);
}

fn within_cell_limit(lower: vec3<i32>, upper: vec3<i32>) -> bool {
    let limit = vec3<i32>(select(CELL_LIMIT, CELL_LIMIT / 2, SCHEME == SCHEME_ADAPTIVE));
    return all(lower > -limit) && all(upper < limit);
}

// Places an object that gets one entry. Hierarchical: on the first level on which its corners are at most one cell
// apart (4 fine cells along x). Adaptive: on the first level with a cell that holds the box.
fn place_single_cell(low: vec3<u32>, high: vec3<u32>, base_inverse: f32, stretch: u32) -> Placement {
    let box_min = flush_bits(low);
    let box_max = flush_bits(high);
    let reach = cell_reach();
    let span = vec3<i32>(reach << x_detail(), reach, reach);
    for (var level = 0u; level < MAX_LEVELS; level += 1u) {
        let inverse = axis_inverse(level_inverse(base_inverse, level), stretch);
        let lower = cell_of(box_min, inverse);
        let upper = cell_of(box_max, inverse);
        if (within_cell_limit(lower, upper) && all(upper - lower <= span)) {
            return Placement(level, lower, upper);
        }
    }
    return Placement(NO_LEVEL, vec3<i32>(0), vec3<i32>(0));
}

// Uniform scheme: places an object in all cells that it covers, or in the large list if it covers more than MAX_COVER.
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

fn place(low: vec3<u32>, high: vec3<u32>, base_inverse: f32, stretch: u32) -> Placement {
    if (params.scheme == SCHEME_UNIFORM) {
        return place_uniform(low, high, base_inverse);
    }
    return place_single_cell(low, high, base_inverse, stretch);
}

// Bucket of a cell, counted from the level's first bucket. `x` is already shifted by `x_shift`.
fn bucket_of(level: Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    return unmasked_bucket_of(level, x, y, z, world) & level.table_mask;
}

// `bucket_of` before the mask. Grows by a fixed stride from one row of cells to the next.
fn unmasked_bucket_of(level: Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    return u32(x - (level.lower_x >> level.x_shift)) + u32(y - level.lower_y) * level.stride_y
        + u32(z - level.lower_z) * level.stride_z + world * level.stride_world;
}

fn key_of(level: Level, cell: vec3<i32>, world: u32) -> u32 {
    return level.table_base + bucket_of(level, cell.x >> level.x_shift, cell.y, cell.z, world);
}

// Key of a world's bucket in the large list; worlds may share it. These keys follow those of all cells. With several
// worlds, the bucket of objects of all worlds is next, then the key of ignored objects.
fn large_key(table_cells: u32, world: u32) -> u32 {
    return table_cells + select(world & params.large_mask, params.large_buckets - 1u, world == ALL_WORLDS);
}

fn ignored_key(table_cells: u32) -> u32 {
    return table_cells + params.large_buckets;
}

// Objects of all worlds are in the large list, so that no level has cells of theirs.
fn enters_cells(kind: u32, world: u32) -> bool {
    return kind == CLASS_FINITE && world != ALL_WORLDS;
}

// Uniform scheme: groups of entries, in their order within a cell. Their primary flags are: all set; all but x; all but
// y; all but z; the rest. A pair counts only in the cell where each flag is set in at least one of its two entries. So
// only the first four groups search for partners, and only among later entries. After Tsitsigkos and others, "A
// Two-layer Partitioning for Non-point Spatial Data" (2021).

const ENTRY_GROUPS: u32 = 5u;

fn entry_group(value: u32) -> u32 {
    let flags = value >> 29u;
    return select(select(select(select(4u, 3u, flags == 3u), 2u, flags == 5u), 1u, flags == 6u), 0u, flags == 7u);
}
