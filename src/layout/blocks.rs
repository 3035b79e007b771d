//! The uniform blocks and the pipeline overrides that only some passes have.

use super::grid::{PRIMARY_FLAGS, Params, SCHEME_UNIFORM};
use crate::api::counters;
use crate::api::types::{Pair, RayHit};
use crate::shared::bounds::roomy;
pub use crate::shared::source::{CENTER_HALF, SourceLayout, UNFILTERED};
use crate::shared::wgsl::number;

/// The uniform block of the three scan passes: `ScanParams` in `shaders/scan/scan.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct ScanParams {
    /// Words that are scanned.
    pub count: u32,
    /// Word of the counters that takes the low half of the 64-bit total; the high half follows.
    pub total_word: u32,
    /// A total above this sets the status bit.
    pub capacity: u32,
    /// The bit of the status word; 0 for none.
    pub status_bit: u32,
}

/// The uniform block of the sort passes: `SortParams` in `shaders/sort/sort.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct SortParams {
    /// Lowest bit of the digit.
    pub shift: u32,
    /// Bits of the digit.
    pub bits: u32,
    /// Keys of a tile; 0 where tiles share the keys evenly.
    pub tile: u32,
    /// Tiles that the keys are cut into.
    pub tiles: u32,
    /// First word of the digit's sums: where tiles share the keys evenly there are none.
    pub sums: u32,
    /// Tiles whose counts are summed up together: a power of two, about the square root of all tiles.
    pub group_tiles: u32,
    /// So many values lie nowhere yet: each is that of the object of its place, with all home flags.
    pub unwritten: u32,
}

/// The uniform block of the passes that put an output in order: `OrderParams` in `shaders/order/shown.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct OrderParams {
    /// Word of the counters where the 64-bit number of needed rows begins.
    pub needed_word: u32,
    /// Place of the first row that the output shows.
    pub first: u32,
    /// Rows that there is room for.
    pub capacity: u32,
    /// Words of a row.
    pub row_words: u32,
    /// Rays or queries; 0 for pairs.
    pub walks: u32,
}

impl OrderParams {
    /// Returns the block of the pairs.
    pub fn of_pairs(params: &Params) -> Self {
        Self {
            needed_word: counters::PAIRS.word as u32,
            first: params.first_pair,
            capacity: params.pair_capacity,
            row_words: (size_of::<Pair>() / 4) as u32,
            walks: 0,
        }
    }

    /// Returns the block of the hits of rays.
    pub fn of_hits(params: &Params) -> Self {
        Self {
            needed_word: counters::HITS.word as u32,
            first: params.first_hit,
            capacity: params.hit_capacity,
            row_words: (size_of::<RayHit>() / 4) as u32,
            walks: params.ray_count,
        }
    }

    /// Returns the block of the results of queries.
    pub fn of_results(params: &Params) -> Self {
        Self {
            needed_word: counters::RESULTS.word as u32,
            first: params.first_result,
            capacity: params.result_capacity,
            row_words: 1,
            walks: params.query_count,
        }
    }
}

/// The uniform block of a round of a walk: `Round` in `shaders/common/round.wgsl`. The functions of this module make
/// all tests of a walk at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct Round {
    /// Tests of each walk that earlier rounds made, or whose bits were kept.
    pub first: u32,
    /// Tests of each walk that this round makes, at most; above zero.
    pub tests: u32,
    /// 1 where no further round is recorded.
    pub is_last: u32,
    /// Turns of the loops over steps and rows that a walk takes, at most.
    pub iterations: u32,
    /// Turns of a loop that shows whether the driver cut loops short.
    pub canary_iterations: u32,
    /// 1 where the walks went through the other table before: where moving and static objects have one each.
    pub continues: u32,
    /// 1 where the walks go on through the other table.
    pub is_continued: u32,
}

/// Turns of the loops over steps and rows that a walk may still take: `takes_iterations` in `shaders/common/round.wgsl`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iterations(f32);

impl Default for Iterations {
    fn default() -> Self {
        Self(MAX_ITERATIONS)
    }
}

impl Iterations {
    /// Sets turns aside, unless they are more than there are or not a number.
    pub fn take(&mut self, iterations: f32) -> bool {
        let fits = iterations <= self.0;
        if fits {
            self.0 -= iterations;
        }
        fits
    }
}

/// Turns of a walk, at most.
pub(crate) const MAX_ITERATIONS: f32 = 40_000.0;

/// The uniform block of the pass that moves changed boxes: `ScatterParams` in `shaders/table/scatter.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct ScatterParams {
    /// Boxes that changed.
    pub change_count: u32,
    /// Slots that there are.
    pub object_count: u32,
}

/// The uniform block of the passes of pair events: `EventParams` in `shaders/events/event.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct EventParams {
    /// Pairs that the step's buffer has room for.
    pub pair_capacity: u32,
    /// Rows that the step before has room for.
    pub previous_capacity: u32,
    /// Slots of the hash table of this step's rows, less one; a power of two less one.
    pub table_mask: u32,
    /// Slots of the hash table of the step before, less one.
    pub previous_mask: u32,
    /// Objects that results name first, the static ones.
    pub static_count: u32,
    /// Static objects that have a generation; that of others is 0.
    pub static_generations: u32,
    /// Moving objects that have a generation; that of others is 0.
    pub generations: u32,
    /// Rows of pairs that begin which are copied on their own.
    pub begun_capacity: u32,
}

/// Vertices of a box.
pub const BOX_VERTICES: u32 = number("draw/lines", "BOX_VERTICES");

/// The uniform block of the passes that make lines: `DrawParams` in `shaders/draw/lines.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct DrawParams {
    /// Boxes, records, pairs or cells that there may be.
    pub rows: u32,
    /// Place of the first pair or cell that the output shows.
    pub first: u32,
    /// Vertices that there is room for: a multiple of those that a row takes.
    pub capacity: u32,
    /// Four bytes, red first.
    pub color: u32,
    /// Cells: a bit for each level that is drawn.
    pub levels: u32,
}

/// The uniform block of the pass that bounds how many are asked: `CountParams` in `shaders/input/device_count.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct CountParams {
    /// Rays or queries that there are.
    pub rows: u32,
    /// Vectors of four words that each takes.
    pub stride: u32,
    /// Word of the limits that says how many are asked.
    pub limit_word: u32,
    /// Word that is not 0 in those that are not.
    pub row_word: u32,
    /// What it is there.
    pub value: u32,
}

/// The uniform block of the pass that makes rows of what lies anywhere in a caller's buffer: `GatherParams` in
/// `shaders/input/gather_input.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct GatherParams {
    /// As in [`SourceLayout`].
    pub first: u32,
    /// As in [`SourceLayout`].
    pub stride: u32,
    /// As in [`SourceLayout`].
    pub second: u32,
    /// As in [`SourceLayout`].
    pub form: u32,
    /// Elements that there are.
    pub elements: u32,
    /// Words of the row of each.
    pub words: u32,
    /// Word of the limits that says how many are asked, one more; 0 where all are.
    pub limit: u32,
    /// Word that is not 0 in those that are not asked.
    pub row_word: u32,
    /// What it is there.
    pub value: u32,
}

/// The uniform block of the pass that makes indirect dispatches: `DispatchParams` in
/// `shaders/dispatch/dispatch_args.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct DispatchParams {
    /// Word of the counters where the 64-bit number of needed rows begins.
    pub needed_word: u32,
    /// Place of the first row that the output shows.
    pub first: u32,
    /// Rows that there is room for.
    pub capacity: u32,
    /// Rows that a workgroup takes.
    pub workgroup_rows: u32,
    /// Status bits of a step whose rows are not to be used.
    pub missing_bits: u32,
}

/// The uniform block of the passes of culling: `CullParams` in `shaders/cull/view.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType)]
pub struct CullParams {
    /// Views that there are.
    pub view_count: u32,
    /// Words of bits per view: a bit for each object of the step, static ones first.
    pub words: u32,
    /// 1 where layers count.
    pub filters: u32,
    /// 1 where there are lists.
    pub lists: u32,
    /// Rows that all lists together have room for.
    pub list_capacity: u32,
    /// Words of a view's indirect draw: 4, or 5 where it is indexed; 0 where none is wanted.
    pub draw_words: u32,
    /// Vertices or indices of an object.
    pub draw_count: u32,
}

/// The uniform block of what parts pairs beside filters: `Exclusions` in `shaders/pairs/exclusions.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, encase::ShaderType, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Exclusions {
    /// Objects that results name.
    pub object_count: u32,
    /// Rows of the list.
    pub list_count: u32,
    /// Slots of the table of the listed pairs, less one; a power of two less one. 0 where there is no list.
    pub table_mask: u32,
    /// Words of the caller's.
    pub data_count: u32,
    /// Where these begin, in vectors of four words.
    pub data_begin: u32,
}

impl Exclusions {
    /// The block of a list of so many rows and so many words, behind so many objects.
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

    /// Slots of the table, two words each.
    pub fn slots(&self) -> u32 {
        match self.table_mask {
            0 => 0,
            mask => mask + 1,
        }
    }

    /// Where the table begins, in vectors of four words.
    pub fn table_begin(&self) -> u32 {
        2 * self.object_count
    }

    /// Bytes that there is room for in the caller's list: lists of other lengths have a table of this size, too.
    pub fn list_bytes(&self) -> u64 {
        4 * u64::from(self.slots())
    }

    /// Bytes that there is room for in the caller's words, with some to spare for later steps.
    pub fn data_bytes(&self) -> u64 {
        roomy(4 * u64::from(self.data_count))
    }

    /// Bytes of all that lies behind the objects.
    pub fn bytes(&self) -> u64 {
        8 * u64::from(self.slots()) + self.data_bytes()
    }
}

/// What the shaders get as pipeline overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrides {
    /// `FILTERS`: layers, owners and static flags are looked at.
    pub filters: bool,
    /// `COUNT_CANDIDATES`: box tests are counted.
    pub count_candidates: bool,
}

/// Static partners of a moving object that counting keeps. The uniform scheme keeps none.
pub const STATIC_CACHED_PARTNERS: u32 = number("pairs/pair_static_single_cell", "STATIC_CACHED");

/// Static partners that counting keeps of a moving object, with the scheme of a step.
pub(crate) const fn static_cached_partners(params: &Params) -> u32 {
    if params.scheme == SCHEME_UNIFORM {
        0
    } else {
        STATIC_CACHED_PARTNERS
    }
}

/// Partners of an entry that counting keeps for writing, at most.
pub const MOST_CACHED_PARTNERS: u32 = number("pairs/pair_count_sparse", "MOST_CACHED");
/// Cell sizes that the choice of the finest cell looks at.
pub const OCTAVES: u32 = number("table/octave", "OCTAVES");

/// Words of a scan tile.
pub const SCAN_TILE: usize = number("scan/scan", "TILE") as usize;

/// Objects of a workgroup of the passes that count and write entries of the cover table.
pub const LARGE_TABLE_TILE: usize = number("common/large_table", "LARGE_TABLE_TILE") as usize;
/// Entries of a workgroup of the pass `clusters`: blocks of 256.
pub const CLUSTER_TILE: usize = 256 * number("table/clusters", "BLOCKS") as usize;

impl From<SourceLayout> for GatherParams {
    /// Of no elements yet.
    fn from(layout: SourceLayout) -> Self {
        let SourceLayout {
            first,
            stride,
            second,
            form,
        } = layout;
        Self {
            first,
            stride,
            second,
            form,
            ..Self::default()
        }
    }
}

impl GatherParams {
    /// Where the elements lie.
    pub(crate) const fn layout(&self) -> SourceLayout {
        SourceLayout {
            first: self.first,
            stride: self.stride,
            second: self.second,
            form: self.form,
        }
    }
}

impl SortParams {
    /// Values that the digit has.
    pub(crate) fn digits(&self) -> usize {
        1 << self.bits
    }

    /// Keys of a tile, of so many keys.
    pub(crate) fn tile_keys(&self, keys: usize) -> usize {
        match self.tile {
            0 => keys.div_ceil(self.tiles as usize).max(1),
            tile => tile as usize,
        }
    }

    /// The value at a place.
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

    /// Words of the counts: one per digit and tile, and one per digit behind them where there are no sums.
    pub fn counter_words(&self) -> u32 {
        (self.tiles + u32::from(self.tile == 0)) << self.bits
    }

    /// Words of the sums: one per digit, and one per digit and group of tiles behind them.
    pub fn sum_words(&self) -> u32 {
        if self.tile == 0 {
            0
        } else {
            (1 + self.tiles.div_ceil(self.group_tiles)) << self.bits
        }
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

/// Rows that an output shows of those that were found: from the place of the first on, as many as there is room for.
pub(crate) fn rows_shown(found: u64, first: u32, capacity: u32) -> u32 {
    saturate64(found).saturating_sub(first).min(capacity)
}
