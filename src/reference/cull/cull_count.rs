use crate::layout::blocks::CullParams;
use crate::layout::counters::cull_word as word;

/// Counts the objects that each view sees. Returns the number of set bits of each word; the shader writes it only for
/// lists.
pub fn cull_count(cull: &CullParams, visible: &[u32], counters: &mut [u32]) -> Vec<u32> {
    let counts: Vec<u32> = visible.iter().map(|word| word.count_ones()).collect();
    for view in 0..cull.view_count as usize {
        let words = cull.words as usize;
        counters[word::SEEN + view] += counts[view * words..][..words].iter().sum::<u32>();
    }
    counts
}
