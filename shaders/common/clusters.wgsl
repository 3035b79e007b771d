// uses: common/prelude

// Clusters: as many consecutive records, from a multiple of that number on. The box around the records of a cluster
// lies behind all records, so that a walk may pass over them with one test.

const CLUSTER: u32 = 8u;

// Where the box of a cluster lies among the records.
fn cluster_record(cluster: u32) -> u32 {
    return params.object_count + params.cover_capacity + cluster;
}

// Whether the pass for crowded scenes counts pairs. It keeps bits of box tests, and no partners. Scenes of the adaptive
// scheme are crowded, if there is room for clusters.
fn keeps_bits(is_crowded: u32) -> bool {
    return is_crowded != 0u || params.pair_bit_words > 0u || params.scheme == SCHEME_ADAPTIVE;
}
