// uses: common/prelude

// A cluster is 8 consecutive records, the first at a multiple of 8. Its box is stored after all records. A walk that
// misses the box skips the 8 records.

const CLUSTER: u32 = 8u;

fn cluster_record(cluster: u32) -> u32 {
    return params.object_count + params.large_table_capacity + cluster;
}

// Values of `pair_params.variant` that force a variant of `pair_count`.
const VARIANT_SPARSE: u32 = 1u;
const VARIANT_CROWDED: u32 = 2u;
