//! Reference pass of `shaders/sort/sort_scatter.wgsl` and `shaders/sort/sort_scatter_subgroups.wgsl`. Both keep the
//! order of the input within a tile.

use crate::layout::blocks::SortParams;
use crate::layout::grid::Grid;

/// Returns the keys and values, sorted by one digit. `counts` is the output of
/// [`sort_histogram`](super::sort_histogram::sort_histogram). Words past the grid's `entry_count` are 0 here and
/// unwritten on the GPU.
pub fn sort_scatter(
    sort: &SortParams,
    grid: &Grid,
    keys: &[u32],
    values: &[u32],
    counts: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let (digits, tiles) = (sort.digits(), sort.tiles as usize);
    let mut places = vec![0; digits * tiles];
    let mut below = 0u32;
    for digit in 0..digits {
        for tile in 0..tiles {
            places[digit * tiles + tile] = below;
            below = below.wrapping_add(counts[sort.row(0, tile) + digit]);
        }
    }
    move_keys(sort, grid, keys, values, places)
}

/// `places` holds the sorted place of the first key, `[digit value][tile]`.
pub(super) fn move_keys(
    sort: &SortParams,
    grid: &Grid,
    keys: &[u32],
    values: &[u32],
    mut places: Vec<u32>,
) -> (Vec<u32>, Vec<u32>) {
    let tiles = sort.tiles as usize;
    let entries = keys.len().min(values.len()).min(grid.entry_count as usize);
    let mut sorted_keys = vec![0; keys.len()];
    let mut sorted_values = vec![0; values.len()];
    let tile_keys = sort.tile_keys(entries);
    for (index, &key) in keys.iter().take(entries).enumerate() {
        let tile = index / tile_keys;
        if tile >= tiles {
            break;
        }
        let place = &mut places[sort.digit_of(key) * tiles + tile];
        if (*place as usize) < entries {
            sorted_keys[*place as usize] = key;
            sorted_values[*place as usize] = sort.value_at(values, index);
        }
        *place = place.wrapping_add(1);
    }
    (sorted_keys, sorted_values)
}
