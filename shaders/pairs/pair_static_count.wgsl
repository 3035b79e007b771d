// uses: common/counters, common/prelude, common/round, common/round_counters, common/workgroup
// uses: pairs/pair_slots_static_{kept}, pairs/pair_static, queries/query_image_own

// How many static objects each moving one meets: rows of counts behind those of the entries, and one word more, so that
// the scan ends with the total.

@group(0) @binding(7) var<storage, read_write> pair_offsets: array<u32>;

var<private> row: u32;
var<private> found_count: u32;

fn accept_result(other: u32, distance: u32) {
    if (found_count < STATIC_KEPT) {
        keep_partner(row, found_count, other);
    }
    found_count += 1u;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    row = flat_workgroup(group, groups) * WORKGROUP + local;
    if (row > static_rows()) {
        return;
    }
    let place = params.entry_capacity + row;
    if (row < static_rows()) {
        begin_round();
        found_count = select(pair_offsets[place], 0u, round.first == 0u);
        walk_static(row);
        note_rounds();
    }
    pair_offsets[place] = found_count;
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[COUNTER_PAIR_CANDIDATES], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[COUNTER_PAIR_CANDIDATES + 1u], 1u);
        }
    }
}
