// Uniform block of a table. For fields, see src/layout/grid.rs.

const SCHEME_HIERARCHICAL: u32 = 0u;
const SCHEME_UNIFORM: u32 = 1u;
const SCHEME_ADAPTIVE: u32 = 2u;

// World of an object that is in every world.
const ALL_WORLDS: u32 = 0xffffffffu;

struct Params {
    object_count: u32,
    entry_capacity: u32,
    table_capacity: u32,
    scheme: u32,
    cell_inverse: f32,
    sample_count: u32,
    sample_stride: u32,
    dimensions: u32,
    world_count: u32,
    large_mask: u32,
    large_buckets: u32,
    margin: f32,
    period_x: f32,
    period_y: f32,
    period_z: f32,
    first_object: u32,
    static_count: u32,
    large_table_capacity: u32,
    object_limit: u32,
    has_clusters: u32,
    large_table_tile: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
