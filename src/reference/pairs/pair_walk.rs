//! Reference passes of `shaders/pairs/pair_walk_single_cell.wgsl`, `shaders/pairs/pair_walk_multi_cell.wgsl`,
//! `shaders/pairs/pair_filter.wgsl`, `shaders/pairs/pair_boxes.wgsl` and `shaders/pairs/pair_test_clusters.wgsl`.

use std::ops::Range;

use crate::api::types::Aabb;
use crate::layout::blocks::{Overrides, PairBlocks};
use crate::layout::grid::{
    ENTRY_GROUPS, ID_MASK, PRIMARY_FLAGS, Record, SCHEME_UNIFORM, cell_of, entry_group, flush, key_of,
    place_single_cell, unordered, worlds_meet,
};
use crate::reference::pairs::pair_excludes::Excludes;
use crate::reference::rows::CellTable;
use crate::reference::table::large_table::lookup_cell;

#[derive(Clone, Copy, Debug)]
pub struct PairReads<'a> {
    pub table: CellTable<'a>,
    pub objects: &'a [Aabb],
    /// Sorted; read in the uniform scheme.
    pub keys: &'a [u32],
    /// Sorted; read in the uniform scheme.
    pub values: &'a [u32],
    pub excludes: Excludes<'a>,
}

/// Without branches, which would be mispredicted.
fn meets(a: &Record, b: &Record) -> bool {
    let meets = |axis: usize| (a.low[axis] <= b.high[axis]) & (b.low[axis] <= a.high[axis]);
    meets(0) & meets(1) & meets(2)
}

fn overlaps(a: &Record, b: &Record) -> bool {
    worlds_meet(a.world, b.world) && meets(a, b)
}

pub(crate) fn passes_filters(a: &Aabb, b: &Aabb) -> bool {
    let group = a.group & Aabb::GROUP_MASK;
    let same_group = group != 0 && group == b.group & Aabb::GROUP_MASK;
    let both_static = a.group & b.group & Aabb::STATIC != 0;
    passes_layers(a.layers, b.layers) && !same_group && !both_static
}

pub(crate) fn passes_layers(a: u32, b: u32) -> bool {
    a & 0xffff & (b >> 16) != 0 && b & 0xffff & (a >> 16) != 0
}

/// Passes the object of an entry and each of its partners to `accept`, of a split walk those of its `row`. Entries of
/// ignored objects have no partners. Returns the number of box tests, 0 if not counted.
pub fn walk_pairs(
    params: &PairBlocks,
    input: &PairReads<'_>,
    overrides: Overrides,
    row: u32,
    mut accept: impl FnMut(u32, u32),
) -> u32 {
    let mut candidates = 0u32;
    walk_tests(params, input, overrides, row, |test| {
        candidates = candidates.wrapping_add(1);
        if let Test::Of {
            own,
            other,
            is_pair: true,
            ..
        } = test
        {
            accept(own, other);
        }
    });
    if overrides.count_candidates { candidates } else { 0 }
}

pub(crate) enum Test<'a> {
    /// Test of a candidate.
    Of { own: u32, other: u32, is_pair: bool },
    /// Test of a cluster's box. If missed, all members are passed over, else none.
    OfCluster { passed_over: &'a [Record] },
}

pub(crate) fn walk_tests(
    params: &PairBlocks,
    input: &PairReads<'_>,
    overrides: Overrides,
    row: u32,
    mut visit: impl FnMut(Test<'_>),
) {
    let index = row >> params.pairs.split_bits;
    if index >= input.table.ignored_begin(params) {
        return;
    }
    let passes =
        |a: u32, b: u32| !overrides.filters || passes_filters(&input.objects[a as usize], &input.objects[b as usize]);
    let admits = |a: u32, b: u32| passes(a, b) && !input.excludes.is_excluded(a, b);
    let mut test = |test: Test<'_>| match test {
        Test::Of {
            own,
            other,
            is_pair: true,
        } => visit(Test::Of {
            own,
            other,
            is_pair: admits(own, other),
        }),
        test => visit(test),
    };
    if params.scheme == SCHEME_UNIFORM {
        walk_multi_cell(params, input, index, &mut test);
    } else {
        walk_single_cell(params, input, index, part_of(params, row), &mut test);
    }
}

/// Returns the numbers of candidates that a row of counts visits, by the length of a range of entries.
fn part_of(params: &PairBlocks, row: u32) -> impl Fn(u32) -> Range<u32> {
    let (parts, part) = (1 << params.pairs.split_bits, row % (1 << params.pairs.split_bits));
    move |count| {
        let size = count.div_ceil(parts);
        let begin = count.min(size * part);
        begin..count.min(begin + size)
    }
}

fn test_entries(table: &CellTable<'_>, own: &Record, entries: Range<u32>, visit: &mut impl FnMut(Test<'_>)) {
    for (cluster, members) in table.clustered(entries) {
        let mut members = &table.records[members.start as usize..members.end as usize];
        if let Some(cluster) = cluster.filter(|_| members.len() > 1) {
            let is_met = meets(own, cluster);
            let (passed_over, tested) = members.split_at(if is_met { 0 } else { members.len() });
            members = tested;
            visit(Test::OfCluster { passed_over });
        }
        for other in members {
            visit(Test::Of {
                own: own.object,
                other: other.object,
                is_pair: overlaps(own, other),
            });
        }
    }
}

/// Walks the entry's own level and coarser ones, as in Schornbaum's hierarchical hash grids. `reach` is 0 in the
/// adaptive scheme.
fn walk_single_cell(
    params: &PairBlocks,
    input: &PairReads<'_>,
    index: u32,
    part_of: impl Fn(u32) -> Range<u32>,
    visit: &mut impl FnMut(Test<'_>),
) {
    let table = input.table;
    let own = &table.records[index as usize];
    let mut test_part = |entries| test_entries(&table, own, entries, visit);
    let mut test = |[entries, wrapped]: [Range<u32>; 2]| {
        let unwrapped = entries.len() as u32;
        let part = part_of(unwrapped + wrapped.len() as u32);
        test_part(entries.start + part.start.min(unwrapped)..entries.start + part.end.min(unwrapped));
        let past = |place: u32| wrapped.start + place.saturating_sub(unwrapped);
        test_part(past(part.start)..past(part.end));
    };
    let [large, of_all] = table.large(params, own.world);
    test([later(large, index), of_all]);
    if index >= table.large_begin() {
        return;
    }
    let box_min = own.low.map(|bound| flush(unordered(bound)));
    let box_max = own.high.map(|bound| flush(unordered(bound)));
    let place = place_single_cell(params, box_min, box_max, table.grid.finest_cell());
    let own_level = place.level;
    let uses_large_table = own_level < table.grid.large_table_below;
    if uses_large_table {
        let cell = lookup_cell(table.grid, own.low);
        test([table.cell(&table.grid.large_table, cell, own.world), 0..0]);
    }
    let detail = params.x_detail();
    let reach = params.cell_reach();
    let mut next = own_level;
    while let Some(level) = table.grid.levels.get(next as usize) {
        let at_own_level = next == own_level;
        let [lower, upper] = if at_own_level {
            [place.lower, place.upper]
        } else {
            let inverse = params.axis_inverse(level.inverse, table.grid.stretch);
            [box_min, box_max].map(|corner| cell_of(params.scheme, corner, inverse))
        };
        let y_first = (lower[1] - reach).max(level.lower_y);
        let z_first = if at_own_level {
            lower[2]
        } else {
            (lower[2] - reach).max(level.lower_z)
        };
        for z in z_first..=upper[2].min(level.upper_z) {
            let own_slab = at_own_level && z == lower[2];
            for y in if own_slab { lower[1] } else { y_first }..=upper[1].min(level.upper_y) {
                let own_row = own_slab && y == lower[1];
                let x_from = if own_row {
                    lower[0]
                } else {
                    lower[0] - (reach << detail)
                };
                let [row, wrapped] = table.row(level, x_from, upper[0], y, z, own.world);
                let begin = if own_row { index + 1 } else { row.start };
                test([begin..row.end, wrapped]);
            }
        }
        next = level.next;
        if uses_large_table && next >= table.grid.large_table_below {
            next = next.max(table.grid.large_table.next);
        }
    }
}

/// The entries of a range after `index`.
fn later(entries: Range<u32>, index: u32) -> Range<u32> {
    let begin = entries.start.max(index + 1);
    begin..entries.end.max(begin)
}

fn walk_multi_cell(params: &PairBlocks, input: &PairReads<'_>, index: u32, visit: &mut impl FnMut(Test<'_>)) {
    let table = input.table;
    let value = input.values[index as usize];
    let own = &table.records[(value & ID_MASK) as usize];
    let [large, of_all] = table.large(params, own.world);
    let in_bucket = index < table.large_begin();
    let key = input.keys[index as usize];
    let level = &table.grid.levels[0];
    let lower_of = |record: &Record| {
        cell_of(
            SCHEME_UNIFORM,
            record.low.map(|bound| flush(unordered(bound))),
            [params.cell_inverse; 3],
        )
    };
    let lower = lower_of(own);
    let mut test = |entries: Range<u32>, in_bucket: bool| {
        if entries.start < entries.end {
            for &other_value in &input.values[entries.start as usize..entries.end as usize] {
                if in_bucket && (value | other_value) < PRIMARY_FLAGS {
                    continue;
                }
                let other = &table.records[(other_value & ID_MASK) as usize];
                let is_primary = || {
                    let other_lower = lower_of(other);
                    let primary = std::array::from_fn(|axis| lower[axis].max(other_lower[axis]));
                    key_of(level, primary, own.world) == key
                };
                visit(Test::Of {
                    own: own.object,
                    other: other.object,
                    is_pair: overlaps(own, other) && (!in_bucket || is_primary()),
                });
            }
        }
    };
    if in_bucket {
        let bucket_end = table.starts[key as usize + 1];
        let group = entry_group(value);
        let bucket = &input.values[index as usize + 1..bucket_end as usize];
        let first = match group {
            0 => 0,
            _ if group + 1 == ENTRY_GROUPS => bucket.len(),
            _ => bucket.partition_point(|&other| entry_group(other) <= group),
        };
        test(index + 1 + first as u32..bucket_end, true);
        if group == 0 {
            test(large, false);
            test(of_all, false);
        }
    } else {
        test(later(large, index), false);
        test(of_all, false);
    }
}
