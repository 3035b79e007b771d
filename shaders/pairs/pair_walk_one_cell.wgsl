// uses: common/box, common/cells, common/cover, common/grid, common/rows, {visit}
// needs: begin_object

// The rows of all candidates of one object, each unordered pair from one side only: the large list; what the cover
// table has of larger objects; at the object's own level the entries behind it in its row and the rows of the half
// shell that it reaches into; at every coarser level that is not in that table all cells from its upper corner back to
// its lower one and as far before as objects there reach.

// The box whose candidates are walked.
var<private> own_box_low: vec3<i32>;
var<private> own_box_high: vec3<i32>;
var<private> own_world: u32;

fn walk_pairs(index: u32) {
    if (index >= starts[absent_key(grid.table_cells)]) {
        return;
    }
    let own_low = records[2u * index];
    let own_high = records[2u * index + 1u];
    begin_object(own_low.w);
    let low = bitcast<vec3<i32>>(own_low.xyz);
    let high = bitcast<vec3<i32>>(own_high.xyz);
    let world = own_high.w;
    own_box_low = low;
    own_box_high = high;
    own_world = world;
    let large = large_list(world);
    let first_large = max(large.x, index + 1u);
    let large_count = max(large.y, first_large) - first_large;
    visit_row(Row(first_large, large_count, 0u, large_count), 0u);
    if (index >= starts[grid.table_cells]) {
        return;
    }

    let box_min = flush_bits(unordered(low));
    let box_max = flush_bits(unordered(high));
    let own_level = place_one_cell(unordered(low), unordered(high), grid.base_inverse).level;
    let detail = x_detail();
    let looks_up = own_level < grid.cover_below;
    // A loop of one turn: drivers for CPUs skip loops that no lane enters, and take both sides of branches.
    for (var looks = looks_up; looks; looks = false) {
        let key = key_of(grid.cover, looked_up(box_min), world);
        let begin = starts[key];
        let count = starts[key + 1u] - begin;
        visit_row(Row(begin, count, 0u, count), 0u);
    }
    let reach = cell_reach();
    var next_level = own_level;
    for (var visited = 0u; visited < MAX_LEVELS && next_level != NO_LEVEL; visited += 1u) {
        let level = grid.levels[next_level];
        let at_own_level = next_level == own_level;
        next_level = level.next;
        for (var climbs = looks_up && next_level >= grid.cover_below; climbs; climbs = false) {
            next_level = max(next_level, grid.cover.next);
        }
        let inverse = axis_inverse(level.inverse, detail);
        let lower = cell_of(box_min, inverse);
        let upper = cell_of(box_max, inverse);
        let y_end = min(upper.y, level.upper_y);
        let z_end = min(upper.z, level.upper_z);
        let y_begin = max(lower.y - reach, level.lower_y);
        var y = select(y_begin, lower.y, at_own_level);
        var z = select(max(lower.z - reach, level.lower_z), lower.z, at_own_level);
        for (; z <= z_end; z += 1) {
            for (; y <= y_end; y += 1) {
                let own_row = at_own_level && z == lower.z && y == lower.y;
                let x_from = select(lower.x - (reach << detail), lower.x, own_row);
                let row = row_of(level, x_from, upper.x, y, z, world);
                visit_row(row, select(0u, index + 1u - row.begin, own_row));
            }
            y = y_begin;
        }
    }
}
