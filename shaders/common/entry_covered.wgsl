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
    return classify(low, high) == CLASS_FINITE && place_uniform(low.xyz, high.xyz, params.cell_inverse).level != NO_LEVEL;
}
