// uses: common/box, common/cells, common/grid, common/workgroup, rays/ray_params

// Writes sort keys of rays, so that neighbouring invocations walk neighbouring cells: the Morton code ("A Computer
// Oriented Geodetic Data Base", 1966) of the origin's cell on the fullest level. The order changes no result.

@group(0) @binding(1) var<storage, read> grid: Grid;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> values: array<u32>;
@group(0) @binding(4) var<storage, read> rays: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> sort_grid: Grid;

const RAY_KEY_AXIS_BITS: u32 = 7u;

fn spread(bits: vec3<u32>) -> vec3<u32> {
    var wide = (bits | (bits << vec3<u32>(8u))) & vec3<u32>(0x0000f00fu);
    wide = (wide | (wide << vec3<u32>(4u))) & vec3<u32>(0x000c30c3u);
    return (wide | (wide << vec3<u32>(2u))) & vec3<u32>(0x00249249u);
}

fn ray_key(index: u32) -> u32 {
    let level = grid.levels[min(grid.fullest_level, MAX_LEVELS - 1u)];
    let whole = vec3<u32>(x_detail(), 0u, 0u);
    let lower = vec3<i32>(level.lower_x, level.lower_y, level.lower_z) >> whole;
    let upper = vec3<i32>(level.upper_x, level.upper_y, level.upper_z) >> whole;
    let bits = rays[ray_params.stride * index].xyz;
    let is_number = (bits & vec3<u32>(0x7fffffffu)) < vec3<u32>(0x7f800000u);
    let origin = flush_bits(select(vec3<u32>(0u), bits, is_number));
    let cell = vec3<u32>(clamp(cell_of(origin, whole_cell_inverse(level.inverse, grid.stretch)), lower, upper) - lower);
    let size = vec3<u32>(upper - lower);
    let size_bits = 32u - countLeadingZeros(max(size.x, max(size.y, size.z)));
    let place = spread(cell >> vec3<u32>(max(size_bits, RAY_KEY_AXIS_BITS) - RAY_KEY_AXIS_BITS));
    return place.x | (place.y << 1u) | (place.z << 2u);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = flat_workgroup(group, groups) * WORKGROUP + local;
    if (index == 0u) {
        sort_grid.entry_count = ray_params.count;
    }
    if (index < ray_params.count) {
        keys[index] = ray_key(index);
        values[index] = index;
    }
}
