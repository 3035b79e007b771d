// uses: common/cells, common/clusters, common/counters, common/grid, common/indirect, common/place, common/prelude, common/wide
// uses: common/workgroup

// Gives every occupied level its part of the cell table: its cells one by one where they are few enough (finer along x
// if they fit), else a power of two of hashed slots.

@group(0) @binding(1) var<storage, read> level_statistics: array<u32, 256>;
@group(0) @binding(2) var<storage, read_write> grid: Grid;
@group(0) @binding(3) var<storage, read_write> counters: array<u32>;
// Workgroups that count pairs, by the pass for crowded scenes or by the other one, as indirect dispatches read them.
@group(0) @binding(4) var<storage, read_write> sparse_groups: array<u32, 3>;
@group(0) @binding(5) var<storage, read_write> crowded_groups: array<u32, 3>;

const BIAS: u32 = 0x80000000u;
const TABLE_CELLS_PER_OBJECT: u32 = 4u;
const TABLE_CELLS_PER_LEVEL: u32 = 128u;
const FEW_LARGER: u32 = 32u;

// Boxes of larger levels may get a cover table where those that look it up, up to some level, are nearly all.
fn level_below_cover(occupied: u32) -> u32 {
    if (params.cover_capacity == 0u) {
        return 0u;
    }
    var placed = 0u;
    for (var index = 0u; index < MAX_LEVELS; index += 1u) {
        placed += level_statistics[8u * index];
    }
    var below = 0u;
    var objects = 0u;
    for (; below < MAX_LEVELS && objects < placed - placed / FEW_LARGER; below += 1u) {
        objects += level_statistics[8u * below];
    }
    return select(0u, below, below < MAX_LEVELS && (occupied >> below) > 0u);
}

// Where the objects lie that look it up, in cells of the highest of their levels.
fn bound_cover(occupied: u32) {
    var lower = vec3<i32>(0x7fffffff);
    var upper = vec3<i32>(-0x7fffffff);
    for (var index = 0u; index < grid.cover_below; index += 1u) {
        let level = grid.levels[index];
        if ((occupied & (1u << index)) != 0u) {
            let octaves = vec3<u32>(grid.cover_below - 1u - index);
            let highest = vec3<i32>(level.upper_x, level.upper_y, level.upper_z) >> octaves;
            lower = min(lower, vec3<i32>(level.lower_x, level.lower_y, level.lower_z) >> octaves);
            // What underflows lies in cell 0 of a coarser level, although in cell -1 of its own.
            upper = max(upper, select(highest, vec3<i32>(0), highest == vec3<i32>(-1)));
        }
    }
    grid.cover.lower_x = lower.x;
    grid.cover.lower_y = lower.y;
    grid.cover.lower_z = lower.z;
    grid.cover.upper_x = upper.x;
    grid.cover.upper_y = upper.y;
    grid.cover.upper_z = upper.z;
}

// Whether walks of pairs pass over boxes by clusters. The cells of the adaptive scheme always hold many: boxes that
// cross a border of small cells lie in large ones.
fn is_crowded() -> bool {
    if (params.has_clusters == 0u || params.scheme == SCHEME_ADAPTIVE) {
        return params.has_clusters != 0u;
    }
    return grid.fullest_level != NO_LEVEL && ((grid.crowded_levels >> grid.fullest_level) & 1u) != 0u;
}

@compute @workgroup_size(1)
fn main() {
    let uniform_scheme = params.scheme == SCHEME_UNIFORM;
    var next = NO_LEVEL;
    var table_base = 0u;
    var level_count = 0u;
    var occupied = 0u;
    var fullest = NO_LEVEL;
    var most = 0u;
    // From the coarsest, so that each level can name the next coarser one.
    for (var step = 0u; step < MAX_LEVELS; step += 1u) {
        let index = MAX_LEVELS - 1u - step;
        let word = 8u * index;
        let count = level_statistics[word];
        if (count == 0u) {
            continue;
        }
        var level: Level;
        level.count = count;
        level.next = next;
        level.lower_x = bitcast<i32>(BIAS - level_statistics[word + 1u]);
        level.lower_y = bitcast<i32>(BIAS - level_statistics[word + 2u]);
        level.lower_z = bitcast<i32>(BIAS - level_statistics[word + 3u]);
        level.upper_x = bitcast<i32>(level_statistics[word + 4u] - BIAS);
        level.upper_y = bitcast<i32>(level_statistics[word + 5u] - BIAS);
        level.upper_z = bitcast<i32>(level_statistics[word + 6u] - BIAS);
        level.inverse = level_inverse(base_inverse(), index);
        var allowed = params.table_capacity;
        if (!uniform_scheme) {
            allowed = TABLE_CELLS_PER_OBJECT * count + TABLE_CELLS_PER_LEVEL;
        }
        let cells_y = u32(level.upper_y - level.lower_y) + 1u;
        let cells_z = u32(level.upper_z - level.lower_z) + 1u;
        level.table_size = 0u;
        for (var shift = 0u; shift <= x_detail(); shift += 1u) {
            let cells_x = u32((level.upper_x >> shift) - (level.lower_x >> shift)) + 1u;
            let cells = saturating_product(saturating_product(cells_x, cells_y), cells_z);
            let all_worlds = saturating_product(cells, params.world_count);
            if (all_worlds <= allowed && level.table_size == 0u) {
                level.table_size = all_worlds;
                level.x_shift = shift;
                level.table_mask = DENSE;
                level.stride_y = cells_x;
                level.stride_z = cells_x * cells_y;
                level.stride_world = cells;
            }
        }
        if (level.table_size == 0u) {
            level.table_size = 1u << (31u - countLeadingZeros(allowed));
            level.x_shift = x_detail();
            level.table_mask = level.table_size - 1u;
            level.stride_y = HASH_Y;
            level.stride_z = HASH_Z;
            level.stride_world = HASH_WORLD;
        }
        level.table_base = table_base;
        table_base += level.table_size;
        level_count += 1u;
        next = index;
        occupied |= 1u << index;
        if (count > most) {
            most = count;
            fullest = index;
        }
        grid.levels[index] = level;
    }
    grid.first_level = next;
    grid.occupied = occupied;
    grid.fullest_level = fullest;
    grid.is_crowded = u32(is_crowded());
    let none = vec3<u32>(0u);
    // An invocation per entry, and one for the last word of the counts.
    let all = folded_groups(params.entry_capacity / WORKGROUP + 1u);
    let sparse = select(all, none, keeps_bits(grid.is_crowded));
    let crowded = select(none, all, keeps_bits(grid.is_crowded));
    sparse_groups = array<u32, 3>(sparse.x, sparse.y, sparse.z);
    crowded_groups = array<u32, 3>(crowded.x, crowded.y, crowded.z);
    grid.table_cells = table_base;
    grid.key_count = absent_key(table_base) + 1u;
    grid.cover_below = level_below_cover(occupied);
    grid.cover_shift = 0u;
    if (grid.cover_below > 0u) {
        bound_cover(occupied);
    }
    grid.base_inverse = base_inverse();
    grid.x_detail = x_detail();
    if (!uniform_scheme) {
        grid.entry_count = params.object_count;
        counters[COUNTER_ENTRIES_NEEDED] = params.object_count;
    }
    counters[COUNTER_LEVELS] += level_count;
    counters[COUNTER_TABLE_CELLS] += table_base;
}
