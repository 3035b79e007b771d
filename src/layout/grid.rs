//! Levels, cells and keys: the twin of `shaders/common/grid.wgsl` and `shaders/common/box.wgsl`, and the blocks that
//! both sides share. Tests compare both, function by function and buffer by buffer.

use bytemuck::{Pod, Zeroable};

use crate::api::descriptor::{BroadPhaseDescriptor, Scheme};
use crate::api::types::Aabb;
use crate::shared::wgsl::number;

/// Levels of the hierarchical scheme: octaves above the finest cell. Larger boxes go to the large list.
pub const MAX_LEVELS: u32 = number("common/grid", "MAX_LEVELS");
/// Objects of [`Scheme::Uniform`] that cover more cells than this go to the large list.
pub const MAX_COVER: u32 = number("common/grid", "MAX_COVER");

pub(crate) const NO_LEVEL: u32 = MAX_LEVELS;
pub(crate) const CELL_LIMIT: i32 = number("common/grid", "CELL_LIMIT") as i32;
pub(crate) const X_DETAIL: u32 = number("common/grid", "X_DETAIL");
pub(crate) const DENSE: u32 = number("common/grid", "DENSE");
/// Row and slab strides of hashed tables. Modulo 128 all cells of a stencil (differences up to 3 an axis) fall into
/// different slots, modulo 1024 all cells that one box of [`MAX_COVER`] cells covers; so they do in every larger table.
pub(crate) const HASH_Y: u32 = number("common/grid", "HASH_Y");
pub(crate) const HASH_Z: u32 = number("common/grid", "HASH_Z");
/// Slots from a world to the next in hashed tables.
pub(crate) const HASH_WORLD: u32 = number("common/grid", "HASH_WORLD");
pub(crate) const TABLE_CELLS_PER_OBJECT: u32 = number("table/levels", "TABLE_CELLS_PER_OBJECT");
pub(crate) const TABLE_CELLS_PER_LEVEL: u32 = number("table/levels", "TABLE_CELLS_PER_LEVEL");
/// The smallest hashed table of the uniform scheme: see [`HASH_Y`].
pub(crate) const SMALLEST_UNIFORM_TABLE: u32 = 1024;

pub(crate) const ID_MASK: u32 = number("common/box", "ID_MASK");
/// Set on entries whose cell is that of the object's lower corner along an axis, a bit each for x, y and z. All of them
/// are set on one entry of each object: that of its home cell.
pub(crate) const PRIMARY_FLAGS: u32 = number("common/box", "PRIMARY_FLAGS");
/// Groups of entries of the uniform scheme, by their home flags, in the order that they have within a cell: see
/// [`entry_group`].
pub(crate) const ENTRY_GROUPS: u32 = number("common/cells", "ENTRY_GROUPS");

pub(crate) const SCHEME_HIERARCHICAL: u32 = number("common/prelude", "SCHEME_HIERARCHICAL");
pub(crate) const SCHEME_UNIFORM: u32 = number("common/prelude", "SCHEME_UNIFORM");
pub(crate) const SCHEME_ADAPTIVE: u32 = number("common/prelude", "SCHEME_ADAPTIVE");

/// The uniform block of a step: `Params` in `shaders/common/prelude.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, encase::ShaderType)]
pub struct Params {
    /// Objects of the table: those from `first_object` on.
    pub object_count: u32,
    /// Rays of the step.
    pub ray_count: u32,
    /// Sorted entries that the buffers hold, without those of the cover table.
    pub entry_capacity: u32,
    /// Cells that the table holds.
    pub table_capacity: u32,
    /// Pairs that the output holds.
    pub pair_capacity: u32,
    /// Hits that the output holds.
    pub hit_capacity: u32,
    /// Place of the first pair that is written.
    pub first_pair: u32,
    /// Place of the first hit that is written.
    pub first_hit: u32,
    /// 0 hierarchical, 1 uniform, 2 adaptive.
    pub scheme: u32,
    /// Uniform scheme: rounded inverse of the cell size. Adaptive scheme: inverse of half the smallest scale.
    pub cell_inverse: f32,
    /// Objects that the choice of the finest cell looks at.
    pub sample_count: u32,
    /// Distance between two of them.
    pub sample_stride: u32,
    /// 2 or 3.
    pub dimensions: u32,
    /// Worlds, at least one.
    pub world_count: u32,
    /// Slots of the large list less one: worlds share them.
    pub large_mask: u32,
    /// Boxes are grown by this on every side.
    pub margin: f32,
    /// Vectors of four words that a ray takes: 2 ([`Ray`](crate::Ray)) or 4 ([`SweptRay`](crate::SweptRay)).
    pub ray_stride: u32,
    /// Cells of rays that the output holds.
    pub ray_cell_capacity: u32,
    /// Place of the first cell of a ray that is written.
    pub first_ray_cell: u32,
    /// Period of x, 0 where it has none.
    pub period_x: f32,
    /// Period of y.
    pub period_y: f32,
    /// Period of z.
    pub period_z: f32,
    /// Queries of the step; where the objects ask, the objects.
    pub query_count: u32,
    /// 1 where queries take three vectors of four words ([`Query`](crate::Query)), 0 where two ([`Aabb`]).
    pub wide_queries: u32,
    /// 1 where the objects ask for their neighbours, 2 where for their partners, else 0.
    pub self_query: u32,
    /// 1 where just objects after the one that asks are wanted.
    pub half: u32,
    /// How far neighbours may be.
    pub radius: f32,
    /// Nearest objects wanted a query; 0 where all results are.
    pub nearest: u32,
    /// Results of queries that the output holds.
    pub result_capacity: u32,
    /// Place of the first result that is written.
    pub first_result: u32,
    /// Words of bits that counting keeps of an entry's box tests, a bit each; 0 where boxes do not crowd.
    pub pair_bit_words: u32,
    /// The first object of the table.
    pub first_object: u32,
    /// Static objects of the step: the first ones. Their table is one of its own.
    pub static_count: u32,
    /// Rows of pair counts: one an entry and, where there are static objects, one a moving object.
    pub pair_rows: u32,
    /// Queries of a dispatch: all, or as many as objects of the table whose objects ask.
    pub querier_count: u32,
    /// 1 where rays are walked in the order of where they start.
    pub rays_sorted: u32,
    /// Hits of a ray that counting keeps for writing.
    pub cached_hits: u32,
    /// Partners of an entry that counting keeps for writing.
    pub cached_partners: u32,
    /// Entries that the cover table has room for, behind those of the objects.
    pub large_table_capacity: u32,
    /// One more than the word of a buffer that says how many of the objects take part; 0 where all do.
    pub object_limit: u32,
    /// 1 where records have clusters if the scene is crowded.
    pub has_clusters: u32,
    /// Which form of `pair_count` runs: 0 where the device chooses, [`VARIANT_SPARSE`] or [`VARIANT_CROWDED`].
    pub pair_variant: u32,
}

/// The form of `pair_count` for scenes that are not crowded.
pub const VARIANT_SPARSE: u32 = number("common/clusters", "VARIANT_SPARSE");
/// The form of `pair_count` for crowded scenes.
pub const VARIANT_CROWDED: u32 = number("common/clusters", "VARIANT_CROWDED");

/// Objects that the choice of the finest cell looks at, for each unit of the square root of their number: as many of
/// them share a cell then, whatever the number is.
const SAMPLES_PER_ROOT: u32 = 16;
/// Objects that it looks at, at most.
const MAX_SAMPLES: u32 = 16_384;

impl Params {
    /// The block of a table of so many objects behind so many static ones. Nothing is asked of it yet, and only entries
    /// have a capacity, that of the schemes of one entry per object.
    pub(crate) fn of_table(descriptor: &BroadPhaseDescriptor<'_>, object_count: u32, first_object: u32) -> Self {
        let samples = (SAMPLES_PER_ROOT * object_count.isqrt()).clamp(1, MAX_SAMPLES);
        let sample_stride = object_count.div_ceil(samples).max(1);
        let [period_x, period_y, period_z] = descriptor.periods;
        Self {
            object_count,
            entry_capacity: object_count,
            scheme: scheme_number(descriptor.scheme),
            cell_inverse: cell_inverse(descriptor.scheme),
            sample_count: object_count.div_ceil(sample_stride),
            sample_stride,
            dimensions: descriptor.dimensions.count(),
            world_count: descriptor.worlds,
            large_mask: large_mask(descriptor.worlds),
            // Devices may flush it: to them it would be no margin, and to others one.
            margin: flush(descriptor.margin),
            period_x,
            period_y,
            period_z,
            first_object,
            has_clusters: u32::from(!matches!(descriptor.scheme, Scheme::Uniform { .. })),
            ..Self::default()
        }
    }

    /// The block of walks of the static objects' table, of a step with this block.
    pub(crate) fn of_statics(&self) -> Self {
        Self {
            object_count: self.static_count,
            first_object: 0,
            ..*self
        }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.scheme == SCHEME_UNIFORM
    }

    /// Whether the finest cell is found, not given.
    pub fn is_hierarchical(&self) -> bool {
        self.scheme == SCHEME_HIERARCHICAL
    }

    /// Whether some of the objects are static and have a table of their own.
    pub(crate) fn has_statics(&self) -> bool {
        self.static_count > 0
    }

    /// All objects, static ones among them.
    pub(crate) fn all_objects(&self) -> u32 {
        self.static_count + self.object_count
    }

    pub(crate) fn has_worlds(&self) -> bool {
        self.world_count > 1
    }

    /// Whether rays are walked in the order of where they start.
    pub(crate) const fn sorts_rays(&self) -> bool {
        self.rays_sorted != 0
    }

    /// What schemes of one entry per object take, or that of covered cells.
    pub(crate) fn by_scheme<T>(&self, single_cell: T, multi_cell: T) -> T {
        if self.is_uniform() { multi_cell } else { single_cell }
    }
}

/// One level of the grid: `Level` in the shaders. 64 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Level {
    /// One over the side of a cell along y and z; adaptive scheme: over half of it.
    pub inverse: f32,
    /// Objects of the level.
    pub count: u32,
    /// First cell of the level in the table.
    pub table_base: u32,
    /// Cells of the level in the table.
    pub table_size: u32,
    /// All ones where every cell within the bounds has a slot of its own, else the hash mask.
    pub table_mask: u32,
    /// Slots from a row to the next along y.
    pub stride_y: u32,
    /// Slots from a row to the next along z.
    pub stride_z: u32,
    /// Fine cells of x are shifted right by this before they are looked up.
    pub x_shift: u32,
    /// Lowest occupied fine cell of x.
    pub lower_x: i32,
    /// Lowest occupied cell of y.
    pub lower_y: i32,
    /// Lowest occupied cell of z.
    pub lower_z: i32,
    /// The next coarser occupied level, or 32.
    pub next: u32,
    /// Highest occupied fine cell of x.
    pub upper_x: i32,
    /// Highest occupied cell of y.
    pub upper_y: i32,
    /// Highest occupied cell of z.
    pub upper_z: i32,
    /// Slots from a world to the next.
    pub stride_world: u32,
}

/// The grid of a step: `Grid` in the shaders. 2,160 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Grid {
    /// As [`Level::inverse`], of the finest level.
    pub base_inverse: f32,
    /// Cells of x are finer than those of y and z by this power of two.
    pub x_detail: u32,
    /// Finest occupied level, or 32.
    pub first_level: u32,
    /// Cells of the table. From this key on come those of the large list, then that of objects that take no part.
    pub table_cells: u32,
    /// Sorted entries, those of the cover table among them.
    pub entry_count: u32,
    /// The occupied levels, a bit each.
    pub occupied: u32,
    /// The level of most objects, or 32.
    pub fullest_level: u32,
    /// Objects of levels below this look larger ones up in the cover table; 0 where there is none.
    pub large_table_below: u32,
    /// Cells of that table are those of level `large_table_below - 1` shifted right by this.
    pub large_table_shift: u32,
    /// Keys that the cell table has a start of: those of cells, of the large list, of what takes no part and, where
    /// there is a cover table, of its cells and past them.
    pub key_count: u32,
    /// The levels whose cells hold many boxes, as a sample of all boxes shows: a bit each.
    pub crowded_levels: u32,
    /// 1 where the level of most objects is one of them, and with [`Scheme::Adaptive`](crate::Scheme::Adaptive): walks
    /// then pass over boxes by clusters, whose boxes lie behind the records.
    pub is_crowded: u32,
    /// The levels; only occupied ones are filled in.
    pub levels: [Level; MAX_LEVELS as usize],
    /// Larger boxes once more, in every cell that they cover, for the pairs of smaller ones: `table_base` is the key of
    /// the first cell, `count` the number of entries, `next` the finest level that is too coarse to be entered. Its
    /// bounds are told in its own cells, whole ones of x too.
    pub cover: Level,
}

impl Grid {
    /// The occupied levels with their indices, finest first.
    pub(crate) fn occupied_levels(&self) -> impl DoubleEndedIterator<Item = (u32, &Level)> {
        let levels = (0u32..MAX_LEVELS).zip(&self.levels[..]);
        levels.filter(|(index, _)| self.occupied & (1 << index) != 0)
    }
}

/// A box as ordered integers, an object index with it: `records` in the shaders. 32 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Record {
    /// Lower corner.
    pub low: [i32; 3],
    /// The object.
    pub object: u32,
    /// Upper corner.
    pub high: [i32; 3],
    /// The object's world.
    pub world: u32,
}

/// What an object's bits say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Finite,
    Infinite,
    Invalid,
    Excluded,
}

/// Level and cells of the corners of an object of finite bounds; `level` is [`NO_LEVEL`] for the large list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub level: u32,
    pub lower: [i32; 3],
    pub upper: [i32; 3],
}

const LARGE: Placement = Placement {
    level: NO_LEVEL,
    lower: [0; 3],
    upper: [0; 3],
};

/// Order-preserving integer of a float: −0 equals +0.
pub(crate) fn ordered(value: f32) -> i32 {
    let bits = value.to_bits();
    if bits < 0x8000_0000 {
        bits as i32
    } else {
        0x8000_0000u32.wrapping_sub(bits) as i32
    }
}

pub(crate) fn unordered(value: i32) -> f32 {
    f32::from_bits(if value >= 0 {
        value as u32
    } else {
        0x8000_0000u32.wrapping_sub(value as u32)
    })
}

/// Denormals become zero, as on hardware that flushes them.
pub(crate) fn flush(value: f32) -> f32 {
    if value.to_bits() & 0x7f80_0000 == 0 { 0.0 } else { value }
}

/// `value` moved outward by a length and by one float more, which outweighs the rounding, as an ordered integer.
/// `direction` is 1 or −1. An infinite bound stays as it is.
pub(crate) fn grown(value: f32, length: f32, direction: i32) -> i32 {
    if value.is_infinite() {
        return ordered(value);
    }
    let infinity = ordered(f32::INFINITY);
    let moved = ordered(flush(flush(value) + direction as f32 * length));
    (moved + direction).clamp(-infinity, infinity)
}

pub(crate) fn classify(object: &Aabb) -> Class {
    if object.owner & Aabb::EXCLUDED != 0 {
        return Class::Excluded;
    }
    let bounds = || object.min.into_iter().chain(object.max);
    if bounds().any(f32::is_nan) || (0..3).any(|axis| ordered(object.min[axis]) > ordered(object.max[axis])) {
        Class::Invalid
    } else if bounds().any(f32::is_infinite) {
        Class::Infinite
    } else {
        Class::Finite
    }
}

pub(crate) fn level_inverse(base_inverse: f32, level: u32) -> f32 {
    f32::from_bits(base_inverse.to_bits().wrapping_sub(level << 23))
}

pub(crate) fn axis_inverse(inverse: f32, x_detail: u32) -> [f32; 3] {
    [inverse * (1u32 << x_detail) as f32, inverse, inverse]
}

impl Params {
    pub(crate) fn x_detail(&self) -> u32 {
        if self.scheme == SCHEME_HIERARCHICAL {
            X_DETAIL
        } else {
            0
        }
    }

    /// Cells, of y and z, that an object reaches into past the one that it is entered in.
    pub(crate) fn cell_reach(&self) -> i32 {
        i32::from(self.scheme == SCHEME_HIERARCHICAL)
    }

    pub(crate) fn large_key(&self, grid: &Grid, world: u32) -> u32 {
        grid.table_cells + (world & self.large_mask)
    }

    pub(crate) fn absent_key(&self, grid: &Grid) -> u32 {
        grid.table_cells + self.large_mask + 1
    }

    /// The objects of the table among those of the step.
    pub(crate) fn objects<'a>(&self, objects: &'a [Aabb]) -> &'a [Aabb] {
        let objects = objects.get(self.first_object as usize..).unwrap_or_default();
        &objects[..objects.len().min(self.object_count as usize)]
    }

    /// The object of a sample, among those of the table: twin of `sampled_object` in `shaders/table/sample_statistics.wgsl`.
    pub(crate) fn sampled_object(&self, sample: u32) -> usize {
        let stride = self.sample_stride.max(1);
        let offset = (sample.wrapping_mul(0x9e37_79b1) >> 16) % stride;
        (sample * stride + offset).min(self.object_count.saturating_sub(1)) as usize
    }

    /// Slots of the hash table of each octave of cells that samples are entered in: twin of `octave_buckets` in
    /// `shaders/table/octave.wgsl`.
    pub const fn octave_buckets(&self) -> u32 {
        2 << (u32::BITS - (self.sample_count.saturating_sub(1) | 1).leading_zeros())
    }

    /// Sorted entries that the buffers hold, those of the cover table among them.
    pub(crate) const fn table_entries(&self) -> u32 {
        self.entry_capacity + self.large_table_capacity
    }

    /// Moving objects where there are static ones: rows of pair counts behind those of the entries.
    pub(crate) const fn static_rows(&self) -> u32 {
        self.pair_rows - self.entry_capacity
    }

    /// The world of an object of the table. An object without one is not looked at:
    /// [`prepare`](crate::reference::table::prepare) made it invalid.
    pub(crate) fn world_of(&self, worlds: &[u32], object: usize) -> u32 {
        if self.world_count <= 1 { 0 } else { worlds[object] }
    }
}

/// The group of an entry, by its home flags: all of them; all but x; all but y; all but z; the rest. A pair is of
/// interest in a cell where each flag is set on one of its entries, so that only the first four groups look for
/// partners, and only behind them.
///
/// Source of the idea: Tsitsigkos, Lampropoulos, Bouros, Mamoulis and Terrovitis, "A Two-layer Partitioning for
/// Non-point Spatial Data", 2021.
pub(crate) const fn entry_group(value: u32) -> u32 {
    match value >> 29 {
        7 => 0,
        6 => 1,
        5 => 2,
        3 => 3,
        _ => 4,
    }
}

/// Monotone in the position, which is all that correctness asks of it. Adaptive layers are shifted by half a cell:
/// their inverse is that of half a cell, and the halves `2c - 1` and `2c` are cell `c`.
pub(crate) fn cell_of(scheme: u32, position: [f32; 3], inverse: [f32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| {
        let cell = flush(position[axis] * inverse[axis])
            .clamp(-(CELL_LIMIT as f32), CELL_LIMIT as f32)
            .floor() as i32;
        if scheme == SCHEME_ADAPTIVE {
            (cell + 1) >> 1
        } else {
            cell
        }
    })
}

fn within_cell_limit(scheme: u32, lower: [i32; 3], upper: [i32; 3]) -> bool {
    let limit = if scheme == SCHEME_ADAPTIVE {
        CELL_LIMIT / 2
    } else {
        CELL_LIMIT
    };
    lower.iter().all(|&cell| cell > -limit) && upper.iter().all(|&cell| cell < limit)
}

/// One entry an object: the first level at which the box spans at most two cells of y and z and a whole cell of fine
/// ones of x (hierarchical), or of which one cell holds the box (adaptive).
pub(crate) fn place_single_cell(params: &Params, low: [f32; 3], high: [f32; 3], base_inverse: f32) -> Placement {
    let reach = params.cell_reach();
    let detail = params.x_detail();
    let span = [reach << detail, reach, reach];
    for level in 0..MAX_LEVELS {
        let inverse = axis_inverse(level_inverse(base_inverse, level), detail);
        let lower = cell_of(params.scheme, low.map(flush), inverse);
        let upper = cell_of(params.scheme, high.map(flush), inverse);
        let fits = |axis: usize| upper[axis] - lower[axis] <= span[axis];
        if within_cell_limit(params.scheme, lower, upper) && (0..3).all(fits) {
            return Placement { level, lower, upper };
        }
    }
    LARGE
}

pub(crate) fn place_uniform(low: [f32; 3], high: [f32; 3], cell_inverse: f32) -> Placement {
    let lower = cell_of(SCHEME_UNIFORM, low.map(flush), [cell_inverse; 3]);
    let upper = cell_of(SCHEME_UNIFORM, high.map(flush), [cell_inverse; 3]);
    if within_cell_limit(SCHEME_UNIFORM, lower, upper) {
        let cells = (0..3)
            .map(|axis| (upper[axis] - lower[axis]) as u64 + 1)
            .try_fold(1u64, u64::checked_mul);
        if cells.is_some_and(|cells| cells <= u64::from(MAX_COVER)) {
            return Placement { level: 0, lower, upper };
        }
    }
    LARGE
}

/// Whether the uniform scheme enters the object in cells: it is not of the large list, nor without a part in the table.
pub(crate) fn is_in_cells(object: &Aabb, cell_inverse: f32) -> bool {
    classify(object) == Class::Finite && place_uniform(object.min, object.max, cell_inverse).level != NO_LEVEL
}

/// The placement that the step's scheme gives an object of finite bounds, where the finest cell has this inverse.
pub(crate) fn place(params: &Params, base_inverse: f32, object: &Aabb) -> Placement {
    if params.scheme == SCHEME_UNIFORM {
        place_uniform(object.min, object.max, base_inverse)
    } else {
        place_single_cell(params, object.min, object.max, base_inverse)
    }
}

/// Slot of a cell within its level's part of the table; `x` is already shifted.
pub(crate) fn bucket_of(level: &Level, x: i32, y: i32, z: i32, world: u32) -> u32 {
    let distance = |cell: i32, lower: i32| cell.wrapping_sub(lower) as u32;
    distance(x, level.lower_x >> level.x_shift)
        .wrapping_add(distance(y, level.lower_y).wrapping_mul(level.stride_y))
        .wrapping_add(distance(z, level.lower_z).wrapping_mul(level.stride_z))
        .wrapping_add(world.wrapping_mul(level.stride_world))
        & level.table_mask
}

pub(crate) fn key_of(level: &Level, cell: [i32; 3], world: u32) -> u32 {
    level.table_base + bucket_of(level, cell[0] >> level.x_shift, cell[1], cell[2], world)
}

/// Entries of the uniform scheme that room is made for at first.
pub(crate) fn first_entries(objects: u32, wanted: Option<u32>) -> u64 {
    wanted.map_or(4 * u64::from(objects) + 64, u64::from)
}

/// Cells that the table has room for: what [`layout`](crate::reference::table::layout) may hand out. Depends on the
/// input and the descriptor alone, not on how far buffers have grown: it decides the order of the results.
pub(crate) fn table_capacity(scheme: u32, objects: u32, wanted_entries: Option<u32>) -> u64 {
    if scheme == SCHEME_UNIFORM {
        (2 * first_entries(objects, wanted_entries)).max(u64::from(SMALLEST_UNIFORM_TABLE))
    } else {
        u64::from(TABLE_CELLS_PER_OBJECT) * u64::from(objects)
            + u64::from(TABLE_CELLS_PER_LEVEL) * u64::from(objects.min(MAX_LEVELS))
    }
}

/// The large list has a slot a world, up to this many.
const LARGE_BUCKETS: u32 = 1 << 16;

/// Slots of the large list less one.
pub(crate) fn large_mask(worlds: u32) -> u32 {
    worlds.min(LARGE_BUCKETS).next_power_of_two() - 1
}

/// The inverse that the uniform block has of the scheme.
pub(crate) fn cell_inverse(scheme: Scheme) -> f32 {
    match scheme {
        Scheme::Hierarchical => 0.0,
        Scheme::Uniform { cell_size } => 1.0 / cell_size,
        Scheme::Adaptive { min_scale } => {
            // Up to the next power of two; twice its inverse is exact.
            let exponent = (min_scale.to_bits() + 0x007f_ffff) >> 23;
            f32::from_bits((255 - exponent) << 23)
        }
    }
}

/// The number that the uniform block has of the scheme.
pub(crate) const fn scheme_number(scheme: Scheme) -> u32 {
    match scheme {
        Scheme::Hierarchical => SCHEME_HIERARCHICAL,
        Scheme::Uniform { .. } => SCHEME_UNIFORM,
        Scheme::Adaptive { .. } => SCHEME_ADAPTIVE,
    }
}

/// Bits of the largest key: the table's cells, those of the cover table among them, the large list's slots and the key
/// past those.
pub(crate) fn key_bits(table_capacity: u32, large_mask: u32) -> u32 {
    32 - (table_capacity + large_mask + 1).leading_zeros()
}

/// Entries that the cover table may have. Pairs alone look boxes up there, and their order depends on it: so it depends
/// on the input and the descriptor alone, and on a device on what that has room for.
pub(crate) fn large_table_capacity(params: &Params, pairs: bool) -> u32 {
    if pairs && params.scheme == SCHEME_HIERARCHICAL {
        params.object_count / 4
    } else {
        0
    }
}

/// Records that consecutive ones share a box with, which lies behind all records.
pub const CLUSTER: u32 = number("common/clusters", "CLUSTER");

/// Records that a table holds: those of its entries or objects, those of the cover table, and a box per cluster.
pub(crate) fn record_capacity(params: &Params) -> u32 {
    let records = params.object_count + params.large_table_capacity;
    records + params.has_clusters * records.div_ceil(CLUSTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_integers_keep_the_order_of_floats_and_come_back() {
        let values = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            -1e-45,
            0.0,
            1e-45,
            f32::MIN_POSITIVE,
            1.0,
            f32::MAX,
            f32::INFINITY,
        ];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert_eq!(ordered(-0.0), ordered(0.0));
        assert!(
            values
                .iter()
                .all(|&value| unordered(ordered(value)).to_bits() == value.to_bits())
        );
    }

    /// Every table size from the smallest: it is enough that no difference is a multiple of the smallest size.
    #[test]
    fn hashed_slots_are_injective_over_stencil_and_cover_in_every_table() {
        let slot = |x: i32, y: i32, z: i32| {
            (x as u32)
                .wrapping_add((y as u32).wrapping_mul(HASH_Y))
                .wrapping_add((z as u32).wrapping_mul(HASH_Z))
        };
        for bits in 7..32 {
            let mask = (1u32 << bits) - 1;
            for x in -63i32..=63 {
                for y in -63i32..=63 {
                    for z in -63i32..=63 {
                        let differs = (x, y, z) != (0, 0, 0);
                        let stencil = x.abs().max(y.abs()).max(z.abs()) <= 3;
                        let cover = bits >= 10
                            && (x.unsigned_abs() + 1) * (y.unsigned_abs() + 1) * (z.unsigned_abs() + 1) <= MAX_COVER;
                        if differs && (stencil || cover) {
                            assert_ne!(slot(x, y, z) & mask, 0, "{x} {y} {z} in a table of 2^{bits}");
                        }
                    }
                }
            }
        }
    }
}
