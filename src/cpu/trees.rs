//! Trees over the boxes of a table, for searches in any order.

use super::boxes::{Block, LANES, lanes_where, larger, smaller};
use crate::api::types::{Aabb, NONE};
use crate::layout::grid::{Params, Record, ordered, unordered};
use crate::reference::rows::CellTable;
use crate::shared::runs::{join, map};

/// Axes on which a box is shorter than this share of its longest side do not count as long.
const SHORT: f32 = 0.25;
/// Sets of long axes.
const SHAPES: usize = 7;
/// Trees of 32 levels and of the large list.
const ROOTS: usize = 33;
/// Nodes on the way to a leaf of 2^32 entries.
const PATH: usize = 8 * 11;
/// Fewer items are arranged by one thread.
const MANY: usize = 4096;
/// No distance of these boxes is at most any other.
const EMPTY: Block = [[[f32::NAN; LANES]; 3]; 2];

/// For each world, one tree per level and one for the large list; for pairs, one per set of long axes. The eight
/// children of a node follow each other.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    /// Boxes of the children of each node. Leaves come first, whose children are objects.
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
    /// Boxes with infinite bounds, which are in no tree.
    infinite: Vec<Record>,
    /// Largest coordinate of the other boxes.
    pub size: f32,
    pub have_filters: bool,
}

/// Use of a tree, which decides the shape of its nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Purpose {
    /// Nodes are nearly cubes.
    Queries,
    /// Nodes are nearly shaped like their boxes, so that few nodes meet. Boxes of other long axes are in other trees.
    Pairs,
}

/// Center and entry of a box.
type Item = ([f32; 3], u32);

impl Trees {
    pub fn new(params: &Params, table: CellTable<'_>, have_filters: bool, purpose: Purpose) -> Self {
        let record = |entry: u32| &table.records[entry as usize];
        let is_finite = |entry: &u32| {
            let Record { low, high, .. } = record(*entry);
            let mut bounds = low.iter().chain(high);
            bounds.all(|&bound| unordered(bound).is_finite())
        };
        let large = table.large_begin()..table.ignored_begin(params);
        let (large, infinite): (Vec<_>, Vec<_>) = large.partition(is_finite);
        let levels = table.grid.occupied_levels().map(|(_, level)| {
            let [first, end] = [0, level.table_size].map(|bucket| table.starts[(level.table_base + bucket) as usize]);
            (first..end).collect()
        });
        let mut groups: Vec<Vec<u32>> = levels.chain([large]).collect();
        let of_tree = |entry: u32| {
            let record = record(entry);
            let shape = if purpose == Purpose::Pairs {
                long_axes(record)
            } else {
                0
            };
            (record.world, shape)
        };
        if params.has_worlds() || purpose == Purpose::Pairs {
            for entries in &mut groups {
                entries.sort_by_cached_key(|&entry| of_tree(entry));
            }
        }
        let trees = groups
            .iter()
            .flat_map(|entries| entries.chunk_by(|&a, &b| of_tree(a) == of_tree(b)));
        let (mut blocks, mut names, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
        for entries in trees {
            let mut items = map(entries.len() as u32, |index| {
                let entry = entries[index as usize];
                let Record { low, high, .. } = record(entry);
                let center = |axis: usize| 0.5 * unordered(low[axis]) + 0.5 * unordered(high[axis]);
                ([0, 1, 2].map(center), entry)
            });
            let centers = |axis: usize| items.iter().map(move |item| item.0[axis]);
            let low = [0, 1, 2].map(|axis| centers(axis).fold(f32::INFINITY, f32::min));
            let high = [0, 1, 2].map(|axis| centers(axis).fold(f32::NEG_INFINITY, f32::max));
            let sides = match purpose {
                Purpose::Queries => [1.0; 3],
                Purpose::Pairs => {
                    let mean = |axis: usize| {
                        let lengths = items.iter().map(|&(_, entry)| lengths(record(entry))[axis]);
                        lengths.sum::<f32>() / items.len() as f32
                    };
                    [0, 1, 2].map(mean)
                }
            };
            arrange(&mut items, [low, high], sides);
            let first = blocks.len() as u32;
            blocks.extend(map(items.len().div_ceil(LANES) as u32, |leaf| {
                let items = items[leaf as usize * LANES..].iter().take(LANES);
                block_of(items.map(|&(_, entry)| record(entry)))
            }));
            names.extend(items.iter().map(|&(_, entry)| record(entry).object));
            names.resize(blocks.len() * LANES, NONE);
            leaves.push((record(entries[0]).world, first..blocks.len() as u32));
        }
        let bounds = blocks.iter().flatten().flatten().flatten();
        let size = bounds.fold(0.0, |size, bound| larger(bound.abs(), size));
        let mut ends: Vec<_> = (1..=blocks.len()).map(|leaf| (leaf * LANES) as u32).collect();
        let (mut children, mut roots, mut worlds) = (Vec::new(), Vec::new(), Vec::new());
        for (world, mut nodes) in leaves {
            worlds.resize(nodes.end as usize, world);
            while nodes.len() > 1 {
                let firsts = nodes.clone().step_by(LANES);
                children.extend(firsts.clone());
                let parents: Vec<_> = firsts
                    .map(|first| {
                        let last = nodes.end.min(first + LANES as u32);
                        ends.push(ends[last as usize - 1]);
                        parent(&blocks[first as usize..last as usize])
                    })
                    .collect();
                nodes = blocks.len() as u32..(blocks.len() + parents.len()) as u32;
                blocks.extend(parents);
            }
            roots.push([world, nodes.start]);
        }
        roots.sort_unstable();
        Self {
            blocks,
            objects: names,
            ends,
            children,
            roots,
            worlds,
            infinite: infinite.into_iter().map(|entry| *record(entry)).collect(),
            size,
            have_filters,
        }
    }

    /// Returns these trees with the boxes of `current`. Objects without one are left out, and those of `others` are in
    /// no tree. Nodes get the bounds of their children.
    pub fn refitted(
        &self,
        current: impl Fn(u32) -> Option<Aabb> + Sync + Send,
        others: Vec<Record>,
        have_filters: bool,
    ) -> Self {
        let leaves = self.worlds.len();
        let current = |lane: usize| {
            Some(self.objects[lane])
                .filter(|&object| object != NONE)
                .and_then(&current)
        };
        let leaf = |leaf: u32| {
            let (mut block, mut objects) = (EMPTY, [NONE; LANES]);
            for lane in 0..LANES {
                let place = leaf as usize * LANES + lane;
                let Some(object) = current(place) else { continue };
                objects[lane] = self.objects[place];
                for (sides, bounds) in block.iter_mut().zip([object.min, object.max]) {
                    for (lanes, bound) in sides.iter_mut().zip(bounds) {
                        lanes[lane] = bound;
                    }
                }
            }
            (block, objects)
        };
        let (mut blocks, objects): (Vec<_>, Vec<_>) = map(leaves as u32, leaf).into_iter().unzip();
        let bounds = blocks.iter().flatten().flatten().flatten();
        let size = bounds.fold(0.0, |size, bound| larger(bound.abs(), size));
        for (node, &first) in (leaves..).zip(&self.children) {
            let first = first as usize;
            // The last node of a height may have fewer children.
            let is_child = |&place: &usize| {
                let ends = |place: usize| self.ends[place];
                place == first || (ends(place - 1) < ends(place) && ends(place) <= ends(node))
            };
            let count = (first..node.min(first + LANES)).take_while(is_child).count();
            let block = parent(&blocks[first..first + count]);
            blocks.push(block);
        }
        Self {
            blocks,
            objects: objects.into_iter().flatten().collect(),
            infinite: others,
            size,
            have_filters,
            ..self.clone()
        }
    }

    pub fn lanes(&self) -> u32 {
        self.objects.len() as u32
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
        for record in self.infinite.iter().filter(|record| record.world == world) {
            most = visit(f32::NAN, record.object, &|| *record);
        }
        let leaves = self.worlds.len();
        let mut stack = [(0.0f32, 0u32); ROOTS + PATH];
        let mut depth = 0;
        for root in self.roots_of(world) {
            stack[depth].1 = root;
            depth += 1;
        }
        while depth > 0 {
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

    fn roots_of(&self, world: u32) -> impl Iterator<Item = u32> {
        let first = self.roots.partition_point(|root| root[0] < world);
        let roots = self.roots[first..].iter().take_while(move |root| root[0] == world);
        roots.map(|root| root[1])
    }

    pub fn groups(&self) -> u32 {
        (self.worlds.len() + self.infinite.len()) as u32
    }

    pub fn group(&self, index: u32) -> Group {
        let index = index as usize;
        match index.checked_sub(self.worlds.len()) {
            None => Group {
                block: self.blocks[index],
                objects: std::array::from_fn(|lane| self.objects[index * LANES + lane]),
                world: self.worlds[index],
            },
            Some(place) => {
                let record = &self.infinite[place];
                let mut objects = [NONE; LANES];
                objects[0] = record.object;
                Group {
                    block: block_of(std::iter::once(record)),
                    objects,
                    world: record.world,
                }
            }
        }
    }

    /// Passes the objects of a group and those of these trees that their boxes meet to `visit`. With the `index` of a
    /// group of these trees, visits only its own objects and those of later groups.
    pub fn pairs(&self, group: &Group, index: Option<u32>, mut visit: impl FnMut(u32, u32)) {
        let leaves = self.worlds.len();
        let later = index
            .and_then(|index| (index as usize + 1).checked_sub(leaves))
            .unwrap_or(0);
        for record in self.infinite[later..]
            .iter()
            .filter(|record| record.world == group.world)
        {
            let mut met = lanes_met(&group.block, record.low.map(unordered), record.high.map(unordered));
            while met != 0 {
                visit(group.objects[met.trailing_zeros() as usize], record.object);
                met &= met - 1;
            }
        }
        if index.is_some_and(|index| index as usize >= leaves) {
            return;
        }
        let own = index.map_or(0, |index| index as usize);
        let [low, high] = parent(&[group.block]).map(|sides| sides.map(|lanes| lanes[0]));
        let mut stack = [0u32; ROOTS * SHAPES + PATH];
        let mut depth = 0;
        for root in self.roots_of(group.world) {
            stack[depth] = root;
            depth += 1;
        }
        while depth > 0 {
            depth -= 1;
            let node = stack[depth] as usize;
            if self.ends[node] as usize <= own * LANES {
                continue;
            }
            let block = &self.blocks[node];
            if node >= leaves {
                let mut near = lanes_met(block, low, high);
                while near != 0 {
                    stack[depth] = self.children[node - leaves] + near.trailing_zeros();
                    depth += 1;
                    near &= near - 1;
                }
                continue;
            }
            for (lane, &object) in group.objects.iter().enumerate().filter(|(_, object)| **object != NONE) {
                let [low, high] = group.corners(lane);
                let mut met = lanes_met(block, low, high);
                if index == Some(node as u32) {
                    met &= (u32::MAX << lane) << 1;
                }
                while met != 0 {
                    visit(object, self.objects[node * LANES + met.trailing_zeros() as usize]);
                    met &= met - 1;
                }
            }
        }
    }
}

/// Boxes whose pairs are found together: those of a leaf, or an infinite one.
pub(super) struct Group {
    block: Block,
    objects: [u32; LANES],
    pub world: u32,
}

impl Group {
    fn corners(&self, lane: usize) -> [[f32; 3]; 2] {
        self.block.map(|sides| sides.map(|lanes| lanes[lane]))
    }
}

/// Lanes of a block that a box meets, one bit each.
#[inline(always)]
fn lanes_met([lows, highs]: &Block, low: [f32; 3], high: [f32; 3]) -> u32 {
    lanes_where(|lane| {
        let meets = |axis: usize| (lows[axis][lane] <= high[axis]) & (low[axis] <= highs[axis][lane]);
        meets(0) & meets(1) & meets(2)
    })
}

/// Bits of the axes on which a box is long.
fn long_axes(record: &Record) -> u32 {
    let lengths = lengths(record);
    let least = SHORT * lengths.into_iter().fold(0.0, f32::max);
    (0..3).map(|axis| u32::from(lengths[axis] >= least) << axis).sum()
}

fn lengths(record: &Record) -> [f32; 3] {
    [0, 1, 2].map(|axis| unordered(record.high[axis]) - unordered(record.low[axis]))
}

fn block_of<'r>(records: impl Iterator<Item = &'r Record>) -> Block {
    let mut block = EMPTY;
    for (lane, Record { low, high, .. }) in records.enumerate() {
        for axis in 0..3 {
            block[0][axis][lane] = unordered(low[axis]);
            block[1][axis][lane] = unordered(high[axis]);
        }
    }
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
