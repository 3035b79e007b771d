// uses: common/clusters, common/round, common/rows, pairs/pair_boxes, pairs/pair_own
// needs: append_bits

// Tests the boxes of a row. In a crowded scene, members of a cluster are tested only if the subject meets its box.

fn visit_row(own: Own, row: Row, first: u32) {
    let part = part_of(own, row, first);
    let share = tests_in_round(part.y - part.x);
    let end = part.x + share.y;
    let has_clusters = grid.is_crowded != 0u;
    for (var k = part.x + share.x; k < end;) {
        let candidate = row_entry(row, k);
        // Number of candidates left in this cluster and this range of the row.
        let range_end = min(end, select(row.count, row.unwrapped, k < row.unwrapped));
        let members = min(range_end - k, CLUSTER - candidate % CLUSTER);
        var meets = true;
        if (has_clusters && members > 1u) {
            meets = test_box(own, cluster_record(candidate / CLUSTER), false).meets;
        }
        var bits = 0u;
        if (meets) {
            for (var member = 0u; member < members; member += 1u) {
                bits |= u32(test_box(own, candidate + member, true).is_pair) << member;
            }
        }
        append_bits(own.row, bits, members);
        k += members;
    }
}
