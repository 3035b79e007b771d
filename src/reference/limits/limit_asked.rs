//! Twin of `shaders/limits/limit_asked.wgsl`.

use crate::layout::blocks::LimitParams;

/// Words of rays or queries of which the first `limits[params.limit_word]` are asked. The rest are 0 but for one word,
/// by which they find nothing.
pub fn limit_asked(params: &LimitParams, limits: &[u32], given: &[u32]) -> Vec<u32> {
    let words = 4 * params.stride as usize;
    let mut asked = given[..words * params.rows as usize].to_vec();
    let past = asked
        .chunks_mut(words)
        .skip(limits[params.limit_word as usize] as usize);
    past.for_each(|row| {
        row.fill(0);
        row[params.row_word as usize] = params.value;
    });
    asked
}
