//! Reference pass of `shaders/order/order_firsts.wgsl`.

use super::shown::Rows;

/// Returns the first keys of rows. `values` has the rows in the order of their second keys.
pub fn order_firsts(rows: Rows<'_>, values: &[u32]) -> Vec<u32> {
    values.iter().map(|&row| rows.first_key(row as usize)).collect()
}
