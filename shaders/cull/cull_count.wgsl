// uses: common/workgroup, cull/view

// Counts the objects that each view sees and, for lists, the set bits of each word. A workgroup has words of one view
// only.

@group(0) @binding(1) var<storage, read> visible: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> counters: array<atomic<u32>>;

var<workgroup> seen: atomic<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if (local == 0u) {
        atomicStore(&seen, 0u);
    }
    workgroupBarrier();
    let view_groups = max((cull.words + WORKGROUP - 1u) / WORKGROUP, 1u);
    let flat = flat_workgroup(group, groups);
    let view = flat / view_groups;
    let word = (flat % view_groups) * WORKGROUP + local;
    if (view < cull.view_count && word < cull.words) {
        let count = countOneBits(visible[view * cull.words + word]);
        if (cull.lists != 0u) {
            places[view * cull.words + word] = count;
        }
        if (count > 0u) {
            atomicAdd(&seen, count);
        }
    }
    workgroupBarrier();
    if (local == 0u && view < cull.view_count) {
        atomicAdd(&counters[CULL_SEEN + view], atomicLoad(&seen));
    }
}
