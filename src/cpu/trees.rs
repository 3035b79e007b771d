//! Trees over boxes, for searches in any order.

mod build;

use std::ops::Range;

use super::boxes::{Block, LANES, lanes_where, larger, smaller};
use crate::api::types::{ALL_WORLDS, Aabb, NONE};
use crate::layout::grid::{Record, ordered, unordered};
use crate::shared::runs::{for_each, map};

/// Children of the nodes on the way to a leaf of 2^32 boxes.
const PATH: usize = LANES * 11;
/// Number of leaves that are measured.
const SAMPLES: usize = 64;
/// Leaves that a thread refits at once.
const LEAVES_PER_RUN: usize = 128;
/// NaN, so no comparison finds these boxes.
const EMPTY: Block = [[[f32::NAN; LANES]; 3]; 2];

/// Trees of the boxes of each world, by the size of their longest side and by their long axes. The eight children
/// of a node follow each other.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    /// Boxes of the children of each node. Leaves come first, whose children are objects. Lanes without a box are NaN.
    blocks: Vec<Block>,
    /// Object of each lane of the leaves, else [`NONE`].
    objects: Vec<u32>,
    /// Lane after the last one under each node.
    ends: Vec<u32>,
    /// First child of each node that is no leaf.
    children: Vec<u32>,
    /// Worlds and nodes, sorted.
    roots: Vec<[u32; 2]>,
    /// World of each leaf.
    worlds: Vec<u32>,
    /// Boxes in no tree, by world: those with infinite bounds, and after a refit others.
    treeless: Vec<Record>,
    /// Largest coordinate of the boxes in trees.
    pub size: f32,
    pub have_filters: bool,
}

impl Trees {
    /// Changes the boxes to those of `current`, and what is in no tree. Lanes without a box are empty until the next
    /// refit.
    pub fn refit(
        &mut self,
        current: impl Fn(u32) -> Option<Aabb> + Sync + Send,
        treeless: Vec<Record>,
        have_filters: bool,
    ) {
        let leaves = self.worlds.len();
        let objects = &self.objects;
        let runs = self.blocks[..leaves].chunks_mut(LEAVES_PER_RUN).enumerate();
        for_each(runs.collect(), |(run, blocks): (usize, &mut [Block])| {
            let first = run * LEAVES_PER_RUN * LANES;
            for (block, objects) in blocks.iter_mut().zip(objects[first..].chunks(LANES)) {
                *block = EMPTY;
                for (lane, object) in objects.iter().enumerate().filter(|(_, object)| **object != NONE) {
                    let Some(object) = current(*object) else { continue };
                    write_lane(block, lane, [object.min, object.max]);
                }
            }
        });
        let parent_of = |blocks: &[Block], inner: usize| {
            let first = self.children[inner] as usize;
            let [[low, ..], _] = blocks[leaves + inner];
            // Lanes without a child are NaN.
            let count = low.iter().take_while(|low| !low.is_nan()).count();
            parent(&blocks[first..first + count])
        };
        let inner = self.children.len() as u32;
        let above_leaves = map(inner, |inner| {
            let is_above = (self.children[inner as usize] as usize) < leaves;
            is_above.then(|| parent_of(&self.blocks, inner as usize))
        });
        for (inner, block) in above_leaves.into_iter().enumerate() {
            self.blocks[leaves + inner] = block.unwrap_or_else(|| parent_of(&self.blocks, inner));
        }
        self.size = self.size_of_roots();
        (self.treeless, self.have_filters) = (by_world(treeless), have_filters);
    }

    fn size_of_roots(&self) -> f32 {
        let blocks = self.roots.iter().map(|root| &self.blocks[root[1] as usize]);
        let bounds = blocks.flatten().flatten().flatten();
        // Nodes without boxes are infinite.
        let sizes = bounds.map(|bound| bound.abs()).filter(|size| size.is_finite());
        sizes.fold(0.0, f32::max)
    }

    /// Returns the longest side of each leaf, 0 of empty ones and of those without a parent.
    pub fn leaf_sides(&self) -> Vec<f32> {
        let leaves = self.worlds.len();
        let mut sides = vec![0.0f32; leaves];
        for (&first, [low, high]) in self.children.iter().zip(&self.blocks[leaves..]) {
            let leaves = sides.get_mut(first as usize..).unwrap_or_default();
            for (lane, side) in leaves.iter_mut().take(LANES).enumerate() {
                let length = |axis: usize| high[axis][lane] - low[axis][lane];
                // NaN lanes are leaves of other parents.
                *side = side.max(length(0)).max(length(1)).max(length(2));
            }
        }
        sides
    }

    /// Returns the longest side of a typical leaf, at least of the smallest positive float.
    pub fn leaf_side(&self) -> f32 {
        let step = (self.worlds.len() / SAMPLES).max(1);
        let leaves = self.blocks[..self.worlds.len()].iter().step_by(step);
        let mut sides: Vec<_> = leaves
            .map(|block| {
                let [low, high] = parent(&[*block]);
                let side = |axis: usize| high[axis][0] - low[axis][0];
                side(0).max(side(1)).max(side(2))
            })
            .collect();
        let middle = sides.len() / 2;
        match sides.is_empty() {
            true => f32::MIN_POSITIVE,
            false => sides
                .select_nth_unstable_by(middle, f32::total_cmp)
                .1
                .max(f32::MIN_POSITIVE),
        }
    }

    /// Number of lanes.
    pub fn lanes(&self) -> u32 {
        self.objects.len() as u32
    }

    /// Object of a lane, or [`NONE`].
    pub fn object(&self, lane: u32) -> u32 {
        let [low, _] = &self.blocks[lane as usize / LANES];
        match low[0][lane as usize % LANES].is_nan() {
            true => NONE,
            false => self.objects[lane as usize],
        }
    }

    /// True if each object is in a tree.
    pub const fn have_all(&self) -> bool {
        self.treeless.is_empty()
    }

    /// Bytes, without those of `treeless`.
    pub fn bytes(&self) -> usize {
        let words = [&self.objects, &self.ends, &self.children, &self.worlds];
        size_of_val(&self.blocks[..]) + words.map(|words| size_of_val(&words[..])).iter().sum::<usize>()
    }

    pub fn record(&self, world: u32, lane: u32) -> Record {
        let [low, high] = self.blocks[lane as usize / LANES];
        let bounds = |sides: [[f32; LANES]; 3]| sides.map(|lanes| ordered(lanes[lane as usize % LANES]));
        Record {
            low: bounds(low),
            object: self.objects[lane as usize],
            high: bounds(high),
            world,
        }
    }

    /// Passes boxes of a world from lane `begin` on to `visit`, near ones early if `ORDERED`, except those farther than
    /// `most`. `distances` may be too small, never too large, and NaN of NaN; its second argument is true for boxes of
    /// objects. `visit` gets NaN for infinite boxes and returns the next `most`.
    #[inline(always)]
    pub fn search<const ORDERED: bool>(
        &self,
        world: u32,
        begin: u32,
        mut most: f32,
        distances: impl Fn(&Block, bool, f32) -> [f32; LANES],
        mut visit: impl FnMut(f32, u32, &dyn Fn() -> Record) -> f32,
    ) {
        for record in self
            .treeless_of(world)
            .into_iter()
            .flat_map(|range| &self.treeless[range])
        {
            most = visit(f32::NAN, record.object, &|| *record);
        }
        let leaves = self.worlds.len();
        let mut stack = [(0.0f32, 0u32); PATH];
        let mut roots = self.roots_of(world);
        let mut depth = 0;
        loop {
            if depth == 0 {
                let Some(root) = roots.next() else { break };
                (stack[0], depth) = ((0.0, root), 1);
            }
            depth -= 1;
            let (distance, node) = stack[depth];
            if distance > most || (begin > 0 && self.ends[node as usize] <= begin) {
                continue;
            }
            let node = node as usize;
            let block = &self.blocks[node];
            let is_leaf = node < leaves;
            let distances = distances(block, is_leaf, most);
            let mut near = lanes_where(|lane| distances[lane] <= most);
            if begin as usize > node * LANES && is_leaf {
                near &= u32::MAX << (begin as usize % LANES);
            }
            let bottom = depth;
            while near != 0 {
                let lane = near.trailing_zeros() as usize;
                near &= near - 1;
                let distance = distances[lane];
                if !is_leaf {
                    let mut place = depth;
                    while ORDERED && place > bottom && stack[place - 1].0 < distance {
                        stack[place] = stack[place - 1];
                        place -= 1;
                    }
                    stack[place] = (distance, self.children[node - leaves] + lane as u32);
                    depth += 1;
                } else if distance <= most {
                    let lane = node * LANES + lane;
                    most = visit(distance, self.objects[lane], &|| self.record(world, lane as u32));
                }
            }
        }
    }

    /// Roots of what a world's objects meet. Trees of large boxes come first, since rays meet these first.
    fn roots_of(&self, world: u32) -> impl Iterator<Item = u32> {
        let ranges = ranges_of(&self.roots, world, |root| root[0]).into_iter().rev();
        ranges.flat_map(|range| self.roots[range].iter().rev().map(|root| root[1]))
    }

    /// As [`roots_of`](Self::roots_of), of the boxes in no tree.
    fn treeless_of(&self, world: u32) -> [Range<usize>; 2] {
        ranges_of(&self.treeless, world, |record| record.world)
    }

    pub fn groups(&self) -> u32 {
        (self.worlds.len() + self.treeless.len()) as u32
    }

    pub fn world_of_group(&self, index: u32) -> u32 {
        let place = index as usize;
        let world = self.worlds.get(place).copied();
        world.unwrap_or_else(|| self.treeless[place - self.worlds.len()].world)
    }

    pub fn group(&self, index: u32) -> Group {
        let place = index as usize;
        match place.checked_sub(self.worlds.len()) {
            None => Group {
                block: self.blocks[place],
                objects: std::array::from_fn(|lane| self.objects[place * LANES + lane]),
                world: self.worlds[place],
            },
            Some(place) => {
                let record = &self.treeless[place];
                let mut objects = [NONE; LANES];
                objects[0] = record.object;
                Group {
                    block: block_of(record),
                    objects,
                    world: record.world,
                }
            }
        }
    }

    /// Passes the objects of a group and those of these trees that their boxes meet to `visit`. With the `index` of a
    /// group of these trees, visits only its own objects and those of later groups. Returns the number of tests of a
    /// box and a node.
    pub fn pairs(&self, group: &Group, index: Option<u32>, mut visit: impl FnMut(u32, u32)) -> u32 {
        let leaves = self.worlds.len();
        let later = index
            .and_then(|index| (index as usize + 1).checked_sub(leaves))
            .unwrap_or(0);
        let ranges = self.treeless_of(group.world).into_iter();
        let ranges = ranges.map(|Range { start, end }| start.max(later).min(end)..end);
        for record in ranges.flat_map(|range| &self.treeless[range]) {
            let mut met = lanes_met(&group.block, &block_of(record), 0);
            while met != 0 {
                visit(group.objects[met.trailing_zeros() as usize], record.object);
                met &= met - 1;
            }
        }
        if index.is_some_and(|index| index as usize >= leaves) {
            return 0;
        }
        let own_end = index.map_or(0, |index| index * LANES as u32);
        let around = parent(std::slice::from_ref(&group.block));
        let mut tests = 0;
        // Nodes, and the boxes of the group that meet a leaf.
        let mut stack = [(0u32, 0u32); PATH];
        for root in self.roots_of(group.world) {
            (stack[0], tests) = ((root, (1 << LANES) - 1), tests + 1);
            let mut depth = 1;
            while depth > 0 {
                depth -= 1;
                let (node, mut boxes) = stack[depth];
                if self.ends[node as usize] <= own_end {
                    continue;
                }
                let block = &self.blocks[node as usize];
                let Some(inner) = (node as usize).checked_sub(leaves) else {
                    tests += boxes.count_ones();
                    while boxes != 0 {
                        let lane = boxes.trailing_zeros() as usize;
                        boxes &= boxes - 1;
                        let mut met = lanes_met(block, &group.block, lane);
                        if index == Some(node) {
                            met &= (u32::MAX << lane) << 1;
                        }
                        while met != 0 {
                            let other = node as usize * LANES + met.trailing_zeros() as usize;
                            visit(group.objects[lane], self.objects[other]);
                            met &= met - 1;
                        }
                    }
                    continue;
                };
                let first = self.children[inner];
                let mut near = lanes_met(block, &around, 0);
                tests += near.count_ones();
                while near != 0 {
                    let lane = near.trailing_zeros();
                    near &= near - 1;
                    let child = first + lane;
                    let boxes = match (child as usize) < leaves {
                        true => lanes_met(&group.block, block, lane as usize),
                        false => 1,
                    };
                    stack[depth] = (child, boxes);
                    depth += usize::from(boxes != 0);
                }
            }
        }
        tests
    }
}

/// Boxes whose pairs are found together: those of a leaf, or one that is in no tree.
pub(super) struct Group {
    block: Block,
    objects: [u32; LANES],
    pub world: u32,
}

/// Lanes of a block that the box of another lane meets, one bit each. A copy of that box would take longer than the
/// comparison.
#[inline(always)]
fn lanes_met([lows, highs]: &Block, [low, high]: &Block, of: usize) -> u32 {
    lanes_where(|lane| {
        let meets = |axis: usize| (lows[axis][lane] <= high[axis][of]) & (low[axis][of] <= highs[axis][lane]);
        meets(0) & meets(1) & meets(2)
    })
}

/// Ranges of what the objects of `world` meet, sorted by world: its own, and what is in all worlds.
fn ranges_of<T>(sorted: &[T], world: u32, world_of: impl Fn(&T) -> u32) -> [Range<usize>; 2] {
    if world == ALL_WORLDS {
        return [0..sorted.len(), 0..0];
    }
    let first = sorted.partition_point(|item| world_of(item) < world);
    let end = first + sorted[first..].partition_point(|item| world_of(item) == world);
    let of_all = match sorted.last().map(&world_of) {
        Some(ALL_WORLDS) => sorted.partition_point(|item| world_of(item) < ALL_WORLDS),
        _ => sorted.len(),
    };
    [first..end, of_all..sorted.len()]
}

fn by_world(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_unstable_by_key(|record| (record.world, record.object));
    records
}

fn write_lane(block: &mut Block, lane: usize, bounds: [[f32; 3]; 2]) {
    for (sides, bounds) in block.iter_mut().zip(bounds) {
        for (lanes, bound) in sides.iter_mut().zip(bounds) {
            lanes[lane] = bound;
        }
    }
}

/// Returns the box of a record in the first lane.
fn block_of(record: &Record) -> Block {
    let mut block = EMPTY;
    let bounds = [record.low, record.high].map(|bounds| bounds.map(unordered));
    write_lane(&mut block, 0, bounds);
    block
}

fn parent(children: &[Block]) -> Block {
    let mut block = EMPTY;
    for (lane, [lows, highs]) in children.iter().enumerate() {
        for axis in 0..3 {
            // In this order of arguments, NaN is passed over.
            block[0][axis][lane] = lows[axis]
                .into_iter()
                .fold(f32::INFINITY, |least, low| smaller(low, least));
            block[1][axis][lane] = highs[axis]
                .into_iter()
                .fold(f32::NEG_INFINITY, |most, high| larger(high, most));
        }
    }
    block
}
