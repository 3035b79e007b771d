// uses: common/box, common/grid, common/prelude

// Placement, cells and keys, and the groups of a cell's entries.

// The scheme of the step, as a constant: hot loops shed what other schemes need.
override SCHEME: u32 = 0u;

// Where an object lies: its level (NO_LEVEL = large) and the cells of its corners, x in fine cells.
struct Placement {
    level: u32,
    lower: vec3<i32>,
    upper: vec3<i32>,
}

// Halves an inverse cell side once a level: exact, it only lowers the exponent.
fn level_inverse(base_inverse: f32, level: u32) -> f32 {
    return bitcast<f32>(bitcast<u32>(base_inverse) - (level << 23u));
}

// Inverse cell sides per axis, x finer by the detail shift: a power of two, which is added to the exponent, so that a
// cell is one product in whatever order a compiler takes it.
fn axis_inverse(inverse: f32, x_detail: u32) -> vec3<f32> {
    return vec3<f32>(bitcast<f32>(bitcast<u32>(inverse) + (x_detail << 23u)), inverse, inverse);
}

fn x_detail() -> u32 {
    return select(0u, X_DETAIL, SCHEME == SCHEME_HIERARCHICAL);
}

// Cells, of y and z, that an object reaches into past the one that it is entered in.
fn cell_reach() -> i32 {
    return select(0, 1, SCHEME == SCHEME_HIERARCHICAL);
}

// Monotone in the position, which is all that correctness asks of it. Adaptive layers are shifted by half a cell: their
// inverse is that of half a cell, a power of two, and pairs of halves `2c - 1, 2c` are cell c.
fn cell_of(position: vec3<f32>, inverse: vec3<f32>) -> vec3<i32> {
    let limit = vec3<f32>(1073741824.0);
    let cell = vec3<i32>(floor(clamp(flush(position * inverse), -limit, limit)));
    return select(cell, (cell + vec3<i32>(1)) >> vec3<u32>(1u), SCHEME == SCHEME_ADAPTIVE);
}

fn within_cell_limit(lower: vec3<i32>, upper: vec3<i32>) -> bool {
    let limit = vec3<i32>(select(CELL_LIMIT, CELL_LIMIT / 2, SCHEME == SCHEME_ADAPTIVE));
    return all(lower > -limit) && all(upper < limit);
}

// One entry an object. Hierarchical: the first level at which the box spans at most two cells of y and z and a whole
// cell of fine ones of x. Adaptive: the first layer of which one cell holds the box.
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

// Uniform: every cell the box covers, unless they are too many.
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

// The placement that the step's scheme gives an object of finite bounds.
fn place(low: vec3<u32>, high: vec3<u32>, base_inverse: f32) -> Placement {
    if (params.scheme == SCHEME_UNIFORM) {
        return place_uniform(low, high, base_inverse);
    }
    return place_single_cell(low, high, base_inverse);
}

// Slot of a cell within its level's part of the table. `x` is already shifted by the level's x_shift.
fn bucket_of(level: Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    return unmasked_bucket_of(level, x, y, z, world) & level.table_mask;
}

// What the mask of the level makes a slot. It grows by a stride from row to row.
fn unmasked_bucket_of(level: Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    return u32(x - (level.lower_x >> level.x_shift)) + u32(y - level.lower_y) * level.stride_y
        + u32(z - level.lower_z) * level.stride_z + world * level.stride_world;
}

fn key_of(level: Level, cell: vec3<i32>, world: u32) -> u32 {
    return level.table_base + bucket_of(level, cell.x >> level.x_shift, cell.y, cell.z, world);
}

// Past the cells come the keys of the large list, worlds apart as far as its slots allow, and the one of what takes no
// part.
fn large_key(table_cells: u32, world: u32) -> u32 {
    return table_cells + (world & params.large_mask);
}

fn absent_key(table_cells: u32) -> u32 {
    return table_cells + params.large_mask + 1u;
}

// Entries of the uniform scheme in groups by their home flags: all of them; all but x; all but y; all but z; the rest.
// Within a cell they come in this order. A pair is of interest where each flag is set on one of its entries, so that
// only the first four groups look for partners, and only behind them. After Tsitsigkos and others, "A Two-layer
// Partitioning for Non-point Spatial Data" (2021).

const ENTRY_GROUPS: u32 = 5u;

fn entry_group(value: u32) -> u32 {
    let flags = value >> 29u;
    return select(select(select(select(4u, 3u, flags == 3u), 2u, flags == 5u), 1u, flags == 6u), 0u, flags == 7u);
}
