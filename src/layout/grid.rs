//! Levels, cells and keys, as in `shaders/common/grid.wgsl` and `shaders/common/box.wgsl`, and blocks shared with the
//! device.

use bytemuck::{Pod, Zeroable};

use crate::api::descriptor::{BroadPhaseDescriptor, Scheme, SortStrategy};
use crate::api::types::{ALL_WORLDS, Aabb};
use crate::shared::wgsl::number;

/// Number of levels of the hierarchical scheme. Cell sizes double from level to level. Larger boxes go to the large
/// list.
pub const MAX_LEVELS: u32 = number("common/grid", "MAX_LEVELS");
/// Maximum cells per object of [`Scheme::Uniform`]. Objects that cover more go to the large list.
pub const MAX_COVER: u32 = number("common/grid", "MAX_COVER");

pub(crate) const NO_LEVEL: u32 = MAX_LEVELS;
pub(crate) const CELL_LIMIT: i32 = number("common/grid", "CELL_LIMIT") as i32;
pub(crate) const X_DETAIL: u32 = number("common/grid", "X_DETAIL");
const STRETCH_BITS: u32 = number("common/grid", "STRETCH_BITS");
pub(crate) const DENSE: u32 = number("common/grid", "DENSE");
/// Strides of y and z in hashed tables, in buckets. Cells of a stencil (differences up to 3 per axis) have different
/// buckets modulo 128. Cells of one box, up to [`MAX_COVER`], have different buckets modulo 1024, so in every larger
/// table.
pub(crate) const HASH_Y: u32 = number("common/grid", "HASH_Y");
pub(crate) const HASH_Z: u32 = number("common/grid", "HASH_Z");
pub(crate) const HASH_WORLD: u32 = number("common/grid", "HASH_WORLD");
pub(crate) const TABLE_CELLS_PER_OBJECT: u32 = number("table/levels", "TABLE_CELLS_PER_OBJECT");
pub(crate) const TABLE_CELLS_PER_LEVEL: u32 = number("table/levels", "TABLE_CELLS_PER_LEVEL");
/// Smallest hashed table of the uniform scheme, in buckets; see [`HASH_Y`].
pub(crate) const SMALLEST_UNIFORM_TABLE: u32 = 1024;

pub(crate) const ID_MASK: u32 = number("common/box", "ID_MASK");
/// Flags of an entry for x, y and z: set if the entry's cell is that of the object's lower corner along that axis. Only
/// the primary entry, in the cell of the lower corner, has all three.
pub(crate) const PRIMARY_FLAGS: u32 = number("common/box", "PRIMARY_FLAGS");
pub(crate) const ENTRY_GROUPS: u32 = number("common/cells", "ENTRY_GROUPS");

pub(crate) const SCHEME_HIERARCHICAL: u32 = number("common/prelude", "SCHEME_HIERARCHICAL");
pub(crate) const SCHEME_UNIFORM: u32 = number("common/prelude", "SCHEME_UNIFORM");
pub(crate) const SCHEME_ADAPTIVE: u32 = number("common/prelude", "SCHEME_ADAPTIVE");

/// Block of a table: `Params` of `shaders/common/prelude.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, encase::ShaderType)]
pub struct Params {
    /// Number of objects of the table, from `first_object` on.
    pub object_count: u32,
    /// Capacity for entries, without the large-object table.
    pub entry_capacity: u32,
    /// Capacity for cells.
    pub table_capacity: u32,
    /// Scheme: 0 hierarchical, 1 uniform, 2 adaptive.
    pub scheme: u32,
    /// Uniform: 1 / cell size, rounded. Adaptive: 1 / (half the smallest cell size).
    pub cell_inverse: f32,
    /// Number of objects sampled to choose the finest cell.
    pub sample_count: u32,
    /// One object is sampled per this number of objects.
    pub sample_stride: u32,
    /// Dimensions: 2 or 3.
    pub dimensions: u32,
    /// Number of worlds, at least 1.
    pub world_count: u32,
    /// Number of buckets of the large list for single worlds, minus 1. Worlds share them.
    pub large_mask: u32,
    /// Number of buckets of the large list. With several worlds, the last is that of objects of all worlds.
    pub large_buckets: u32,
    /// Length by which boxes grow on every side.
    pub margin: f32,
    /// Period along x; 0 if not periodic.
    pub period_x: f32,
    /// Period along y.
    pub period_y: f32,
    /// Period along z.
    pub period_z: f32,
    /// Index of the table's first object.
    pub first_object: u32,
    /// Number of static objects. They have the lowest indices and their own table.
    pub static_count: u32,
    /// Capacity for entries of the large-object table, which follow the entries of objects.
    pub large_table_capacity: u32,
    /// Index of the word that holds the object count, plus 1; 0 without a count.
    pub object_limit: u32,
    /// 1 if there is room for clusters, which crowded scenes use.
    pub has_clusters: u32,
    /// Objects per workgroup of `keys` and `large_table_emit`.
    pub large_table_tile: u32,
}

/// Variant of `pair_count` for sparse scenes.
pub const VARIANT_SPARSE: u32 = number("common/clusters", "VARIANT_SPARSE");
/// Variant of `pair_count` for crowded scenes.
pub const VARIANT_CROWDED: u32 = number("common/clusters", "VARIANT_CROWDED");

/// Samples per square root of the object count, so that sample pairs per cell do not depend on that count.
const SAMPLES_PER_ROOT: u32 = 16;
const MAX_SAMPLES: u32 = 16_384;
pub(crate) const LARGE_TABLE_TILE: u32 = number("common/large_table", "LARGE_TABLE_TILE");
/// Maximum objects with small tiles, for more processors.
const SMALL_TILES_UNTIL: u32 = 1 << 17;
const SMALL_TILE: u32 = 256;

impl Params {
    /// Capacities are 0, except for one entry per object.
    pub(crate) fn of_table(descriptor: &BroadPhaseDescriptor<'_>, object_count: u32, first_object: u32) -> Self {
        let samples = (SAMPLES_PER_ROOT * object_count.isqrt()).clamp(1, MAX_SAMPLES);
        let sample_stride = object_count.div_ceil(samples).max(1);
        let [period_x, period_y, period_z] = descriptor.periods;
        let has_small_tiles = descriptor.sort != SortStrategy::SerialTiles && object_count <= SMALL_TILES_UNTIL;
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
            large_buckets: large_mask(descriptor.worlds) + 1 + u32::from(descriptor.has_worlds()),
            // Flushes denormals, so that all devices agree.
            margin: flush(descriptor.margin),
            period_x,
            period_y,
            period_z,
            first_object,
            has_clusters: u32::from(!matches!(descriptor.scheme, Scheme::Uniform { .. })),
            large_table_tile: if has_small_tiles { SMALL_TILE } else { LARGE_TABLE_TILE },
            ..Self::default()
        }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.scheme == SCHEME_UNIFORM
    }

    /// Returns true if the device chooses the finest cell.
    pub fn is_hierarchical(&self) -> bool {
        self.scheme == SCHEME_HIERARCHICAL
    }

    #[doc(hidden)]
    pub fn large_table_tiles(&self) -> u32 {
        self.object_count.div_ceil(self.large_table_tile)
    }

    pub(crate) fn has_statics(&self) -> bool {
        self.static_count > 0
    }

    pub(crate) fn all_objects(&self) -> u32 {
        self.static_count + self.object_count
    }

    pub(crate) fn has_worlds(&self) -> bool {
        self.world_count > 1
    }
}

/// One level of the grid: `Level` in the shaders. 64 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Level {
    /// 1 / the shortest side of a cell; see [`Grid::stretch`]. In the adaptive scheme, 1 / (half the cell size).
    pub inverse: f32,
    /// Number of objects of the level.
    pub count: u32,
    /// Index of the level's first bucket in the cell table.
    pub table_base: u32,
    /// Number of buckets of the level in the cell table.
    pub table_size: u32,
    /// All ones if every cell within the bounds has its own bucket, else the mask of the hash.
    pub table_mask: u32,
    /// Stride along y, in buckets.
    pub stride_y: u32,
    /// Stride along z, in buckets.
    pub stride_z: u32,
    /// Right shift of x cell indices, from fine cells to buckets.
    pub x_shift: u32,
    /// Lowest occupied fine cell along x.
    pub lower_x: i32,
    /// Lowest occupied cell along y.
    pub lower_y: i32,
    /// Lowest occupied cell along z.
    pub lower_z: i32,
    /// Index of the next coarser occupied level, or 32.
    pub next: u32,
    /// Highest occupied fine cell along x.
    pub upper_x: i32,
    /// Highest occupied cell along y.
    pub upper_y: i32,
    /// Highest occupied cell along z.
    pub upper_z: i32,
    /// Stride between worlds, in buckets.
    pub stride_world: u32,
}

impl Level {
    pub(crate) fn bounds(&self) -> [[i32; 3]; 2] {
        [
            [self.lower_x, self.lower_y, self.lower_z],
            [self.upper_x, self.upper_y, self.upper_z],
        ]
    }
}

/// The grid of a step: `Grid` in the shaders. 2,160 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Grid {
    /// [`Level::inverse`] of the finest level.
    pub base_inverse: f32,
    /// Octaves by which sides of cells are longer than the shortest one: bits 0 to 7 for x, 8 to 15 for y, 16 to 23 for
    /// z. 0 in other schemes than the hierarchical one, whose fine cells along x are a quarter of such a cell.
    pub stretch: u32,
    /// Index of the finest occupied level, or 32.
    pub first_level: u32,
    /// Number of buckets of all levels. Keys of the large list and of ignored objects follow.
    pub table_cells: u32,
    /// Number of sorted entries, including those of the large-object table.
    pub entry_count: u32,
    /// Bit mask of occupied levels.
    pub occupied: u32,
    /// Index of the level with the most objects, or 32.
    pub fullest_level: u32,
    /// Objects on levels below this use the large-object table. 0 without such a table.
    pub large_table_below: u32,
    /// Right shift from cells of level `large_table_below - 1` to cells of the large-object table.
    pub large_table_shift: u32,
    /// Number of keys whose first entry the cell table stores: cells, large list, ignored objects, large-object table
    /// and its end.
    pub key_count: u32,
    /// Bit mask of crowded levels, estimated from a sample.
    pub crowded_levels: u32,
    /// 1 if the fullest level is crowded; always 1 with [`Scheme::Adaptive`](crate::Scheme::Adaptive). Walks then skip
    /// boxes cluster by cluster. Bounds of clusters follow the records.
    pub is_crowded: u32,
    /// Levels. Only occupied ones are filled in.
    pub levels: [Level; MAX_LEVELS as usize],
    /// The large-object table: larger boxes entered into every cell that they cover, for pairs with smaller boxes.
    /// `table_base` is the key of its first cell, `count` its number of entries. `next` is the finest level too coarse
    /// to be entered. Bounds are in cells of this table, which are not finer along x.
    pub large_table: Level,
}

impl Grid {
    pub(crate) fn finest_cell(&self) -> FinestCell {
        FinestCell {
            inverse: self.base_inverse,
            stretch: self.stretch,
        }
    }

    pub(crate) fn occupied_levels(&self) -> impl DoubleEndedIterator<Item = (u32, &Level)> {
        let levels = (0u32..MAX_LEVELS).zip(&self.levels[..]);
        levels.filter(|(index, _)| self.occupied & (1 << index) != 0)
    }
}

/// A box with its object, 32 bytes: `records` in the shaders. Bounds are floats mapped to integers of the same order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Record {
    /// Lower corner.
    pub low: [i32; 3],
    /// Object index.
    pub object: u32,
    /// Upper corner.
    pub high: [i32; 3],
    /// World of the object.
    pub world: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Finite,
    Infinite,
    Invalid,
    Excluded,
}

/// `level` is [`NO_LEVEL`] for objects of the large list.
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

/// Maps floats to integers of the same order; −0 equals +0.
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

/// Replaces denormals by zero, as some hardware does.
pub(crate) fn flush(value: f32) -> f32 {
    if value.to_bits() & 0x7f80_0000 == 0 { 0.0 } else { value }
}

/// Returns `value` moved outward by `length` and one more float against rounding, as an ordered integer. `direction` is
/// 1 or −1. Infinite bounds do not move.
pub(crate) fn grown(value: f32, length: f32, direction: i32) -> i32 {
    if value.is_infinite() {
        return ordered(value);
    }
    let infinity = ordered(f32::INFINITY);
    let moved = ordered(flush(flush(value) + direction as f32 * length));
    (moved + direction).clamp(-infinity, infinity)
}

#[inline]
pub(crate) fn classify(object: &Aabb) -> Class {
    let is_plain = |axis: usize| {
        let [min, max] = [object.min[axis], object.max[axis]];
        (min < max) & (min >= f32::MIN) & (max <= f32::MAX)
    };
    // Most boxes, without branches.
    if is_plain(0) & is_plain(1) & is_plain(2) & (object.group & Aabb::EXCLUDED == 0) {
        return Class::Finite;
    }
    classify_any(object)
}

fn classify_any(object: &Aabb) -> Class {
    if object.group & Aabb::EXCLUDED != 0 {
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

pub(crate) fn unpacked_stretch(stretch: u32) -> [u32; 3] {
    [0, 1, 2].map(|axis| stretch >> (axis * STRETCH_BITS) & ((1 << STRETCH_BITS) - 1))
}

pub(crate) fn packed_stretch(octaves: [u32; 3]) -> u32 {
    (0..3).map(|axis| octaves[axis as usize] << (axis * STRETCH_BITS)).sum()
}

/// 1 / cell size per axis. Exact, since only exponents change.
pub(crate) fn whole_cell_inverse(inverse: f32, stretch: u32) -> [f32; 3] {
    unpacked_stretch(stretch).map(|octaves| level_inverse(inverse, octaves))
}

/// Size of the cells of level 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FinestCell {
    /// 1 / the shortest side.
    pub inverse: f32,
    /// As [`Grid::stretch`].
    pub stretch: u32,
}

impl FinestCell {
    pub const fn cube(inverse: f32) -> Self {
        Self { inverse, stretch: 0 }
    }
}

/// 1 / cell size per axis, along x of fine cells.
pub(crate) fn axis_inverse(inverse: f32, stretch: u32, x_detail: u32) -> [f32; 3] {
    let [x, y, z] = whole_cell_inverse(inverse, stretch);
    [x * (1u32 << x_detail) as f32, y, z]
}

impl Params {
    pub(crate) fn axis_inverse(&self, inverse: f32, stretch: u32) -> [f32; 3] {
        axis_inverse(inverse, stretch, self.x_detail())
    }

    pub(crate) fn x_detail(&self) -> u32 {
        if self.scheme == SCHEME_HIERARCHICAL {
            X_DETAIL
        } else {
            0
        }
    }

    /// Cells along y and z by which an object may extend past its primary cell.
    pub(crate) fn cell_reach(&self) -> i32 {
        i32::from(self.scheme == SCHEME_HIERARCHICAL)
    }

    pub(crate) fn large_key(&self, grid: &Grid, world: u32) -> u32 {
        match world {
            ALL_WORLDS => grid.table_cells + self.large_buckets - 1,
            world => grid.table_cells + (world & self.large_mask),
        }
    }

    pub(crate) fn ignored_key(&self, grid: &Grid) -> u32 {
        grid.table_cells + self.large_buckets
    }

    pub(crate) fn objects<'a>(&self, objects: &'a [Aabb]) -> &'a [Aabb] {
        let objects = objects.get(self.first_object as usize..).unwrap_or_default();
        &objects[..objects.len().min(self.object_count as usize)]
    }

    pub(crate) fn sampled_object(&self, sample: u32) -> usize {
        let stride = self.sample_stride.max(1);
        let offset = (sample.wrapping_mul(0x9e37_79b1) >> 16) % stride;
        (sample * stride + offset).min(self.object_count.saturating_sub(1)) as usize
    }

    /// Number of buckets per octave, as in `shaders/table/octave.wgsl`.
    pub const fn octave_buckets(&self) -> u32 {
        2 << (u32::BITS - (self.sample_count.saturating_sub(1) | 1).leading_zeros())
    }

    pub(crate) const fn table_entries(&self) -> u32 {
        self.entry_capacity + self.large_table_capacity
    }

    /// [`prepare`](crate::reference::table::prepare) already made objects of other worlds invalid.
    pub(crate) fn world_of(&self, worlds: &[u32], object: usize) -> u32 {
        if self.world_count <= 1 { 0 } else { worlds[object] }
    }
}

/// Group of an entry by its primary flags: all set, all but x, all but y, all but z, the rest. A cell reports a pair
/// if, along each axis, at least one of the pair's entries has the flag. So only the first four groups search for
/// partners, and only among later entries.
///
/// Source: Tsitsigkos, Lampropoulos, Bouros, Mamoulis and Terrovitis, "A Two-layer Partitioning for Non-point Spatial
/// Data", 2021.
pub(crate) const fn entry_group(value: u32) -> u32 {
    match value >> 29 {
        7 => 0,
        6 => 1,
        5 => 2,
        3 => 3,
        _ => 4,
    }
}

/// Cell of a position. Rounding is harmless, because only monotonicity matters. Adaptive levels are shifted by half a
/// cell: `inverse` is 1 / (half a cell), and half cells `2c - 1` and `2c` form cell `c`.
#[inline]
pub(crate) fn cell_of(scheme: u32, position: [f32; 3], inverse: [f32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| cell_on_axis(scheme, position[axis], inverse[axis]))
}

#[inline]
pub(crate) fn cell_on_axis(scheme: u32, position: f32, inverse: f32) -> i32 {
    let position = flush(position * inverse).clamp(-(CELL_LIMIT as f32), CELL_LIMIT as f32);
    // `floor` is a call on many targets.
    let towards_zero = position as i32;
    let cell = towards_zero - i32::from(towards_zero as f32 > position);
    if scheme == SCHEME_ADAPTIVE {
        (cell + 1) >> 1
    } else {
        cell
    }
}

fn within_cell_limit(scheme: u32, lower: [i32; 3], upper: [i32; 3]) -> bool {
    let limit = if scheme == SCHEME_ADAPTIVE {
        CELL_LIMIT / 2
    } else {
        CELL_LIMIT
    };
    lower.iter().all(|&cell| cell > -limit) && upper.iter().all(|&cell| cell < limit)
}

/// Placement in schemes with one entry per object. Hierarchical: first level where the box's corners are at most one
/// cell apart (four fine cells along x). Adaptive: first level where one cell contains the box.
pub(crate) fn place_single_cell(params: &Params, low: [f32; 3], high: [f32; 3], finest: FinestCell) -> Placement {
    let reach = params.cell_reach();
    let detail = params.x_detail();
    let span = [reach << detail, reach, reach];
    for level in 0..MAX_LEVELS {
        let inverse = params.axis_inverse(level_inverse(finest.inverse, level), finest.stretch);
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

/// Objects of all worlds are in the large list, so that no level has cells of theirs.
pub(crate) fn enters_cells(class: Class, world: u32) -> bool {
    class == Class::Finite && world != ALL_WORLDS
}

/// Returns true if objects of these worlds may meet.
pub(crate) const fn worlds_meet(a: u32, b: u32) -> bool {
    a == b || a == ALL_WORLDS || b == ALL_WORLDS
}

pub(crate) fn is_in_cells(object: &Aabb, world: u32, cell_inverse: f32) -> bool {
    enters_cells(classify(object), world) && place_uniform(object.min, object.max, cell_inverse).level != NO_LEVEL
}

pub(crate) fn place(params: &Params, finest: FinestCell, object: &Aabb) -> Placement {
    if params.scheme == SCHEME_UNIFORM {
        place_uniform(object.min, object.max, finest.inverse)
    } else {
        place_single_cell(params, object.min, object.max, finest)
    }
}

/// Bucket of a cell within its level. `x` is already shifted by `x_shift`.
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

pub(crate) fn first_entries(objects: u32, wanted: Option<u32>) -> u64 {
    wanted.map_or(4 * u64::from(objects) + 64, u64::from)
}

/// Cells that [`layout`](crate::reference::table::layout) may use. Independent of buffer growth, which must not affect
/// the order of results.
pub(crate) fn table_capacity(scheme: u32, objects: u32, wanted_entries: Option<u32>) -> u64 {
    if scheme == SCHEME_UNIFORM {
        (2 * first_entries(objects, wanted_entries)).max(u64::from(SMALLEST_UNIFORM_TABLE))
    } else {
        u64::from(TABLE_CELLS_PER_OBJECT) * u64::from(objects)
            + u64::from(TABLE_CELLS_PER_LEVEL) * u64::from(objects.min(MAX_LEVELS))
    }
}

/// More worlds than this share buckets.
const LARGE_BUCKETS: u32 = 1 << 16;

pub(crate) fn large_mask(worlds: u32) -> u32 {
    worlds.min(LARGE_BUCKETS).next_power_of_two() - 1
}

pub(crate) fn cell_inverse(scheme: Scheme) -> f32 {
    match scheme {
        Scheme::Hierarchical => 0.0,
        Scheme::Uniform { cell_size } => 1.0 / cell_size,
        Scheme::Adaptive { min_scale } => {
            // Rounds `min_scale` up to a power of two, so that 2 / `min_scale` is exact.
            let exponent = (min_scale.to_bits() + 0x007f_ffff) >> 23;
            f32::from_bits((255 - exponent) << 23)
        }
    }
}

pub(crate) const fn scheme_number(scheme: Scheme) -> u32 {
    match scheme {
        Scheme::Hierarchical => SCHEME_HIERARCHICAL,
        Scheme::Uniform { .. } => SCHEME_UNIFORM,
        Scheme::Adaptive { .. } => SCHEME_ADAPTIVE,
    }
}

/// The largest key is that of ignored objects.
pub(crate) fn key_bits(params: &Params) -> u32 {
    32 - (params.table_capacity + params.large_buckets).leading_zeros()
}

/// Independent of buffer growth, because it affects the order of pairs.
pub(crate) fn large_table_capacity(params: &Params, pairs: bool) -> u32 {
    if pairs && params.scheme == SCHEME_HIERARCHICAL {
        params.object_count / 4
    } else {
        0
    }
}

/// Number of consecutive records per cluster. Bounds of clusters follow all records.
pub const CLUSTER: u32 = number("common/clusters", "CLUSTER");

/// Number of records: of objects, large-object entries, and clusters.
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

    /// Two cells share a bucket if the hash of their difference is 0 modulo the table size.
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
