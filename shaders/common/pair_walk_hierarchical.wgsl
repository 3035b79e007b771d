// Every candidate of one object, each unordered pair from one side only: the large list; at the object's own level the
// entries behind it in its row and the rows of the half shell that it reaches into; at every coarser level all cells
// from one before its lower corner to its upper corner. One flat loop tests one candidate a turn, so that neighbouring
// invocations stay together whatever their rows hold.

fn entry_object(index: u32) -> u32 {
    return records[2u * index].w;
}

fn walk_pairs(index: u32) {
    let large_begin = starts[grid.table_cells];
    let large_end = starts[grid.table_cells + 1u];
    if (index >= large_end) {
        return;
    }
    let own_low = records[2u * index];
    let own_high = records[2u * index + 1u];
    begin_object(own_low.w);
    let low = bitcast<vec3<i32>>(own_low.xyz);
    let high = bitcast<vec3<i32>>(own_high.xyz);
    let box_min = flush_bits(unordered(low));
    let box_max = flush_bits(unordered(high));

    var candidate = max(large_begin, index + 1u);
    var end = large_end;
    var wrapped_begin = 0u;
    var wrapped_end = 0u;
    var own_level = false;
    var at_first_level = true;
    var next_level = NO_LEVEL;
    if (index < large_begin) {
        next_level = place_hierarchical(unordered(low), unordered(high), grid.base_inverse).level;
    }
    var level: Level;
    var lower = vec3<i32>(0);
    var upper = vec3<i32>(0);
    // The row that comes next; none where z is past its end.
    var y = 0;
    var z = 0;
    var y_end = -1;
    var z_end = -1;

    loop {
        if (candidate < end) {
            let other_low = records[2u * candidate];
            let other_high = records[2u * candidate + 1u];
            if (overlaps(low, high, bitcast<vec3<i32>>(other_low.xyz), bitcast<vec3<i32>>(other_high.xyz))) {
                accept_pair(other_low.w);
            }
            count_candidate();
            candidate += 1u;
        } else if (wrapped_begin < wrapped_end) {
            candidate = wrapped_begin;
            end = wrapped_end;
            wrapped_end = 0u;
        } else if (z <= z_end) {
            let own_slab = own_level && z == lower.z;
            let own_row = own_slab && y == lower.y;
            let x_from = select(lower.x - i32(1u << X_DETAIL), lower.x, own_row);
            let row = row_of(level, x_from, upper.x, y, z);
            candidate = select(row.begin, index + 1u, own_row);
            end = row.end;
            wrapped_begin = row.wrapped_begin;
            wrapped_end = row.wrapped_end;
            y += 1;
            if (y > y_end) {
                z += 1;
                y = max(lower.y - 1, level.lower_y);
            }
        } else if (next_level != NO_LEVEL) {
            level = grid.levels[next_level];
            let inverse = axis_inverse(level.inverse, X_DETAIL);
            lower = cell_of(box_min, inverse);
            upper = cell_of(box_max, inverse);
            own_level = at_first_level;
            at_first_level = false;
            y_end = min(upper.y, level.upper_y);
            z_end = min(upper.z, level.upper_z);
            if (own_level) {
                y = lower.y;
                z = lower.z;
            } else {
                y = max(lower.y - 1, level.lower_y);
                z = max(lower.z - 1, level.lower_z);
                if (y > y_end) {
                    z = z_end + 1;
                }
            }
            next_level = level.next;
        } else {
            break;
        }
    }
}
