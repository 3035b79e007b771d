use super::shown::Rows;

/// Returns the first key of each row. `values` holds the row indices, sorted by second key.
pub fn order_firsts(rows: Rows<'_>, values: &[u32]) -> Vec<u32> {
    values.iter().map(|&row| rows.first_key(row as usize)).collect()
}
