use std::ops::Range;

use super::boxes::{Boxes, Place, Surroundings, overrides_of};
use crate::layout::blocks::Overrides;
use crate::layout::grid::{DENSE, Params};
use crate::reference::queries::query::{LoadedQuery, distance_to};
use crate::reference::queries::query_walk::{LevelLook, QueryReads, Walk, images, walk_query};

/// Like [`walk_query`], in the same order. Calls it to count box tests, or without `boxes`.
pub(super) fn walk(
    params: &Params,
    input: &QueryReads<'_>,
    boxes: Option<&Boxes>,
    overrides: Overrides,
    query: &LoadedQuery,
    mut accept: impl FnMut(u32),
) -> u32 {
    let Some(boxes) = boxes.filter(|_| !overrides.count_candidates) else {
        return walk_query(params, input, overrides, query, |object, _| accept(object));
    };
    if !query.answers {
        return 0;
    }
    let mut accept = |object, _| {
        accept(object);
        u32::MAX
    };
    let overrides = overrides_of(overrides, boxes.has_filters, query);
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
                    let around = Surroundings::new(params, boxes, &place, index, level);
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
