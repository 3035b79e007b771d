// uses: common/workgroup

// Copies changed boxes to their slots of an object set. A slot is listed at most once, so the order of writes does not
// matter.

struct ScatterParams {
    change_count: u32,
    object_count: u32,
}

@group(0) @binding(0) var<uniform> scatter: ScatterParams;
@group(0) @binding(1) var<storage, read> changed_slots: array<u32>;
@group(0) @binding(2) var<storage, read> changed_boxes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> objects: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let change = flat_workgroup(group, groups) * WORKGROUP + local;
    if (change >= scatter.change_count) {
        return;
    }
    let slot = changed_slots[change];
    if (slot >= scatter.object_count) {
        return;
    }
    objects[2u * slot] = changed_boxes[2u * change];
    objects[2u * slot + 1u] = changed_boxes[2u * change + 1u];
}
