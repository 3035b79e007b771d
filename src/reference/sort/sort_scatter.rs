//! Twin of `shaders/sort/sort_scatter.wgsl`, `shaders/sort/sort_scatter_subgroups.wgsl` and
//! `shaders/sort/sort_scatter_strips.wgsl`.

use crate::shared::blocks::SortParams;
use crate::shared::grid::Grid;

/// Moves keys and values to their places by one digit: a pass of a stable least-significant-digit radix sort. The order
/// inside a tile is that of the input, however the shaders get it: from Satish, Harris and Garland, "Designing
/// Efficient Sorting Algorithms for Manycore GPUs" (2009), by ballots, or key by key.
///
/// `digit_counts` is the output of [`sort_scan`](super::sort_scan::sort_scan). Returns the sorted keys and
/// values, as many words as the input has; those past the grid's `entry_count` are 0 here and unwritten on the GPU.
pub fn sort_scatter(
    sort: &SortParams,
    grid: &Grid,
    keys: &[u32],
    values: &[u32],
    digit_counts: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let tiles = sort.tiles as usize;
    let entries = keys.len().min(values.len()).min(grid.entry_count as usize);
    let mut sorted_keys = vec![0; keys.len()];
    let mut sorted_values = vec![0; values.len()];
    let mut places = sort_places(sort, digit_counts);
    let tile_keys = sort.tile_keys(entries);
    for (index, (&key, &value)) in keys.iter().zip(values).take(entries).enumerate() {
        let tile = index / tile_keys;
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

/// Where the first key of each digit and tile goes, as `[digit][tile]`.
fn sort_places(sort: &SortParams, digit_counts: &[u32]) -> Vec<u32> {
    let tiles = sort.tiles as usize;
    let (counts, totals) = digit_counts.split_at(sort.digits() * tiles);
    let mut below = 0u32;
    let mut places = Vec::with_capacity(counts.len());
    for (counts, &total) in counts.chunks_exact(tiles).zip(totals) {
        places.extend(counts.iter().map(|&count| below.wrapping_add(count)));
        below = below.wrapping_add(total);
    }
    places
}
