// uses: common/box, common/clusters, common/grid, common/prelude, common/workgroup, pairs/pair_cache
// uses: pairs/pair_params, pairs/pair_write

// Writes the pairs of rows whose partners are all cached. Lists the other rows for a second walk in a later
// dispatch. In this pass, CPU drivers would execute the walk even if no lane needs it.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(5) var<storage, read> pair_cache: array<u32>;
@group(0) @binding(9) var<storage, read_write> pair_walks: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> pair_walk_groups: array<atomic<u32>>;

// True if counting chained partners past the slots.
override STORES_IN_LOOP: bool = true;

fn list_walk(row: u32) {
    let place = atomicAdd(&pair_walks[0], 1u);
    atomicStore(&pair_walks[1u + place], row);
    if (place % WORKGROUP == 0u) {
        let groups = folded_groups(place / WORKGROUP + 1u);
        atomicMax(&pair_walk_groups[0], groups.x);
        atomicMax(&pair_walk_groups[1], groups.y);
        atomicMax(&pair_walk_groups[2], groups.z);
    }
}

// Returns false if some partners are not cached. The second walk then writes all pairs of the row.
fn write_cached(row: u32, count: u32) -> bool {
    var slots = pair_params.cached;
    if (count > slots) {
        if (!STORES_IN_LOOP || pair_params.chunks == 0u) {
            return false;
        }
        slots -= 1u;
    }
    let own = params.first_object + (values[row >> pair_params.split_bits] & ID_MASK);
    for (var place = 0u; place < min(count, slots); place += 1u) {
        write_pair(own, pair_cache[cache_slot(row, place)]);
    }
    // One loop, so that writing takes no more iterations than counting, whose canary covers both.
    var word = cache_slot(row, slots);
    for (var place = slots; place < count; place += 1u) {
        if ((place - slots) % CHUNK_PARTNERS == 0u) {
            word = pair_cache[word];
            if (word == NO_CHUNK) {
                return false;
            }
        }
        write_pair(own, pair_cache[word]);
        word += 1u;
    }
    return true;
}

// True if `pair_count_crowded` counts the pairs. It caches bits of box tests, not partners.
fn keeps_bits(is_crowded: u32) -> bool {
    let may_choose = is_crowded != 0u && pair_params.variant != VARIANT_SPARSE;
    let is_chosen = may_choose || pair_params.variant == VARIANT_CROWDED;
    return is_chosen || pair_params.bit_words > 0u || params.scheme == SCHEME_ADAPTIVE;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row >= pair_params.entry_rows) {
        return;
    }
    let places = places_of(row);
    if (!begin_at(places)) {
        return;
    }
    // A saturated place hides the count. `pair_count_crowded` stores bits instead of partners.
    let is_walked = places.y == NO_PLACE || keeps_bits(grid.is_crowded);
    if (is_walked || !write_cached(row, places.y - places.x)) {
        list_walk(row);
    }
}
