// An object has an entry in every cell it covers and is reported in the first one that it shares with the query.

@group(0) @binding(6) var<storage, read> values: array<u32>;

fn entry_record(entry: u32) -> u32 {
    return values[entry] & ID_MASK;
}

fn is_home_entry(entry: u32) -> bool {
    return (values[entry] & HOME_FLAG) != 0u;
}

fn is_met_here(level: Level, entry: u32, low: vec3<i32>, query: Query, lower: vec3<i32>, upper: vec3<i32>, y: i32, z: i32) -> bool {
    let home = cell_of(flush_bits(unordered(low)), vec3<f32>(level.inverse));
    // Askers look for lower corners, which lie in the home cell.
    let first = select(max(home, lower), home, query.asker != NO_OBJECT);
    if (any(first < lower) || first.x > upper.x || first.y != y || first.z != z) {
        return false;
    }
    let key = key_of(level, first, query.world);
    return starts[key] <= entry && entry < starts[key + 1u];
}

fn reach_of_objects(query: Query) -> vec3<i32> {
    return vec3<i32>(0);
}

fn level_objects(level: Level, world: u32) -> u32 {
    return params.object_count;
}

// Every object but those of the large list, without cells. Entries may be many times more.
fn test_level(query: Query, level: Level) {
    let share = share_of(params.object_count);
    for (var object = share.x; object < share.y; object += 1u) {
        let low = objects[2u * (params.first_object + object)];
        let high = objects[2u * (params.first_object + object) + 1u];
        if (classify(low, high) == CLASS_FINITE && place_uniform(low.xyz, high.xyz, level.inverse).level != NO_LEVEL) {
            test_record(query, object);
        }
    }
}
