// uses: common/grid, common/rows

// Objects have one entry each: records lie in the order of the entries.

fn entry_record(entry: u32) -> u32 {
    return entry;
}

// The objects of a level and a world.
fn listing_of(level: Level, world: u32) -> Listing {
    let entries = level_entries(level, world);
    return Listing(entries.x, entries.y - entries.x, false);
}

// Whether a place of a listing stands for an object that is looked for.
fn is_listed(is_record: bool, place: u32) -> bool {
    return true;
}

fn listed_record(is_record: bool, place: u32) -> u32 {
    return place;
}
