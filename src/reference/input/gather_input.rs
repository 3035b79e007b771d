use crate::layout::blocks::GatherParams;
use crate::reference::source::element_words;

/// Returns packed rays, queries or numbers. Rays and queries past the limit find nothing.
pub fn gather_input(params: &GatherParams, limits: &[u32], source: &[u32]) -> Vec<u32> {
    let limit = match params.limit {
        0 => u32::MAX,
        place => limits[place as usize - 1],
    };
    let row = |element: u32| {
        if element < limit {
            return element_words(&params.layout(), source, element as usize, params.words as usize);
        }
        let mut row = vec![0; params.words as usize];
        if let Some(word) = row.get_mut(params.row_word as usize) {
            *word = params.value;
        }
        row
    };
    (0..params.elements).flat_map(row).collect()
}
