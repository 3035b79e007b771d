// uses: common/prelude

// Clusters: as many consecutive records, from a multiple of that number on. The box around the records of a cluster
// lies behind all records, so that a walk may pass over them with one test.

const CLUSTER: u32 = 8u;

// Where the box of a cluster lies among the records.
fn cluster_record(cluster: u32) -> u32 {
    return params.object_count + params.large_table_capacity + cluster;
}

// Forms of `pair_count` that the host may choose.
const VARIANT_SPARSE: u32 = 1u;
const VARIANT_CROWDED: u32 = 2u;

// Whether the pass for crowded scenes counts pairs. It keeps bits of box tests, and no partners. Scenes of the adaptive
// scheme are crowded, if there is room for clusters.
fn keeps_bits(is_crowded: u32) -> bool {
    let is_chosen = params.pair_variant == VARIANT_CROWDED || (is_crowded != 0u && params.pair_variant != VARIANT_SPARSE);
    return is_chosen || params.pair_bit_words > 0u || params.scheme == SCHEME_ADAPTIVE;
}
