//! Query results. Objects are cached, so most queries walk once.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lists::MAX_OF_RUN;
use super::query_walk::{Source, walk};
use super::trees::Trees;
use crate::api::queries::self_query;
use crate::api::types::{Aabb, NONE};
use crate::layout::blocks::{Overrides, QueryBlocks, QueryParams};
use crate::reference::queries::query::{periods, self_query_of};
use crate::reference::queries::query_count::finish_counters;
use crate::reference::queries::query_walk::QueryReads;
use crate::shared::runs::{Rows, Walked, walk_in_runs};

pub(crate) struct QueryLists<'a> {
    params: QueryBlocks,
    walks: &'a [QueryReads<'a>],
    /// Trees whose objects query, each for later lanes only.
    queriers: Option<&'a Trees>,
    is_half: bool,
    /// One per walk.
    sources: &'a [Source<'a>],
    overrides: Overrides,
    /// As [`Lists::counts`](super::lists::Lists::counts).
    pub counts: Vec<u32>,
    runs: Vec<Vec<Run>>,
}

struct Run {
    indices: Range<u32>,
    /// Indices in the output, and numbers of objects.
    counts: Vec<(u32, u32)>,
    found: Option<Vec<u32>>,
    others: Vec<(u32, u32)>,
}

impl<'a> QueryLists<'a> {
    pub fn find(
        most: usize,
        params: &'a QueryBlocks,
        walks: &'a [QueryReads<'a>],
        sources: &'a [Source<'a>],
        overrides: Overrides,
        counters: &mut [u32],
    ) -> Self {
        let room = AtomicUsize::new(most);
        let is_plain = params.queries.self_query == self_query::NEIGHBORS && periods(params) == [0.0; 3];
        let queriers = match sources {
            &[Source::Trees(trees)] if is_plain && !params.has_worlds() && trees.have_all() => Some(trees),
            _ => None,
        };
        let mut lists = Self {
            params: QueryBlocks {
                queries: QueryParams {
                    half: queriers.map_or(params.queries.half, |_| 0),
                    ..params.queries
                },
                ..*params
            },
            walks,
            queriers,
            is_half: params.queries.half != 0,
            sources,
            overrides,
            counts: vec![0; params.queries.count as usize + 1],
            runs: Vec::new(),
        };
        for (table, input) in walks.iter().enumerate() {
            let find = |indices: Rows<'_>| {
                let mut run = Run {
                    indices: indices.range.clone(),
                    counts: Vec::with_capacity(indices.range.len()),
                    found: None,
                    others: Vec::new(),
                };
                let (mut found, mut all, mut walked) = (Vec::new(), 0usize, Vec::new());
                for index in indices {
                    let mut count = 0u32;
                    let accept = |object| {
                        count += 1;
                        if found.len() < MAX_OF_RUN {
                            found.push(object);
                        }
                    };
                    let (answer, of_query) = lists.walk(table, index, accept, |pair| run.others.push(pair));
                    if of_query.candidates > 0 || of_query.is_invalid {
                        walked.push(of_query);
                    }
                    if count > 0 {
                        run.counts.push((answer, count));
                    }
                    all += count as usize;
                }
                let take = |left: usize| left.checked_sub(all);
                if found.len() == all && room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    run.found = Some(found);
                }
                (run, walked)
            };
            let mut runs = Vec::new();
            let count = queriers.map_or(input.count(params), Trees::lanes);
            for (run, walked) in walk_in_runs(count, find) {
                for &(answer, count) in &run.counts {
                    lists.counts[answer as usize] += count;
                }
                for &(answer, _) in &run.others {
                    lists.counts[answer as usize] += 1;
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
                let found = run.found.unwrap_or_else(|| {
                    let mut found = Vec::new();
                    for index in run.indices {
                        self.walk(table, index, |object| found.push(object), |_| {});
                    }
                    found
                });
                for (answer, object) in run.others {
                    let place = &mut places[answer as usize];
                    if let Some(slot) = results.get_mut(*place) {
                        *slot = object;
                    }
                    *place += 1;
                }
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

    /// Passes objects to `accept`, and results of other queries to `other`. Returns the query's index in the output.
    fn walk(
        &self,
        table: usize,
        index: u32,
        mut accept: impl FnMut(u32),
        mut other: impl FnMut((u32, u32)),
    ) -> (u32, Walked) {
        let (input, source, params) = (&self.walks[table], self.sources[table], &self.params);
        let Some(trees) = self.queriers else {
            let (query, answer) = input.begin(params, index);
            let candidates = walk(params, input, source, self.overrides, &query, 0, accept);
            let is_invalid = !query.valid;
            return (answer, Walked { candidates, is_invalid });
        };
        let record = trees.record(0, index);
        let answer = trees.object(index);
        if answer != NONE {
            let object = trees.have_filters.then(|| input.objects[answer as usize]);
            let query = self_query_of(params, &object.unwrap_or(Aabb::point([0.0; 3])), &record);
            walk(params, input, source, self.overrides, &query, index + 1, |object| {
                if !self.is_half || object > answer {
                    accept(object);
                }
                if !self.is_half || object < answer {
                    other((object, answer));
                }
            });
        }
        (answer, Walked::default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::lists::MAX_OF_ALL;
    use super::*;
    use crate::api::descriptor::BroadPhaseDescriptor;
    use crate::api::input::{self, Queries};
    use crate::api::queries::{Query, SelfQuery};
    use crate::api::scene::{QueryInput, Scene, Statics};
    use crate::api::types::Aabb;
    use crate::reference::trace::trace;

    #[test]
    fn lists_that_are_not_kept_are_walked_again() {
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
                query: QueryInput {
                    queries,
                    ..QueryInput::default()
                },
                ..Scene::default()
            };
            let trace = trace(&BroadPhaseDescriptor::default(), &scene).unwrap();
            let of_caller = match queries {
                Queries::General(input::Source::Host(queries)) => queries,
                _ => &[],
            };
            let walks = trace.reads().queries(of_caller, of_caller.is_empty());
            let params = &trace.query_blocks;
            let sources = vec![Source::Cells; walks.len()];
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
