//! Nearest objects of queries, through trees.

use super::boxes::{Place, overrides_of};
use super::query_walk::{distance_of, reach};
use super::trees::Trees;
use crate::api::counters::word;
use crate::api::queries::{NearestObject, self_query};
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::layout::grid::cell_of;
use crate::reference::queries::query::{LoadedQuery, periods, squared_float};
use crate::reference::queries::query_nearest::{Nearest, query_nearest};
use crate::reference::queries::query_walk::{QueryReads, passes};
use crate::shared::runs::{self, Rows, map, walk_in_runs};

/// Like [`query_nearest`], which it calls without `trees` and across periods.
pub(super) fn nearest(
    params: &QueryBlocks,
    walks: &[QueryReads<'_>],
    trees: &[&Trees],
    overrides: Overrides,
    counters: &mut [u32],
) -> Vec<NearestObject> {
    let is_periodic = params.queries.self_query == self_query::NEIGHBORS && periods(params) != [0.0; 3];
    if is_periodic || trees.is_empty() {
        return query_nearest(params, walks, overrides, counters);
    }
    let wanted = params.queries.nearest as usize;
    let mut nearest = vec![NearestObject::NONE; wanted * params.queries.count as usize];
    // Two walks ask the same queries.
    let order = order_of(params, &walks[0], trees[0]);
    let walks: Vec<_> = walks.iter().zip(trees.iter().cycle()).collect();
    for walks in walks.chunks(2) {
        let input = walks[0].0;
        let run = |places: Rows<'_>| {
            let mut nearest = vec![NearestObject::NONE; wanted * places.range.len()];
            let mut answers = Vec::with_capacity(places.range.len());
            let mut invalid = 0;
            let mut found = Nearest::new(wanted);
            for (slots, place) in nearest.chunks_mut(wanted).zip(places) {
                found.clear();
                let index = order.as_ref().map_or(place, |order| order[place as usize].1);
                let (query, answer) = input.begin(params, index);
                answers.push(answer);
                invalid += u32::from(!query.valid);
                if query.answers {
                    for (input, trees) in walks {
                        let overrides = overrides_of(overrides, trees.have_filters, &query);
                        search(params, input, trees, overrides, &query, &mut found);
                    }
                }
                found.write(slots);
            }
            (answers, nearest, invalid)
        };
        for (answers, of_run, invalid) in walk_in_runs(input.count(params), run) {
            for (slots, answer) in of_run.chunks(wanted).zip(answers) {
                nearest[wanted * answer as usize..][..wanted].copy_from_slice(slots);
            }
            counters[word::QUERIES_INVALID] += invalid;
        }
    }
    nearest
}

/// Queries in the order of cells of eight boxes, `None` if they are already.
fn order_of(params: &QueryBlocks, input: &QueryReads<'_>, trees: &Trees) -> Option<Vec<([i32; 3], u32)>> {
    if params.queries.self_query != self_query::NONE {
        return None;
    }
    let inverse = [1.0 / trees.leaf_side(); 3];
    let cell = |index: u32| {
        let (query, _) = input.begin(params, index);
        let low = [2, 1, 0].map(|axis| query.corners(axis)[0]);
        cell_of(params.scheme, low, inverse)
    };
    let mut order = map(params.queries.count, |index| (cell(index), index));
    runs::sort(&mut order);
    Some(order)
}

fn search(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    trees: &Trees,
    overrides: Overrides,
    query: &LoadedQuery,
    found: &mut Nearest,
) {
    let place = Place::of(params, query);
    let reach = reach(query);
    let most = |found: &Nearest| {
        let limit = found.limit();
        let farthest = match squared_float(limit) {
            // Too small for a float.
            0.0 if limit > 0 => f32::INFINITY,
            squared => squared.sqrt(),
        };
        place.most(farthest.min(query.radius))
    };
    trees.search::<true>(
        query.world,
        0,
        most(found),
        |block, is_leaf, _| place.squares(block, is_leaf),
        |squared, object, record| {
            if let Some(distance) = distance_of(params, query, object, squared, reach, record)
                && distance <= found.limit()
                && passes(params, input, overrides, query, object)
            {
                found.insert(object, distance);
            }
            most(found)
        },
    );
}
