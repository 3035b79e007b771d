//! Twin of `shaders/order/order_rows.wgsl`.

/// The rows of an output in their order.
pub fn order_rows<T: Copy>(rows: &[T], values: &[u32]) -> Vec<T> {
    values.iter().map(|&row| rows[row as usize]).collect()
}
