// uses: common/candidates, common/counters, common/round, common/round_counters, common/workgroup
// uses: pairs/pair_count_{variant}, pairs/pair_excludes, pairs/pair_filter, pairs/pair_own
// needs: count_before, counted_rows, put_count, walk_pairs

// Counts the pairs of each row: an entry, or a part of its walk. A last count of 0 follows: its exclusive prefix sum is
// the total.

fn visit_candidate(own: Own, other: u32, meets: bool) -> bool {
    var is_pair = meets;
    if (FILTERS || EXCLUDES) {
        if (meets) {
            is_pair = admitted(own, other) && !is_excluded(own.object, other);
        }
    }
    cache_partner(own.row, found, other, is_pair);
    found += u32(is_pair);
    return is_pair;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = counting_group(group, groups);
    let row = tile * WORKGROUP + local;
    if (row < counted_rows()) {
        begin_round();
        if (round.first != 0u) {
            found = count_before(row);
        }
        let before = found;
        walk_pairs(row);
        end_rows(row);
        store_partners(row, before, found);
        record_rounds();
    }
    add_candidates(COUNTER_PAIR_CANDIDATES);
    put_count(tile, local, found, row <= counted_rows(), false);
}
