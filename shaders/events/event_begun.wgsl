// uses: common/workgroup, events/event

// Copies the rows of begun pairs to a separate buffer, since only the device knows where they begin among all rows.

@group(0) @binding(7) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read> counters: array<u32>;
@group(0) @binding(9) var<storage, read_write> begun: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = flat_workgroup(group, groups) * WORKGROUP + local;
    if (place < min(counters[EVENT_BEGUN], event.begun_capacity)) {
        begun[place] = rows[counters[EVENT_PERSISTING] + place];
    }
}
