use std::sync::Arc;

use crate::common::Rng;
use crate::harness::*;
use bytemuck::bytes_of;
use gpu_broad_phase::grid::Grid;
use gpu_broad_phase::internals::blocks::SortParams;
use gpu_broad_phase::internals::reference::sort::{
    sort_histogram, sort_histogram_serial, sort_scan_serial, sort_scatter, sort_scatter_serial,
};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::shaders::Pass;
use gpu_broad_phase::{SortStrategy, wgpu};

pub fn strategies(device: &dyn Device) -> Vec<SortStrategy> {
    let mut strategies = vec![SortStrategy::Portable, SortStrategy::SerialTiles];
    if device.features().contains(wgpu::Features::SUBGROUP) {
        strategies.push(SortStrategy::Subgroups);
    } else {
        eprintln!("skipped: {} has no subgroups", device.name());
    }
    strategies
}

pub fn check_sort(bench: &Bench, strategy: SortStrategy, sort: &SortParams, grid: &Grid, keys: &[u32], values: &[u32]) {
    let case = Case {
        bench,
        sort,
        grid,
        keys,
        values,
    };
    match strategy {
        SortStrategy::SerialTiles => case.check_serial_tiles(),
        SortStrategy::Subgroups => case.check_tiles(&shaders::SORT_SCATTER_SUBGROUPS),
        _ => case.check_tiles(&shaders::SORT_SCATTER),
    }
}

struct Case<'a> {
    bench: &'a Bench,
    sort: &'a SortParams,
    grid: &'a Grid,
    keys: &'a [u32],
    values: &'a [u32],
}

const SERIAL_TILES: u32 = 8;

impl Case<'_> {
    fn grid(&self) -> (&'static str, Vec<u8>) {
        ("grid", bytes_of(self.grid).to_vec())
    }

    fn keys(&self) -> (&'static str, Vec<u8>) {
        ("keys", with_stale(self.keys, self.grid.entry_count))
    }

    fn values(&self) -> Vec<u8> {
        let mut values = self.values[..self.grid.entry_count as usize].to_vec();
        values.resize(self.values.len(), STALE);
        let unwritten = values.len().min(self.sort.unwritten as usize);
        values[..unwritten].fill(STALE);
        bytes(&values)
    }

    fn check_scatter(
        &self,
        pass: &'static Pass,
        groups: u32,
        counts: &[(&'static str, Vec<u8>)],
        sorted: [&[u32]; 2],
    ) -> Output {
        let mut contents = vec![
            self.grid(),
            self.keys(),
            ("values", self.values()),
            ("sorted_keys", poison::<u32>(self.keys.len())),
            ("sorted_values", poison::<u32>(self.keys.len())),
        ];
        contents.extend_from_slice(counts);
        let found = self.bench.run(pass, groups, uniform(self.sort), &contents);
        let entries = self.grid.entry_count as usize;
        found.check("sorted_keys", &sorted[0][..entries]);
        found.check("sorted_values", &sorted[1][..entries]);
        found
    }

    fn check_tiles(&self, scatter: &'static Pass) {
        let &Self {
            sort,
            grid,
            keys,
            values,
            ..
        } = self;
        let counts = sort_histogram::sort_histogram(sort, grid, keys);
        let others = vec![STALE; sort.counts as usize];
        let counts_from = |counts: &[u32]| [&others[..], counts].concat();
        let found = self.bench.run(
            &shaders::SORT_HISTOGRAM,
            sort.tiles,
            uniform(sort),
            &[
                self.grid(),
                self.keys(),
                ("digit_counts", bytes(&counts_from(&vec![0; counts.len()]))),
            ],
        );
        found.check("digit_counts", &counts_from(&counts));
        let (sorted_keys, sorted_values) = sort_scatter::sort_scatter(sort, grid, keys, values, &counts);
        let next = SortParams {
            shift: sort.shift + sort.bits,
            bits: sort.next_bits,
            ..*sort
        };
        let next_counts = |counts: Vec<u32>| [vec![STALE; sort.next_counts as usize], counts].concat();
        let zeros = vec![0; next.count_words() as usize];
        let counts = [
            ("digit_counts", bytes(&counts_from(&counts))),
            ("next_counts", bytes(&next_counts(zeros.clone()))),
        ];
        let found = self.check_scatter(scatter, sort.tiles, &counts, [&sorted_keys, &sorted_values]);
        let counted = match next.bits {
            0 => zeros,
            _ => sort_histogram::sort_histogram(&next, grid, &sorted_keys),
        };
        found.check("next_counts", &next_counts(counted));
    }

    fn check_serial_tiles(&self) {
        let &Self {
            sort,
            grid,
            keys,
            values,
            ..
        } = self;
        let groups = sort.tiles.div_ceil(SERIAL_TILES);
        let counts = sort_histogram_serial::sort_histogram_serial(sort, grid, keys);
        let found = self.bench.run(
            &shaders::SORT_HISTOGRAM_SERIAL,
            groups,
            uniform(sort),
            &[self.grid(), self.keys(), ("digit_counts", poison::<u32>(counts.len()))],
        );
        // The scan writes the totals after the counts.
        let counts = &counts[..(sort.tiles << sort.bits) as usize];
        found.check("digit_counts", counts);
        let mut offsets = counts.to_vec();
        offsets.resize(counts.len() + (1 << sort.bits), STALE);
        let unscanned = bytes(&offsets);
        sort_scan_serial::sort_scan_serial(sort, &mut offsets);
        let found = self.bench.run(
            &shaders::SORT_SCAN_SERIAL,
            (1u32 << sort.bits).div_ceil(SERIAL_TILES),
            uniform(sort),
            &[("digit_counts", unscanned)],
        );
        found.check("digit_counts", &offsets);
        let (sorted_keys, sorted_values) = sort_scatter_serial::sort_scatter_serial(sort, grid, keys, values, &offsets);
        let contents = [("digit_counts", bytes(&offsets))];
        let sorted = [&sorted_keys[..], &sorted_values];
        let found = self.check_scatter(&shaders::SORT_SCATTER_SERIAL, groups, &contents, sorted);
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

pub fn keys_to_sort(count: usize, rng: &mut Rng) -> [Vec<u32>; 6] {
    let random: Vec<_> = (0..count).map(|_| rng.bits() as u32).collect();
    let mut sorted = random.clone();
    sorted.sort_unstable();
    let reversed = sorted.iter().rev().copied().collect();
    let few = random.iter().map(|key| key & 0x0300_0300).collect();
    let top = random.iter().map(|key| key | 0xfff0_0000).collect();
    [random, sorted, reversed, few, top, vec![0x00ff_00ff; count]]
}

pub fn check_tiles_of_sorts(device: Arc<dyn Device>) {
    let mut rng = Rng(9);
    for strategy in strategies(&*device) {
        let mut bench = Bench::new(device.clone());
        // (Shift, bits) of digits. Serial tiles also have longer digits.
        let (tiles, digits): (&[u32], &[(u32, u32)]) = match strategy {
            SortStrategy::Subgroups => (&[1024, 2048, 3072], &[(0, 8), (24, 8), (3, 5), (31, 1)]),
            SortStrategy::SerialTiles => (&[1, 100, 1024], &[(0, 8), (24, 8), (3, 5), (31, 1), (20, 12), (0, 11)]),
            _ => (&[1920], &[(0, 8), (24, 8), (3, 5), (31, 1)]),
        };
        let mut case = 0;
        for &tile in tiles {
            let most = if strategy == SortStrategy::SerialTiles {
                9 * tile
            } else {
                18 * tile + 5
            };
            for count in [0, 1, tile - 1, tile, tile + 1, 2 * tile + 1, most] {
                for keys in keys_to_sort(count as usize, &mut rng) {
                    let (shift, bits) = digits[case % digits.len()];
                    // Room for more keys, so up to nine workgroups of the serial passes have no key.
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
                        tile: if strategy == SortStrategy::SerialTiles { 0 } else { tile },
                        tiles: (count + spare).div_ceil(tile).max(1),
                        group_bits: [4, 2, 1][case % 3],
                        levels: [1, 2, 3][case / 3 % 3],
                        unwritten: [0, count / 2][case % 2],
                        counts: [0, 77][case % 2],
                        next_bits: [0, 5, 8][case % 3].min(32 - shift - bits),
                        next_counts: [55, 0][case % 2],
                    };
                    bench.scene = format!("{count} keys, {sort:?}, case {case}");
                    let values: Vec<u32> = (0..count).collect();
                    check_sort(&bench, strategy, &sort, &grid, &keys, &values);
                }
            }
        }
    }
}

#[test]
pub fn digits_cover_all_bits_of_a_key_and_tiles_all_keys() {
    use SortStrategy::{Auto, Portable, SerialTiles, Subgroups};
    for strategy in [Auto, Portable, Subgroups, SerialTiles] {
        for bits in 1..=32 {
            for keys in [0, 1, 1919, 1921, 100_000, 1_000_000, 4_000_000, (1 << 31) - 1] {
                let digits = gpu_broad_phase::internals::sort_digits(strategy, keys, bits);
                let mut next = 0;
                for sort in &digits {
                    assert_eq!(sort.shift, next);
                    assert!(sort.bits > 0);
                    next += sort.bits;
                    let fits = u64::from(sort.tiles) * u64::from(sort.tile) >= u64::from(keys);
                    assert!(sort.tiles > 0 && (fits || strategy == SerialTiles && sort.tile == 0));
                }
                assert_eq!(next, bits);
                assert_eq!(
                    (digits[0].tile, digits[0].tiles),
                    (digits[digits.len() - 1].tile, digits[0].tiles)
                );
            }
        }
        assert!(gpu_broad_phase::internals::sort_digits(strategy, 5, 0).is_empty());
    }
}
