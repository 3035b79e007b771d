// Levels of the grid and their buckets in the cell table. For fields, see src/layout/grid.rs.

const MAX_LEVELS: u32 = 32u;
const NO_LEVEL: u32 = 32u;
const CELL_LIMIT: i32 = 0x40000000;
const MAX_COVER: u32 = 64u;
// Cell sizes are 1, 1.25, 1.5 or 1.75 times a power of two. Hierarchical cells are 2^X_DETAIL times finer along x.
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
    stretch: u32,
    first_level: u32,
    table_cells: u32,
    entry_count: u32,
    occupied: u32,
    fullest_level: u32,
    large_table_below: u32,
    large_table_shift: u32,
    key_count: u32,
    crowded_levels: u32,
    is_crowded: u32,
    levels: array<Level, 32>,
    large_table: Level,
}

// Statistics of levels, eight words per level: number of objects, then `2^31 - lower` and `2^31 + upper` of x, y and z,
// which start from zero and only grow. The eighth words of the first three levels belong to the whole grid.
const BIAS: u32 = 0x80000000u;
const BASE_INVERSE: u32 = 7u;
const CROWDED_LEVELS: u32 = 15u;
const STRETCH: u32 = 23u;

// Bits per axis of `stretch`, the octaves by which cells are longer than their shortest side.
const STRETCH_BITS: u32 = 8u;
