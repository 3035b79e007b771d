// Uniform block of a step. For fields, see src/layout/grid.rs.

const SCHEME_HIERARCHICAL: u32 = 0u;
const SCHEME_UNIFORM: u32 = 1u;
const SCHEME_ADAPTIVE: u32 = 2u;

struct Params {
    object_count: u32,
    ray_count: u32,
    entry_capacity: u32,
    table_capacity: u32,
    pair_capacity: u32,
    hit_capacity: u32,
    first_pair: u32,
    first_hit: u32,
    scheme: u32,
    cell_inverse: f32,
    sample_count: u32,
    sample_stride: u32,
    dimensions: u32,
    world_count: u32,
    large_mask: u32,
    margin: f32,
    ray_stride: u32,
    ray_cell_capacity: u32,
    first_ray_cell: u32,
    period_x: f32,
    period_y: f32,
    period_z: f32,
    query_count: u32,
    wide_queries: u32,
    self_query: u32,
    half: u32,
    radius: f32,
    nearest: u32,
    result_capacity: u32,
    first_result: u32,
    pair_bit_words: u32,
    partner_chunks: u32,
    first_object: u32,
    static_count: u32,
    pair_rows: u32,
    querier_count: u32,
    rays_sorted: u32,
    cached_hits: u32,
    cached_partners: u32,
    large_table_capacity: u32,
    object_limit: u32,
    has_clusters: u32,
    pair_variant: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
