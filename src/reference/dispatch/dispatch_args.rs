use crate::api::counters::word;
use crate::layout::blocks::{DispatchParams, rows_shown, wide};
use crate::shared::bounds::MAX_GROUPS;

/// Returns indirect dispatch arguments: workgroups in three dimensions, then the number of rows.
pub fn dispatch_args(params: &DispatchParams, step_counters: &[u32]) -> [u32; 4] {
    let status = step_counters[word::STATUS] | step_counters[word::UNFINISHED];
    if status & params.missing_bits != 0 {
        return [0; 4];
    }
    let needed = wide(step_counters, params.needed_word as usize);
    let rows = rows_shown(needed, params.first, params.capacity);
    let groups = rows.div_ceil(params.workgroup_rows).max(1);
    let folded = groups.div_ceil(MAX_GROUPS);
    [groups.min(MAX_GROUPS), folded.min(MAX_GROUPS), 1, rows]
}
