// Levels, cells and keys: the twin of src/grid.rs.

const MAX_LEVELS: u32 = 32u;
const NO_LEVEL: u32 = 32u;
const CELL_LIMIT: i32 = 0x40000000;
const MAX_COVER: u32 = 64u;
// Sides of a cell are `1, 1.25, 1.5, 1.75` times a power of two; x is cut finer than y and z by this shift in the
// hierarchical scheme.
const X_DETAIL: u32 = 2u;
const DENSE: u32 = 0xffffffffu;
const HASH_Y: u32 = 0xd0eda82fu;
const HASH_Z: u32 = 0xae97ba95u;

struct Level {
    inverse: f32,
    count: u32,
    table_base: u32,
    table_size: u32,
    table_mask: u32,
    stride_y: u32,
    stride_z: u32,
    x_shift: u32,
    lower_x: i32,
    lower_y: i32,
    lower_z: i32,
    next: u32,
    upper_x: i32,
    upper_y: i32,
    upper_z: i32,
    padding: u32,
}

struct Grid {
    base_inverse: f32,
    x_detail: u32,
    first_level: u32,
    table_cells: u32,
    entry_count: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
    levels: array<Level, 32>,
}

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

// Cell edges an axis, x finer by the detail shift (an exact power of two).
fn axis_inverse(inverse: f32, x_detail: u32) -> vec3<f32> {
    return vec3<f32>(inverse * f32(1u << x_detail), inverse, inverse);
}

// Monotone in the position, which is all that correctness asks of it.
fn cell_of(position: vec3<f32>, inverse: vec3<f32>) -> vec3<i32> {
    let limit = vec3<f32>(1073741824.0);
    return vec3<i32>(floor(clamp(flush(position * inverse), -limit, limit)));
}

fn within_cell_limit(lower: vec3<i32>, upper: vec3<i32>) -> bool {
    return all(lower > vec3<i32>(-CELL_LIMIT)) && all(upper < vec3<i32>(CELL_LIMIT));
}

// Hierarchical: the first level at which the box spans at most two cells of y and z and a whole cell of fine ones of x.
fn place_hierarchical(low: vec3<u32>, high: vec3<u32>, base_inverse: f32) -> Placement {
    let box_min = flush_bits(low);
    let box_max = flush_bits(high);
    let span = vec3<i32>(i32(1u << X_DETAIL), 1, 1);
    for (var level = 0u; level < MAX_LEVELS; level += 1u) {
        let inverse = axis_inverse(level_inverse(base_inverse, level), X_DETAIL);
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

// Slot of a cell within its level's part of the table. `x` is already shifted by the level's x_shift.
fn slot_of(level: Level, x: i32, y: i32, z: i32) -> u32 {
    let linear = u32(x - (level.lower_x >> level.x_shift)) + u32(y - level.lower_y) * level.stride_y + u32(z - level.lower_z) * level.stride_z;
    return linear & level.table_mask;
}

fn key_of(level: Level, cell: vec3<i32>) -> u32 {
    return level.table_base + slot_of(level, cell.x >> level.x_shift, cell.y, cell.z);
}
