// uses: common/prelude

// A cluster is 8 consecutive records, from a multiple of 8 on. Its box is stored after all records and may rule out all
// 8.

const CLUSTER: u32 = 8u;

fn cluster_record(cluster: u32) -> u32 {
    return params.object_count + params.large_table_capacity + cluster;
}

// Variants of `pair_count` that the host may force.
const VARIANT_SPARSE: u32 = 1u;
const VARIANT_CROWDED: u32 = 2u;

// True if `pair_count_crowded` counts pairs: it caches bits of box tests, not partners.
fn keeps_bits(is_crowded: u32) -> bool {
    let is_chosen = params.pair_variant == VARIANT_CROWDED || (is_crowded != 0u && params.pair_variant != VARIANT_SPARSE);
    return is_chosen || params.pair_bit_words > 0u || params.scheme == SCHEME_ADAPTIVE;
}
