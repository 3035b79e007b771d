// uses: common/cells, common/cover, common/grid, common/prelude, common/wide, common/workgroup

// Turns the entries of each tile into the place of its first one, for each choice of the cover table's cells, and takes
// the finest cells for which the entries and the cells have room and are not crowded; none where no choice is so.

@group(0) @binding(1) var<storage, read_write> cover_sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> grid: Grid;

// Entries of a cell, on average, from which on looking one up takes more than it saves.
const CROWDED_CELL: u32 = 16u;

var<workgroup> partial: array<u32, 256>;
var<workgroup> totals: array<u32, 3>;

// A sum past the largest word stays there: more than any capacity.
fn saturating_sum(a: u32, b: u32) -> u32 {
    return select(a + b, 0xffffffffu, a + b < a);
}

// The places of the entries of so many tiles from the first one on.
fn scan_tiles(choice: u32, tiles: u32, local: u32) {
    let each = (tiles + WORKGROUP - 1u) / WORKGROUP;
    let first = choice * tiles + min(local * each, tiles);
    let end = choice * tiles + min((local + 1u) * each, tiles);
    var own = 0u;
    for (var tile = first; tile < end; tile += 1u) {
        own = saturating_sum(own, cover_sums[tile]);
    }
    partial[local] = own;
    workgroupBarrier();
    for (var distance = 1u; distance < WORKGROUP; distance *= 2u) {
        var sum = partial[local];
        if (local >= distance) {
            sum = saturating_sum(sum, partial[local - distance]);
        }
        workgroupBarrier();
        partial[local] = sum;
        workgroupBarrier();
    }
    var place = 0u;
    if (local > 0u) {
        place = partial[local - 1u];
    }
    if (local == WORKGROUP - 1u) {
        totals[choice] = partial[local];
    }
    workgroupBarrier();
    for (var tile = first; tile < end; tile += 1u) {
        let sum = cover_sums[tile];
        cover_sums[tile] = place;
        place = saturating_sum(place, sum);
    }
}

// The table has a cell for each in which the lower corner of an object that looks it up may lie, and comes behind all
// other keys.
fn cover_table(shift: u32) -> Level {
    var cover: Level;
    cover.count = totals[shift - 1u];
    cover.next = level_past_cover(shift);
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
    cover.table_base = absent_key(grid.table_cells) + 1u;
    cover.table_mask = DENSE;
    return cover;
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32) {
    let tiles = cover_tiles();
    for (var choice = 0u; choice < COVER_SHIFTS; choice += 1u) {
        scan_tiles(choice, tiles, local);
    }
    if (local > 0u || grid.cover_below == 0u) {
        return;
    }
    let room = params.table_capacity - grid.table_cells;
    for (var shift = 1u; shift <= COVER_SHIFTS && grid.cover_shift == 0u; shift += 1u) {
        let cover = cover_table(shift);
        let is_loose = cover.count / CROWDED_CELL <= cover.table_size;
        if (is_loose && cover.count <= params.cover_capacity && cover.table_size <= room) {
            grid.cover_shift = shift;
            grid.cover = cover;
            grid.key_count = cover.table_base + cover.table_size + 1u;
            grid.entry_count += cover.count;
        }
    }
    if (grid.cover_shift == 0u) {
        grid.cover_below = 0u;
    }
}
