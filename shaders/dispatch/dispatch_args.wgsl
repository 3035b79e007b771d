// uses: common/wide, common/workgroup

// Workgroups for as many rows of an output as a step wrote, as indirect dispatches read them: three dimensions, then
// the rows. At least one workgroup, which may have something to say of no rows.

struct DispatchParams {
    // Word of the counters where the 64-bit number of needed rows begins.
    needed_word: u32,
    // Place of the first row that the output shows.
    first: u32,
    // Rows that there is room for.
    capacity: u32,
    // Rows that a workgroup takes.
    workgroup_rows: u32,
}

@group(0) @binding(0) var<uniform> dispatch: DispatchParams;
@group(0) @binding(1) var<storage, read> step_counters: array<u32>;
@group(0) @binding(2) var<storage, read_write> args: array<u32>;

@compute @workgroup_size(1)
fn main() {
    let needed = vec2<u32>(step_counters[dispatch.needed_word], step_counters[dispatch.needed_word + 1u]);
    let rows = rows_shown(needed, dispatch.first, dispatch.capacity);
    let groups = folded_groups(max(rows / dispatch.workgroup_rows + min(rows % dispatch.workgroup_rows, 1u), 1u));
    args[0] = groups.x;
    args[1] = groups.y;
    args[2] = groups.z;
    args[3] = rows;
}
