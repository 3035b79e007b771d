// uses: common/candidates, common/counters, common/round, common/round_counters, common/workgroup
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
    let first_tile = round.first_row / WORKGROUP;
    let tile = first_tile + flat_workgroup(group, groups);
    let place = tile * WORKGROUP + local;
    let end = round.first_row + round.walks;
    if (place >= round.first_row && place < end) {
        row = place - round.first_row;
        begin_round();
        if (round.first != 0u) {
            found = count_before(place);
        }
        walk_static(row);
        record_rounds();
    }
    add_candidates(COUNTER_PAIR_CANDIDATES);
    let is_row = place >= round.first_row && place <= end;
    put_count(tile, local, found, is_row, tile == first_tile);
}
