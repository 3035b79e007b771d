// An object has an entry in every cell it covers and is reported in the first one that it shares with the query.

@group(0) @binding(6) var<storage, read> values: array<u32>;

fn entry_record(entry: u32) -> u32 {
    return values[entry] & ID_MASK;
}

fn is_home_entry(entry: u32) -> bool {
    return values[entry] >= HOME_FLAGS;
}

fn is_met_here(level: Level, entry: u32, low: vec3<i32>, query: Query, lower: vec3<i32>, upper: vec3<i32>, y: i32, z: i32) -> bool {
    let home = cell_of(flush_bits(unordered(low)), vec3<f32>(level.inverse));
    // Lower corners lie in the home cell.
    let first = select(max(home, lower), home, query.seeks_corners);
    if (any(first < lower) || first.x > upper.x || first.y != y || first.z != z) {
        return false;
    }
    let key = key_of(level, first, query.world);
    return starts[key] <= entry && entry < starts[key + 1u];
}

fn reach_of_objects(query: Query) -> vec3<i32> {
    return vec3<i32>(0);
}

// Records among which all of a level and a world are: those of the objects. Entries may be many times more.
fn level_records(level: Level, world: u32) -> vec2<u32> {
    return vec2<u32>(0u, params.object_count);
}

// Not of the large list, nor without a part in the table.
fn is_of_level(level: Level, record: u32) -> bool {
    let low = objects[2u * (params.first_object + record)];
    let high = objects[2u * (params.first_object + record) + 1u];
    return classify(low, high) == CLASS_FINITE && place_uniform(low.xyz, high.xyz, level.inverse).level != NO_LEVEL;
}
