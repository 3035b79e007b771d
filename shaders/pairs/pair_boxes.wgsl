// uses: common/box, common/candidates, common/rows, pairs/pair_filter, pairs/pair_own
// needs: visit_candidate

// Exact overlap test of the subject `own` with the box of a candidate or cluster.

override WORLDS: bool = true;

struct BoxTestResult {
    meets: bool,
    is_pair: bool,
}

fn test_box(own: Own, record: u32, is_candidate: bool) -> BoxTestResult {
    let low = records[2u * record];
    let high = records[2u * record + 1u];
    count_candidate();
    let meets = overlaps(own.low, own.high, bitcast<vec3<i32>>(low.xyz), bitcast<vec3<i32>>(high.xyz));
    let in_world = !WORLDS || high.w == own.world;
    return BoxTestResult(meets, visit_candidate(own, low.w, meets && is_candidate && in_world));
}
