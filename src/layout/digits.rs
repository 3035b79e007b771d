//! Digits and tiles of a sort, by strategy.

use super::blocks::SortParams;
use super::grid::{self, Params};
use crate::api::descriptor::SortStrategy;
use crate::shared::wgsl::number;

const PORTABLE_TILE: u32 = number("sort/sort_scatter", "SORT_TILE");
const SUBGROUPS_TILE: u32 = number("sort/sort_scatter_subgroups", "SORT_TILE");
/// Tiles are a multiple of this.
const SUBGROUPS_TILE_STEP: u32 = number("sort/sort_scatter_subgroups", "SORT_STEP");
const SUBGROUPS_TILES: u32 = 256;
/// Maximum bits of a digit whose histogram is in workgroup memory.
const LOCAL_DIGIT_BITS: u32 = number("sort/sort_tiles", "MAX_DIGIT_BITS");
pub(crate) const SERIAL_TILES: u32 = number("sort/sort_serial", "SERIAL_TILES");
/// Maximum bits of a digit with serial tiles. With more, a scatter writes to more places than caches hold.
const SERIAL_DIGIT_BITS: u32 = 11;
/// Maximum number of keys counted by the pass that writes them. Histogram passes count more.
pub(crate) const MAX_COUNTED_AHEAD: u64 = 1 << 18;
/// Approximate keys per serial tile. Larger tiles need fewer counts; smaller ones occupy more processor cores.
const SERIAL_TILE_KEYS: std::ops::RangeInclusive<u32> = 4096..=8192;
/// Minimum number of serial tiles: two workgroups, for two processor cores. Larger numbers are multiples of it.
const MIN_SERIAL_TILES: u32 = 2 * SERIAL_TILES;
/// Maximum number of serial tiles. A loop visits each tile, and llvmpipe ends loops after 65,535 iterations.
const MAX_SERIAL_TILES: u32 = 1 << 15;

pub(crate) fn table_digits(params: &Params, strategy: SortStrategy) -> Vec<SortParams> {
    let key_bits = grid::key_bits(params);
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
        // Tiles divide the keys evenly, since there may be fewer at run time.
        SortStrategy::SerialTiles => (0, serial_tiles(keys, each)),
    };
    let counts_ahead = counts_ahead(tile, tiles);
    // A pass that counts ahead makes an atomic addition per key and level.
    let levels = if counts_ahead { 1 } else { 2 };
    let group_bits = bits_below(tiles).div_ceil(levels + 1);
    let bits_from = |shift: u32| each.min(key_bits - shift);
    let mut digits = (0..count)
        .map(|digit| {
            let shift = digit * each;
            SortParams {
                shift,
                bits: bits_from(shift),
                tile,
                tiles: tiles.max(1),
                group_bits,
                levels,
                next_bits: if counts_ahead && digit + 1 < count {
                    bits_from(shift + each)
                } else {
                    0
                },
                ..SortParams::default()
            }
        })
        .collect::<Vec<_>>();
    place_counts(&mut digits);
    digits
}

/// Places the counts in two buffers by turns: a pass reads those of a digit and adds those of the next.
pub(crate) fn place_counts(digits: &mut [SortParams]) {
    let mut words = [0; 2];
    for (index, digit) in digits.iter_mut().enumerate().filter(|(_, digit)| digit.tile > 0) {
        digit.counts = words[index % 2];
        digit.next_counts = words[(index + 1) % 2];
        words[index % 2] += digit.count_words();
    }
}

/// A digit without bits, before the first, for the passes that write `all` keys.
pub(crate) fn before_first(digits: &[SortParams], all: bool) -> SortParams {
    let first = digits.first().copied().unwrap_or_default();
    let counts_first = all && counts_ahead(first.tile, first.tiles);
    SortParams {
        bits: 0,
        next_bits: if counts_first { first.bits } else { 0 },
        next_counts: first.counts,
        ..first
    }
}

fn counts_ahead(tile: u32, tiles: u32) -> bool {
    tile > 0 && u64::from(tile) * u64::from(tiles) <= MAX_COUNTED_AHEAD
}

/// Smaller if keys are few, so that most processors of a large GPU have a tile.
fn subgroups_tile(keys: u32) -> u32 {
    let each = keys.div_ceil(SUBGROUPS_TILES).next_multiple_of(SUBGROUPS_TILE_STEP);
    each.clamp(SUBGROUPS_TILE_STEP, SUBGROUPS_TILE)
}

fn serial_tiles(keys: u32, bits: u32) -> u32 {
    let tile = (4u32 << bits).clamp(*SERIAL_TILE_KEYS.start(), *SERIAL_TILE_KEYS.end());
    let wanted = keys.div_ceil(tile).next_multiple_of(MIN_SERIAL_TILES);
    wanted.clamp(MIN_SERIAL_TILES, MAX_SERIAL_TILES)
}

/// Serial tiles use only the first buffer.
pub(crate) fn count_words(digits: &[SortParams]) -> [u32; 2] {
    let mut words = [0; 2];
    for (index, digit) in digits.iter().enumerate() {
        let words = &mut words[counts_buffer(digit, index)];
        *words = (digit.counts + digit.count_words()).max(*words);
    }
    words
}

pub(crate) fn counts_buffer(digit: &SortParams, index: usize) -> usize {
    if digit.tile > 0 { index % 2 } else { 0 }
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
                    let words: u32 = count_words(&sort_digits(strategy, keys, bits)).iter().sum();
                    assert!(
                        words < 2 * keys,
                        "{strategy:?}, {keys} keys of {bits} bits: {words} words"
                    );
                }
            }
        }
    }
}
