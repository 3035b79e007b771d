// Uniform block of the rays stage. For fields, see src/layout/blocks.rs.

struct RayParams {
    count: u32,
    hit_capacity: u32,
    first_hit: u32,
    stride: u32,
    cell_capacity: u32,
    first_cell: u32,
    is_sorted: u32,
    cached: u32,
}

@group(0) @binding(11) var<uniform> ray_params: RayParams;
