//! Digits and tiles of a sort, by strategy.

use super::blocks::SortParams;
use super::grid::{self, Params};
use crate::api::descriptor::SortStrategy;
use crate::shared::wgsl::number;

const PORTABLE_TILE: u32 = number("sort/sort_scatter", "SORT_TILE");
const SUBGROUPS_TILE: u32 = number("sort/sort_scatter_subgroups", "SORT_TILE");
/// Tiles are a multiple of the workgroup size.
const SUBGROUPS_TILE_STEP: u32 = number("sort/sort_scatter_subgroups", "SORT_WORKGROUP");
/// Number of tiles from which on they have full size.
const SUBGROUPS_TILES: u32 = 128;
/// Maximum bits of a digit whose histogram is in workgroup memory.
const LOCAL_DIGIT_BITS: u32 = number("sort/sort_tiles", "MAX_DIGIT_BITS");
pub(crate) const SERIAL_TILES: u32 = number("sort/sort_serial", "SERIAL_TILES");
/// Maximum bits of a digit with serial tiles. With more, a scatter writes to more places than caches hold.
const SERIAL_DIGIT_BITS: u32 = 11;
/// Approximate keys per serial tile. Larger tiles need fewer counts; smaller ones occupy more processor cores.
const SERIAL_TILE_KEYS: std::ops::RangeInclusive<u32> = 4096..=8192;
/// Minimum number of serial tiles: two workgroups, for two processor cores. Larger numbers are multiples of it.
const MIN_SERIAL_TILES: u32 = 2 * SERIAL_TILES;
/// Maximum number of serial tiles. A loop visits each tile, and llvmpipe ends loops after 65,535 iterations.
const MAX_SERIAL_TILES: u32 = 1 << 15;

pub(crate) fn table_digits(params: &Params, strategy: SortStrategy) -> Vec<SortParams> {
    let key_bits = grid::key_bits(params.table_capacity, params.large_mask);
    let mut digits = sort_digits(strategy, params.table_entries(), key_bits);
    if let Some(first) = digits.first_mut().filter(|_| !params.is_uniform()) {
        first.unwritten = params.object_count;
    }
    digits
}

/// Returns the digits for sorting `keys` keys of `key_bits` bits: lowest first, equally wide except perhaps the last.
/// `Auto` means `Portable`.
pub fn sort_digits(strategy: SortStrategy, keys: u32, key_bits: u32) -> Vec<SortParams> {
    if key_bits == 0 {
        return Vec::new();
    }
    let count = match strategy {
        SortStrategy::SerialTiles => {
            // Cost of `count` digits, in moved words: of keys, of digit counts, of starting passes.
            let words = |&count: &u32| {
                let bits = key_bits.div_ceil(count);
                let counting = (10 * u64::from(serial_tiles(keys, bits) + 1)) << bits;
                u64::from(count) * (9 * u64::from(keys) + counting + 100_000)
            };
            let counts = key_bits.div_ceil(SERIAL_DIGIT_BITS)..=key_bits.div_ceil(LOCAL_DIGIT_BITS);
            counts.min_by_key(words).unwrap_or(1)
        }
        _ => key_bits.div_ceil(LOCAL_DIGIT_BITS),
    };
    let each = key_bits.div_ceil(count);
    let (tile, tiles) = match strategy {
        SortStrategy::Auto | SortStrategy::Portable => (PORTABLE_TILE, keys.div_ceil(PORTABLE_TILE)),
        SortStrategy::Subgroups => {
            let tile = subgroups_tile(keys);
            (tile, keys.div_ceil(tile))
        }
        // Tiles divide the keys evenly, since there may be fewer than `keys` keys at run time.
        SortStrategy::SerialTiles => (0, serial_tiles(keys, each)),
    };
    let group_tiles = 1 << bits_below(tiles).div_ceil(2);
    let mut sums = 0;
    (0..count)
        .map(|digit| {
            let sort = SortParams {
                shift: digit * each,
                bits: each.min(key_bits - digit * each),
                tile,
                tiles: tiles.max(1),
                sums,
                group_tiles,
                unwritten: 0,
            };
            sums += sort.sum_words();
            sort
        })
        .collect()
}

/// Smaller tiles than [`SUBGROUPS_TILE`] if there are few keys, so that most processors of a large GPU have a tile.
fn subgroups_tile(keys: u32) -> u32 {
    let each = keys.div_ceil(SUBGROUPS_TILES).next_multiple_of(SUBGROUPS_TILE_STEP);
    each.clamp(SUBGROUPS_TILE_STEP, SUBGROUPS_TILE)
}

fn serial_tiles(keys: u32, bits: u32) -> u32 {
    let tile = (4u32 << bits).clamp(*SERIAL_TILE_KEYS.start(), *SERIAL_TILE_KEYS.end());
    let wanted = keys.div_ceil(tile).next_multiple_of(MIN_SERIAL_TILES);
    wanted.clamp(MIN_SERIAL_TILES, MAX_SERIAL_TILES)
}

pub(crate) fn counter_words(digits: &[SortParams]) -> u32 {
    digits.iter().map(SortParams::counter_words).max().unwrap_or(0)
}

pub(crate) fn sum_words(digits: &[SortParams]) -> u32 {
    digits.iter().map(SortParams::sum_words).sum()
}

pub(crate) const fn bits_below(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_take_few_words_a_key() {
        for strategy in [
            SortStrategy::Portable,
            SortStrategy::Subgroups,
            SortStrategy::SerialTiles,
        ] {
            for keys in [100_000, 250_000, 1_000_000, 4_000_000] {
                for bits in 12..=26 {
                    let words = counter_words(&sort_digits(strategy, keys, bits));
                    assert!(
                        words < keys / 2,
                        "{strategy:?}, {keys} keys of {bits} bits: {words} words"
                    );
                }
            }
        }
    }
}
