// How many pairs each entry reports: the walk without writing pairs. One word more than entries, so that the scan ends
// with the total.

@group(0) @binding(7) var<storage, read_write> counts: array<u32>;

var<private> entry: u32;
var<private> found: u32;

fn accept_pair(other: u32) {
    if (admitted(other)) {
        if (found < KEPT) {
            keep_partner(entry, found, other);
        }
        found += 1u;
    }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    entry = flat_workgroup(group, groups) * WORKGROUP + local;
    if (entry > params.entry_capacity) {
        return;
    }
    if (entry < params.entry_capacity) {
        begin_round();
        found = select(counts[entry], 0u, round.first == 0u);
        walk_pairs(entry);
        note_rounds();
    }
    counts[entry] = found;
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[COUNTER_PAIR_CANDIDATES], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[COUNTER_PAIR_CANDIDATES + 1u], 1u);
        }
    }
}
