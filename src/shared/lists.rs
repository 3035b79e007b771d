/// Sorts each list by `key`, cut at the end of `rows`. The last of `offsets` ends the last list.
pub(crate) fn sort_lists<T, K: Ord>(rows: &mut [T], offsets: &[u32], key: impl Fn(&T) -> K) {
    for ends in offsets.windows(2) {
        let [begin, end] = [ends[0], ends[1]].map(|place| rows.len().min(place as usize));
        rows[begin..end].sort_unstable_by_key(&key);
    }
}
