// Writes the pairs whose places fall into the window that the output buffer shows: from the partners that counting
// kept, or by the walk once more where an entry has more of them. What earlier rounds wrote of an entry stands behind
// the offsets.

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

fn accept_pair(other: u32) {
    if (admitted(other)) {
        write_pair(other);
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let entry = flat_workgroup(group, groups) * WORKGROUP + local;
    if (entry >= params.entry_capacity) {
        return;
    }
    place_of_next = offsets[entry];
    let end = offsets[entry + 1u];
    // Nothing of this entry shows in the window; a window's end past 32 bits lies past every place.
    let window_end = params.first_pair + min(params.pair_capacity, NO_PLACE - params.first_pair);
    if (place_of_next == end || end <= params.first_pair || place_of_next >= window_end) {
        return;
    }
    if (end != NO_PLACE && end - place_of_next <= KEPT) {
        if (round.first > 0u) {
            return;
        }
        let count = end - place_of_next;
        own_object = entry_object(entry);
        for (var k = 0u; k < min(count, KEPT); k += 1u) {
            write_pair(kept_partner(entry, k));
        }
        return;
    }
    let progress = params.pair_rows + 1u + entry;
    if (round.first > 0u) {
        place_of_next = offsets[progress];
    }
    if (place_of_next >= window_end || (place_of_next == end && end != NO_PLACE)) {
        return;
    }
    begin_round();
    walk_pairs(entry);
    if (round.is_last == 0u) {
        offsets[progress] = place_of_next;
    }
}
