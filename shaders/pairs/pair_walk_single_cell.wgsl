// uses: common/box, common/cells, common/grid, common/large_table, common/rows, pairs/pair_own, pairs/pair_params
// needs: filters_of, visit_row

// Visits every candidate partner of one object, or a row's part of each range of candidates. Each unordered pair is
// visited from one object only.
//   large objects       the whole large list; for a large object, its later entries
//   large-object table  the one cell that holds the object's lower corner
//   own level           the later entries of the object's row of cells, then the rows of the half shell
//   coarser levels      the cells from `reach` before the object's lower corner to its upper corner;
//                       levels in the large-object table are skipped

// The numbers `x .. y` of candidates of `row`, from number `first` on, that a row of counts visits. Neighbouring
// invocations share a range, so that long ranges take fewer iterations.
fn part_of(own: Own, row: Row, first: u32) -> vec2<u32> {
    if (pair_params.split_bits == 0u) {
        return vec2<u32>(first, row.count);
    }
    let last = (1u << pair_params.split_bits) - 1u;
    let size = (row.count - first + last) >> pair_params.split_bits;
    let begin = min(row.count, first + size * (own.row & last));
    return vec2<u32>(begin, min(begin + size, row.count));
}

// The entries of a row's first range after `index`, and the second range.
fn later_entries(row: Row, index: u32) -> Row {
    let begin = max(row.begin, index + 1u);
    let passed = min(begin - row.begin, row.unwrapped);
    return Row(begin, row.unwrapped - passed, row.wrapped_begin, row.count - passed);
}

fn walk_pairs(count_row: u32) {
    let index = count_row >> pair_params.split_bits;
    if (index >= starts[ignored_key(grid.table_cells)]) {
        return;
    }
    let own_low = records[2u * index];
    let own_high = records[2u * index + 1u];
    let low = bitcast<vec3<i32>>(own_low.xyz);
    let high = bitcast<vec3<i32>>(own_high.xyz);
    let world = own_high.w;
    let own = Own(count_row, own_low.w, filters_of(own_low.w), low, high, world);
    visit_row(own, later_entries(large_list(world), index), 0u);
    if (index >= starts[grid.table_cells]) {
        return;
    }

    let box_min = flush_bits(unordered(low));
    let box_max = flush_bits(unordered(high));
    let own_level = place_single_cell(unordered(low), unordered(high), grid.base_inverse, grid.stretch).level;
    let detail = x_detail();
    let uses_large_table = own_level < grid.large_table_below;
    if (uses_large_table) {
        let key = key_of(grid.large_table, lookup_cell(box_min), world);
        let begin = starts[key];
        let count = starts[key + 1u] - begin;
        visit_row(own, Row(begin, count, 0u, count), 0u);
    }
    let reach = cell_reach();
    var next_level = own_level;
    for (var visited = 0u; visited < MAX_LEVELS && next_level != NO_LEVEL; visited += 1u) {
        let level = grid.levels[next_level];
        let at_own_level = visited == 0u;
        next_level = level.next;
        if (uses_large_table && next_level >= grid.large_table_below) {
            next_level = max(next_level, grid.large_table.next);
        }
        let inverse = axis_inverse(level.inverse, grid.stretch);
        let lower = cell_of(box_min, inverse);
        let upper = cell_of(box_max, inverse);
        // The buckets of two rows differ only by strides. Values common to all rows come first, as keeping `level`
        // through the loops takes more registers. On its own level, the object's row comes first, from the object's
        // cell on.
        let x_begin = max(lower.x - (reach << detail), level.lower_x);
        let x_end = min(upper.x, level.upper_x);
        let y_begin = max(lower.y - reach, level.lower_y);
        let y = select(y_begin, lower.y, at_own_level);
        let z = select(max(lower.z - reach, level.lower_z), lower.z, at_own_level);
        let y_end = min(upper.y, level.upper_y);
        let from_cell = x_begin >> level.x_shift;
        let length = u32((x_end >> level.x_shift) - from_cell);
        let rows = y_end - y_begin + 1;
        let next_z = level.stride_z - u32(rows - 1) * level.stride_y;
        var slot = unmasked_bucket_of(level, from_cell, y, z, world);
        var own_skip = select(0u, u32((lower.x >> level.x_shift) - from_cell), at_own_level);
        var is_own = at_own_level;
        var rows_left = y_end - y + 1;
        var layers_left = select(0, min(upper.z, level.upper_z) - z + 1, x_begin <= x_end && rows > 0);
        for (; layers_left > 0;) {
            let first_slot = (slot + own_skip) & level.table_mask;
            let row = row_at(level.table_base, level.table_mask, first_slot, length - own_skip);
            visit_row(own, row, select(0u, (index - row.begin) + 1u, is_own));
            is_own = false;
            own_skip = 0u;
            let is_last = rows_left == 1;
            rows_left = select(rows_left - 1, rows, is_last);
            layers_left -= select(0, 1, is_last);
            slot += select(level.stride_y, next_z, is_last);
        }
    }
}
