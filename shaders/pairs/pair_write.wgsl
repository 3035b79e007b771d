// uses: common/prelude, common/wide, common/workgroup, pairs/pair_sums

// Writes the pairs whose places fall into the page that the output buffer shows. Places of the uniform scheme are in
// the buffer, from a scan. The others have places within tiles, and sums of tiles. No place passes the largest u32.

@group(0) @binding(7) var<storage, read_write> pair_offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> pairs: array<vec2<u32>>;

fn counted(word: u32) -> u32 {
    return pair_offsets[word];
}

// Where the pairs of a row begin and end, looked up once: the buffer is written to, so that a compiler would look again
// each time.
fn places_of(row: u32) -> vec2<u32> {
    if (params.scheme == SCHEME_UNIFORM) {
        return vec2<u32>(pair_offsets[row], pair_offsets[row + 1u]);
    }
    let word = row_word(row);
    let before = saturate64(before_tile(row / WORKGROUP));
    return vec2<u32>(saturating_sum(before, pair_offsets[word]), saturating_sum(before, pair_offsets[word + 1u]));
}

// The largest u32 stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = 0xffffffffu;

var<private> place_of_next: u32;

fn write_pair(own: u32, other: u32) {
    let place = place_of_next;
    if (place >= params.first_pair && place - params.first_pair < params.pair_capacity && place != NO_PLACE) {
        pairs[place - params.first_pair] = vec2<u32>(min(own, other), max(own, other));
    }
    place_of_next = place + select(1u, 0u, place == NO_PLACE);
}

// Where the page ends: past 32 bits it lies past every place.
fn window_end() -> u32 {
    return params.first_pair + min(params.pair_capacity, NO_PLACE - params.first_pair);
}

// Where a word lies that an entry leaves for its next round. Here and below an entry is a row of pair counts.
fn progress_of(entry: u32) -> u32 {
    return select(sums_end(), params.pair_rows + 1u, params.scheme == SCHEME_UNIFORM) + entry;
}

// Whether the page shows any of these places.
fn shows(places: vec2<u32>) -> bool {
    return places.x != places.y && places.y > params.first_pair && places.x < window_end();
}

// Whether so many partners are all.
fn keeps_all(places: vec2<u32>, kept: u32) -> bool {
    return places.y != NO_PLACE && places.y - places.x <= kept;
}

// Goes to where the pairs of an entry begin. Whether the page shows any of them.
fn begin_entry(entry: u32) -> bool {
    let places = places_of(entry);
    place_of_next = places.x;
    return shows(places);
}

// Goes on where an earlier round ended. Whether there are pairs left to find.
fn resume_entry(entry: u32, kept: u32) -> bool {
    let places = places_of(entry);
    if (!shows(places) || keeps_all(places, kept)) {
        return false;
    }
    place_of_next = pair_offsets[progress_of(entry)];
    return place_of_next < window_end() && (place_of_next != places.y || places.y == NO_PLACE);
}
