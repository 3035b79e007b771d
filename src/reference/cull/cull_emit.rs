use crate::layout::blocks::CullParams;

/// Returns the list of each view: the objects that it sees, ascending, up to the capacity.
pub fn cull_emit(cull: &CullParams, visible: &[u32]) -> Vec<u32> {
    let words = (0..).zip(visible).flat_map(|(place, &word)| {
        let first: u32 = 32 * (place % cull.words);
        (0..32)
            .filter(move |bit| word >> bit & 1 != 0)
            .map(move |bit| first + bit)
    });
    words.take(cull.list_capacity as usize).collect()
}
