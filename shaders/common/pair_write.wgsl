// Writes the pairs whose places fall into the window that the output buffer shows.

@group(0) @binding(7) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> pairs: array<vec2<u32>>;

// The largest u32 stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = 0xffffffffu;

var<private> place_of_next: u32;

fn write_pair(other: u32) {
    let place = place_of_next;
    if (place >= params.first_pair && place - params.first_pair < params.pair_capacity && place != NO_PLACE) {
        pairs[place - params.first_pair] = vec2<u32>(min(own_object, other), max(own_object, other));
    }
    place_of_next = place + select(1u, 0u, place == NO_PLACE);
}

// Where the window ends: past 32 bits it lies past every place.
fn window_end() -> u32 {
    return params.first_pair + min(params.pair_capacity, NO_PLACE - params.first_pair);
}

// Where a word lies that an entry leaves for its next round. Here and below an entry is a row of pair counts.
fn progress_of(entry: u32) -> u32 {
    return params.pair_rows + 1u + entry;
}

// Finds the places of an entry's pairs; whether the window shows any.
fn shows(entry: u32) -> bool {
    place_of_next = offsets[entry];
    let end = offsets[entry + 1u];
    return place_of_next != end && end > params.first_pair && place_of_next < window_end();
}

// Whether so many partners are all.
fn keeps_all(entry: u32, kept: u32) -> bool {
    let end = offsets[entry + 1u];
    return end != NO_PLACE && end - offsets[entry] <= kept;
}

// Writes an entry's pairs if their partners were kept. Whether there are pairs left to find.
fn begin_entry(entry: u32, kept: u32) -> bool {
    if (!shows(entry)) {
        return false;
    }
    if (!keeps_all(entry, kept)) {
        return true;
    }
    let count = offsets[entry + 1u] - place_of_next;
    own_object = entry_object(entry);
    for (var k = 0u; k < min(count, kept); k += 1u) {
        write_pair(kept_partner(entry, k));
    }
    return false;
}

// Goes on where an earlier round ended. Whether there are pairs left to find.
fn resume_entry(entry: u32, kept: u32) -> bool {
    if (!shows(entry) || keeps_all(entry, kept)) {
        return false;
    }
    place_of_next = offsets[progress_of(entry)];
    let end = offsets[entry + 1u];
    return place_of_next < window_end() && (place_of_next != end || end == NO_PLACE);
}
