use super::shown::Rows;

/// Returns the second key of each row, and its index as the value.
pub fn order_seconds(rows: Rows<'_>) -> (Vec<u32>, Vec<u32>) {
    (0..rows.len()).map(|row| (rows.second_key(row), row as u32)).unzip()
}
