use super::boxes::{Block, Place, overrides_of};
use super::trees::Trees;
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::layout::grid::{Record, ordered};
use crate::reference::queries::query::{DISTANCE_BIAS, LARGEST_FLOAT, LoadedQuery, distance_key, distance_to};
use crate::reference::queries::query_walk::{QueryReads, images, passes, walk_query};

#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Cells,
    /// The same objects as from cells, in another order.
    Trees(&'a Trees),
}

/// Like [`walk_query`]. Only walks of cells count box tests. Trees are searched from lane `begin` on.
pub(super) fn walk(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    source: Source<'_>,
    overrides: Overrides,
    query: &LoadedQuery,
    begin: u32,
    mut accept: impl FnMut(u32),
) -> u32 {
    match source {
        Source::Trees(trees) => {
            search(params, input, trees, overrides, query, begin, accept);
            0
        }
        Source::Cells => walk_query(params, input, overrides, query, |object, _| accept(object)),
    }
}

fn search(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    trees: &Trees,
    overrides: Overrides,
    query: &LoadedQuery,
    begin: u32,
    mut accept: impl FnMut(u32),
) {
    if !query.answers {
        return;
    }
    let overrides = overrides_of(overrides, trees.have_filters, query);
    for image in images(query.second_images(params)) {
        let query = query.at_image(params, image);
        let place = Place::of(params, &query);
        let (most, reach) = (place.most(query.radius), reach(&query));
        let visit = |squared: f32, object: u32, record: &dyn Fn() -> Record| {
            let is_near = distance_of(params, &query, object, squared, reach, record).is_some();
            if is_near && passes(params, input, overrides, &query, object) {
                accept(object);
            }
            most
        };
        let squares = |block: &Block, is_leaf, _| place.squares(block, is_leaf);
        trees.search::<false>(query.world, begin, most, squares, visit);
    }
}

/// Largest [`distance_to`] of results, `None` if only that can decide.
pub(super) fn reach(query: &LoadedQuery) -> Option<u32> {
    let infinity = ordered(f32::INFINITY);
    match query.radius {
        _ if query.image != [0; 3] => None,
        // Places are finite.
        _ if query.low.contains(&infinity) || query.high.contains(&-infinity) => None,
        0.0 => None,
        LARGEST_FLOAT => Some(u32::MAX),
        radius => Some(distance_key([radius, 0.0, 0.0])),
    }
}

/// [`distance_to`] from [`Place::squares`]. Within these bounds, both round alike.
pub(super) fn distance_of(
    params: &QueryBlocks,
    query: &LoadedQuery,
    object: u32,
    squared: f32,
    reach: Option<u32>,
    record: &dyn Fn() -> Record,
) -> Option<u32> {
    match reach {
        Some(reach) if (1e-18..1e30).contains(&squared) => {
            let distance = squared.to_bits() + (DISTANCE_BIAS << 23);
            (distance <= reach && !query.is_unwanted(params, object)).then_some(distance)
        }
        _ => distance_to(params, query, &record()),
    }
}
