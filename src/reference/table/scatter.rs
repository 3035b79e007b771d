use crate::api::types::Aabb;
use crate::layout::blocks::ScatterParams;

/// Copies `changed_boxes[n]` to slot `changed_slots[n]` before the step: see
/// [`ObjectSet::upload`](crate::ObjectSet::upload). A slot is listed at most once. Slots past the end of `objects` are
/// skipped.
pub fn scatter(scatter: &ScatterParams, changed_slots: &[u32], changed_boxes: &[Aabb], objects: &mut [Aabb]) {
    let count = objects.len().min(scatter.object_count as usize);
    let changes = changed_slots.iter().zip(changed_boxes);
    for (&slot, changed) in changes.take(scatter.change_count as usize) {
        if let Some(object) = objects[..count].get_mut(slot as usize) {
            *object = *changed;
        }
    }
}
