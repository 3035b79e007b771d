// uses: common/entry, common/grid, common/rows, queries/query_cells
// needs: Query, image_of

// Objects with an entry in every cell that they cover may be met again and again.

// Turns of loops that a row takes at least: one more in the uniform scheme, to count its entries ahead of the walk.
fn row_turns() -> f32 {
    return select(2.0, 3.0, SCHEME == SCHEME_UNIFORM);
}

// Whether the walk meets more entries than all objects are worth.
fn meets_entries_again(query: Query, second: u32, level: Level) -> bool {
    if (SCHEME != SCHEME_UNIFORM) {
        return false;
    }
    let listing = listing_of(level, query.world);
    let most = MOST_MEETINGS * listing.count;
    if (!listing.is_of_records || grid.entry_count <= most) {
        return false;
    }
    var entries = 0u;
    for (var image = 0u; image <= second; image += 1u) {
        let cells = cells_of(image_of(query, image), level);
        let is_walked = (image & ~second) == 0u && all(cells.lower <= cells.upper);
        for (var z = select(cells.upper.z + 1, cells.lower.z, is_walked); z <= cells.upper.z; z += 1) {
            for (var y = cells.lower.y; y <= cells.upper.y; y += 1) {
                let row = long_row_of(level, cells.lower.x, cells.upper.x, y, z, query.world);
                entries += min(row.count, 0xffffffffu - entries);
            }
        }
    }
    return entries > most;
}
