// uses: common/box, common/grid, common/prelude, common/workgroup, table/worlds

// Boxes as ordered integers in the order in which the walks read them: sorted by cell where an object has one entry,
// else by object. A record is `min.xyz, object | max.xyz, world`.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> grid: Grid;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = flat_workgroup(group, groups) * WORKGROUP + local;
    let count = select(grid.entry_count, params.object_count, params.scheme == SCHEME_UNIFORM);
    // Invocations are as many as objects: what the cover table has beside is often nothing.
    for (var index = select(count, first, first < params.object_count); index < count; index += params.object_count) {
        var object = index;
        if (params.scheme != SCHEME_UNIFORM) {
            object = values[index] & ID_MASK;
        }
        let name = params.first_object + object;
        let low = objects[2u * name].xyz;
        let high = objects[2u * name + 1u].xyz;
        records[2u * index] = vec4<u32>(bitcast<vec3<u32>>(ordered(low)), name);
        records[2u * index + 1u] = vec4<u32>(bitcast<vec3<u32>>(ordered(high)), world_of(object));
    }
}
