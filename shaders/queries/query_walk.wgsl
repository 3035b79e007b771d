// uses: common/entry, common/grid, common/round, common/rows, pairs/pair_excludes, queries/query_cells
// needs: MAY_TEST_CLUSTERS, MISS, Query, accept_result, distance_limit, distance_to, image_of, nearest_of_all
// needs: second_images, tests_clusters, with_images

// Visits every candidate of a query: the large list and, on each level, the cells within the search bounds, extended
// downward by the reach of objects. Results go to `accept_result`.

fn walks_clusters() -> bool {
    return MAY_TEST_CLUSTERS && may_have_clusters();
}

// Distance to a candidate or, if `is_member` is false, to the box of its cluster: a lower bound for the members. MISS
// beyond `distance_limit`. A cluster's test ignores querier and world, and compares whole boxes, since lower corners of
// members may be anywhere in the box.
fn distance_of(original: Query, record: u32, is_member: bool) -> u32 {
    var query = original;
    var low = records[2u * record];
    var high = records[2u * record + 1u];
    if (walks_clusters()) {
        low.w = select(0xffffffffu, low.w, is_member);
        high.w = select(query.world, high.w, is_member);
        query.seeks_corners = query.seeks_corners && is_member;
    }
    let distance = distance_to(query, low, high);
    return select(distance, MISS, distance > distance_limit());
}

fn members_end_of(query: Query, first: u32, end: u32) -> u32 {
    if (!tests_clusters(query)) {
        return end;
    }
    return members_end_at(first, end);
}

fn accept_if_admitted(query: Query, record: u32, distance: u32) {
    let object = records[2u * record].w;
    if (admitted(query, object) && !is_excluded(query.querier, object)) {
        accept_result(query, object, distance);
    }
}

fn test_all(query: Query, listing: Listing) {
    let share = tests_in_round(listing.row.count);
    var members_end = members_end_of(query, share.x, share.y);
    for (var k = share.x; k < share.y;) {
        let place = row_entry(listing.row, k);
        let past = cluster_end(k, place, range_end(listing.row, k, share.y));
        let is_member = !walks_clusters() || past <= members_end;
        members_end = select(past, members_end, is_member);
        var distance = MISS;
        if (is_listed(listing.is_of_records, place)) {
            let record = tested_record(listed_record(listing.is_of_records, place), is_member);
            distance = distance_of(query, record, is_member);
            if (distance != MISS && is_member) {
                accept_if_admitted(query, record, distance);
            }
        }
        k = select(select(k, members_end, distance == MISS), k + 1u, is_member);
    }
}

const LOOKS_NOWHERE: u32 = 0u;
const LOOKS_AT_CELLS: u32 = 1u;
const LOOKS_AT_ALL: u32 = 2u;

// `second` has a bit for each axis with a second image. A separate function: see decision 45.
fn look_of(query: Query, second: u32, level: Level) -> u32 {
    let is_second = (vec3<u32>(second) & vec3<u32>(1u, 2u, 4u)) != vec3<u32>(0u);
    let own_counts = cell_counts(cells_of(image_of(query, 0u), level), level);
    let second_counts = cell_counts(cells_of(image_of(query, second), level), level);
    let counts = own_counts + select(vec3<f32>(0.0), second_counts, is_second);
    if (any(counts == vec3<f32>(0.0))) {
        return LOOKS_NOWHERE;
    }
    // A loop over n items takes n + 1 iterations, and each row has a loop.
    let images = select(vec3<f32>(1.0), vec3<f32>(2.0), is_second);
    let iterations = row_iterations() * images.x * (counts.y + images.y) * (counts.z + images.z);
    if (
        are_crowded(counts, query, level)
        || !reserve_iterations(iterations)
        || meets_entries_again(query, second, level)
    ) {
        return LOOKS_AT_ALL;
    }
    return LOOKS_AT_CELLS;
}

fn walk_level(query: Query, second: u32, level: Level) {
    let look = look_of(query, second, level);
    if (look == LOOKS_AT_ALL) {
        test_all(nearest_of_all(query), listing_of(level, query.world));
    }
    for (var image = 0u; image <= second && look == LOOKS_AT_CELLS; image += 1u) {
        if ((image & ~second) == 0u) {
            walk_cells(image_of(query, image), level);
        }
    }
}

fn walk_cells(query: Query, level: Level) {
    let cells = cells_of(query, level);
    let lower = cells.lower;
    let upper = cells.upper;
    let from_cell = lower.x >> level.x_shift;
    let length = u32((upper.x >> level.x_shift) - from_cell);
    let next_z = level.stride_z - u32(upper.y - lower.y) * level.stride_y;
    var y = lower.y;
    var z = select(upper.z + 1, lower.z, all(lower <= upper));
    var slot = unmasked_bucket_of(level, from_cell, y, z, query.world);
    for (; z <= upper.z;) {
        let row = long_row_at(level.table_base, level.table_mask, slot, length);
        let share = tests_in_round(row.count);
        var members_end = members_end_of(query, share.x, share.y);
        for (var k = share.x; k < share.y;) {
            let entry = row_entry(row, k);
            let past = cluster_end(k, entry, range_end(row, k, share.y));
            let is_member = !walks_clusters() || past <= members_end;
            members_end = select(past, members_end, is_member);
            let record = tested_record(entry_record(entry), is_member);
            let distance = distance_of(query, record, is_member);
            if (distance != MISS && is_member) {
                let low = bitcast<vec3<i32>>(records[2u * record].xyz);
                if (is_met_here(level, entry, low, query, lower, upper, y, z)) {
                    accept_if_admitted(query, record, distance);
                }
            }
            k = select(select(k, members_end, distance == MISS), k + 1u, is_member);
        }
        let is_last = y == upper.y;
        slot += select(level.stride_y, next_z, is_last);
        y = select(y + 1, lower.y, is_last);
        z += select(0, 1, is_last);
    }
}

fn walk_candidates(original: Query) {
    let query = with_images(original);
    test_all(nearest_of_all(query), Listing(large_list(query.world), false));
    let second = second_images(query);
    var index = grid.first_level;
    for (var visited = 0u; visited < MAX_LEVELS && index != NO_LEVEL; visited += 1u) {
        let level = grid.levels[index];
        walk_level(query, second, level);
        index = level.next;
    }
}
