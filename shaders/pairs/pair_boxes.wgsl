// uses: common/rows, pairs/overlap, pairs/pair_filter, pairs/pair_walk_{entry}
// needs: visit_candidate

// The exact test of one candidate of the box whose rows are walked.

override WORLDS: bool = true;

fn test_pair(candidate: u32) -> bool {
    let low = records[2u * candidate];
    let high = records[2u * candidate + 1u];
    let in_world = !WORLDS || high.w == own_world;
    count_candidate();
    let box_low = bitcast<vec3<i32>>(low.xyz);
    let box_high = bitcast<vec3<i32>>(high.xyz);
    return visit_candidate(low.w, in_world && overlaps(own_box_low, own_box_high, box_low, box_high));
}
