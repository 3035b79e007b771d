// uses: common/page, common/prelude, common/wide, common/workgroup, pairs/pair_params, pairs/pair_sums

// Writes the pairs whose places are in the page. Places come from a scan in the uniform scheme, else from tiles and
// sums. They saturate at the largest u32.

@group(0) @binding(7) var<storage, read_write> pair_offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> pairs: array<vec2<u32>>;

fn counted(word: u32) -> u32 {
    return pair_offsets[word];
}

// First place of a row's pairs, and the place after them. Call it once: each call reads the buffer, since the pass also
// writes it.
fn places_of(row: u32) -> vec2<u32> {
    if (params.scheme == SCHEME_UNIFORM) {
        return vec2<u32>(pair_offsets[row], pair_offsets[row + 1u]);
    }
    let word = row_word(row);
    let before = saturate64(before_tile(row / WORKGROUP));
    return vec2<u32>(saturating_sum(before, pair_offsets[word]), saturating_sum(before, pair_offsets[word + 1u]));
}

fn write_pair(own: u32, other: u32) {
    if (shows_next(pair_params.first, pair_params.capacity)) {
        pairs[place_of_next - pair_params.first] = vec2<u32>(min(own, other), max(own, other));
    }
    advance_place();
}

// Index of the word that stores the next place of a row between rounds.
fn progress_of(row: u32) -> u32 {
    return select(sums_end(), pair_params.rows + 1u, params.scheme == SCHEME_UNIFORM) + row;
}

fn shows_pairs(places: vec2<u32>) -> bool {
    return shows(pair_params.first, pair_params.capacity, places.x, places.y);
}

fn all_cached(places: vec2<u32>, kept: u32) -> bool {
    return places.y != NO_PLACE && places.y - places.x <= kept;
}

fn begin_at(places: vec2<u32>) -> bool {
    place_of_next = places.x;
    return shows_pairs(places);
}

fn begin_row(row: u32) -> bool {
    return begin_at(places_of(row));
}

fn resume_row(row: u32, kept: u32) -> bool {
    let places = places_of(row);
    if (!shows_pairs(places) || all_cached(places, kept)) {
        return false;
    }
    place_of_next = pair_offsets[progress_of(row)];
    return has_more(pair_params.first, pair_params.capacity, places.y);
}
