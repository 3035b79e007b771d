// uses: common/workgroup, cull/view

// Writes the list of each view: the objects that it sees, ascending.

@group(0) @binding(1) var<storage, read> visible: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> lists: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let word = flat_workgroup(group, groups) * WORKGROUP + local;
    if (word >= cull.view_count * cull.words) {
        return;
    }
    let first_object = 32u * (word % cull.words);
    var place = places[word];
    for (var rest = visible[word]; rest != 0u && place < cull.list_capacity; rest &= rest - 1u) {
        lists[place] = first_object + firstTrailingBit(rest);
        place += 1u;
    }
}
