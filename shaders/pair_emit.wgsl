// Writes pairs: from the partners that counting kept, or by the walk once more where an entry has more of them. What
// earlier rounds, or bits, wrote of an entry stands behind the offsets.

fn visit_candidate(other: u32, meets: bool) -> bool {
    if (meets) {
        if (admitted(other)) {
            write_pair(other);
        }
    }
    return meets;
}

fn goes_on() -> bool {
    if (round.first == 0u) {
        return begin_entry(entry, params.partners_kept);
    }
    return resume_entry(entry, params.partners_kept);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    entry = flat_workgroup(group, groups) * WORKGROUP + local;
    if (entry >= params.entry_capacity) {
        return;
    }
    // A loop of one turn: drivers for CPUs skip loops that no lane enters, and take both sides of branches.
    for (var walks = goes_on(); walks; walks = false) {
        begin_round();
        walk_pairs(entry);
        if (round.is_last == 0u) {
            offsets[progress_of(entry)] = place_of_next;
        }
    }
}
