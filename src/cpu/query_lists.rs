//! Query results. Objects are cached while they are counted, so most queries walk the table once.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lists::MAX_OF_RUN;
use super::query_walk::{Source, walk};
use crate::layout::blocks::Overrides;
use crate::layout::grid::Params;
use crate::reference::queries::query_count::finish_counters;
use crate::reference::queries::query_walk::QueryReads;
use crate::shared::cancel::end_if_stopped;
use crate::shared::runs::{Walked, in_runs};

pub(crate) struct QueryLists<'a> {
    params: &'a Params,
    walks: &'a [QueryReads<'a>],
    /// One per walk.
    sources: &'a [Source<'a>],
    overrides: Overrides,
    /// Number of objects of each query, then a 0, which the scan turns into the total.
    pub counts: Vec<u32>,
    runs: Vec<Vec<Run>>,
}

struct Run {
    indices: Range<u32>,
    /// For each query of the run: its index in the output, and its number of objects.
    counts: Vec<(u32, u32)>,
    found: Option<Vec<u32>>,
}

impl<'a> QueryLists<'a> {
    /// Walks all queries. Caches at most `most` objects.
    pub fn find(
        most: usize,
        params: &'a Params,
        walks: &'a [QueryReads<'a>],
        sources: &'a [Source<'a>],
        overrides: Overrides,
        counters: &mut [u32],
    ) -> Self {
        let room = AtomicUsize::new(most);
        let mut lists = Self {
            params,
            walks,
            sources,
            overrides,
            counts: vec![0; params.query_count as usize + 1],
            runs: Vec::new(),
        };
        for (table, (input, &source)) in walks.iter().zip(sources).enumerate() {
            let find = |indices: Range<u32>| {
                let mut run = Run {
                    indices: indices.clone(),
                    counts: Vec::with_capacity(indices.len()),
                    found: None,
                };
                let (mut found, mut all, mut walked) = (Vec::new(), 0usize, Vec::new());
                for index in indices {
                    end_if_stopped();
                    let (query, answer) = input.begin(params, index);
                    let mut count = 0u32;
                    let candidates = walk(params, input, source, overrides, &query, |object| {
                        count += 1;
                        if found.len() < MAX_OF_RUN {
                            found.push(object);
                        }
                    });
                    let is_invalid = !query.valid;
                    if candidates > 0 || is_invalid {
                        walked.push(Walked { candidates, is_invalid });
                    }
                    run.counts.push((answer, count));
                    all += count as usize;
                }
                let take = |left: usize| left.checked_sub(all);
                if found.len() == all && room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    run.found = Some(found);
                }
                (run, walked)
            };
            let mut runs = Vec::new();
            for (run, walked) in in_runs(input.count(params), find) {
                for &(answer, count) in &run.counts {
                    lists.counts[answer as usize] += count;
                }
                for walked in walked {
                    finish_counters(counters, walked, table == 0);
                }
                runs.push(run);
            }
            lists.runs.push(runs);
        }
        lists
    }

    /// Returns the objects at their `offsets`, at most `room` of them.
    pub fn write(mut self, offsets: &[u32], room: u32) -> Vec<u32> {
        let runs = std::mem::take(&mut self.runs);
        let mut results = vec![0; room as usize];
        let mut places: Vec<_> = offsets.iter().map(|&place| place as usize).collect();
        for (table, runs) in runs.into_iter().enumerate() {
            for run in runs {
                let found = run.found.unwrap_or_else(|| self.walk(table, run.indices));
                let mut rest = &found[..];
                for (answer, count) in run.counts {
                    let (own, others) = rest.split_at(count as usize);
                    rest = others;
                    let place = &mut places[answer as usize];
                    let begin = (*place).min(results.len());
                    *place += own.len();
                    let slots = &mut results[begin..(begin + own.len()).min(room as usize)];
                    slots.copy_from_slice(&own[..slots.len()]);
                }
            }
        }
        results
    }

    fn walk(&self, table: usize, indices: Range<u32>) -> Vec<u32> {
        let (input, source) = (&self.walks[table], self.sources[table]);
        let mut found = Vec::new();
        for index in indices {
            let (query, _) = input.begin(self.params, index);
            walk(self.params, input, source, self.overrides, &query, |object| {
                found.push(object)
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::boxes::Boxes;
    use super::super::lists::MAX_OF_ALL;
    use super::*;
    use crate::api::descriptor::BroadPhaseDescriptor;
    use crate::api::input::{self, Queries};
    use crate::api::queries::{Query, SelfQuery};
    use crate::api::scene::{Scene, Statics};
    use crate::api::types::Aabb;
    use crate::layout::grid::Params;
    use crate::reference::trace::trace;

    #[test]
    fn what_is_not_kept_is_walked_again() {
        let place = |index: u32| [index % 17, index % 13, index % 11].map(|number| number as f32 / 3.0);
        let objects: Vec<_> = (0..3000)
            .map(|index| Aabb::from_center_half(place(index), [0.2; 3]))
            .collect();
        let queries: Vec<_> = (0..2500).map(|index| Query::sphere(place(index * 7), 0.5)).collect();
        let asked = [
            Queries::General(input::Source::Host(&queries)),
            Queries::Objects(SelfQuery::within(0.7)),
            Queries::Objects(SelfQuery::Overlaps { half: true }),
        ];
        for queries in asked {
            let scene = Scene {
                objects: objects[500..].into(),
                statics: Statics {
                    objects: objects[..500].into(),
                    ..Statics::default()
                },
                queries,
                ..Scene::default()
            };
            let trace = trace(&BroadPhaseDescriptor::default(), &scene).unwrap();
            let of_caller = match queries {
                Queries::General(input::Source::Host(queries)) => queries,
                _ => &[],
            };
            let walks = trace.reads().queries(of_caller, of_caller.is_empty());
            let params: &Params = &trace.params;
            let boxes: Vec<_> = walks.iter().map(|input| Boxes::new(input.table, false)).collect();
            let sources: Vec<_> = boxes.iter().map(Source::Boxes).collect();
            let all = trace.query_objects.len();
            assert!(all > 1000);
            for (most, count_candidates) in [MAX_OF_ALL, all * 2 / 3, 0]
                .into_iter()
                .flat_map(|most| [(most, false), (most, true)])
            {
                let overrides = Overrides {
                    filters: true,
                    count_candidates,
                };
                let mut counters = vec![0; trace.counters.len()];
                let lists = QueryLists::find(most, params, &walks, &sources, overrides, &mut counters);
                assert_eq!(lists.counts, trace.query_counts);
                let kept = lists.runs.iter().flatten().filter_map(|run| run.found.as_ref());
                let kept: usize = kept.map(Vec::len).sum();
                assert_eq!(
                    (kept == 0, kept == all),
                    (most == 0, most == MAX_OF_ALL),
                    "{most} {kept}"
                );
                let found = lists.write(&trace.query_offsets, all as u32);
                assert_eq!(found, trace.query_objects, "{most}");
                let lists = QueryLists::find(most, params, &walks, &sources, overrides, &mut counters);
                let found = lists.write(&trace.query_offsets, all as u32 / 2 + 1);
                assert_eq!(found, trace.query_objects[..all / 2 + 1], "{most}");
            }
        }
    }
}
