// uses: common/round, common/rows, pairs/pair_boxes

// Tests the boxes of a row one by one.

fn visit_row(row: Row, first: u32) {
    let share = share_of(row.count - first);
    for (var k = first + share.x; k < first + share.y; k += 1u) {
        _ = test_box(row_entry(row, k), true);
    }
}
