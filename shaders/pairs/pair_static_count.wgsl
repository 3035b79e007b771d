// uses: common/candidates, common/counters, common/round, common/round_counters, common/workgroup, pairs/pair_params
// uses: pairs/pair_static, pairs/pair_static_{variant}, pairs/pair_sums_{variant}, queries/query_image_own

// Counts the static partners of each moving object. These counts follow those of entries. A last count of 0 follows:
// its exclusive prefix sum is the total. The first tile may also hold counts of entries.

var<private> row: u32;

fn accept_result(query: Query, other: u32, distance: u32) {
    if (found < STATIC_CACHED) {
        cache_partner(row, found, other);
    }
    found += 1u;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = pair_params.entry_rows / WORKGROUP + flat_workgroup(group, groups);
    let place = tile * WORKGROUP + local;
    if (place >= pair_params.entry_rows && place < pair_params.rows) {
        row = place - pair_params.entry_rows;
        begin_round();
        if (round.first != 0u) {
            found = count_before(place);
        }
        walk_static(row);
        record_rounds();
    }
    add_candidates(COUNTER_PAIR_CANDIDATES);
    let is_row = place >= pair_params.entry_rows && place <= pair_params.rows;
    put_count(tile, local, found, is_row, tile == pair_params.entry_rows / WORKGROUP);
}
