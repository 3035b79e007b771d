// uses: common/box, common/cells, common/grid, common/prelude
// needs: grid

// Large-object table: boxes of coarser levels are entered a second time, in all cells of one table that they cover.
// An object of a level below `large_table_below` reads only the table cell of its lower corner, which has all entered
// boxes that it may overlap. Such an object may extend past that cell by one cell of level `large_table_below - 1`, so
// boxes are also entered that far below their lower corners. Table cells follow from integer cells of that level,
// without rounding.

// Number of choices of the table's cell size: 2, 4 or 8 cells of level `large_table_below - 1`.
const LARGE_TABLE_SHIFTS: u32 = 3u;
// Number of levels above the table's cell size whose boxes are entered. Such a box covers at most 33 cells per axis.
const LARGE_TABLE_OCTAVES: u32 = 4u;
// Maximum of `params.large_table_tile`.
const LARGE_TABLE_TILE: u32 = 1024u;

fn large_table_tiles() -> u32 {
    return (params.object_count + params.large_table_tile - 1u) / params.large_table_tile;
}

// Index of the word with a tile's number of entries. The totals, two words per cell size, precede all sums.
fn large_table_sum(shift: u32, tile: u32) -> u32 {
    return 2u * LARGE_TABLE_SHIFTS + (shift - 1u) * large_table_tiles() + tile;
}

struct LargeCells {
    lower: vec3<i32>,
    // Number of cells per axis; 0 if no object reads any of them.
    size: vec3<u32>,
}

// Right shifts from cells of level `large_table_below - 1` to cells of the table.
fn large_table_shifts(shift: u32) -> vec3<u32> {
    return vec3<u32>(X_DETAIL, 0u, 0u) + vec3<u32>(shift);
}

fn large_table_inverse() -> vec3<f32> {
    return axis_inverse(level_inverse(grid.base_inverse, grid.large_table_below - 1u), grid.stretch);
}

// Cell of the table that an object with the lower corner `low` reads.
fn lookup_cell(low: vec3<f32>) -> vec3<i32> {
    return cell_of(low, large_table_inverse()) >> large_table_shifts(grid.large_table_shift);
}

struct LargeCellBounds {
    shifts: vec3<u32>,
    // First and last table cell that objects read.
    first: vec3<i32>,
    last: vec3<i32>,
}

// Bounds of the table for a cell size. Until one is chosen, `grid.large_table` has them in cells of level
// `large_table_below - 1`, afterwards in cells of the table.
fn covering_of(shift: u32) -> LargeCellBounds {
    let shifts = large_table_shifts(shift);
    let rest = select(vec3<u32>(0u), shifts, grid.large_table_shift == 0u);
    let first = vec3<i32>(grid.large_table.lower_x, grid.large_table.lower_y, grid.large_table.lower_z) >> rest;
    let last = vec3<i32>(grid.large_table.upper_x, grid.large_table.upper_y, grid.large_table.upper_z) >> rest;
    return LargeCellBounds(shifts, first, last);
}

// Cells of level `large_table_below - 1` whose objects may overlap an entered box.
struct FineCells {
    lower: vec3<i32>,
    upper: vec3<i32>,
}

fn fine_cells_of(low: vec3<u32>, high: vec3<u32>) -> FineCells {
    let inverse = large_table_inverse();
    let reach = vec3<i32>(1i << X_DETAIL, 1, 1);
    return FineCells(cell_of(flush_bits(low), inverse) - reach, cell_of(flush_bits(high), inverse));
}

fn large_cells_of(fine: FineCells, covering: LargeCellBounds) -> LargeCells {
    let lower = max(fine.lower >> covering.shifts, covering.first);
    let upper = min(fine.upper >> covering.shifts, covering.last);
    return LargeCells(lower, vec3<u32>(max(upper - lower + vec3<i32>(1), vec3<i32>(0))));
}

fn large_cell_count(cover: LargeCells) -> u32 {
    return cover.size.x * cover.size.y * cover.size.z;
}

// Finest occupied level that is too coarse for the table, or NO_LEVEL.
fn level_past_large_table(shift: u32) -> u32 {
    let first = grid.large_table_below + shift + LARGE_TABLE_OCTAVES;
    if (first >= MAX_LEVELS) {
        return NO_LEVEL;
    }
    return countTrailingZeros(grid.occupied & (0xffffffffu << first));
}

// Keys `x .. y` of the objects entered in the table. Keys of coarser levels are smaller.
fn larger_keys(shift: u32) -> vec2<u32> {
    let past = level_past_large_table(shift);
    var begin = 0u;
    if (past != NO_LEVEL) {
        begin = grid.levels[past].table_base + grid.levels[past].table_size;
    }
    return vec2<u32>(begin, grid.levels[max(grid.large_table_below, 1u) - 1u].table_base);
}
