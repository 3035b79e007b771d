//! Twin of `shaders/pairs/pair_data.wgsl`.

/// The words that the caller's function reads, as they lie behind the objects: in vectors of four, the last one of
/// which is filled up with words that no function reads, zeros here.
pub fn pair_data(data: &[u32]) -> Vec<u32> {
    let mut words = data.to_vec();
    words.resize(words.len().next_multiple_of(4), 0);
    words
}
