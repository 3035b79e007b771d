// uses: common/clusters, common/rows

// Clusters in the walks of rays and queries: records lie in the order of the entries. A walk keeps one number for it,
// the place before which candidates are tested themselves. From there on the box of a cluster comes first.

// Whether there may be clusters.
const HAS_CLUSTERS: bool = true;

// The place before which candidates of `first .. end` are tested themselves, as a walk through them begins.
fn members_end_at(first: u32, end: u32) -> u32 {
    return select(end, first, grid.is_crowded != 0u);
}

// One past the last candidate that shares a cluster with the one at this place, whose entry this is.
fn cluster_end(place: u32, entry: u32, end: u32) -> u32 {
    return min(end, place + (CLUSTER - entry % CLUSTER));
}

// What is tested: the candidate's box, or that of its cluster.
fn tested_record(record: u32, is_member: bool) -> u32 {
    return select(cluster_record(record / CLUSTER), record, is_member);
}
