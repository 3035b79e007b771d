// uses: common/box, common/candidates, common/rows, common/worlds, pairs/pair_filter, pairs/pair_own
// needs: visit_candidate

// Exact overlap test of the subject `own` with the box of a candidate or cluster.

struct BoxTestResult {
    meets: bool,
    is_pair: bool,
}

fn test_box(own: Own, record: u32, is_candidate: bool) -> BoxTestResult {
    let low = records[2u * record];
    let high = records[2u * record + 1u];
    count_candidate();
    let meets = overlaps(own.low, own.high, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz));
    let is_there = is_candidate && worlds_meet(high.w, own.world);
    return BoxTestResult(meets, visit_candidate(own, low.w, meets && is_there));
}
