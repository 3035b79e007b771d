// Uniform block of the queries stage. For fields, see src/layout/blocks.rs.

struct QueryParams {
    count: u32,
    is_wide: u32,
    self_query: u32,
    half: u32,
    radius: f32,
    nearest: u32,
    capacity: u32,
    first: u32,
}

@group(0) @binding(11) var<uniform> query_params: QueryParams;
