//! Twin of `shaders/sort_scatter.wgsl`.

use super::blocks::{SORT_TILE, SortParams};
use crate::grid::Grid;

/// Moves keys and values to their places by one digit: a pass of a stable least-significant-digit radix sort. The order
/// inside a tile, which the shader gets from Satish, Harris and Garland, "Designing Efficient Sorting Algorithms for
/// Manycore GPUs" (2009), is that of the input.
///
/// `digit_offsets` is the scanned output of [`sort_histogram`](super::sort_histogram::sort_histogram). Returns the sorted keys and
/// values, as many words as the input has; those past the grid's `entry_count` are 0 here and unwritten on the GPU.
pub fn sort_scatter(
    sort: &SortParams,
    grid: &Grid,
    keys: &[u32],
    values: &[u32],
    digit_offsets: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let tiles = sort.tiles as usize;
    let entries = keys.len().min(values.len()).min(grid.entry_count as usize);
    let mut sorted_keys = vec![0; keys.len()];
    let mut sorted_values = vec![0; values.len()];
    let mut places = digit_offsets.to_vec();
    for (index, (&key, &value)) in keys.iter().zip(values).take(entries).enumerate() {
        let tile = index / SORT_TILE;
        if tile >= tiles {
            break;
        }
        let place = &mut places[sort.digit_of(key) * tiles + tile];
        if (*place as usize) < entries {
            sorted_keys[*place as usize] = key;
            sorted_values[*place as usize] = value;
        }
        *place = place.wrapping_add(1);
    }
    (sorted_keys, sorted_values)
}
