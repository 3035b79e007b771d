// What every pass shares: the uniform block of a step and the flat index of an invocation.

const WORKGROUP: u32 = 256u;
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
    canary_turns: u32,
    // 2 or 3.
    dimensions: u32,
    world_count: u32,
    // Slots of the large list less one: worlds share them.
    large_mask: u32,
    // Boxes are grown by this on every side.
    margin: f32,
    // Vectors of four words that a ray takes: 2, or 4 where rays sweep a box.
    ray_stride: u32,
    ray_cell_capacity: u32,
    first_ray_cell: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

// More workgroups than one dimension may have fold into the second.
fn flat_workgroup(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}
