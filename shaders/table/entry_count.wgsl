// uses: common/box, common/cells, common/prelude, common/workgroup, table/worlds

// Uniform scheme: counts the cells that each object covers, in one list of counts per group of entries. Large objects
// count 1, ignored ones 0.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> entry_offsets: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let object = flat_workgroup(group, groups) * WORKGROUP + local;
    if (object >= params.object_count) {
        return;
    }
    let low = objects[2u * (params.first_object + object)];
    let high = objects[2u * (params.first_object + object) + 1u];
    let kind = classify(low, high);
    var primary = 1u;
    // Number of covered cells next to the primary cell, along each axis.
    var beside = vec3<u32>(0u);
    var rest = 0u;
    if (kind == CLASS_INVALID || kind == CLASS_EXCLUDED) {
        primary = 0u;
    } else if (enters_cells(kind, world_of(object))) {
        let placement = place_uniform(low.xyz, high.xyz, params.cell_inverse);
        if (placement.level != NO_LEVEL) {
            beside = vec3<u32>(placement.upper - placement.lower);
            let cover = beside + vec3<u32>(1u);
            rest = cover.x * cover.y * cover.z - (beside.x + beside.y + beside.z + 1u);
        }
    }
    entry_offsets[object] = primary;
    entry_offsets[params.object_count + object] = beside.x;
    entry_offsets[2u * params.object_count + object] = beside.y;
    entry_offsets[3u * params.object_count + object] = beside.z;
    entry_offsets[4u * params.object_count + object] = rest;
}
