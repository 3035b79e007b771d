use std::ops::Range;

use super::query_walk::{QueryReads, walk_query};
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::shared::runs::in_runs;

/// Returns the results in the page, which starts at place `first_result`. `offsets` are scanned counts.
pub fn query_emit(params: &QueryBlocks, walks: &[QueryReads<'_>], overrides: Overrides, offsets: &[u32]) -> Vec<u32> {
    let first = u64::from(params.queries.first);
    let all = offsets.last().map_or(0, |&end| u64::from(end.min(u32::MAX - 1)));
    let shown = all.saturating_sub(first).min(u64::from(params.queries.capacity));
    let mut results = vec![0; shown as usize];
    let mut places: Vec<_> = offsets.iter().map(|&place| u64::from(place)).collect();
    for input in walks {
        let find = |indices: Range<u32>| {
            let (mut ends, mut objects) = (Vec::new(), Vec::new());
            for index in indices {
                let (query, answer) = input.begin(params, index);
                let place = places[answer as usize];
                if offsets[answer as usize + 1] <= params.queries.first || place >= first + shown {
                    continue;
                }
                walk_query(params, input, overrides, &query, |object, _| objects.push(object));
                ends.push((answer, objects.len()));
            }
            (ends, objects)
        };
        for (ends, objects) in in_runs(input.count(params), find) {
            let mut begin = 0;
            for (answer, end) in ends {
                let place = &mut places[answer as usize];
                for &object in &objects[begin..end] {
                    if (first..first + shown).contains(place) {
                        results[(*place - first) as usize] = object;
                    }
                    *place += 1;
                }
                begin = end;
            }
        }
    }
    results
}
