// uses: common/box, common/cells, common/clusters, common/grid, common/prelude, common/rows
// needs: objects, values

// Entries of the cell table as rays and queries walk them. In the uniform scheme an object has an entry in every cell
// that it covers, `values` has the object of each entry, and records are in the order of the objects. In the other
// schemes an object has one entry, records are in the order of the entries, and `values` is not read.

fn entry_record(entry: u32) -> u32 {
    if (SCHEME != SCHEME_UNIFORM) {
        return entry;
    }
    return values[entry] & ID_MASK;
}

// Whether the object has entries in cells: it is neither in the large list nor left out of the table.
fn is_in_cells(record: u32) -> bool {
    let low = objects[2u * (params.first_object + record)];
    let high = objects[2u * (params.first_object + record) + 1u];
    let placement = place_uniform(low.xyz, high.xyz, params.cell_inverse);
    return classify(low, high) == CLASS_FINITE && placement.level != NO_LEVEL;
}

// The objects of a level and a world: its entries, or all records if these are fewer.
fn listing_of(level: Level, world: u32) -> Listing {
    let entries = level_entries(level, world);
    let entry_count = entries.y - entries.x;
    if (SCHEME != SCHEME_UNIFORM || entry_count <= params.object_count) {
        return Listing(entries.x, entry_count, false);
    }
    return Listing(0u, params.object_count, true);
}

// Whether a place of a listing has an object of the listing that no other place has.
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

// Clusters need records in the order of the entries. A walk keeps one number for them, the place before which
// candidates are tested themselves. From there on the box of a cluster comes first.

fn may_have_clusters() -> bool {
    return SCHEME != SCHEME_UNIFORM;
}

// The place before which candidates of `first .. end` are tested themselves, as a walk through them begins.
fn members_end_at(first: u32, end: u32) -> u32 {
    if (SCHEME == SCHEME_UNIFORM) {
        return end;
    }
    return select(end, first, grid.is_crowded != 0u);
}

// One past the last candidate that shares a cluster with the one at this place, whose entry this is.
fn cluster_end(place: u32, entry: u32, end: u32) -> u32 {
    if (SCHEME == SCHEME_UNIFORM) {
        return place + 1u;
    }
    return min(end, place + (CLUSTER - entry % CLUSTER));
}

// What is tested: the candidate's box, or that of its cluster.
fn tested_record(record: u32, is_member: bool) -> u32 {
    if (SCHEME == SCHEME_UNIFORM) {
        return record;
    }
    return select(cluster_record(record / CLUSTER), record, is_member);
}
