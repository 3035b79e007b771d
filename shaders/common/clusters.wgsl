// uses: common/prelude

// A cluster is 8 consecutive records, the first at a multiple of 8. Its box is stored after all records. A walk that
// misses the box skips the 8 records.

const CLUSTER: u32 = 8u;

fn cluster_record(cluster: u32) -> u32 {
    return params.object_count + params.large_table_capacity + cluster;
}

// Values of `params.pair_variant` that force a variant of `pair_count`.
const VARIANT_SPARSE: u32 = 1u;
const VARIANT_CROWDED: u32 = 2u;

// True if `pair_count_crowded` counts the pairs. It caches bits of box tests, not partners.
fn keeps_bits(is_crowded: u32) -> bool {
    let may_choose = is_crowded != 0u && params.pair_variant != VARIANT_SPARSE;
    let is_chosen = may_choose || params.pair_variant == VARIANT_CROWDED;
    return is_chosen || params.pair_bit_words > 0u || params.scheme == SCHEME_ADAPTIVE;
}
