// uses: common/clusters, common/round, common/rows, pairs/pair_boxes, pairs/pair_own
// needs: append_bits

// Tests the boxes of a row. In a crowded scene, members of a cluster are tested only if the subject meets its box.

// One test per iteration keeps neighbouring invocations equally busy.
fn visit_row(own: Own, row: Row, first: u32) {
    let part = part_of(own, row, first);
    let share = tests_in_round(part.y - part.x);
    let end = part.x + share.y;
    let has_clusters = grid.is_crowded != 0u;
    // Number of untested members of the last cluster met.
    var members_left = 0u;
    for (var k = part.x + share.x; k < end;) {
        let candidate = row_entry(row, k);
        // `members`: number of candidates left in this cluster and this range of the row.
        let members = min(range_end(row, k, end) - k, CLUSTER - candidate % CLUSTER);
        let is_member = members_left > 0u || members == 1u || !has_clusters;
        let record = select(cluster_record(candidate / CLUSTER), candidate, is_member);
        let test = test_box(own, record, is_member);
        let passed = select(select(members, 0u, test.meets), 1u, is_member);
        members_left = select(select(0u, members, test.meets), max(members_left, 1u) - 1u, is_member);
        append_bits(own.row, u32(test.is_pair), passed);
        k += passed;
    }
}
