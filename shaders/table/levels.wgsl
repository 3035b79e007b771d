// uses: common/cells, common/counters, common/grid, common/prelude, common/wide

// Assigns buckets to each occupied level: one per cell if they fit (finer along x if possible), else a power of two of
// hashed ones. Each workgroup that needs the levels computes them; the first one writes them for later passes.

@group(0) @binding(2) var<storage, read> level_statistics: array<u32, 256>;
@group(0) @binding(3) var<storage, read_write> next_grid: Grid;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

const TABLE_CELLS_PER_OBJECT: u32 = 4u;
const TABLE_CELLS_PER_LEVEL: u32 = 128u;
const FEW_LARGER: u32 = 32u;

var<workgroup> grid: Grid;
var<workgroup> statistics: array<u32, 256>;
var<workgroup> occupied: atomic<u32>;

// Returns a level without its `table_base` and `next`.
fn level_of(index: u32, base_inverse: f32) -> Level {
    let word = 8u * index;
    var level: Level;
    level.count = statistics[word];
    if (level.count == 0u) {
        return level;
    }
    level.lower_x = bitcast<i32>(BIAS - statistics[word + 1u]);
    level.lower_y = bitcast<i32>(BIAS - statistics[word + 2u]);
    level.lower_z = bitcast<i32>(BIAS - statistics[word + 3u]);
    level.upper_x = bitcast<i32>(statistics[word + 4u] - BIAS);
    level.upper_y = bitcast<i32>(statistics[word + 5u] - BIAS);
    level.upper_z = bitcast<i32>(statistics[word + 6u] - BIAS);
    level.inverse = level_inverse(base_inverse, index);
    var allowed = params.table_capacity;
    if (params.scheme != SCHEME_UNIFORM) {
        allowed = TABLE_CELLS_PER_OBJECT * level.count + TABLE_CELLS_PER_LEVEL;
    }
    let cells_y = u32(level.upper_y - level.lower_y) + 1u;
    let cells_z = u32(level.upper_z - level.lower_z) + 1u;
    for (var shift = 0u; shift <= x_detail(); shift += 1u) {
        let cells_x = u32((level.upper_x >> shift) - (level.lower_x >> shift)) + 1u;
        let cells = saturating_product(saturating_product(cells_x, cells_y), cells_z);
        let all_worlds = saturating_product(cells, params.world_count);
        if (all_worlds <= allowed) {
            level.table_size = all_worlds;
            level.x_shift = shift;
            level.table_mask = DENSE;
            level.stride_y = cells_x;
            level.stride_z = cells_x * cells_y;
            level.stride_world = cells;
            return level;
        }
    }
    level.table_size = 1u << (31u - countLeadingZeros(allowed));
    level.x_shift = x_detail();
    level.table_mask = level.table_size - 1u;
    level.stride_y = HASH_Y;
    level.stride_z = HASH_Z;
    level.stride_world = HASH_WORLD;
    return level;
}

// Level below which objects read the large-object table, 0 without a table. Nearly all of the `placed` objects, but not
// all, must be below it.
fn level_below_large_table(levels: u32, placed: u32) -> u32 {
    if (params.large_table_capacity == 0u) {
        return 0u;
    }
    var below = 0u;
    var objects = 0u;
    for (var rest = levels; rest != 0u && objects < placed - placed / FEW_LARGER; rest &= rest - 1u) {
        below = countTrailingZeros(rest) + 1u;
        objects += statistics[8u * below - 8u];
    }
    return select(0u, below, below < MAX_LEVELS && (levels >> below) > 0u);
}

// Bounds of the objects that read the table, in cells of level `below - 1`.
fn large_table_bounds(levels: u32, below: u32) -> Level {
    var lower = vec3<i32>(0x7fffffff);
    var upper = vec3<i32>(-0x7fffffff);
    var cover: Level;
    for (var rest = levels & ((1u << below) - 1u); rest != 0u; rest &= rest - 1u) {
        let index = countTrailingZeros(rest);
        let octaves = vec3<u32>(below - 1u - index);
        let level_lower = vec3<i32>(grid.levels[index].lower_x, grid.levels[index].lower_y, grid.levels[index].lower_z);
        let level_upper = vec3<i32>(grid.levels[index].upper_x, grid.levels[index].upper_y, grid.levels[index].upper_z);
        let highest = level_upper >> octaves;
        lower = min(lower, level_lower >> octaves);
        // Underflow may put a position of cell -1 into cell 0 of a coarser level.
        upper = max(upper, select(highest, vec3<i32>(0), highest == vec3<i32>(-1)));
    }
    if (below > 0u) {
        cover.lower_x = lower.x;
        cover.lower_y = lower.y;
        cover.lower_z = lower.z;
        cover.upper_x = upper.x;
        cover.upper_y = upper.y;
        cover.upper_z = upper.z;
    }
    return cover;
}

// Adaptive scenes always count as crowded: small boxes that cross a border of small cells are in large ones.
fn is_crowded(fullest: u32) -> bool {
    if (params.has_clusters == 0u || params.scheme == SCHEME_ADAPTIVE) {
        return params.has_clusters != 0u;
    }
    return fullest != NO_LEVEL && ((statistics[CROWDED_LEVELS] >> fullest) & 1u) != 0u;
}

// Writes from registers: on CPU drivers, each access to memory compiles to a loop.
fn lay_out_rest(levels: u32, writes: bool) {
    var table_cells = 0u;
    var placed = 0u;
    var fullest = NO_LEVEL;
    var most = 0u;
    for (var rest = levels; rest != 0u; rest &= rest - 1u) {
        let index = countTrailingZeros(rest);
        let count = statistics[8u * index];
        table_cells += grid.levels[index].table_size;
        placed += count;
        if (count >= most) {
            most = count;
            fullest = index;
        }
    }
    let below = level_below_large_table(levels, placed);
    let large_table = large_table_bounds(levels, below);
    grid.base_inverse = bitcast<f32>(statistics[BASE_INVERSE]);
    grid.stretch = statistics[STRETCH];
    grid.table_cells = table_cells;
    grid.occupied = levels;
    grid.large_table_below = below;
    grid.large_table_shift = 0u;
    grid.large_table = large_table;
    if (!writes) {
        return;
    }
    let has_entries = params.scheme != SCHEME_UNIFORM;
    next_grid.base_inverse = bitcast<f32>(statistics[BASE_INVERSE]);
    next_grid.stretch = statistics[STRETCH];
    next_grid.first_level = select(countTrailingZeros(levels), NO_LEVEL, levels == 0u);
    next_grid.table_cells = table_cells;
    next_grid.entry_count = select(0u, params.object_count, has_entries);
    next_grid.occupied = levels;
    next_grid.fullest_level = fullest;
    next_grid.large_table_below = below;
    next_grid.large_table_shift = 0u;
    next_grid.key_count = ignored_key(table_cells) + 1u;
    next_grid.crowded_levels = statistics[CROWDED_LEVELS];
    next_grid.is_crowded = u32(is_crowded(fullest));
    if (params.has_clusters != 0u) {
        counters[COUNTER_CROWDED] = u32(is_crowded(fullest));
    }
    next_grid.large_table = large_table;
    if (has_entries) {
        counters[COUNTER_ENTRIES_NEEDED] = params.object_count;
    }
    counters[COUNTER_LEVELS] += countOneBits(levels);
    counters[COUNTER_TABLE_CELLS] += table_cells;
}

// All 256 invocations must call this. With `writes`, it also writes the levels for later passes.
fn lay_out(local: u32, writes: bool) {
    statistics[local] = level_statistics[local];
    if (local == 0u) {
        atomicStore(&occupied, 0u);
    }
    workgroupBarrier();
    var level: Level;
    if (local < MAX_LEVELS) {
        level = level_of(local, bitcast<f32>(statistics[BASE_INVERSE]));
        grid.levels[local] = level;
        if (level.count > 0u) {
            atomicOr(&occupied, 1u << local);
        }
    }
    workgroupBarrier();
    let levels = atomicLoad(&occupied);
    if (local < MAX_LEVELS) {
        if (level.count > 0u) {
            let coarser = levels & ~((2u << local) - 1u);
            for (var rest = coarser; rest != 0u; rest &= rest - 1u) {
                level.table_base += grid.levels[countTrailingZeros(rest)].table_size;
            }
            level.next = select(countTrailingZeros(coarser), NO_LEVEL, coarser == 0u);
            grid.levels[local].table_base = level.table_base;
        }
        if (writes) {
            next_grid.levels[local] = level;
        }
    }
    if (local == 0u) {
        lay_out_rest(levels, writes);
    }
    workgroupBarrier();
}
