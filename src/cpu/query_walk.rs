use std::ops::Range;

use super::boxes::{Block, Boxes, Place, Surroundings, overrides_of};
use super::trees::Trees;
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::layout::grid::{DENSE, Record, ordered};
use crate::reference::queries::query::{DISTANCE_BIAS, LARGEST_FLOAT, LoadedQuery, distance_key, distance_to};
use crate::reference::queries::query_walk::{LevelLook, QueryReads, Walk, images, passes, walk_query};

#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Cells,
    /// The same objects in the same order as from cells.
    Boxes(&'a Boxes),
    /// The same objects in another order.
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
    let boxes = match source {
        Source::Boxes(boxes) => boxes,
        Source::Trees(trees) => {
            search(params, input, trees, overrides, query, begin, accept);
            return 0;
        }
        Source::Cells => return walk_query(params, input, overrides, query, |object, _| accept(object)),
    };
    if !query.answers {
        return 0;
    }
    let mut accept = |object, _| {
        accept(object);
        u32::MAX
    };
    let overrides = overrides_of(overrides, boxes.have_filters, query);
    let table = input.table;
    let mut walk = Walk::new(params, input, overrides, query, u32::MAX, &mut accept);
    let test_all = |walk: &mut Walk<'_, _>, entries: Range<u32>| {
        walk.query = query.nearest_of_all(params);
        let place = Place::of(params, &walk.query);
        let most = place.most(query.radius);
        test(walk, boxes, &place, most, entries);
    };
    let large = table.large(params, query.world);
    if !large.is_empty() {
        test_all(&mut walk, large);
    }
    let second = query.second_images(params);
    for (index, level) in table.grid.occupied_levels() {
        match walk.look_of(query, second, level) {
            LevelLook::Nowhere => {}
            LevelLook::All => test_all(&mut walk, table.level(level, query.world)),
            LevelLook::Cells => {
                for image in images(second) {
                    walk.query = query.image_of(params, image);
                    if level.table_mask != DENSE {
                        walk.walk_cells(level);
                        continue;
                    }
                    let place = Place::of(params, &walk.query);
                    let around = Surroundings::new(params, boxes, &place, index, level, table.grid.stretch);
                    let most = place.most(query.radius);
                    around.rows(query.radius, |y, z, [first, last]| {
                        let [entries, _] = table.row(level, first, last, y, z, query.world);
                        test(&mut walk, boxes, &place, most, entries);
                    });
                }
            }
        }
    }
    0
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

fn test<F: FnMut(u32, u32) -> u32>(
    walk: &mut Walk<'_, F>,
    boxes: &Boxes,
    place: &Place,
    most: f32,
    entries: Range<u32>,
) {
    let records = walk.input.table.records;
    boxes.near(entries, place, most, |entry| {
        let record = &records[entry as usize];
        if let Some(distance) = distance_to(walk.params, &walk.query, record) {
            walk.found(record.object, distance);
        }
        most
    });
}
