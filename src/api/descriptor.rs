//! Options of a broad phase.

use std::time::Duration;

use crate::api::error::{DescriptorError, InputError};
use crate::api::pair_filter;
use crate::api::types::Dimensions;
use crate::shared::bounds::LARGEST_COUNT;

/// Maximum rounds of a step.
pub(crate) const MAX_ROUNDS: u32 = 4096;

/// Assignment of objects to cells.
///
/// All schemes find the same pairs and hits; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Scheme {
    /// Hierarchical hash grid (after Schornbaum's thesis): each object is in one cell of the level that fits its size.
    ///
    /// Nothing to tune: cell sizes and levels come from the sizes and density of the objects. If a few objects are far
    /// larger than most, pairs find them in a separate table of the cells they cover.
    #[default]
    Hierarchical,
    /// Spatial hash with one cell size: each object is entered into every cell it covers.
    ///
    /// Objects that cover more than [`MAX_COVER`](crate::grid::MAX_COVER) cells go to the *large* list, which every
    /// object is tested against.
    Uniform {
        /// Edge of a cell in the units of the boxes, from 2^-100 to 2^100.
        cell_size: f32,
    },
    /// Half-shifted power-of-two layers (after AHGrid, a Nim library): each object is in one cell of the finest layer
    /// with a cell that holds its whole box.
    ///
    /// Layer `s` has cells of edge `s` with borders at odd multiples of `s / 2`, so borders of different layers never
    /// coincide. Few entries and simple lookups, but more box tests than [`Scheme::Hierarchical`].
    Adaptive {
        /// Edge of a cell of the finest layer, from 2^-100 to 2^90, rounded up to a power of two.
        ///
        /// Up to [`MAX_LEVELS`](crate::grid::MAX_LEVELS) coarser layers follow; only occupied layers cost anything.
        min_scale: f32,
    },
}

/// Hits to find per ray.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RayMode {
    /// One hit per ray: the smallest `t`; of equal ones, the smallest object index.
    #[default]
    Closest,
    /// All hits, each object once, as a range of hits per ray.
    All,
    /// One `u32` per ray: 1 if it hits anything. The search ends at the first hit found.
    Any,
}

/// Order of pairs, of the hits of a ray ([`RayMode::All`]) and of the results of a query
/// ([`QueryMode::All`](crate::QueryMode::All)).
///
/// Rays and queries keep their input order, and so do closest hits. Nearest objects and cells of rays have an order of
/// their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PairOrder {
    /// Depends only on the input and the device, not on earlier steps.
    ///
    /// Devices and the CPU engine may differ: sort before you compare, or use [`Sorted`](Self::Sorted).
    #[default]
    Deterministic,
    /// Ascending: pairs by `a`, then `b`; hits and results by object. The same bytes with every scheme, on every device
    /// and on the CPU.
    ///
    /// Costs two radix sorts and 24 bytes per row. A prefix cut by a capacity, or a [page](crate::GpuBroadPhase::page),
    /// is ascending in itself.
    Sorted,
}

/// Sort algorithm. All give the same bytes; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SortStrategy {
    /// [`SerialTiles`](Self::SerialTiles) on software adapters, else [`Subgroups`](Self::Subgroups) if supported, else
    /// [`Portable`](Self::Portable).
    #[default]
    Auto,
    /// Sorts tiles of keys in workgroup memory. Works on every device.
    Portable,
    /// As [`Portable`](Self::Portable), with subgroup ballots if the device has [`SUBGROUP`](wgpu::Features::SUBGROUP),
    /// of any size.
    Subgroups,
    /// One long run of keys per invocation: moves few words and needs few invocations. For software adapters.
    SerialTiles,
}

/// Behaviour of output buffers that are too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Growth {
    /// Outputs grow in the next step after the counters of an overflow arrive, with
    /// [`headroom`](OutputOptions::headroom).
    ///
    /// Room that 64 to 127 steps did not use is released.
    #[default]
    Grow,
    /// Capacities stay. A step that needs more writes a valid prefix and counts what it needed.
    Fixed,
}

/// Number of rows that the outputs hold: at first with [`Growth::Grow`], always with [`Growth::Fixed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Capacities {
    /// Pairs, 8 bytes each. `None`: 4 per object plus 1,024.
    pub pairs: Option<u32>,
    /// Hits in [`RayMode::All`], 8 bytes each. `None`: 4 per ray plus 1,024.
    pub hits: Option<u32>,
    /// Cell entries of [`Scheme::Uniform`], about 24 bytes each, for moving and for static objects. `None`: 4 per
    /// object plus 64.
    ///
    /// Other schemes need one entry per object and ignore it.
    pub entries: Option<u32>,
    /// Cells of rays ([`OutputOptions::ray_cells`]), 16 bytes each. `None`: 64 per ray plus 1,024.
    pub ray_cells: Option<u32>,
    /// Results of queries ([`QueryMode::All`](crate::QueryMode::All)), 4 bytes each. `None`: 4 per query plus 1,024.
    pub results: Option<u32>,
    /// Rounds: dispatches per walk of an object, a ray or a query, so that no dispatch takes long. At most 4,096;
    /// `None`: 1.
    ///
    /// - **Length**: at most 16,384 box tests per walk and round. Fewer, down to 1,024, with more than 262,144 walks;
    ///   40,000 / (k + 1) for `k` nearest objects; fewer after [`Status::CUT`](crate::Status::CUT).
    /// - **Overflow**: only very crowded scenes need more rounds. Such a step sets
    ///   [`Status::ROUNDS`](crate::Status::ROUNDS); [`BroadPhase`](crate::BroadPhase) adds rounds itself.
    pub rounds: Option<u32>,
}

/// Optional inputs whose pipelines [`GpuBroadPhase::prepare`](crate::GpuBroadPhase::prepare) creates ahead of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Static objects.
    pub statics: bool,
    /// Counts of objects, rays or queries that are read on the device ([`DeviceCount`](crate::DeviceCount)).
    pub device_counts: bool,
    /// Objects, worlds, rays or queries in your buffers that passes cannot read in place:
    /// [`Source::at`](crate::Source::at), [`Source::stride`](crate::Source::stride),
    /// [`Source::layout`](crate::Source::layout).
    pub strided: bool,
    /// Rays, in the descriptor's mode.
    pub rays: bool,
    /// Rays that sweep a box, or have a start or a world.
    pub swept_rays: bool,
    /// Queries and self-queries that return all results.
    pub queries: bool,
    /// Queries for the nearest objects.
    pub nearest: bool,
    /// Lists of excluded pairs.
    pub excluded_pairs: bool,
}

impl Uses {
    /// All of them.
    pub const ALL: Self = Self {
        statics: true,
        device_counts: true,
        strided: true,
        rays: true,
        swept_rays: true,
        queries: true,
        nearest: true,
        excluded_pairs: true,
    };

    /// True if any rays are cast.
    pub(crate) const fn casts(self) -> bool {
        self.rays || self.swept_rays
    }
}

/// Outputs of a [`GpuBroadPhase`](crate::GpuBroadPhase) or a [`QuerySet`](crate::QuerySet), and their limits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct OutputOptions {
    /// Hits to find per ray. Default: [`RayMode::Closest`].
    pub ray_mode: RayMode,
    /// True to also write the cells that each ray visits. Slow; for debug views. Default: false.
    ///
    /// - **Order**: by level, finest first; along the ray within a level; unspecified within one slab of cells.
    /// - **Extent**: the whole ray, within the bounds of a level's objects, in at most 4,096 slabs. To end at a hit,
    ///   cut the ray there.
    /// - **Far rays**: none if rounding could move the ray by a cell. Hits are found anyway.
    pub ray_cells: bool,
    /// Order of pairs, hits and results. Default: [`PairOrder::Deterministic`].
    pub pair_order: PairOrder,
    /// Initial or fixed number of rows of each output.
    pub capacities: Capacities,
    /// Behaviour of outputs that are too small. Default: [`Growth::Grow`].
    pub growth: Growth,
    /// Extra room when outputs grow, as a share of the need, from 0 to 16: 0.25 adds a quarter. Default: 0.25.
    ///
    /// More headroom avoids overflows if counts vary strongly between steps.
    pub headroom: f32,
    /// Maximum bytes of all buffers ([`GpuBroadPhase::memory`](crate::GpuBroadPhase::memory)), or `None` for no limit.
    /// Default: `None`.
    ///
    /// - **Outputs** stop growing there. A step that needs more writes a prefix and reports it;
    ///   [`BroadPhase`](crate::BroadPhase) then reads the result in pages.
    /// - **Speed first**: the large-object table ([`Scheme::Hierarchical`]) and the boxes of clusters are omitted if
    ///   they would leave less than half of the limit. The order of results may change.
    /// - **Not included**: staging memory of uploads and read-backs, and the [CPU engine](crate::cpu), whose results
    ///   [`Growth::Fixed`] bounds.
    pub max_bytes: Option<u64>,
    /// Maximum wait of a read-back on native targets. Default: ten minutes. It then fails with
    /// [`Timeout`](crate::ReadBackError::Timeout).
    pub timeout: Duration,
    /// True to measure the GPU time of each stage. Default: false.
    ///
    /// On a device without [`TIMESTAMP_QUERY`](wgpu::Features::TIMESTAMP_QUERY),
    /// [`timings`](crate::StepResult::timings) stays empty.
    pub timestamps: bool,
}

impl Default for OutputOptions {
    fn default() -> Self {
        Self {
            ray_mode: RayMode::default(),
            ray_cells: false,
            pair_order: PairOrder::default(),
            capacities: Capacities::default(),
            growth: Growth::default(),
            headroom: 0.25,
            max_bytes: None,
            timeout: Duration::from_secs(600),
            timestamps: false,
        }
    }
}

/// All options of a broad phase.
///
/// Serde gives missing fields their default.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct BroadPhaseDescriptor<'a> {
    /// Prefix of the labels of all buffers, bind groups and passes. Default: `gpu_broad_phase`. Serde skips it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub label: Option<&'a str>,
    /// Number of axes. Default: three.
    pub dimensions: Dimensions,
    /// Assignment of objects to cells. Default: [`Scheme::Hierarchical`].
    pub scheme: Scheme,
    /// Distance by which each box is grown on every side, finite and not negative. Default: 0.
    ///
    /// Two boxes pair if their distance on every axis is at most twice the margin. Finite bounds are rounded outward. A
    /// denormal margin counts as 0; with any other, denormal bounds count as 0.
    pub margin: f32,
    /// Periods of the axes; 0 for an axis without one. Others are from 2^-100 to 2^90. Default: 0.
    ///
    /// - **Objects are wrapped**: along each axis with finite bounds, the box moves by whole periods until its lower
    ///   corner is in `0 <= x < period`. This is exact for `x >= 0`, else rounded once. A position that rounds to the
    ///   period, such as −1e-9 with a period of 1, becomes 0.
    /// - **Border**: only [`SelfQuery::Within`](crate::SelfQuery::Within) looks across it. Rays and other queries are
    ///   not wrapped.
    pub periods: [f32; 3],
    /// Number of worlds: independent scenes in one step, whose objects never meet. Default: 1.
    ///
    /// With more than one, every step needs the world of each object ([`Scene::worlds`](crate::Scene::worlds)).
    pub worlds: u32,
    /// True to find pairs. Default: true.
    pub pairs: bool,
    /// Outputs: ray mode, order, capacities, memory limit, timing.
    pub outputs: OutputOptions,
    /// Sort algorithm, for measurements and tests.
    #[doc(hidden)]
    pub sort: SortStrategy,
    /// True to apply `layers` and `owner` of the objects. Default: true.
    ///
    /// Without filters, pairs are found faster. [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED) always applies.
    pub filters: bool,
    /// Your own pair filter in WGSL. Pairs that it rejects are never counted or written. Default: `None`.
    ///
    /// It declares `fn admits_pair(a: u32, b: u32) -> bool`, called for every two objects that overlap and pass the
    /// filters, with their indices in results, `a < b`. It may call:
    ///
    /// | | |
    /// |---|---|
    /// | `pair_data(index: u32) -> u32` | word of the [data](crate::Scene::pair_filter_data); 0 past its end |
    /// | `pair_data_count() -> u32` | number of those words |
    /// | `pair_layers(object: u32) -> u32` | its [layers](crate::Aabb::layers) |
    /// | `pair_owner(object: u32) -> u32` | its [owner](crate::Aabb::owner), with flags |
    ///
    /// - **Allowed**: further functions, structs, constants and aliases whose names begin with `admits_`.
    /// - **Forbidden**: module variables, bindings, overrides, entry points, and calls that synchronize or exchange
    ///   values with other invocations, such as `workgroupBarrier` and subgroup functions.
    /// - **Pure**: the result may depend only on the objects, their layers and owners, and the data. One walk may count
    ///   pairs and another write them. If the results differ, as rounded floats may, rows are missing or stale, but
    ///   nothing is written out of bounds. Loops must end.
    /// - **Scope**: also [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps); not rays and other queries. The CPU
    ///   engine cannot run it: see [`BroadPhase::step_scene_where`](crate::BroadPhase::step_scene_where). Serde skips
    ///   it.
    /// - **Errors**: a text that does not compile fails when the broad phase is created; in browsers, with the next
    ///   read-back.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub pair_filter: Option<&'a str>,
    /// True to count box tests, such as [`Counters::pair_candidates`](crate::Counters::pair_candidates). Costs atomics.
    /// Default: false.
    pub count_candidates: bool,
}

impl Default for BroadPhaseDescriptor<'_> {
    fn default() -> Self {
        Self {
            label: None,
            dimensions: Dimensions::default(),
            scheme: Scheme::default(),
            margin: 0.0,
            periods: [0.0; 3],
            worlds: 1,
            pairs: true,
            outputs: OutputOptions::default(),
            sort: SortStrategy::default(),
            filters: true,
            pair_filter: None,
            count_candidates: false,
        }
    }
}

impl BroadPhaseDescriptor<'_> {
    /// Checks everything that does not depend on a device or an input.
    ///
    /// [`BroadPhase::new`](crate::BroadPhase::new) and [`GpuBroadPhase::new`](crate::GpuBroadPhase::new) do this first.
    ///
    /// # Errors
    /// [`DescriptorError`] for a value out of range, with the value and the limit.
    pub fn validate(&self) -> Result<(), DescriptorError> {
        validate(self)?;
        check_world_count(self, LARGEST_COUNT - 1)
    }

    /// True if objects are entered into every cell that they cover.
    pub(crate) const fn is_uniform(&self) -> bool {
        matches!(self.scheme, Scheme::Uniform { .. })
    }

    /// True if the finest cell size comes from the objects.
    pub(crate) const fn is_hierarchical(&self) -> bool {
        matches!(self.scheme, Scheme::Hierarchical)
    }

    pub(crate) const fn has_worlds(&self) -> bool {
        self.worlds > 1
    }

    /// True if objects need [`prepare`](crate::reference::table::prepare).
    pub(crate) fn prepares(&self) -> bool {
        self.dimensions == Dimensions::Two || self.margin > 0.0 || self.has_worlds() || self.periods != [0.0; 3]
    }

    /// Fails if there are several worlds and not one world id per object.
    pub(crate) fn check_worlds(&self, worlds: u64, objects: u64) -> Result<(), InputError> {
        if self.has_worlds() && worlds != objects {
            return Err(InputError::WorldsMissing { worlds, objects });
        }
        Ok(())
    }
}

/// Fails for more than `limit` worlds if the pairs of each world are counted.
pub(crate) fn check_world_count(descriptor: &BroadPhaseDescriptor<'_>, limit: u64) -> Result<(), DescriptorError> {
    let count = u64::from(descriptor.worlds);
    if descriptor.pairs && descriptor.has_worlds() && count > limit {
        let what = "worlds";
        return Err(DescriptorError::TooMany { what, count, limit });
    }
    Ok(())
}

/// Fails if no input can work with the descriptor.
pub(crate) fn validate(descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), DescriptorError> {
    // Inverses must be normal floats, on all levels.
    let lengths = |largest: u32| f32::from_bits((127 - 100) << 23)..=f32::from_bits((127 + largest) << 23);
    match descriptor.scheme {
        Scheme::Uniform { cell_size } if !lengths(100).contains(&cell_size) => {
            return Err(DescriptorError::CellSize(cell_size));
        }
        Scheme::Adaptive { min_scale } if !lengths(90).contains(&min_scale) => {
            return Err(DescriptorError::MinScale(min_scale));
        }
        _ => {}
    }
    if !(descriptor.margin >= 0.0 && descriptor.margin.is_finite()) {
        return Err(DescriptorError::Margin(descriptor.margin));
    }
    for period in descriptor.periods {
        if !(period == 0.0 || lengths(90).contains(&period)) {
            return Err(DescriptorError::Period(period));
        }
    }
    validate_outputs(&descriptor.outputs)?;
    if let Some(text) = descriptor.pair_filter {
        pair_filter::check(text)?;
    }
    if descriptor.worlds == 0 {
        return Err(DescriptorError::NoWorlds);
    }
    Ok(())
}

pub(crate) fn validate_outputs(options: &OutputOptions) -> Result<(), DescriptorError> {
    if !(0.0..=16.0).contains(&options.headroom) {
        return Err(DescriptorError::Headroom(options.headroom));
    }
    let Capacities {
        pairs,
        hits,
        entries,
        ray_cells,
        results,
        rounds,
    } = options.capacities;
    for (what, rows) in [
        ("pairs", pairs),
        ("hits", hits),
        ("entries", entries),
        ("ray cells", ray_cells),
        ("results", results),
        ("rounds", rounds),
    ] {
        if rows == Some(0) {
            return Err(DescriptorError::ZeroCapacity { what });
        }
    }
    if let Some(rounds) = rounds.filter(|&rounds| rounds > MAX_ROUNDS) {
        return Err(DescriptorError::TooMany {
            what: "rounds",
            count: rounds.into(),
            limit: MAX_ROUNDS.into(),
        });
    }
    Ok(())
}
