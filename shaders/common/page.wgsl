// uses: common/wide

// Page of a result list in an output buffer, and the place (index in the list) that a walk writes next.

// Stands for every place that does not fit in 32 bits.
const NO_PLACE: u32 = 0xffffffffu;

var<private> place_of_next: u32;

fn page_end(first: u32, capacity: u32) -> u32 {
    return saturating_sum(first, capacity);
}

// True if the page contains any of the places `begin .. end`.
fn shows(first: u32, capacity: u32, begin: u32, end: u32) -> bool {
    return begin != end && end > first && begin < page_end(first, capacity);
}

// True if a walk has another result for the page: `place_of_next` is before `end` and the page's end.
fn has_more(first: u32, capacity: u32, end: u32) -> bool {
    return place_of_next < page_end(first, capacity) && (place_of_next != end || end == NO_PLACE);
}

fn shows_next(first: u32, capacity: u32) -> bool {
    return place_of_next >= first && place_of_next - first < capacity && place_of_next != NO_PLACE;
}

fn advance_place() {
    place_of_next += select(1u, 0u, place_of_next == NO_PLACE);
}
