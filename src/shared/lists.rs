use super::runs::{RUN_LENGTH, for_each};

/// Sorts each list by `key`, cut at the end of `rows`.
pub(crate) fn sort_lists<T: Send, K: Ord>(rows: &mut [T], offsets: &[u32], key: impl Fn(&T) -> K + Copy + Sync + Send) {
    let room = rows.len();
    let place = |list: usize| offsets.get(list).map_or(0, |&place| room.min(place as usize));
    let mut left = &mut rows[place(0)..];
    let mut runs = Vec::new();
    for first in (0..offsets.len().saturating_sub(1)).step_by(RUN_LENGTH as usize) {
        let lists = first..(first + RUN_LENGTH as usize).min(offsets.len() - 1);
        let (run, rest) = left.split_at_mut(place(lists.end) - place(first));
        left = rest;
        runs.push((lists, run));
    }
    for_each(runs, |(lists, run)| {
        let begin = place(lists.start);
        for list in lists {
            run[place(list) - begin..place(list + 1) - begin].sort_unstable_by_key(key);
        }
    });
}
