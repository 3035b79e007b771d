use crate::layout::blocks::CountParams;

/// Returns the first `limits[params.limit_word]` rows of rays or queries, then rows that find nothing.
pub fn device_count(params: &CountParams, limits: &[u32], source: &[u32]) -> Vec<u32> {
    let words = 4 * params.stride as usize;
    let mut rows = source[..words * params.rows as usize].to_vec();
    let past = rows.chunks_mut(words).skip(limits[params.limit_word as usize] as usize);
    past.for_each(|row| {
        row.fill(0);
        row[params.row_word as usize] = params.value;
    });
    rows
}
