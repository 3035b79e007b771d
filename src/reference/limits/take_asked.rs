//! Twin of `shaders/limits/take_asked.wgsl`.

use crate::layout::blocks::TakeParams;
use crate::reference::given::element_words;

/// Words of rays, queries or numbers that lie anywhere in a caller's buffer, one behind the other. Rows past the limit
/// are 0 but for one word, by which they find nothing.
pub fn take_asked(params: &TakeParams, limits: &[u32], given: &[u32]) -> Vec<u32> {
    let limit = match params.limit {
        0 => u32::MAX,
        place => limits[place as usize - 1],
    };
    let row = |element: u32| {
        if element < limit {
            return element_words(&params.given(), given, element as usize, params.words as usize);
        }
        let mut row = vec![0; params.words as usize];
        if let Some(word) = row.get_mut(params.row_word as usize) {
            *word = params.value;
        }
        row
    };
    (0..params.elements).flat_map(row).collect()
}
