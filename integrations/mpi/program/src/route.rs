use bytemuck::Pod;
use gpu_broad_phase_mpi::Communicator;

use crate::read::rows_of;

/// Sends each row to the rank that read the row `key(row)` of a file of `count` rows. Collective.
pub fn routed<C: Communicator, T: Pod>(
    ranks: &C,
    rows: impl IntoIterator<Item = T>,
    count: u64,
    key: impl Fn(&T) -> u64,
) -> Vec<T> {
    let ends: Vec<_> = (0..ranks.size())
        .map(|rank| rows_of(count, rank, ranks.size()).end)
        .collect();
    let mut shares = vec![Vec::new(); ranks.size()];
    for row in rows {
        shares[ends.partition_point(|&end| end <= key(&row))].push(row);
    }
    let given = shares.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    let messages = given
        .map(|(to, rows)| (to, bytemuck::cast_slice(&rows).to_vec()))
        .collect();
    let mut rows = Vec::new();
    for (_, message) in ranks.exchange(messages) {
        rows.extend(bytemuck::pod_collect_to_vec::<u8, T>(&message));
    }
    rows
}

/// Sorts rows across ranks. A rank gets the rows whose first number is in its share of `0..count`.
pub fn in_order<C: Communicator>(ranks: &C, rows: Vec<[u64; 2]>, count: u64) -> Vec<[u64; 2]> {
    let mut rows = routed(ranks, rows, count, |row| row[0]);
    rows.sort_unstable();
    rows
}
