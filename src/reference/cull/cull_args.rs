use crate::layout::blocks::CullParams;
use crate::layout::counters::cull_word as word;

/// Returns the offsets of the views' lists, and the indirect draw of each view. `places` are scanned counts, empty
/// without lists.
pub fn cull_args(cull: &CullParams, places: &[u32], counters: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let place = |view: u32| places[(view * cull.words) as usize];
    let mut offsets = Vec::new();
    if cull.lists != 0 {
        offsets.extend((0..=cull.view_count).map(place));
    }
    let instances = |view: u32| {
        if cull.lists == 0 {
            counters[word::SEEN + view as usize]
        } else {
            place(view + 1).min(cull.list_capacity) - place(view).min(cull.list_capacity)
        }
    };
    let draw = |view: u32| {
        let words = [cull.draw_count, instances(view), 0, 0, 0];
        words.into_iter().take(cull.draw_words as usize)
    };
    (offsets, (0..cull.view_count).flat_map(draw).collect())
}
