// uses: common/box, common/prelude, common/workgroup, table/size

// Histogram of the longest sides in quarter octaves and the largest coordinate, of a sample of the objects: what the
// finest cell is chosen from.

@group(0) @binding(1) var<storage, read> objects: array<vec4<u32>>;
// 1024 size classes, then the bits of the largest |coordinate|.
@group(0) @binding(2) var<storage, read_write> size_statistics: array<atomic<u32>, 1025>;

var<workgroup> local_classes: array<atomic<u32>, 1024>;
var<workgroup> local_extent: atomic<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    for (var i = local; i < 1024u; i += WORKGROUP) {
        atomicStore(&local_classes[i], 0u);
    }
    if (local == 0u) {
        atomicStore(&local_extent, 0u);
    }
    workgroupBarrier();

    let sample = flat_workgroup(group, groups) * WORKGROUP + local;
    if (sample < params.sample_count) {
        let object = params.first_object + sampled_object(sample);
        let low = objects[2u * object];
        let high = objects[2u * object + 1u];
        if (classify(low, high) == CLASS_FINITE) {
            atomicAdd(&local_classes[size_class(low.xyz, high.xyz)], 1u);
            let magnitude = max(low.xyz & vec3<u32>(0x7fffffffu), high.xyz & vec3<u32>(0x7fffffffu));
            let extent = max(magnitude.x, max(magnitude.y, magnitude.z));
            // Looks first: atomics on one word wait for one another.
            if (atomicLoad(&local_extent) < extent) {
                atomicMax(&local_extent, extent);
            }
        }
    }
    workgroupBarrier();

    for (var i = local; i < 1024u; i += WORKGROUP) {
        let count = atomicLoad(&local_classes[i]);
        if (count != 0u) {
            atomicAdd(&size_statistics[i], count);
        }
    }
    if (local == 0u) {
        atomicMax(&size_statistics[1024], atomicLoad(&local_extent));
    }
}
