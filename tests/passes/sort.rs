//! The radix sort.

use crate::common::{Rng, TestAdapter};
use crate::harness::*;
use bytemuck::bytes_of;
use gpu_broad_phase::grid::Grid;
use gpu_broad_phase::internals::blocks::SortParams;
use gpu_broad_phase::internals::reference::sort::{sort_histogram, sort_scan, sort_scatter};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{SortStrategy, wgpu};

/// Those whose passes the adapter can run.
pub fn strategies(adapter: &TestAdapter) -> Vec<SortStrategy> {
    let mut strategies = vec![SortStrategy::Portable, SortStrategy::Strips];
    if adapter.device.features().contains(wgpu::Features::SUBGROUP) {
        strategies.push(SortStrategy::Subgroups);
    } else {
        eprintln!("skipped: {} has no subgroups", adapter.name);
    }
    strategies
}

/// One digit of the sort, all passes.
pub fn check_sort(bench: &Bench, strategy: SortStrategy, sort: &SortParams, grid: &Grid, keys: &[u32], values: &[u32]) {
    let (histogram, scan, scatter, each) = match strategy {
        SortStrategy::Strips => (
            &shaders::SORT_HISTOGRAM_STRIPS,
            &shaders::SORT_SCAN_STRIPS,
            &shaders::SORT_SCATTER_STRIPS,
            8,
        ),
        SortStrategy::Subgroups => (
            &shaders::SORT_HISTOGRAM,
            &shaders::SORT_SCAN,
            &shaders::SORT_SCATTER_SUBGROUPS,
            1,
        ),
        _ => (&shaders::SORT_HISTOGRAM, &shaders::SORT_SCAN, &shaders::SORT_SCATTER, 1),
    };
    let groups = sort.tiles.div_ceil(each);
    let entries = grid.entry_count as usize;
    let counts = sort_histogram::sort_histogram(sort, grid, keys);
    let found = bench.run(
        histogram,
        groups,
        uniform(sort),
        &[
            ("grid", bytes_of(grid).to_vec()),
            ("keys", with_stale(keys, grid.entry_count)),
            ("digit_counts", poison::<u32>(counts.len())),
        ],
    );
    // The totals behind the counts are the scan's.
    let counts = &counts[..(sort.tiles << sort.bits) as usize];
    found.check("digit_counts", counts);
    let mut offsets = counts.to_vec();
    offsets.resize(counts.len() + (1 << sort.bits), STALE);
    let unscanned = bytes(&offsets);
    sort_scan::sort_scan(sort, &mut offsets);
    let found = bench.run(
        scan,
        (1u32 << sort.bits).div_ceil(each),
        uniform(sort),
        &[("digit_counts", unscanned)],
    );
    found.check("digit_counts", &offsets);
    let (sorted_keys, sorted_values) = sort_scatter::sort_scatter(sort, grid, keys, values, &offsets);
    let found = bench.run(
        scatter,
        groups,
        uniform(sort),
        &[
            ("grid", bytes_of(grid).to_vec()),
            ("keys", with_stale(keys, grid.entry_count)),
            ("values", with_stale(values, grid.entry_count)),
            ("digit_counts", bytes(&offsets)),
            ("sorted_keys", poison::<u32>(keys.len())),
            ("sorted_values", poison::<u32>(keys.len())),
        ],
    );
    found.check("sorted_keys", &sorted_keys[..entries]);
    found.check("sorted_values", &sorted_values[..entries]);
    if strategy == SortStrategy::Strips {
        // Places of first keys moved on to those behind the last ones.
        let (before, totals) = offsets.split_at(counts.len());
        let mut below = 0;
        let mut expected = Vec::new();
        for (digit, &total) in totals.iter().enumerate() {
            let words = digit * sort.tiles as usize..(digit + 1) * sort.tiles as usize;
            expected.extend(words.map(|word| below + before[word] + counts[word]));
            below += total;
        }
        expected.extend(totals);
        found.check("digit_counts", &expected);
    }
}

/// Keys whose order or sameness strains a sort.
pub fn keys_to_sort(count: usize, rng: &mut Rng) -> [Vec<u32>; 6] {
    let random: Vec<_> = (0..count).map(|_| rng.bits() as u32).collect();
    let mut sorted = random.clone();
    sorted.sort_unstable();
    let reversed = sorted.iter().rev().copied().collect();
    let few = random.iter().map(|key| key & 0x0300_0300).collect();
    let top = random.iter().map(|key| key | 0xfff0_0000).collect();
    [random, sorted, reversed, few, top, vec![0x00ff_00ff; count]]
}

#[test]
pub fn sorting_is_stable_at_every_tile_boundary() {
    on_each_adapter(|adapter| {
        let mut rng = Rng(9);
        for strategy in strategies(&adapter) {
            let mut bench = Bench::new(adapter.clone());
            // Strips share the keys.
            let (tiles, digits): (&[u32], &[(u32, u32)]) = match strategy {
                SortStrategy::Subgroups => (&[3328], &[(0, 8), (24, 8), (3, 5), (31, 1)]),
                SortStrategy::Strips => (&[1, 100, 1024], &[(0, 8), (24, 8), (3, 5), (31, 1), (20, 12), (0, 11)]),
                _ => (&[1920], &[(0, 8), (24, 8), (3, 5), (31, 1)]),
            };
            let mut case = 0;
            for &tile in tiles {
                for count in [0, 1, tile - 1, tile, tile + 1, 2 * tile + 1, 9 * tile] {
                    for keys in keys_to_sort(count as usize, &mut rng) {
                        let (shift, bits) = digits[case % digits.len()];
                        // Up to nine workgroups of strips without a key. The time goes to digits of 12 bits times tiles.
                        let spare = [0, if tile == 1 { 70 } else { 700 }, tile][case % 3];
                        bench.fold = [65_535, 2][case % 2];
                        case += 1;
                        let grid = Grid {
                            entry_count: count,
                            ..Default::default()
                        };
                        let sort = SortParams {
                            shift,
                            bits,
                            tile: if strategy == SortStrategy::Strips { 0 } else { tile },
                            tiles: (count + spare).div_ceil(tile).max(1),
                        };
                        bench.scene = format!("{count} keys, {sort:?}, case {case}");
                        let values: Vec<u32> = (0..count).collect();
                        check_sort(&bench, strategy, &sort, &grid, &keys, &values);
                    }
                }
            }
        }
    });
}

#[test]
pub fn digits_cover_all_bits_of_a_key_and_tiles_all_keys() {
    use SortStrategy::{Auto, Portable, Strips, Subgroups};
    for strategy in [Auto, Portable, Subgroups, Strips] {
        for bits in 1..=32 {
            for keys in [0, 1, 1919, 1921, 100_000, 1_000_000, 4_000_000, (1 << 31) - 1] {
                let digits = SortParams::digits_of(strategy, keys, bits);
                let mut next = 0;
                for sort in &digits {
                    assert_eq!(sort.shift, next);
                    assert!(sort.bits > 0);
                    next += sort.bits;
                    let fits = u64::from(sort.tiles) * u64::from(sort.tile) >= u64::from(keys);
                    assert!(sort.tiles > 0 && (fits || strategy == Strips && sort.tile == 0));
                }
                assert_eq!(next, bits);
                assert_eq!(
                    (digits[0].tile, digits[0].tiles),
                    (digits[digits.len() - 1].tile, digits[0].tiles)
                );
            }
        }
        assert!(SortParams::digits_of(strategy, 5, 0).is_empty());
    }
}
