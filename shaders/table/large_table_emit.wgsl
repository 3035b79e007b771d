// uses: common/cells, common/large_table, common/grid, common/prelude, common/wide, common/workgroup
// uses: sort/sort_next, table/worlds

// Chooses the finest cells of the large-object table that fit its capacity with their entries and are not crowded.
// Without such cells, there is no table. Each workgroup derives the choice; the first one writes it to the grid.
// Then writes an entry for every cell that a larger box covers, x fastest, after the entries of the objects. A box may
// have thousands of cells, so several invocations share it.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
// Grid before the choice, without a large-object table.
@group(0) @binding(2) var<storage, read> grid: Grid;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read> large_table_sums: array<u32>;
@group(0) @binding(6) var<storage, read_write> next_grid: Grid;

const MOST_LANES: u32 = 128u;
// On CPUs, few lanes with many objects each: most workgroups find no larger box and should end soon.
override LARGE_TABLE_LANES: u32 = select(MOST_LANES, 64u, SERIAL_SORT);
// Lanes per box: those of the narrowest processors. Most boxes have at least this number of cells.
const LANES_A_BOX: u32 = 8u;
// Boxes with more cells are written by all lanes, one box after the other.
const FEW_CELLS: u32 = 64u;
// Average entries per cell beyond which reading a cell costs more than it saves.
const CROWDED_CELL: u32 = 16u;

var<workgroup> partial: array<u32, MOST_LANES>;
// Entered objects of the tile, each with the place of its first entry: in any order, those of few cells from the
// begin, the others from the end.
var<workgroup> found: array<vec2<u32>, 1024>;
var<workgroup> few_count: atomic<u32>;
var<workgroup> many_count: atomic<u32>;
var<workgroup> tile_entries: u32;
var<workgroup> entries_before: atomic<u32>;

// The table as a level, with a bucket for each cell that may be looked up. Its keys follow all others.
fn large_table(shift: u32) -> Level {
    var cover: Level;
    cover.count = saturate64(vec2<u32>(large_table_sums[2u * shift - 2u], large_table_sums[2u * shift - 1u]));
    cover.next = level_past_large_table(shift);
    let bounds = covering_of(shift);
    let lower = bounds.first;
    let upper = bounds.last;
    cover.lower_x = lower.x;
    cover.lower_y = lower.y;
    cover.lower_z = lower.z;
    cover.upper_x = upper.x;
    cover.upper_y = upper.y;
    cover.upper_z = upper.z;
    let cells = vec3<u32>(upper - lower) + vec3<u32>(1u);
    cover.stride_y = cells.x;
    cover.stride_z = saturating_product(cells.x, cells.y);
    cover.stride_world = saturating_product(cover.stride_z, cells.z);
    cover.table_size = saturating_product(cover.stride_world, params.world_count);
    cover.table_base = ignored_key(grid.table_cells) + 1u;
    cover.table_mask = DENSE;
    return cover;
}

fn fits(cover: Level) -> bool {
    let is_loose = cover.count / CROWDED_CELL <= cover.table_size;
    let room = params.table_capacity - grid.table_cells;
    return is_loose && cover.count <= params.large_table_capacity && cover.table_size <= room;
}

// Shift of the chosen cell size, or 0 for no table.
fn chosen_shift() -> u32 {
    if (grid.large_table_below == 0u) {
        return 0u;
    }
    for (var shift = 1u; shift <= LARGE_TABLE_SHIFTS; shift += 1u) {
        if (fits(large_table(shift))) {
            return shift;
        }
    }
    return 0u;
}

// All invocations of one workgroup must call this.
fn write_grid(local: u32, shift: u32, cover: Level) {
    if (local < MAX_LEVELS) {
        next_grid.levels[local] = grid.levels[local];
    }
    if (local > 0u) {
        return;
    }
    next_grid.base_inverse = grid.base_inverse;
    next_grid.stretch = grid.stretch;
    next_grid.first_level = grid.first_level;
    next_grid.table_cells = grid.table_cells;
    next_grid.occupied = grid.occupied;
    next_grid.fullest_level = grid.fullest_level;
    next_grid.crowded_levels = grid.crowded_levels;
    next_grid.is_crowded = grid.is_crowded;
    next_grid.large_table_shift = shift;
    let has_table = shift > 0u;
    next_grid.large_table_below = select(0u, grid.large_table_below, has_table);
    next_grid.entry_count = grid.entry_count + select(0u, cover.count, has_table);
    next_grid.key_count = select(grid.key_count, cover.table_base + cover.table_size + 1u, has_table);
    var large_table = cover;
    if (!has_table) {
        large_table = grid.large_table;
    }
    next_grid.large_table = large_table;
}

// Writes the entries of `found[k]`: this invocation those from `lane` on, in steps of `lanes`.
fn write_entries(k: u32, lane: u32, lanes: u32, covering: LargeCellBounds, level: Level) {
    let object = found[k].x;
    let first = found[k].y;
    let cover = own_large_cells(object, covering);
    let world = world_of(object);
    for (var entry = lane; entry < large_cell_count(cover); entry += lanes) {
        let row = entry / cover.size.x;
        let cell = cover.lower + vec3<i32>(vec3<u32>(entry % cover.size.x, row % cover.size.y, row / cover.size.y));
        let key = key_of(level, cell, world);
        keys[first + entry] = key;
        values[first + entry] = object;
        count_next(key, first + entry);
    }
}

fn own_large_cells(object: u32, covering: LargeCellBounds) -> LargeCells {
    let name = params.first_object + object;
    return large_cells_of(fine_cells_of(objects[2u * name].xyz, objects[2u * name + 1u].xyz), covering);
}

@compute @workgroup_size(LARGE_TABLE_LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = flat_workgroup(group, groups);
    let shift = chosen_shift();
    let chosen = max(shift, 1u);
    // Computed before all loops: a compiler must assume that writes in a loop change `grid`.
    let covering = covering_of(chosen);
    let large_table_level = large_table(chosen);
    if (tile == 0u) {
        write_grid(local, shift, large_table_level);
    }
    if (local == 0u) {
        atomicStore(&few_count, 0u);
        atomicStore(&many_count, 0u);
        atomicStore(&entries_before, 0u);
        tile_entries = 0u;
        if (shift > 0u && tile < large_table_tiles()) {
            tile_entries = large_table_sums[large_table_sum(shift, tile)];
        }
    }
    if (workgroupUniformLoad(&tile_entries) == 0u) {
        return;
    }
    var own = 0u;
    // One bit per object of this invocation, set if the object is entered.
    var own_objects = 0u;
    var before = 0u;
    for (var other = local; other < tile; other += LARGE_TABLE_LANES) {
        before += large_table_sums[large_table_sum(shift, other)];
    }
    atomicAdd(&entries_before, before);
    let larger = larger_keys(shift);
    // Consecutive objects, so that the order of entries does not depend on the tiles.
    let run = params.large_table_tile / LARGE_TABLE_LANES;
    let first = tile * params.large_table_tile + run * local;
    for (var object = first; object < min(first + run, params.object_count); object += 1u) {
        let key = keys[object];
        if (key >= larger.x && key < larger.y) {
            own += large_cell_count(own_large_cells(object, covering));
            own_objects |= 1u << (object - first);
        }
    }
    partial[local] = own;
    workgroupBarrier();
    // No constant bound, so that compilers do not unroll the loop.
    for (var distance = 1u; distance < min(LARGE_TABLE_LANES, params.object_count); distance *= 2u) {
        var sum = partial[local];
        if (local >= distance) {
            sum += partial[local - distance];
        }
        workgroupBarrier();
        partial[local] = sum;
        workgroupBarrier();
    }
    var place = params.object_count + atomicLoad(&entries_before) + partial[local] - own;
    for (var rest = own_objects; rest != 0u; rest &= rest - 1u) {
        let object = first + countTrailingZeros(rest);
        let cells = large_cell_count(own_large_cells(object, covering));
        var k = 0u;
        if (cells > FEW_CELLS) {
            k = LARGE_TABLE_TILE - 1u - atomicAdd(&many_count, 1u);
        } else {
            k = atomicAdd(&few_count, 1u);
        }
        found[k] = vec2<u32>(object, place);
        place += cells;
    }
    workgroupBarrier();
    for (var k = local / LANES_A_BOX; k < atomicLoad(&few_count); k += LARGE_TABLE_LANES / LANES_A_BOX) {
        write_entries(k, local % LANES_A_BOX, LANES_A_BOX, covering, large_table_level);
    }
    for (var k = 0u; k < atomicLoad(&many_count); k += 1u) {
        write_entries(LARGE_TABLE_TILE - 1u - k, local, LARGE_TABLE_LANES, covering, large_table_level);
    }
}
