// uses: common/box, common/cells, common/clusters, common/grid, common/prelude, common/rows
// needs: objects, values

// Entries of the cell table, for rays and queries.
//   uniform        one entry per covered cell; `values` holds the object of each entry; records are in object order
//   other schemes  one entry per object; records are in entry order; `values` is not read

fn entry_record(entry: u32) -> u32 {
    if (SCHEME != SCHEME_UNIFORM) {
        return entry;
    }
    return values[entry] & ID_MASK;
}

fn is_in_cells(record: u32) -> bool {
    let low = objects[2u * (params.first_object + record)];
    let high = objects[2u * (params.first_object + record) + 1u];
    let placement = place_uniform(low.xyz, high.xyz, params.cell_inverse);
    return enters_cells(classify(low, high), records[2u * record + 1u].w) && placement.level != NO_LEVEL;
}

// Objects of a level and a world to test without cells: the entries, or all records if there are fewer records than
// entries.
fn listing_of(level: Level, world: u32) -> Listing {
    let entries = level_entries(level, world);
    let entry_count = entries.y - entries.x;
    if (SCHEME != SCHEME_UNIFORM || entry_count <= params.object_count) {
        return Listing(range_of(entries.x, entries.y), false);
    }
    return Listing(range_of(0u, params.object_count), true);
}

// True for exactly one `place` per object. A place is an entry, or a record if `is_record`.
fn is_listed(is_record: bool, place: u32) -> bool {
    if (SCHEME != SCHEME_UNIFORM) {
        return true;
    }
    if (is_record) {
        return is_in_cells(place);
    }
    return values[place] >= PRIMARY_FLAGS;
}

fn listed_record(is_record: bool, place: u32) -> u32 {
    if (SCHEME == SCHEME_UNIFORM && is_record) {
        return place;
    }
    return entry_record(place);
}

// A walk tests the candidates before `members_end` one by one. At `members_end`, it first tests the box of the next
// cluster. Clusters need records in entry order.

fn may_have_clusters() -> bool {
    return SCHEME != SCHEME_UNIFORM;
}

fn members_end_at(first: u32, end: u32) -> u32 {
    if (SCHEME == SCHEME_UNIFORM) {
        return end;
    }
    return select(end, first, grid.is_crowded != 0u);
}

// Number of the candidate after the cluster of `entry`, at most `end`. `entry` is the walk's candidate number `place`.
fn cluster_end(place: u32, entry: u32, end: u32) -> u32 {
    if (SCHEME == SCHEME_UNIFORM) {
        return place + 1u;
    }
    return min(end, place + (CLUSTER - entry % CLUSTER));
}

fn tested_record(record: u32, is_member: bool) -> u32 {
    if (SCHEME == SCHEME_UNIFORM) {
        return record;
    }
    return select(cluster_record(record / CLUSTER), record, is_member);
}
