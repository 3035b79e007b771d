//! Twin of `shaders/queries/query_count.wgsl` and `shaders/queries/query_counters.wgsl`.

use super::query::LoadedQuery;
use super::query_walk::{QueryReads, walk_query};
use crate::api::counters::word;
use crate::shared::blocks::{Overrides, add64};
use crate::shared::grid::Params;

/// What a walk adds to the counters at its end.
pub(crate) fn finish_counters(counters: &mut [u32], query: &LoadedQuery, candidates: u32, is_first: bool) {
    if !query.valid && is_first {
        counters[word::QUERIES_INVALID] += 1;
    }
    add64(counters, word::QUERY_CANDIDATES, u64::from(candidates));
}

/// How many objects each query finds, in one walk after the other: in several where objects have several tables.
/// Returns one word more than there are queries, so that the scan ends with the total; adds invalid queries and, where
/// they are counted, box tests to the counters.
pub fn query_count(params: &Params, walks: &[QueryReads<'_>], overrides: Overrides, counters: &mut [u32]) -> Vec<u32> {
    let mut counts = vec![0; params.query_count as usize + 1];
    for (walk, input) in walks.iter().enumerate() {
        for index in 0..input.count(params) {
            let (query, answer) = input.begin(params, index);
            let found = &mut counts[answer as usize];
            let candidates = walk_query(params, input, overrides, &query, |_, _| *found += 1);
            finish_counters(counters, &query, candidates, walk == 0);
        }
    }
    counts
}
