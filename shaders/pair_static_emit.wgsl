// Writes the pairs of moving and static objects whose places fall into the window that the output buffer shows: from the
// partners that counting kept, or by the walk once more where a moving object has more of them. What earlier rounds wrote
// of one stands behind the offsets.

@group(0) @binding(7) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(8) var<storage, read_write> pairs: array<vec2<u32>>;

// The largest u32 stands for every place that does not fit 32 bits.
const NO_PLACE: u32 = 0xffffffffu;

var<private> own_object: u32;
var<private> place_of_next: u32;

// Static objects come first.
fn write_pair(other: u32) {
    let place = place_of_next;
    if (place >= params.first_pair && place - params.first_pair < params.pair_capacity && place != NO_PLACE) {
        pairs[place - params.first_pair] = vec2<u32>(other, own_object);
    }
    place_of_next = place + select(1u, 0u, place == NO_PLACE);
}

fn accept_result(other: u32, squared: f32) {
    write_pair(other);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row >= static_rows()) {
        return;
    }
    let index = params.entry_capacity + row;
    place_of_next = offsets[index];
    let end = offsets[index + 1u];
    // Nothing of this object shows in the window; a window's end past 32 bits lies past every place.
    let window_end = params.first_pair + min(params.pair_capacity, NO_PLACE - params.first_pair);
    if (place_of_next == end || end <= params.first_pair || place_of_next >= window_end) {
        return;
    }
    own_object = own_records[2u * row].w;
    if (end != NO_PLACE && end - place_of_next <= STATIC_KEPT) {
        if (round.first > 0u) {
            return;
        }
        let count = end - place_of_next;
        for (var k = 0u; k < min(count, STATIC_KEPT); k += 1u) {
            write_pair(kept_partner(row, k));
        }
        return;
    }
    let progress = params.pair_rows + 1u + index;
    if (round.first > 0u) {
        place_of_next = offsets[progress];
    }
    if (place_of_next >= window_end || (place_of_next == end && end != NO_PLACE)) {
        return;
    }
    begin_round();
    walk_static(row);
    if (round.is_last == 0u) {
        offsets[progress] = place_of_next;
    }
}
