use super::query_walk::{QueryReads, walk_query};
use crate::api::counters::word;
use crate::layout::blocks::{Overrides, QueryBlocks, add64};
use crate::shared::runs::{Walked, map};

pub(crate) fn finish_counters(counters: &mut [u32], walked: Walked, is_first: bool) {
    counters[word::QUERIES_INVALID] += u32::from(walked.is_invalid && is_first);
    add64(counters, word::QUERY_CANDIDATES, u64::from(walked.candidates));
}

/// Returns the number of results of each query in all `walks` (one per table), then 0. Adds the numbers of invalid
/// queries and box tests to the counters.
pub fn query_count(
    params: &QueryBlocks,
    walks: &[QueryReads<'_>],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<u32> {
    let mut counts = vec![0; params.queries.count as usize + 1];
    for (walk, input) in walks.iter().enumerate() {
        let count = |index: u32| {
            let (query, answer) = input.begin(params, index);
            let mut found = 0;
            let candidates = walk_query(params, input, overrides, &query, |_, _| found += 1);
            let is_invalid = !query.valid;
            (answer, found, Walked { candidates, is_invalid })
        };
        for (answer, found, walked) in map(input.count(params), count) {
            counts[answer as usize] += found;
            finish_counters(counters, walked, walk == 0);
        }
    }
    counts
}
