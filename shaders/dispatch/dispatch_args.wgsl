// uses: common/counters, common/wide, common/workgroup

// Writes indirect dispatch arguments for the rows of an output: workgroups in three dimensions, then the number of
// rows. At least one workgroup is dispatched: a pass may have work without rows. All words are 0 if the status has one
// of `missing_bits`.

// For fields, see src/layout/blocks.rs.
struct DispatchParams {
    needed_word: u32,
    first: u32,
    capacity: u32,
    workgroup_rows: u32,
    missing_bits: u32,
}

@group(0) @binding(0) var<uniform> dispatch: DispatchParams;
@group(0) @binding(1) var<storage, read> step_counters: array<u32>;
@group(0) @binding(2) var<storage, read_write> args: array<u32>;

@compute @workgroup_size(1)
fn main() {
    let status = step_counters[COUNTER_STATUS] | step_counters[COUNTER_UNFINISHED];
    let is_used = (status & dispatch.missing_bits) == 0u;
    let needed = vec2<u32>(step_counters[dispatch.needed_word], step_counters[dispatch.needed_word + 1u]);
    let rows = rows_shown(needed, dispatch.first, dispatch.capacity);
    let groups = folded_groups(max(rows / dispatch.workgroup_rows + min(rows % dispatch.workgroup_rows, 1u), 1u));
    args[0] = select(0u, groups.x, is_used);
    args[1] = select(0u, groups.y, is_used);
    args[2] = select(0u, groups.z, is_used);
    args[3] = select(0u, rows, is_used);
}
