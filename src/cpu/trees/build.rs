use std::ops::Range;

use super::super::boxes::{Block, LANES, sides_of};
use super::{EMPTY, LEAVES_PER_RUN, Trees, by_world, parent, write_lane};
use crate::api::types::{Aabb, NONE};
use crate::layout::grid::{Class, Record, classify, ordered};
use crate::shared::runs::{for_each, in_runs, join, map};

/// Axes on which a box is shorter than this share of its longest side do not count as long.
const SHORT: f32 = 0.125;
/// Number of exponents of the longest side that share a tree. More trees take longer to search than larger nodes.
const EXPONENTS: i64 = 3;
/// Worlds of at most this many boxes have one tree.
const FEW: u32 = 32;
/// Fewer items are arranged by one thread.
const MANY: usize = 4096;
/// Keys of boxes that are in no tree.
const INFINITE: u64 = u64::MAX - 1;
const IGNORED: u64 = u64::MAX;
/// Place of the exponent in a key, over the long axes.
const EXPONENT_SHIFT: u32 = 3;
const EXPONENT_MASK: u64 = 0xff;
const WORLD_SHIFT: u32 = 32;

/// Center and index of a box.
type Item = ([f32; 3], u32);

impl Trees {
    /// Builds trees of valid boxes. Those with infinite bounds are in no tree. `name` returns the object and the world
    /// of a box.
    pub fn new(boxes: &[Aabb], name: impl Fn(u32) -> (u32, u32) + Sync + Send, have_filters: bool) -> Self {
        let world = |index: u32| name(index).1;
        let (order, ends, infinite) = order_by_tree(boxes, world);
        let mut items: Vec<Item> = map(order.len() as u32, |place| {
            let index = order[place as usize];
            let Aabb { min, max, .. } = boxes[index as usize];
            ([0, 1, 2].map(|axis| 0.5 * min[axis] + 0.5 * max[axis]), index)
        });
        drop(order);
        let mut left = &mut items[..];
        let mut trees = Vec::with_capacity(ends.len());
        let mut begin = 0;
        for &end in &ends {
            let (tree, rest) = left.split_at_mut((end - begin) as usize);
            (left, begin) = (rest, end);
            trees.push(tree);
        }
        for_each(trees, |items: &mut [Item]| {
            let (bounds, shape) = bounds_and_shape(items, boxes);
            arrange(items, bounds, shape);
        });
        let (mut leaves, mut firsts, mut begin) = (Vec::new(), vec![0], 0);
        for &end in &ends {
            let begins = (begin..end).step_by(LANES);
            leaves.extend(begins.map(|first| first as usize..end.min(first + LANES as u32) as usize));
            firsts.push(leaves.len() as u32);
            begin = end;
        }
        let nodes = firsts.windows(2).map(|ends| nodes_above(ends[1] - ends[0]));
        // Zeros, which cost nothing before they are written.
        let mut blocks = vec![[[[0.0; LANES]; 3]; 2]; leaves.len() + nodes.sum::<u32>() as usize];
        let mut objects = vec![NONE; LANES * leaves.len()];
        let of_leaves = blocks.chunks_mut(LEAVES_PER_RUN);
        let runs = of_leaves.zip(objects.chunks_mut(LEAVES_PER_RUN * LANES));
        let runs = runs.zip(leaves.chunks(LEAVES_PER_RUN)).collect();
        for_each(runs, |((blocks, objects), leaves): ((&mut [Block], &mut [u32]), _)| {
            let lanes = blocks.iter_mut().zip(objects.chunks_mut(LANES));
            for ((block, objects), leaf) in lanes.zip(leaves) {
                *block = EMPTY;
                let indices = items[leaf.clone()].iter().map(|item| item.1);
                for (lane, index) in indices.enumerate() {
                    let Aabb { min, max, .. } = boxes[index as usize];
                    objects[lane] = name(index).0;
                    write_lane(block, lane, [min, max]);
                }
            }
        });
        let record = |index: u32| {
            let (object, world) = name(index);
            let [low, high] = [boxes[index as usize].min, boxes[index as usize].max].map(|bounds| bounds.map(ordered));
            Record {
                low,
                object,
                high,
                world,
            }
        };
        let worlds = leaves.iter().map(|leaf| world(items[leaf.start].1));
        let mut built = Self {
            worlds: worlds.collect(),
            ends: (1..=leaves.len()).map(|leaf| (leaf * LANES) as u32).collect(),
            blocks,
            objects,
            children: Vec::new(),
            roots: Vec::new(),
            treeless: by_world(infinite.into_iter().map(record).collect()),
            size: 0.0,
            have_filters,
        };
        for ends in firsts.windows(2) {
            let root = built.add_parents(ends[0]..ends[1]);
            built.roots.push([built.worlds[ends[0] as usize], root]);
        }
        built.roots.sort_unstable();
        built.size = built.size_of_roots();
        built
    }

    /// Writes the nodes above some leaves. Returns the root.
    fn add_parents(&mut self, mut nodes: Range<u32>) -> u32 {
        while nodes.len() > 1 {
            let begin = self.ends.len();
            let children = |place: u32| {
                let first = nodes.start + place * LANES as u32;
                first as usize..nodes.end.min(first + LANES as u32) as usize
            };
            let count = (nodes.len() as u32).div_ceil(LANES as u32);
            let parents = map(count, |place| parent(&self.blocks[children(place)]));
            self.blocks[begin..begin + parents.len()].copy_from_slice(&parents);
            for children in (0..count).map(children) {
                self.children.push(children.start as u32);
                self.ends.push(self.ends[children.end - 1]);
            }
            nodes = begin as u32..begin as u32 + count;
        }
        nodes.start
    }
}

/// Number of nodes above leaves of a tree.
fn nodes_above(mut nodes: u32) -> u32 {
    let mut above = 0;
    while nodes > 1 {
        nodes = nodes.div_ceil(LANES as u32);
        above += nodes;
    }
    above
}

/// Returns the indices of finite boxes by tree, the end of each tree, and the infinite boxes.
fn order_by_tree(boxes: &[Aabb], world: impl Fn(u32) -> u32 + Sync + Send) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let keys = map(boxes.len() as u32, |index| {
        key_of(&boxes[index as usize], || world(index))
    });
    let distinct = in_runs(boxes.len() as u32, |run| {
        let mut distinct = Vec::new();
        for key in &keys[run.start as usize..run.end as usize] {
            if let Err(place) = distinct.binary_search(key) {
                distinct.insert(place, *key);
            }
        }
        distinct
    });
    let mut distinct = distinct.concat();
    distinct.sort_unstable();
    distinct.dedup();
    let places = map(boxes.len() as u32, |index| {
        distinct.partition_point(|key| *key < keys[index as usize]) as u32
    });
    let mut counts = vec![0; distinct.len()];
    for &place in &places {
        counts[place as usize] += 1;
    }
    let classes = classes(&distinct, &counts);
    let mut distinct = classes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let tree_of = |class: &u64| distinct.partition_point(|other| other < class);
    let trees: Vec<_> = classes.iter().map(tree_of).collect();
    let mut ends = vec![0; distinct.len() + 1];
    for (&tree, count) in trees.iter().zip(counts) {
        ends[tree + 1] += count;
    }
    for tree in 1..ends.len() {
        ends[tree] += ends[tree - 1];
    }
    let mut order = vec![0; boxes.len()];
    for (index, &place) in (0..).zip(&places) {
        let end = &mut ends[trees[place as usize]];
        order[*end as usize] = index;
        *end += 1;
    }
    // The end of each tree is now that of the next.
    ends.pop();
    let mut last = |key: u64| {
        if distinct.pop_if(|last| *last == key).is_none() {
            return Vec::new();
        }
        ends.pop();
        order.split_off(ends.last().map_or(0, |&end| end as usize))
    };
    last(IGNORED);
    let infinite = last(INFINITE);
    (order, ends, infinite)
}

/// Returns the keys of trees: exponents are replaced by classes, in the middle of one of which is the most frequent
/// exponent.
fn classes(keys: &[u64], counts: &[u32]) -> Vec<u64> {
    let exponent = |key: u64| (key >> EXPONENT_SHIFT & EXPONENT_MASK) as usize;
    let mut counts_of_exponents = [0u64; EXPONENT_MASK as usize + 1];
    for (&key, &count) in keys.iter().zip(counts).filter(|(key, _)| **key < INFINITE) {
        counts_of_exponents[exponent(key)] += u64::from(count);
    }
    let fullest = (0..counts_of_exponents.len()).max_by_key(|&exponent| counts_of_exponents[exponent]);
    let first = fullest.unwrap_or(0) as i64 - EXPONENTS / 2;
    let class = |exponent: usize| (exponent as i64 - first).div_euclid(EXPONENTS) as u64 & EXPONENT_MASK;
    let class_of = |key: u64| key & !(EXPONENT_MASK << EXPONENT_SHIFT) | class(exponent(key)) << EXPONENT_SHIFT;
    let mut classes = Vec::with_capacity(keys.len());
    let mut counts = counts.iter();
    // Objects of all worlds share these bits with keys of no tree.
    let are_of_one_world = |a: &u64, b: &u64| {
        let are_in_trees = [*a < INFINITE, *b < INFINITE];
        a >> WORLD_SHIFT == b >> WORLD_SHIFT && are_in_trees[0] == are_in_trees[1]
    };
    for keys in keys.chunk_by(are_of_one_world) {
        let are_few = counts.by_ref().take(keys.len()).sum::<u32>() <= FEW;
        classes.extend(keys.iter().map(|&key| match key {
            INFINITE.. => key,
            _ if are_few => key >> WORLD_SHIFT << WORLD_SHIFT,
            _ => class_of(key),
        }));
    }
    classes
}

/// World, exponent of the longest side, and long axes.
fn key_of(object: &Aabb, world: impl FnOnce() -> u32) -> u64 {
    match classify(object) {
        Class::Finite => {}
        Class::Infinite => return INFINITE,
        Class::Excluded | Class::Invalid => return IGNORED,
    }
    let sides = sides_of(object);
    let longest = sides.into_iter().fold(0.0, f32::max);
    let exponent = longest.to_bits() >> (f32::MANTISSA_DIGITS - 1);
    let is_long = |axis: usize| u32::from(sides[axis] >= SHORT * longest) << axis;
    let axes: u32 = (0..3).map(is_long).sum();
    u64::from(world()) << WORLD_SHIFT | u64::from(exponent) << EXPONENT_SHIFT | u64::from(axes)
}

/// Returns the bounds of the centers, and sides of a node: between those of a cube, for rays and nearest boxes, and
/// those of the mean box, so that few nodes overlap.
fn bounds_and_shape(items: &[Item], boxes: &[Aabb]) -> ([[f32; 3]; 2], [f32; 3]) {
    let of_run = |run: Range<u32>| {
        let (mut low, mut high, mut sums) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3], [0.0; 3]);
        for (center, index) in &items[run.start as usize..run.end as usize] {
            let sides = sides_of(&boxes[*index as usize]);
            for axis in 0..3 {
                low[axis] = low[axis].min(center[axis]);
                high[axis] = high[axis].max(center[axis]);
                sums[axis] += sides[axis];
            }
        }
        (low, high, sums)
    };
    let runs = in_runs(items.len() as u32, of_run);
    let low = |axis: usize| runs.iter().map(|run| run.0[axis]).fold(f32::INFINITY, f32::min);
    let high = |axis: usize| runs.iter().map(|run| run.1[axis]).fold(f32::NEG_INFINITY, f32::max);
    let mean = |axis: usize| runs.iter().map(|run| run.2[axis]).sum::<f32>() / items.len() as f32;
    let shape = [0, 1, 2].map(|axis| mean(axis).cbrt());
    ([[0, 1, 2].map(low), [0, 1, 2].map(high)], shape)
}

/// Halves the items at the median along the axis that is longest in units of `sides`, until eight are left. The nodes
/// of every height are full, but for the last.
fn arrange(items: &mut [Item], bounds: [[f32; 3]; 2], sides: [f32; 3]) {
    if items.len() <= LANES {
        return;
    }
    let [low, high] = bounds;
    let length = |axis: usize| high[axis] - low[axis];
    // Products, since sides may be 0.
    let is_longer = |a: usize, b: usize| length(a) * sides[b] > length(b) * sides[a];
    let axis = (1..3).fold(0, |longest, axis| if is_longer(axis, longest) { axis } else { longest });
    let mut node = LANES;
    while node * LANES < items.len() {
        node *= LANES;
    }
    let middle = (items.len().div_ceil(node) / 2) * node;
    items.select_nth_unstable_by(middle, |a, b| a.0[axis].total_cmp(&b.0[axis]));
    let at = items[middle].0[axis];
    let is_large = items.len() > MANY;
    let (lower, upper) = items.split_at_mut(middle);
    let (mut bounds_lower, mut bounds_upper) = (bounds, bounds);
    (bounds_lower[1][axis], bounds_upper[0][axis]) = (at, at);
    if is_large {
        join(
            || arrange(lower, bounds_lower, sides),
            || arrange(upper, bounds_upper, sides),
        );
    } else {
        arrange(lower, bounds_lower, sides);
        arrange(upper, bounds_upper, sides);
    }
}
