// uses: common/box, common/cells, common/grid
// needs: grid, records, starts

// An object has one entry, in the cell of its lower corner.

fn drawn_record(entry: u32) -> u32 {
    return entry;
}

fn placed(record: u32) -> Placement {
    let low = unordered(bitcast<vec3<i32>>(records[2u * record].xyz));
    let high = unordered(bitcast<vec3<i32>>(records[2u * record + 1u].xyz));
    return place_one_cell(low, high, grid.base_inverse);
}

// The cells that a record is entered in, none where it is of the large list or takes no part.
fn cells_entered(record: u32) -> Placement {
    // Records come in the order of the entries, and those of cells come first.
    if (record >= starts[grid.table_cells]) {
        return Placement(NO_LEVEL, vec3<i32>(0), vec3<i32>(0));
    }
    let placement = placed(record);
    let cell = placement.lower >> vec3<u32>(grid.x_detail, 0u, 0u);
    return Placement(placement.level, cell, cell);
}
