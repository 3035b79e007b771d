//! Twin of `shaders/dispatch/dispatch_args.wgsl`.

use crate::layout::blocks::{DispatchParams, rows_shown, wide};
use crate::shared::bounds::MAX_GROUPS;

/// Workgroups for as many rows of an output as a step wrote, as indirect dispatches read them: three dimensions, then
/// the rows. At least one workgroup.
pub fn dispatch_args(params: &DispatchParams, step_counters: &[u32]) -> [u32; 4] {
    let needed = wide(step_counters, params.needed_word as usize);
    let rows = rows_shown(needed, params.first, params.capacity);
    let groups = rows.div_ceil(params.workgroup_rows).max(1);
    let folded = groups.div_ceil(MAX_GROUPS);
    [groups.min(MAX_GROUPS), folded.min(MAX_GROUPS), 1, rows]
}
