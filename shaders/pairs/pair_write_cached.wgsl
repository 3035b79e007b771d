// uses: pairs/pair_write
// needs: entry_object, cached_partner

// Writes the pairs of an entry if all partners are cached. Returns true if the entry needs a walk.
fn write_cached(entry: u32, kept: u32) -> bool {
    let places = places_of(entry);
    place_of_next = places.x;
    if (!shows_pairs(places)) {
        return false;
    }
    if (!all_cached(places, kept)) {
        return true;
    }
    let own = entry_object(entry);
    for (var k = 0u; k < min(places.y - places.x, kept); k += 1u) {
        write_pair(own, cached_partner(entry, k));
    }
    return false;
}
