//! Reference of the walk by rings in `shaders/queries/query_nearest.wgsl`.

use std::ops::RangeInclusive;

use super::query::{LARGEST_FLOAT, LoadedQuery, SLACK, distance_key, squared_float};
use super::query_walk::{Cells, LevelLook, QueryReads, Walk, cell_counts, images, rows_of};
use crate::layout::blocks::{Overrides, QueryBlocks};
use crate::layout::grid::{Grid, Level, SCHEME_ADAPTIVE, cell_of};

const SMALLEST_RADIUS: f32 = f32::MIN_POSITIVE;

/// Passes to `accept` the objects that may be among the nearest, some repeatedly, with squared distances as integers
/// (see [`distance_key`]). `limit` is the largest distance that counts; `accept` returns the new limit. Returns the
/// number of box tests, 0 if not counted.
pub fn walk_nearest(
    params: &QueryBlocks,
    input: &QueryReads<'_>,
    overrides: Overrides,
    query: &LoadedQuery,
    limit: u32,
    mut accept: impl FnMut(u32, u32) -> u32,
) -> u32 {
    if !query.answers {
        return 0;
    }
    let mut walk = Walk::new(params, input, overrides, query, limit, &mut accept);
    walk.test_large(query);
    for (_, level) in fullest_first(input.table.grid) {
        walk.walk_rings(query, level);
    }
    if overrides.count_candidates { walk.candidates } else { 0 }
}

fn fullest_first(grid: &Grid) -> impl Iterator<Item = (u32, &Level)> {
    let is_fullest = |&(index, _): &(u32, &Level)| index == grid.fullest_level;
    let fullest = grid.occupied_levels().filter(is_fullest);
    let others = grid.occupied_levels().filter(move |level| !is_fullest(level));
    fullest.chain(others)
}

struct Apart<'a> {
    query: &'a LoadedQuery,
    own: [[i32; 3]; 2],
    reach: [i32; 3],
    sides: [f32; 3],
    level: &'a Level,
}

impl Apart<'_> {
    fn cells(&self, axis: usize, lower: i32, upper: i32) -> i32 {
        let [own_lower, own_upper] = self.own.map(|cell| cell[axis]);
        let below = own_lower - 1 - self.reach[axis] - upper;
        below.max(lower - 1 - own_upper).max(0)
    }

    fn gap(&self, axis: usize, lower: i32, upper: i32) -> f32 {
        let gap = self.cells(axis, lower, upper) as f32 * self.sides[axis];
        let position = self.query.corners(axis).map(f32::abs);
        (gap - (gap + position[0].max(position[1])) * SLACK).max(0.0)
    }

    fn level(&self) -> f32 {
        let [lower, upper] = self.level.bounds();
        let gaps: [f32; 3] = std::array::from_fn(|axis| self.gap(axis, lower[axis], upper[axis]));
        let largest = gaps.into_iter().fold(SMALLEST_RADIUS, f32::max);
        let [x, y, z] = gaps.map(|gap| gap / largest);
        (0.25 * largest * (x * x + y * y + z * z).sqrt()).min(0.125 * LARGEST_FLOAT) * 4.0
    }
}

/// Returns `radius`, or less if only objects up to `limit` or the query's radius count.
fn bounded(limit: u32, query: &LoadedQuery, radius: f32) -> f32 {
    let needed = squared_float(limit).sqrt() * (1.0 + SLACK);
    let bounded = if distance_key([needed, 0.0, 0.0]) >= limit {
        radius.min(needed)
    } else {
        radius
    };
    bounded.max(SMALLEST_RADIUS).min(query.radius)
}

impl<F: FnMut(u32, u32) -> u32> Walk<'_, F> {
    fn walk_rings(&mut self, query: &LoadedQuery, level: &Level) {
        if self.input.table.places(&self.listing(level)) == 0 {
            return;
        }
        let is_periodic = query.is_periodic(self.params);
        let before = if is_periodic {
            0.0
        } else {
            self.apart(query, level).level()
        };
        let mut radius = self.bounded(query, before + first_depth(level));
        let mut inner = None;
        loop {
            let ring = query.within(self.params, radius);
            let second = ring.second_images(self.params);
            let mut look = self.look_of(&ring, second, level);
            if is_periodic && self.spans(&ring.image_of(self.params, 0), level) {
                look = LevelLook::All;
            }
            if look != LevelLook::All && !self.iterations.take(1.0 + self.iterations_within(query, inner, level)) {
                look = LevelLook::All;
            }
            match look {
                LevelLook::Nowhere => {}
                LevelLook::All => {
                    self.test_level(query, level);
                    return;
                }
                LevelLook::Cells => {
                    for image in images(second) {
                        self.query = ring.image_of(self.params, image);
                        if !is_periodic {
                            self.query.radius = query.radius;
                        }
                        self.walk_ring(query, radius, inner, level);
                    }
                }
            }
            let is_done = radius >= query.radius || self.limit <= distance_key([radius, 0.0, 0.0]);
            if is_done || (!is_periodic && self.ring_covers(&ring, level)) {
                return;
            }
            if !is_periodic {
                inner = Some(radius);
            }
            radius = self.bounded(query, next_radius(radius, before));
        }
    }

    fn apart<'b>(&self, query: &'b LoadedQuery, level: &'b Level) -> Apart<'b> {
        let scheme = self.params.scheme;
        let inverse = self.params.axis_inverse(level.inverse, self.input.table.grid.stretch);
        let corners = [0, 1, 2].map(|axis| query.corners(axis));
        let own = [0, 1].map(|end| cell_of(scheme, corners.map(|corner| corner[end]), inverse));
        let unit = if scheme == SCHEME_ADAPTIVE { 2.0 } else { 1.0 };
        Apart {
            query,
            own,
            reach: self.reach_of_objects(query),
            sides: inverse.map(|inverse| unit / inverse),
            level,
        }
    }

    fn bounded(&self, query: &LoadedQuery, radius: f32) -> f32 {
        bounded(self.limit, query, radius)
    }

    fn iterations_within(&self, query: &LoadedQuery, inner: Option<f32>, level: &Level) -> f32 {
        let Some(inner) = inner else { return 0.0 };
        let cells = self.cells_of(&query.within(self.params, inner), level);
        let counts = cell_counts(&cells, level);
        self.row_iterations() * counts[1] * counts[2]
    }

    fn spans(&self, ring: &LoadedQuery, level: &Level) -> bool {
        let [lower, upper] = level.bounds();
        let cells = self.cells_of(ring, level);
        (0..3).all(|axis| cells[axis] == (lower[axis]..=upper[axis]))
    }

    fn ring_covers(&self, ring: &LoadedQuery, level: &Level) -> bool {
        let [lower, upper] = level.bounds();
        let apart = self.apart(ring, level);
        let farthest = |axis: usize| {
            let ends = [lower[axis], upper[axis]].map(|cell| apart.gap(axis, cell, cell));
            ends[0].max(ends[1])
        };
        let x = apart.gap(0, lower[0], upper[0]);
        self.spans(ring, level) && distance_key([x, farthest(1), farthest(2)]) <= distance_key([ring.radius, 0.0, 0.0])
    }

    fn walk_ring(&mut self, query: &LoadedQuery, radius: f32, inner: Option<f32>, level: &Level) {
        let in_buckets = |cells: Cells| {
            let [x, y, z] = cells;
            let shift = level.x_shift;
            [(x.start() >> shift) << shift..=x.end() | ((1 << shift) - 1), y, z]
        };
        let cells = in_buckets(self.cells_of(&self.query, level));
        let visited = inner.and_then(|inner| {
            let cells = self.cells_of(&query.within(self.params, inner), level);
            let is_nowhere = cells.iter().any(RangeInclusive::is_empty);
            (!is_nowhere).then(|| (in_buckets(cells), distance_key([inner, 0.0, 0.0])))
        });
        let apart = self.apart(query, level);
        let gap_x = apart.gap(0, level.lower_x, level.upper_x);
        let is_periodic = query.is_periodic(self.params);
        let far = distance_key([radius, 0.0, 0.0]);
        for (y, z) in rows_of(&cells) {
            let gaps = [gap_x, apart.gap(1, y, y), apart.gap(2, z, z)];
            let distance = if is_periodic { 0 } else { distance_key(gaps) };
            if distance > far {
                continue;
            }
            let visited = visited
                .as_ref()
                .filter(|(cells, far)| cells[1].contains(&y) && cells[2].contains(&z) && distance <= *far);
            let [first, last] = [*cells[0].start(), *cells[0].end()];
            let parts = match visited {
                None => [[first, last], [1, 0]],
                Some((visited, _)) => [[first, visited[0].start() - 1], [visited[0].end() + 1, last]],
            };
            for [first, last] in parts {
                let (table, world) = (self.input.table, self.query.world);
                for row in table.row(level, first, last, y, z, world) {
                    self.near_entries(row, |walk, entry, distance| {
                        walk.found(walk.record(entry).object, distance);
                    });
                }
            }
        }
    }
}

fn first_depth(level: &Level) -> f32 {
    f32::from_bits((252 - (level.inverse.to_bits() >> 23).min(251)) << 23)
}

fn next_radius(radius: f32, before: f32) -> f32 {
    if radius > 0.25 * LARGEST_FLOAT {
        return LARGEST_FLOAT;
    }
    radius + (radius - before).max(radius * SLACK)
}
