// uses: pairs/admits_pair, pairs/exclusions
// needs: objects

// Excludes pairs by the caller's list or function. The function may call `pair_data`, `pair_data_count`, `pair_layers`
// and `pair_group`.

override EXCLUDES: bool = false;

// Word `index` of the data for the caller's function, or 0 past the end.
fn pair_data(index: u32) -> u32 {
    if (index >= exclusions.data_count) {
        return 0u;
    }
    return objects[exclusions.data_begin + index / 4u][index % 4u];
}

fn pair_data_count() -> u32 {
    return exclusions.data_count;
}

fn pair_layers(object: u32) -> u32 {
    return objects[2u * min(object, exclusions.object_count - 1u)].w;
}

// Group id of an object, with its flags.
fn pair_group(object: u32) -> u32 {
    return objects[2u * min(object, exclusions.object_count - 1u) + 1u].w;
}

fn names_pair(pair: vec2<u32>) -> bool {
    var slot = first_slot_of(pair);
    var found = false;
    var continues = exclusions.table_mask > 0u;
    for (var probe = 0u; continues && probe <= exclusions.table_mask; probe += 1u) {
        let vector = 2u * exclusions.object_count + slot / 2u;
        let b = objects[vector][(slot & 1u) * 2u + 1u];
        found = b == pair.y && objects[vector][(slot & 1u) * 2u] == pair.x;
        // Free slots are all 0, and the second object of a pair is never 0.
        continues = !found && b != 0u;
        slot = next_slot(slot);
    }
    return found;
}

fn is_excluded(a: u32, b: u32) -> bool {
    if (!EXCLUDES) {
        return false;
    }
    let pair = vec2<u32>(min(a, b), max(a, b));
    if (names_pair(pair)) {
        return true;
    }
    return !admits_pair(pair.x, pair.y);
}
