/// Returns the rows in ascending order.
pub fn order_rows<T: Copy>(rows: &[T], values: &[u32]) -> Vec<T> {
    values.iter().map(|&row| rows[row as usize]).collect()
}
