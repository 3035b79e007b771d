use crate::layout::blocks::PairParams;
use crate::layout::grid::{CLUSTER, Grid, Record, ordered};
use crate::shared::bounds::MAX_GROUPS;
use crate::shared::runs::{RUN_LENGTH, in_runs};

const BLOCK: usize = 256;
const _: () = assert!((RUN_LENGTH as usize).is_multiple_of(BLOCK) && BLOCK.is_multiple_of(CLUSTER as usize));

/// Sorts the entries of each cell by lower y, in blocks of 256. Returns the boxes of clusters, which the GPU stores
/// after the records. Does nothing unless the scene is crowded.
pub fn clusters(grid: &Grid, keys: &[u32], values: &mut [u32], records: &mut [Record]) -> Vec<Record> {
    if grid.is_crowded == 0 {
        return Vec::new();
    }
    let places = in_runs(grid.entry_count, |run| {
        let mut places: Vec<u32> = run.clone().collect();
        for block in places.chunks_mut(BLOCK) {
            for cell in block.chunk_by_mut(|&a, &b| keys[a as usize] == keys[b as usize]) {
                cell.sort_by_key(|&entry| records[entry as usize].low[1]);
            }
        }
        places
    });
    let places = places.concat();
    let ordered: Vec<(u32, Record)> = places
        .iter()
        .map(|&entry| (values[entry as usize], records[entry as usize]))
        .collect();
    for (entry, (value, record)) in ordered.into_iter().enumerate() {
        (values[entry], records[entry]) = (value, record);
    }
    records.chunks(CLUSTER as usize).map(around).collect()
}

fn around(records: &[Record]) -> Record {
    let infinity = ordered(f32::INFINITY);
    let of = |axis: usize| records.iter().map(move |record| (record.low[axis], record.high[axis]));
    Record {
        low: [0, 1, 2].map(|axis| of(axis).fold(i32::MAX, |all, (low, _)| all.min(low)).max(-infinity)),
        high: [0, 1, 2].map(|axis| of(axis).fold(i32::MIN, |all, (_, high)| all.max(high)).min(infinity)),
        ..Record::default()
    }
}

/// Workgroups of the sparse and of the crowded variant of the pair count.
pub fn count_groups(params: &PairParams, grid: &Grid) -> [[u32; 3]; 2] {
    let groups = params.entry_rows / 256 + 1;
    let all = [groups.min(MAX_GROUPS), (groups - 1) / MAX_GROUPS + 1, 1];
    if grid.is_crowded != 0 {
        [[0; 3], all]
    } else {
        [all, [0; 3]]
    }
}
