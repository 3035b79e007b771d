//! Uniform blocks of stages and passes, and pipeline overrides.

use super::grid::{PRIMARY_FLAGS, Params, SCHEME_UNIFORM};
use crate::shared::bounds::roomy;
pub use crate::shared::source::{CENTER_HALF, SourceLayout, UNFILTERED};
use crate::shared::wgsl::number;

/// `PairParams` of `shaders/pairs/pair_params.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct PairParams {
    /// Capacity for pairs.
    pub capacity: u32,
    /// Index of the first pair to write.
    pub first: u32,
    /// Words per row of pair counts for cached bits of box tests; 0 in sparse scenes.
    pub bit_words: u32,
    /// Number of chunks for partners past the slots (`shaders/pairs/pair_cache.wgsl`).
    pub chunks: u32,
    /// Number of rows of pair counts: `entry_rows`, plus one per moving object if static objects exist.
    pub rows: u32,
    /// Number of slots for partners, per entry.
    pub cached: u32,
    /// `1 << split_bits` invocations share the pair walk of an entry: each counts a part of it in a row of its own.
    pub split_bits: u32,
    /// Rows of pair counts of all entries.
    pub entry_rows: u32,
    /// Variant of `pair_count`: [`VARIANT_SPARSE`](super::grid::VARIANT_SPARSE),
    /// [`VARIANT_CROWDED`](super::grid::VARIANT_CROWDED), or 0 if the device chooses.
    pub variant: u32,
}

impl PairParams {
    /// Rows only; the other fields are 0.
    pub fn of_rows(entries: u32, split_bits: u32, static_rows: u32) -> Self {
        let entry_rows = entries << split_bits;
        Self {
            split_bits,
            entry_rows,
            rows: entry_rows.saturating_add(static_rows),
            ..Self::default()
        }
    }

    /// Rows of pair counts of moving objects with static ones.
    pub const fn static_rows(&self) -> u32 {
        self.rows - self.entry_rows
    }
}

/// `RayParams` of `shaders/rays/ray_params.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct RayParams {
    /// Number of rays.
    pub count: u32,
    /// Capacity for hits.
    pub hit_capacity: u32,
    /// Index of the first hit to write.
    pub first_hit: u32,
    /// Four-word vectors per ray: 2 ([`Ray`](crate::Ray)) or 4 ([`SweptRay`](crate::SweptRay)).
    pub stride: u32,
    /// Capacity for ray cells.
    pub cell_capacity: u32,
    /// Index of the first ray cell to write.
    pub first_cell: u32,
    /// 1 if rays are walked in the order of their start.
    pub is_sorted: u32,
    /// Maximum hits cached per ray.
    pub cached: u32,
}

/// `QueryParams` of `shaders/queries/query_params.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, encase::ShaderType)]
pub struct QueryParams {
    /// Number of queries; in a self-query, the number of all objects.
    pub count: u32,
    /// 1 if queries have three four-word vectors ([`Query`](crate::Query)), 0 if two ([`Aabb`](crate::Aabb)).
    pub is_wide: u32,
    /// Kind of self-query: 1 neighbors, 2 partners, 0 none.
    pub self_query: u32,
    /// 1 if a self-query only finds objects with a larger index than the querying object.
    pub half: u32,
    /// Maximum distance of neighbors in a self-query.
    pub radius: f32,
    /// Number of nearest objects per query; 0 to list all results.
    pub nearest: u32,
    /// Capacity for query results.
    pub capacity: u32,
    /// Index of the first query result to write.
    pub first: u32,
}

macro_rules! with_table {
    ($($(#[$doc:meta])* $name:ident { $stage:ident: $block:ident })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            pub struct $name {
                /// Block of the table.
                pub table: Params,
                /// Block of the stage.
                pub $stage: $block,
            }

            impl std::ops::Deref for $name {
                type Target = Params;

                fn deref(&self) -> &Params {
                    &self.table
                }
            }
        )+
    };
}

with_table! {
    /// Blocks of passes that find pairs.
    PairBlocks { pairs: PairParams }
    /// Blocks of passes that cast rays.
    RayBlocks { rays: RayParams }
    /// Blocks of passes that answer queries.
    QueryBlocks { queries: QueryParams }
}

/// `ScanParams` of `shaders/scan/scan.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct ScanParams {
    /// Number of words to scan.
    pub count: u32,
    /// Counter word of the total's low half. The next word is the high half.
    pub total_word: u32,
    /// The scan sets the status bit if the total exceeds this.
    pub capacity: u32,
    /// Status bit to set, or 0.
    pub status_bit: u32,
}

/// `SortParams` of `shaders/sort/sort.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct SortParams {
    /// Lowest bit of the digit.
    pub shift: u32,
    /// Bits of the digit.
    pub bits: u32,
    /// Keys per tile; 0 for serial tiles, which divide all keys evenly.
    pub tile: u32,
    /// Number of tiles.
    pub tiles: u32,
    /// First word of this digit in its buffer of counts.
    pub counts: u32,
    /// Binary logarithm of the tiles per group, and of the groups per larger group.
    pub group_bits: u32,
    /// Number of sizes of groups.
    pub levels: u32,
    /// Number of first values that are not stored: value `i` is object index `i` with all primary flags.
    pub unwritten: u32,
    /// Bits of the next digit if this pass counts it, else 0.
    pub next_bits: u32,
    /// First word of the next digit in the other buffer of counts.
    pub next_counts: u32,
}

/// `OrderParams` of `shaders/order/shown.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct OrderParams {
    /// First counter word of the 64-bit number of needed rows.
    pub needed_word: u32,
    /// Index of the page's first row.
    pub first: u32,
    /// Capacity in rows.
    pub capacity: u32,
    /// Words per row.
    pub row_words: u32,
    /// Number of rays or queries; 0 for pairs.
    pub walks: u32,
    /// Number of worlds, for pairs of several; else 0.
    pub world_count: u32,
    /// Number of static objects, for pairs.
    pub static_count: u32,
}

/// `Round` of `shaders/common/round.wgsl`. Reference passes have a single round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct Round {
    /// Number of a walk's first box tests to skip: made by earlier rounds, or cached as bits.
    pub first: u32,
    /// Maximum box tests per walk in this round, at least 1.
    pub tests: u32,
    /// 1 in the last round.
    pub is_last: u32,
    /// Maximum iterations of a walk's loops over ray steps and rows.
    pub iterations: u32,
    /// Iterations of the canary loop, which detects drivers that end loops early.
    pub canary_iterations: u32,
    /// 1 if the walks began in the other table (moving or static).
    pub continues: u32,
    /// 1 if the walks continue in the other table.
    pub is_continued: u32,
    /// Number of walks. In a self-query: number of objects in the querying table.
    pub walks: u32,
    /// Row of pair counts of the first walk.
    pub first_row: u32,
}

/// Loop iterations left in a round, as in `shaders/common/round.wgsl`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iterations(f32);

impl Default for Iterations {
    fn default() -> Self {
        Self(MAX_ITERATIONS)
    }
}

impl Iterations {
    /// Reserves iterations. Returns false for NaN, or if too few are left.
    pub fn take(&mut self, iterations: f32) -> bool {
        let fits = iterations <= self.0;
        if fits {
            self.0 -= iterations;
        }
        fits
    }
}

/// Maximum loop iterations per walk.
pub(crate) const MAX_ITERATIONS: f32 = 40_000.0;

/// `ScatterParams` of `shaders/table/scatter.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct ScatterParams {
    /// Number of changed boxes.
    pub change_count: u32,
    /// Number of slots of the object set.
    pub object_count: u32,
}

/// `EventParams` of `shaders/events/event.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct EventParams {
    /// Capacity of the step's pairs.
    pub pair_capacity: u32,
    /// Capacity of the previous step's rows.
    pub previous_capacity: u32,
    /// Number of hash-table slots, a power of two, minus 1.
    pub table_mask: u32,
    /// Number of slots of the previous hash table, minus 1.
    pub previous_mask: u32,
    /// Number of static objects, which have the lowest indices.
    pub static_count: u32,
    /// Number of static objects with a generation. The others have generation 0.
    pub static_generations: u32,
    /// Number of moving objects with a generation. The others have generation 0.
    pub generations: u32,
    /// Capacity of the separate list of begun pairs.
    pub begun_capacity: u32,
}

/// Vertices per drawn box.
pub const BOX_VERTICES: u32 = number("draw/lines", "BOX_VERTICES");

/// `DrawParams` of `shaders/draw/lines.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct DrawParams {
    /// Maximum number of boxes, records, pairs or cells.
    pub rows: u32,
    /// Index of the page's first pair or cell.
    pub first: u32,
    /// Capacity in vertices; a multiple of the vertices per row.
    pub capacity: u32,
    /// Color as RGBA bytes, red first.
    pub color: u32,
    /// For cells: one bit per level to draw.
    pub levels: u32,
}

/// `CountParams` of `shaders/input/device_count.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct CountParams {
    /// Number of rays or queries.
    pub rows: u32,
    /// Four-word vectors per row.
    pub stride: u32,
    /// Index of the word that holds the count.
    pub limit_word: u32,
    /// Word to change in rows beyond the count.
    pub row_word: u32,
    /// New value of the word `row_word`.
    pub value: u32,
}

/// `GatherParams` of `shaders/input/gather_input.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct GatherParams {
    /// [`SourceLayout::first`].
    pub first: u32,
    /// [`SourceLayout::stride`].
    pub stride: u32,
    /// [`SourceLayout::second`].
    pub second: u32,
    /// [`SourceLayout::flags`].
    pub flags: u32,
    /// Number of elements.
    pub elements: u32,
    /// Words per packed row.
    pub words: u32,
    /// Index of the word that holds the count, plus 1; 0 without a count.
    pub limit: u32,
    /// Word to change in rows beyond the count.
    pub row_word: u32,
    /// New value of the word `row_word`.
    pub value: u32,
}

/// `DispatchParams` of `shaders/dispatch/dispatch_args.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct DispatchParams {
    /// First counter word of the 64-bit number of needed rows.
    pub needed_word: u32,
    /// Index of the page's first row.
    pub first: u32,
    /// Capacity in rows.
    pub capacity: u32,
    /// Rows per workgroup.
    pub workgroup_rows: u32,
    /// Status bits on which all arguments become 0.
    pub missing_bits: u32,
}

/// `CullParams` of `shaders/cull/view.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct CullParams {
    /// Number of views.
    pub view_count: u32,
    /// Words of bits per view: one bit per object, static ones first.
    pub words: u32,
    /// 1 if layers are compared.
    pub filters: u32,
    /// 1 if lists of visible objects are written.
    pub lists: u32,
    /// Capacity of all lists together, in rows.
    pub list_capacity: u32,
    /// Words of indirect draw arguments per view: 4, or 5 if indexed; 0 for none.
    pub draw_words: u32,
    /// Vertices or indices to draw per object.
    pub draw_count: u32,
}

/// `Exclusions` of `shaders/pairs/exclusions.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Exclusions {
    /// Number of objects, including static ones.
    pub object_count: u32,
    /// Number of rows of the exclusion list.
    pub list_count: u32,
    /// Number of hash-table slots, a power of two, minus 1. 0 without a list.
    pub table_mask: u32,
    /// Words of the pair filter's data.
    pub data_count: u32,
    /// Start of the filter data in the object buffer, in four-word vectors.
    pub data_begin: u32,
}

impl Exclusions {
    /// Block for a list of `list_count` rows and `data_count` words of filter data.
    pub fn new(object_count: u32, list_count: u32, data_count: u32) -> Self {
        let table_mask = match list_count {
            0 => 0,
            _ => (2 * list_count).next_power_of_two() - 1,
        };
        let mut exclusions = Self {
            object_count,
            list_count,
            table_mask,
            data_count,
            data_begin: 0,
        };
        exclusions.data_begin = exclusions.table_begin() + exclusions.slots() / 2;
        exclusions
    }

    /// Number of hash-table slots, two words each.
    pub fn slots(&self) -> u32 {
        match self.table_mask {
            0 => 0,
            mask => mask + 1,
        }
    }

    /// Start of the hash table in the object buffer, in four-word vectors.
    pub fn table_begin(&self) -> u32 {
        2 * self.object_count
    }

    /// Bytes reserved for the exclusion list.
    pub fn list_bytes(&self) -> u64 {
        4 * u64::from(self.slots())
    }

    /// Bytes reserved for the pair filter's data.
    pub fn data_bytes(&self) -> u64 {
        roomy(4 * u64::from(self.data_count))
    }

    /// Bytes of hash table and filter data.
    pub fn bytes(&self) -> u64 {
        8 * u64::from(self.slots()) + self.data_bytes()
    }
}

/// Pipeline overrides of the shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrides {
    /// `FILTERS`: true if layers, groups and static flags apply.
    pub filters: bool,
    /// `COUNT_CANDIDATES`: true if box tests are counted.
    pub count_candidates: bool,
}

/// Static partners cached per moving object; 0 in the uniform scheme.
pub const STATIC_CACHED_PARTNERS: u32 = number("pairs/pair_static_single_cell", "STATIC_CACHED");

pub(crate) const fn static_cached_partners(params: &Params) -> u32 {
    if params.scheme == SCHEME_UNIFORM {
        0
    } else {
        STATIC_CACHED_PARTNERS
    }
}

/// Maximum partners cached per entry.
pub const MAX_CACHED_PARTNERS: u32 = number("pairs/pair_count_sparse", "MAX_CACHED");
/// Words of a chunk of partners: [`CHUNK_PARTNERS`] and a link.
pub const CHUNK_WORDS: u32 = number("pairs/pair_cache", "CHUNK_WORDS");
/// Partners of a chunk.
pub const CHUNK_PARTNERS: u32 = number("pairs/pair_cache", "CHUNK_PARTNERS");
/// Link of an entry whose other partners are not cached.
pub const NO_CHUNK: u32 = number("pairs/pair_cache", "NO_CHUNK");
/// Number of cell sizes considered for the finest cell.
pub const OCTAVES: u32 = number("table/octave", "OCTAVES");

/// Words per scan tile.
pub const SCAN_TILE: usize = number("scan/scan", "TILE") as usize;

impl From<SourceLayout> for GatherParams {
    fn from(layout: SourceLayout) -> Self {
        let SourceLayout {
            first,
            stride,
            second,
            flags,
        } = layout;
        Self {
            first,
            stride,
            second,
            flags,
            ..Self::default()
        }
    }
}

impl GatherParams {
    pub(crate) const fn layout(&self) -> SourceLayout {
        SourceLayout {
            first: self.first,
            stride: self.stride,
            second: self.second,
            flags: self.flags,
        }
    }
}

impl SortParams {
    pub(crate) fn digits(&self) -> usize {
        1 << self.bits
    }

    pub(crate) fn tile_keys(&self, keys: usize) -> usize {
        match self.tile {
            0 => keys.div_ceil(self.tiles as usize).max(1),
            tile => tile as usize,
        }
    }

    pub(crate) fn value_at(&self, values: &[u32], index: usize) -> u32 {
        if index < self.unwritten as usize {
            index as u32 | PRIMARY_FLAGS
        } else {
            values[index]
        }
    }

    pub(crate) fn digit_of(&self, key: u32) -> usize {
        (key >> self.shift) as usize & (self.digits() - 1)
    }

    /// Words of the counts: one per digit value, for each tile and group. Serial tiles have one group.
    pub fn count_words(&self) -> u32 {
        let groups = if self.tile == 0 { 1 } else { self.first_row(0) };
        (groups + self.tiles) << self.bits
    }

    /// First row of counts of a level: 0 is that of tiles, `levels` that of the largest groups, which comes first.
    pub(crate) fn first_row(&self, level: u32) -> u32 {
        let groups = |level| ((self.tiles - 1) >> (self.group_bits * level)) + 1;
        (level + 1..=self.levels).map(groups).sum()
    }

    /// First word of the row of a tile, or of the tile's group of a level, behind `counts`.
    pub(crate) fn row(&self, level: u32, tile: usize) -> usize {
        (self.first_row(level) as usize + (tile >> (self.group_bits * level))) << self.bits
    }
}

pub(crate) fn add64(words: &mut [u32], first: usize, value: u64) {
    let sum = wide(words, first).wrapping_add(value);
    words[first] = sum as u32;
    words[first + 1] = (sum >> 32) as u32;
}

pub(crate) fn wide(words: &[u32], first: usize) -> u64 {
    u64::from(words[first]) | u64::from(words[first + 1]) << 32
}

pub(crate) fn saturate64(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

pub(crate) fn rows_shown(found: u64, first: u32, capacity: u32) -> u32 {
    saturate64(found).saturating_sub(first).min(capacity)
}
