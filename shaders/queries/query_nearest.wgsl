// uses: common/candidate_counter, common/candidates, common/counters, common/prelude, common/round
// uses: common/round_counters, common/workgroup, queries/query, queries/query_input, queries/query_rings

// The nearest objects of each query, by distance and then by index, in as many slots as are wanted of each: object and
// squared distance, an integer until the walk is done and a float then. Slots are filled by insertion.
//
// What was found bounds the rest of the walk. So rounds go by ring, and what a later one needs to take up a ring as it
// was begun stands behind the slots, in three vectors a query.

@group(0) @binding(7) var<storage, read_write> query_nearest: array<vec2<u32>>;

const INFINITY_BITS: u32 = 0x7f800000u;
// Vectors that a walk leaves to its next round.
const STATE_VECTORS: u32 = 3u;

var<private> first_slot: u32;
// The largest distance that still counts: that of the last slot, if all are filled.
var<private> limit: u32 = MISS;
// Where the walk leaves what a later round needs, and tests of the ring that earlier rounds made.
var<private> state: u32;
var<private> skipped: u32;

fn distance_limit() -> u32 {
    return limit;
}

fn is_before(place: vec2<u32>, other: vec2<u32>) -> bool {
    return place.y < other.y || (place.y == other.y && place.x < other.x);
}

// An object that is held already stays as it is, or moves where this distance is rounded down further.
fn accept_result(query: Query, object: u32, distance: u32) {
    var moved = vec2<u32>(object, distance);
    var slot = first_slot;
    let end = first_slot + found;
    var is_held = false;
    for (; slot < end && !is_held; slot += 1u) {
        let held = query_nearest[slot];
        is_held = held.x == object;
        if (is_before(moved, held)) {
            query_nearest[slot] = moved;
            moved = held;
        }
    }
    if (!is_held && found < params.nearest) {
        query_nearest[slot] = moved;
        found += 1u;
    }
    update_limit();
}

fn update_limit() {
    if (found == params.nearest) {
        limit = query_nearest[first_slot + found - 1u].y;
    }
}

// Written as a ring begins: registers for it would last through all loops.
fn begin_ring(ring: Ring) {
    if (round.is_last == 0u) {
        query_nearest[state] = vec2<u32>(ring.place, skipped + tests_left());
        query_nearest[state + 1u] = vec2<u32>(bitcast<u32>(ring.radius), bitcast<u32>(ring.inner));
        query_nearest[state + 2u].x = bitcast<u32>(turns_left);
    }
    skipped = 0u;
}

// The ring that an earlier round left unfinished, as it was begun.
fn begun_ring() -> Ring {
    if (round.first == 0u) {
        return Ring(LARGE_LIST, NO_RING, NO_RING);
    }
    skipped = query_nearest[state].y;
    tests_passed = round.first - skipped;
    turns_left = bitcast<f32>(query_nearest[state + 2u].x);
    let radii = bitcast<vec2<f32>>(query_nearest[state + 1u]);
    return Ring(query_nearest[state].x, radii.x, radii.y);
}

@compute @workgroup_size(WALK_WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = walk_place(group, groups, local);
    if (index >= params.asker_count) {
        return;
    }
    let query = begin_query(index);
    let answer = answer_of(query, index);
    first_slot = answer * params.nearest;
    state = params.query_count * params.nearest + STATE_VECTORS * answer;
    // Done by an earlier round of the table's.
    if (round.first > 0u && query_nearest[state].x == NO_LEVEL) {
        return;
    }
    if (!is_first_of_all()) {
        for (; found < params.nearest && query_nearest[first_slot + found].x != NO_OBJECT; found += 1u) {
        }
        update_limit();
    }
    // Ahead of the walk, which then need not carry the query's validity.
    count_invalid(query.valid, COUNTER_QUERIES_INVALID);
    begin_round();
    var ring = begun_ring();
    if (query.answers) {
        ring = walk_rings(query, ring);
    } else {
        ring.place = NO_LEVEL;
    }
    note_rounds();
    add_candidates(COUNTER_QUERY_CANDIDATES);
    if (round.is_last == 0u && ring.place == NO_LEVEL) {
        query_nearest[state].x = NO_LEVEL;
    }
    for (var k = 0u; k < params.nearest; k += 1u) {
        let slot = first_slot + k;
        if (k >= found) {
            query_nearest[slot] = vec2<u32>(NO_OBJECT, INFINITY_BITS);
        } else if (ring.place == NO_LEVEL && round.is_continued == 0u) {
            query_nearest[slot].y = squared_bits(query_nearest[slot].y);
        }
    }
}
