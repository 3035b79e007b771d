// uses: common/box, common/candidates, common/cells, common/prelude, common/round, common/rows, common/worlds
// uses: pairs/pair_filter, pairs/pair_own
// needs: visit_candidate

// Visits every candidate partner of one entry.
//   primary entry   the later entries of its bucket, then the large list
//   other entries   the entries of later groups in the bucket
//   large object    the later entries of the large list
//
// A pair counts only in the bucket of its primary cell. On each axis, the cell's coordinate is the larger one of both
// lower corners, so boxes that overlap both cover the cell.

@group(0) @binding(5) var<storage, read> keys: array<u32>;
@group(0) @binding(6) var<storage, read> values: array<u32>;

fn test_large(own: Own, candidate: u32) {
    let other = values[candidate] & ID_MASK;
    let other_low = bitcast<vec3<i32>>(records[2u * other].xyz);
    let other_high = records[2u * other + 1u];
    let meets = overlaps(own.low, own.high, other_low, bitcast<vec3<i32>>(other_high.xyz));
    visit_candidate(own, params.first_object + other, meets && worlds_meet(other_high.w, own.world));
    count_candidate();
}

// Tests the candidates of the large list from number `first` on.
fn test_large_list(own: Own, large: Row, first: u32) {
    let share = tests_in_round(large.count - first);
    for (var k = first + share.x; k < first + share.y; k += 1u) {
        test_large(own, row_entry(large, k));
    }
}

// First entry of a later group in the bucket. Buckets are sorted by group.
fn group_end(group: u32, begin: u32, bucket_end: u32) -> u32 {
    var low = begin;
    var high = bucket_end;
    for (; low < high;) {
        let middle = low + (high - low) / 2u;
        let is_before = entry_group(values[middle]) <= group;
        low = select(low, middle + 1u, is_before);
        high = select(middle, high, is_before);
    }
    return low;
}

fn walk_pairs(index: u32) {
    if (index >= starts[ignored_key(grid.table_cells)]) {
        return;
    }
    let value = values[index];
    let key = keys[index];
    let own_low = records[2u * (value & ID_MASK)];
    let own_high = records[2u * (value & ID_MASK) + 1u];
    let low = bitcast<vec3<i32>>(own_low.xyz);
    let high = bitcast<vec3<i32>>(own_high.xyz);
    let world = own_high.w;
    let own = Own(index, own_low.w, filters_of(own_low.w), low, high, world);
    let large = large_list(world);
    let level = grid.levels[0];
    let inverse = vec3<f32>(params.cell_inverse);
    let lower = cell_of(flush_bits(unordered(low)), inverse);

    if (index >= starts[grid.table_cells]) {
        test_large_list(own, large, index + 1u - large.begin);
        return;
    }
    let bucket_end = starts[key + 1u];
    let group = entry_group(value);
    let is_primary = group == 0u;
    var first = index + 1u;
    if (group == ENTRY_GROUPS - 1u) {
        first = bucket_end;
    } else if (!is_primary) {
        first = group_end(group, first, bucket_end);
    }
    let behind = tests_in_round(bucket_end - first);
    for (var k = behind.x; k < behind.y; k += 1u) {
        let other_value = values[first + k];
        if (((value | other_value) & PRIMARY_FLAGS) == PRIMARY_FLAGS) {
            let other = other_value & ID_MASK;
            let other_low = bitcast<vec3<i32>>(records[2u * other].xyz);
            let other_high = records[2u * other + 1u];
            if (other_high.w == world && overlaps(low, high, other_low, bitcast<vec3<i32>>(other_high.xyz))) {
                // Other cells may share the bucket, so the key is compared.
                let primary = max(lower, cell_of(flush_bits(unordered(other_low)), inverse));
                visit_candidate(own, params.first_object + other, key_of(level, primary, world) == key);
            }
            count_candidate();
        }
    }
    if (is_primary) {
        test_large_list(own, large, 0u);
    }
}
