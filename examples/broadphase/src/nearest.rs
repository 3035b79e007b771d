//! Finds the nearest neighbours by a query for a few more in f32. Where these do not prove the answer in f64, a k-d
//! tree finds it.

use std::collections::BinaryHeap;
use std::time::Instant;

use anyhow::Result;
use exact_neighbors::distance;
use gpu_broad_phase::{NONE, NearestObject, QueryInput, Scene, Source};
use rayon::prelude::*;

use crate::Status;
use crate::distance::to_nearest_image;
use crate::input;
use crate::neighbors::{Candidates, Output, Row, Space};
use crate::query;
use crate::report::{self, counted};
use crate::step::Step;

/// Extra candidates per point, since rounding may change their order.
const SPARE: u32 = 8;
const MOST: u32 = 1024;

pub fn run(count: u32, mut space: Space<'_>, step: &mut Step<'_>, output: &mut Output<'_>) -> Result<Status> {
    if space.periods.is_none() {
        input::warn(
            &output.args.points,
            "Lattice is not along the axes: ignored by --nearest, so neighbours across its sides are missing; pass \
             --period if needed"
                .to_owned(),
        );
    }
    let periods = *space.periods.get_or_insert([0.0; 3]);
    let search = Search {
        points: space.points,
        periods,
        count: count as usize,
        radius: output.args.radius.unwrap_or(f64::INFINITY),
    };
    let candidates = space.candidates();
    let (rows, status) = match candidates.filter(|_| step.is_needed() || !search.is_uneven(&space)) {
        Some(candidates) => search.by_step(&space, &candidates, step, output)?,
        None => {
            output
                .reporter
                .say("points are dense in few places: searching a k-d tree instead of a step");
            let began = Instant::now();
            let mut rows = vec![NONE; space.points.len() * search.count];
            let all = rows.par_chunks_mut(search.count).enumerate();
            search.by_tree(&space, all.filter(|&(row, _)| space.is_valid[row]));
            let points = counted(space.points.len() as u64, "point");
            let time = began.elapsed().as_secs_f64() * 1e3;
            output.reporter.say(format!("{points}; {time:.1} ms"));
            (rows, Status::Done)
        }
    };
    let found = rows.iter().filter(|&&row| row != NONE).count();
    let rows = rows.chunks_exact(search.count).zip(0..).flat_map(|(found, query)| {
        let found = found.iter().take_while(|&&row| row != NONE);
        found.map(move |&row| [query, row])
    });
    let rows = rows.map(|points| {
        let (distance, shift) = search.image(points);
        Row {
            points,
            distance,
            shift,
        }
    });
    output.write(step, found, rows)?;
    Ok(status)
}

struct Search<'a> {
    points: &'a [[f64; 3]],
    periods: [f64; 3],
    count: usize,
    radius: f64,
}

impl Search<'_> {
    fn image(&self, [from, to]: [u32; 2]) -> (f64, [f64; 3]) {
        let [from, to] = [from, to].map(|row| &self.points[row as usize]);
        to_nearest_image(from, to, self.periods)
    }

    /// Returns the nearest points of each, then [`NONE`].
    fn by_step(
        &self,
        space: &Space<'_>,
        candidates: &Candidates,
        step: &mut Step<'_>,
        output: &Output<'_>,
    ) -> Result<(Vec<u32>, Status)> {
        let descriptor = candidates.descriptor(output)?;
        let asked = (self.count as u32 + SPARE).min(MOST);
        let scene = Scene {
            objects: Source::Host(&candidates.scene.boxes),
            query: QueryInput {
                queries: candidates.query(self.radius, false).into(),
                query_mode: query::mode(Some(asked)),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let answer = step.run(&descriptor, &scene)?;
        let result = answer.result;
        let mut rows = vec![NONE; space.points.len() * self.count];
        let found = result.query_nearest.par_chunks_exact(asked as usize).enumerate();
        let lists = rows.par_chunks_mut(self.count).zip(found);
        let unproved = lists.filter_map(|(list, (row, found))| {
            let is_proved = self.keep_nearest(row as u32, found, candidates.off, list);
            (!is_proved && space.is_valid[row]).then_some((row, list))
        });
        let unproved: Vec<_> = unproved.collect();
        if !unproved.is_empty() {
            self.by_tree(space, unproved.into_par_iter());
        }
        let count = rows.iter().filter(|&&row| row != NONE).count();
        report::neighbors(output.reporter, &result, count as u64, answer.duration);
        Ok((rows, step.status(&result)))
    }

    /// Fills `list`. Returns true if no other point can be as near.
    fn keep_nearest(&self, row: u32, found: &[NearestObject], off: f64, list: &mut [u32]) -> bool {
        let objects = found.iter().map(|neighbor| neighbor.object);
        let mut near: Vec<_> = objects
            .take_while(|&object| object != NONE)
            .map(|object| (self.image([row, object]).0, object))
            .collect();
        let is_whole = near.len() < found.len();
        let farthest = near.iter().fold(0.0, |farthest, near| near.0.max(farthest));
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // Others are as far in f32, but for a few ulps.
        let bound = farthest * (1.0 - 64.0 * f64::from(f32::EPSILON)) - 2.0 * off;
        let is_proved = is_whole
            || near.get(list.len() - 1).is_some_and(|last| last.0 < bound) && farthest < f64::from(f32::MAX) / 2.0
            || bound > self.radius;
        let near = near.into_iter().filter(|near| near.0 <= self.radius);
        for (place, (_, object)) in list.iter_mut().zip(near) {
            *place = object;
        }
        is_proved
    }

    fn by_tree<'a>(&self, space: &Space<'_>, lists: impl ParallelIterator<Item = (usize, &'a mut [u32])>) {
        let Some(tree) = Tree::new(self, &space.is_valid) else {
            return;
        };
        lists.for_each(|(row, list)| {
            list.fill(NONE);
            let mut nearest = Nearest {
                tree: &tree,
                row: row as u32,
                found: BinaryHeap::with_capacity(self.count.min(self.points.len()) + 1),
            };
            nearest.visit(&tree.root, 0.0);
            for (place, (_, object)) in list.iter_mut().zip(nearest.found.into_sorted_vec()) {
                *place = object;
            }
        });
    }

    /// Estimates from a sample if cells of a grid with a cell per point have over 1000 points on average.
    fn is_uneven(&self, space: &Space<'_>) -> bool {
        const SAMPLE: usize = 4096;
        const MOST_TESTS: f64 = 1000.0;
        let count = self.points.len();
        let rows = (0..count).step_by(count.div_ceil(SAMPLE).max(1));
        let rows: Vec<_> = rows.filter(|&row| space.is_valid[row]).collect();
        let places = || {
            (0..count)
                .filter(|&row| space.is_valid[row])
                .map(|row| self.wrapped(row))
        };
        let extents: [_; 3] = std::array::from_fn(|axis| {
            let values = places().map(|place| place[axis]);
            let add = |[low, high]: [f64; 2], value: f64| [low.min(value), high.max(value)];
            values.fold([f64::INFINITY, f64::NEG_INFINITY], add)
        });
        let cells = (count as f64).powf(1.0 / f64::from(space.dimensions));
        let mut keys: Vec<[u32; 3]> = rows
            .iter()
            .map(|&row| {
                let place = self.wrapped(row);
                std::array::from_fn(|axis| {
                    let [low, high] = extents[axis].map(|end| end / 2.0);
                    ((place[axis] / 2.0 - low) / (high - low) * cells) as u32
                })
            })
            .collect();
        keys.sort_unstable();
        let per_sample = count as f64 / rows.len().max(1) as f64;
        let tests = |cell: &[[u32; 3]]| (cell.len() * (cell.len() - 1)) as f64 * per_sample * per_sample;
        keys.chunk_by(|a, b| a == b).map(tests).sum::<f64>() > MOST_TESTS * count as f64
    }

    fn wrapped(&self, row: usize) -> [f64; 3] {
        std::array::from_fn(|axis| match self.periods[axis] {
            period if period > 0.0 => self.points[row][axis].rem_euclid(period),
            _ => self.points[row][axis],
        })
    }
}

/// A k-d tree with periods, ties by index, and lengths whose squares overflow.
struct Tree<'a> {
    search: &'a Search<'a>,
    places: Vec<[f64; 3]>,
    /// Bound of the rounding of wrapped distances.
    off: f64,
    root: Node,
}

struct Node {
    min: [f64; 3],
    max: [f64; 3],
    least: u32,
    content: Content,
}

enum Content {
    Rows(Box<[u32]>),
    Halves(Box<[Node; 2]>),
}

impl<'a> Tree<'a> {
    fn new(search: &'a Search<'a>, is_valid: &[bool]) -> Option<Self> {
        let count = search.points.len();
        let mut rows: Vec<_> = (0..count as u32).filter(|&row| is_valid[row as usize]).collect();
        let places: Vec<_> = (0..count).into_par_iter().map(|row| search.wrapped(row)).collect();
        let off = |axis: usize| match search.periods[axis] {
            period if period > 0.0 => {
                let sizes = rows.iter().map(|&row| search.points[row as usize][axis].abs());
                8.0 * f64::EPSILON * sizes.fold(period, f64::max)
            }
            _ => 0.0,
        };
        let off = [0, 1, 2].map(off).into_iter().sum();
        let root = (!rows.is_empty()).then(|| Node::new(&places, &mut rows))?;
        Some(Self {
            search,
            places,
            off,
            root,
        })
    }

    /// Lower bound of distances from a place.
    fn distance(&self, from: [f64; 3], node: &Node) -> f64 {
        let gap = |axis: usize, from: f64| (node.min[axis] - from).max(from - node.max[axis]).max(0.0);
        let gaps = std::array::from_fn(|axis| {
            let (period, from) = (self.search.periods[axis], from[axis]);
            match period > 0.0 {
                true => gap(axis, from)
                    .min(gap(axis, from - period))
                    .min(gap(axis, from + period)),
                false => gap(axis, from),
            }
        });
        (distance(gaps) * (1.0 - 16.0 * f64::EPSILON) - self.off).max(0.0)
    }
}

impl Node {
    fn new(places: &[[f64; 3]], rows: &mut [u32]) -> Self {
        const LEAF: usize = 12;
        let (mut min, mut max) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let mut least = u32::MAX;
        for &row in &*rows {
            least = least.min(row);
            for axis in 0..3 {
                let value = places[row as usize][axis];
                min[axis] = min[axis].min(value);
                max[axis] = max[axis].max(value);
            }
        }
        let content = if rows.len() <= LEAF {
            Content::Rows((&*rows).into())
        } else {
            let width = |axis: &usize| max[*axis] / 2.0 - min[*axis] / 2.0;
            let axis = (0..3).fold(
                0,
                |widest, axis| if width(&axis) > width(&widest) { axis } else { widest },
            );
            let half = rows.len() / 2;
            rows.select_nth_unstable_by(half, |&a, &b| {
                let [one, other] = [a, b].map(|row| places[row as usize][axis]);
                one.total_cmp(&other).then(a.cmp(&b))
            });
            let (lower, upper) = rows.split_at_mut(half);
            let (lower, upper) = rayon::join(|| Self::new(places, lower), || Self::new(places, upper));
            Content::Halves(Box::new([lower, upper]))
        };
        Self {
            min,
            max,
            least,
            content,
        }
    }
}

struct Nearest<'a> {
    tree: &'a Tree<'a>,
    row: u32,
    /// Bits of the distance, which ascend with it, and row. The farthest is on top.
    found: BinaryHeap<(u64, u32)>,
}

impl Nearest<'_> {
    /// Returns true if a point at this distance would be dropped.
    fn is_far(&self, distance: f64, row: u32) -> bool {
        let search = self.tree.search;
        let farthest = self.found.peek().filter(|_| self.found.len() == search.count);
        distance > search.radius || farthest.is_some_and(|&farthest| (distance.to_bits(), row) > farthest)
    }

    fn visit(&mut self, node: &Node, distance: f64) {
        if self.is_far(distance, node.least) {
            return;
        }
        match &node.content {
            Content::Rows(rows) => {
                for &row in rows.iter().filter(|&&row| row != self.row) {
                    let (distance, _) = self.tree.search.image([self.row, row]);
                    if !self.is_far(distance, row) {
                        if self.found.len() == self.tree.search.count {
                            self.found.pop();
                        }
                        self.found.push((distance.to_bits(), row));
                    }
                }
            }
            Content::Halves(halves) => {
                let place = self.tree.places[self.row as usize];
                let [lower, upper] = halves.each_ref().map(|half| (self.tree.distance(place, half), half));
                let is_in_order = (lower.0, lower.1.least) <= (upper.0, upper.1.least);
                let (first, second) = if is_in_order { (lower, upper) } else { (upper, lower) };
                self.visit(first.1, first.0);
                self.visit(second.1, second.0);
            }
        }
    }
}
