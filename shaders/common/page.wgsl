// uses: common/wide

// The page of a list that an output buffer shows, and the place in the list that a walk writes next.

// Stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = 0xffffffffu;

var<private> place_of_next: u32;

// Returns the place after the last one of a page, at most the largest u32.
fn page_end(first: u32, capacity: u32) -> u32 {
    return saturating_sum(first, capacity);
}

// Returns whether a page has any of the places from `begin` to `end`.
fn shows(first: u32, capacity: u32, begin: u32, end: u32) -> bool {
    return begin != end && end > first && begin < page_end(first, capacity);
}

// Returns whether a walk that stopped at `place_of_next` has places left before `end` that a page shows.
fn has_more(first: u32, capacity: u32, end: u32) -> bool {
    return place_of_next < page_end(first, capacity) && (place_of_next != end || end == NO_PLACE);
}

// Returns whether a page shows the next place.
fn shows_next(first: u32, capacity: u32) -> bool {
    return place_of_next >= first && place_of_next - first < capacity && place_of_next != NO_PLACE;
}

// Goes to the next place. The largest u32 stays.
fn go_past_place() {
    place_of_next += select(1u, 0u, place_of_next == NO_PLACE);
}
