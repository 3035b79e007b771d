//! Twin of `shaders/table/scatter.wgsl`.

use crate::api::types::Aabb;
use crate::layout::blocks::ScatterParams;

/// Moves boxes that changed to their slots: what [`ObjectSet::upload`](crate::ObjectSet::upload) runs ahead of a step.
///
/// The box at place `n` of `changed_boxes` goes to the slot at place `n` of `changed_slots`, which lists a slot at most
/// once; slots past the end of `objects` are passed over.
pub fn scatter(scatter: &ScatterParams, changed_slots: &[u32], changed_boxes: &[Aabb], objects: &mut [Aabb]) {
    let count = objects.len().min(scatter.object_count as usize);
    let changes = changed_slots.iter().zip(changed_boxes);
    for (&slot, changed) in changes.take(scatter.change_count as usize) {
        if let Some(object) = objects[..count].get_mut(slot as usize) {
            *object = *changed;
        }
    }
}
