// uses: common/prelude, common/round, common/walk_workgroup, queries/query, queries/query_counters
// uses: queries/query_excludes_{excludes}, queries/query_images, queries/query_input

// The nearest objects of each query, by distance and then by index, in as many slots as are wanted of each: object and
// squared distance, an integer until the walk is done and a float then. Slots are filled by insertion.

@group(0) @binding(7) var<storage, read_write> query_nearest: array<vec2<u32>>;

const INFINITY_BITS: u32 = 0x7f800000u;

var<private> first_slot: u32;
var<private> filled: u32;

fn is_before(object: u32, distance: u32, other: vec2<u32>) -> bool {
    return distance < other.y || (distance == other.y && object < other.x);
}

fn accept_result(object: u32, distance: u32) {
    if (is_parted(object)) {
        return;
    }
    if (filled == params.nearest) {
        if (!is_before(object, distance, query_nearest[first_slot + filled - 1u])) {
            return;
        }
        filled -= 1u;
    }
    var slot = first_slot + filled;
    for (; slot > first_slot && is_before(object, distance, query_nearest[slot - 1u]); slot -= 1u) {
        query_nearest[slot] = query_nearest[slot - 1u];
    }
    query_nearest[slot] = vec2<u32>(object, distance);
    filled += 1u;
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
    first_slot = answer_of(query, index) * params.nearest;
    if (!is_first_of_all()) {
        for (; filled < params.nearest && query_nearest[first_slot + filled].x != NO_OBJECT; filled += 1u) {
        }
    }
    begin_counters(query);
    begin_excludes(query);
    begin_round();
    walk_query(query);
    finish_counters();
    // Done by an earlier round of the table's.
    if (round.first > 0u && tests_begun() == 0u) {
        return;
    }
    for (var k = 0u; k < params.nearest; k += 1u) {
        let slot = first_slot + k;
        if (k >= filled) {
            query_nearest[slot] = vec2<u32>(NO_OBJECT, INFINITY_BITS);
        } else if (tests_beyond() == 0u && round.is_continued == 0u) {
            query_nearest[slot].y = squared_bits(query_nearest[slot].y);
        }
    }
}
