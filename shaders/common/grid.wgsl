// The levels of a grid and their parts of the cell table: the twin of src/layout/grid.rs, as is cells.wgsl.

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
const HASH_WORLD: u32 = 0x9e3779b1u;

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
    stride_world: u32,
}

struct Grid {
    base_inverse: f32,
    x_detail: u32,
    first_level: u32,
    table_cells: u32,
    entry_count: u32,
    // A bit a level.
    occupied: u32,
    // The level of most objects, or 32.
    fullest_level: u32,
    // Objects of levels below this look larger ones up in the cover table; 0 where there is none.
    large_table_below: u32,
    // Cells of that table are those of level `large_table_below - 1` shifted right by this.
    large_table_shift: u32,
    // Keys that the cell table has a start of: those of cells, of the large list, of what takes no part, of the cover
    // table and past it.
    key_count: u32,
    // The levels whose cells hold many boxes, a bit each.
    crowded_levels: u32,
    // Whether most boxes have many neighbours, so that records have clusters.
    is_crowded: u32,
    levels: array<Level, 32>,
    // Cells that larger boxes are entered in once more, all that they cover. `next` is the first level that is not.
    cover: Level,
}

// What is counted of levels: eight words each. First the objects, then the bounds as distances (2^31 - lower, 2^31 +
// upper, one axis each) so that all start from zero and only grow. The last words of the first two levels are of the
// whole grid.
const BIAS: u32 = 0x80000000u;
// The inverse of the finest cell's side.
const BASE_INVERSE: u32 = 7u;
// The levels whose cells hold many boxes, a bit each.
const CROWDED_LEVELS: u32 = 15u;
