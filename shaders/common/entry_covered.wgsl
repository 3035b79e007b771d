// uses: common/box, common/cells, common/grid, common/prelude, common/rows
// needs: objects

// Objects have an entry in every cell that they cover: records lie in the order of the objects.

@group(0) @binding(6) var<storage, read> values: array<u32>;

fn entry_record(entry: u32) -> u32 {
    return values[entry] & ID_MASK;
}

fn is_home_entry(entry: u32) -> bool {
    return values[entry] >= HOME_FLAGS;
}

// Whether the object has entries in cells: it is not of the large list, nor without a part in the table.
fn is_in_cells(record: u32) -> bool {
    let low = objects[2u * (params.first_object + record)];
    let high = objects[2u * (params.first_object + record) + 1u];
    let placement = place_uniform(low.xyz, high.xyz, params.cell_inverse);
    return classify(low, high) == CLASS_FINITE && placement.level != NO_LEVEL;
}

// The objects of a level and a world: its entries or, where these are more than all objects, the records.
fn listing_of(level: Level, world: u32) -> Listing {
    let entries = level_entries(level, world);
    let entry_count = entries.y - entries.x;
    if (entry_count <= params.object_count) {
        return Listing(entries.x, entry_count, false);
    }
    return Listing(0u, params.object_count, true);
}

// Whether a place of a listing stands for an object that is looked for.
fn is_listed(is_record: bool, place: u32) -> bool {
    if (is_record) {
        return is_in_cells(place);
    }
    return is_home_entry(place);
}

fn listed_record(is_record: bool, place: u32) -> u32 {
    if (is_record) {
        return place;
    }
    return entry_record(place);
}
