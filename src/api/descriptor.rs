use std::time::Duration;

use crate::api::counters::Output;
use crate::api::error::{DescriptorError, InputError};
use crate::api::pair_filter;
use crate::api::types::Dimensions;
use crate::shared::bounds::LARGEST_COUNT;

pub(crate) const MAX_ROUNDS: u32 = 4096;

/// Method of assigning objects to cells.
///
/// All schemes find the same pairs and hits, at different speeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Scheme {
    /// Hierarchical hash grid (after Schornbaum's thesis): each object is entered into one cell, on the level that fits
    /// its size.
    ///
    /// Cells and levels follow from the sizes, shapes and density of the objects, without tuning. Rods along all three
    /// axes in one scene share cubes as long as they are: use the CPU engine for many of those.
    #[default]
    Hierarchical,
    /// Spatial hash with one cell size: each object is entered into every cell it covers.
    ///
    /// Objects that cover more than [`MAX_COVER`](crate::grid::MAX_COVER) (64) cells are on the *large list* instead.
    /// Every object is tested against all of that list. Many long objects need large cells, which small ones crowd.
    Uniform {
        /// Edge of a cell in the units of the boxes, from 2^-100 to 2^100.
        cell_size: f32,
    },
    /// Layers of half-shifted cells with power-of-two edges (after AHGrid, a Nim library): each object is entered into
    /// one cell, on the finest layer that has a cell around its whole box.
    ///
    /// Cells of edge `s` have borders at odd multiples of `s / 2`, so borders of different layers never coincide. More
    /// boxes are tested than with [`Scheme::Hierarchical`]: of thin ones, all that share a cube as large as their
    /// longest side.
    Adaptive {
        /// Edge of a cell of the finest layer, from 2^-100 to 2^90, rounded up to a power of two.
        ///
        /// There are [`MAX_LEVELS`](crate::grid::MAX_LEVELS) layers, each twice as coarse as the one before. Layers
        /// without objects cost nothing.
        min_scale: f32,
    },
}

/// Hits to return per ray.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RayMode {
    /// One hit per ray: the one with the smallest `t`. Of hits with equal `t`, the one with the smallest object index.
    #[default]
    Closest,
    /// All hits of each ray, each object once, as one list per ray (CSR).
    All,
    /// One `u32` per ray: 1 if the ray hits anything, else 0. The search ends at the first hit found.
    Any,
}

/// Order of pairs, of the hits of a ray ([`RayMode::All`]) and of the results of a query
/// ([`QueryMode::All`](crate::QueryMode::All)).
///
/// Lists stay in the order of rays or queries. Closest hits, nearest objects and cells of rays are not affected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ResultOrder {
    /// An order that depends only on the input and the device, not on earlier steps.
    ///
    /// Rows may be in another order on another device or on the CPU, which always sorts pairs.
    #[default]
    Deterministic,
    /// Ascending order: pairs by world, then `a`, then `b`; hits and results by object. Bytes are the same with every
    /// scheme, on every device and on the CPU.
    ///
    /// Costs two radix sorts, three with worlds, and 24 bytes per row. If a capacity or a
    /// [page](crate::GpuBroadPhase::page) limits the rows, a GPU sorts those that fit; the CPU engine writes the first
    /// pairs by `a`, then `b`.
    Sorted,
}

/// Sort algorithm. All give the same bytes, at different speeds.
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
    /// As [`Portable`](Self::Portable), with ballots of subgroups of any size if the device has
    /// [`SUBGROUP`](wgpu::Features::SUBGROUP).
    Subgroups,
    /// Each invocation sorts a long run of keys, so few invocations are needed. For software adapters.
    SerialTiles,
}

/// Behaviour of an output buffer that is too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Growth {
    /// The buffer grows, with [`headroom`](OutputOptions::headroom), in the first step recorded after the counters of
    /// the overflow arrive on the host.
    ///
    /// The buffer shrinks after 64 to 127 consecutive steps whose rows, with headroom, fill at most half of it.
    #[default]
    Grow,
    /// The buffer keeps its capacity. If a step finds more rows, those that fit are written and all are counted.
    Fixed,
}

/// Number of rows, above 0, that each output can hold: the initial number with [`Growth::Grow`], a permanent one with
/// [`Growth::Fixed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Capacities {
    /// Pairs, 8 bytes each. `None`: 4 per object plus 1,024.
    pub pairs: Option<u32>,
    /// Hits in [`RayMode::All`], 8 bytes each. `None`: 4 per ray plus 1,024.
    pub hits: Option<u32>,
    /// Cell entries of [`Scheme::Uniform`], about 24 bytes each: for moving objects, and the same number again for
    /// static ones. `None`: 4 per object plus 64.
    ///
    /// Ignored by other schemes, which have one entry per object.
    pub entries: Option<u32>,
    /// Cells of rays ([`OutputOptions::ray_cells`]), 16 bytes each. `None`: 64 per ray plus 1,024.
    pub ray_cells: Option<u32>,
    /// Results of queries ([`QueryMode::All`](crate::QueryMode::All)), 4 bytes each. `None`: 4 per query plus 1,024.
    pub results: Option<u32>,
    /// Rounds: number of dispatches that share the box tests of an object, a ray or a query, so that no dispatch takes
    /// long. At most 4,096. `None`: 1.
    ///
    /// - **Length of a round**: at most 16,384 box tests per object, ray or query. Above 262,144 objects, rays or
    ///   queries, this maximum falls in proportion, down to 1,024. For the `k` nearest objects, it is at most
    ///   40,000 / (k + 1). It also falls after [`Status::CUT`](crate::Status::CUT).
    /// - **Too few rounds**: only very crowded scenes need more than one. A step with too few sets
    ///   [`Status::ROUNDS`](crate::Status::ROUNDS). [`BroadPhase`](crate::BroadPhase) adds rounds itself.
    pub rounds: Option<u32>,
}

impl Capacities {
    pub(crate) const fn of(&self, output: Output) -> Option<u32> {
        match output {
            Output::Pairs => self.pairs,
            Output::RayHits => self.hits,
            Output::RayCells => self.ray_cells,
            Output::QueryObjects => self.results,
        }
    }
}

/// Optional inputs whose pipelines [`GpuBroadPhase::prepare`](crate::GpuBroadPhase::prepare) creates ahead of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Static objects.
    pub statics: bool,
    /// Numbers of objects, rays or queries that only the device knows ([`DeviceCount`](crate::DeviceCount)).
    pub device_counts: bool,
    /// Objects, worlds, rays or queries that the step must pack first, because of [`Source::at`](crate::Source::at),
    /// [`Source::stride`](crate::Source::stride) or [`Source::layout`](crate::Source::layout).
    pub strided: bool,
    /// Rays ([`Rays::Plain`](crate::Rays::Plain)), in the descriptor's [`ray_mode`](OutputOptions::ray_mode).
    pub rays: bool,
    /// Swept rays ([`Rays::Swept`](crate::Rays::Swept)), in the same mode.
    pub swept_rays: bool,
    /// Queries and self-queries that return all results.
    pub queries: bool,
    /// Queries for the nearest objects.
    pub nearest: bool,
    /// Lists of excluded pairs.
    pub excluded_pairs: bool,
}

impl Uses {
    /// All optional inputs.
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
}

/// Outputs of a [`GpuBroadPhase`](crate::GpuBroadPhase) or a [`QuerySet`](crate::QuerySet), and their limits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct OutputOptions {
    /// Hits to return per ray. Default: [`RayMode::Closest`].
    pub ray_mode: RayMode,
    /// True to also write the cells that each ray visits. Slow; for debug views. Default: false.
    ///
    /// - **Order**: by level, finest first, then along the ray. Cells in one slab (cell layer across the ray's main
    ///   axis) have no defined order.
    /// - **Extent**: the whole ray, even behind a hit. On each level, cells end at the bounds of the level's objects or
    ///   after 4,096 slabs. To end at a hit, set the ray's `t_max` to the hit's `t`.
    /// - **Far rays**: a ray has no cells if rounding could move it by a cell. Its hits are found anyway.
    pub ray_cells: bool,
    /// Order of pairs, hits and results. Default: [`ResultOrder::Deterministic`].
    pub order: ResultOrder,
    /// Initial or permanent number of rows of each output.
    pub capacities: Capacities,
    /// Behaviour of an output that is too small. Default: [`Growth::Grow`].
    pub growth: Growth,
    /// Extra rows when an output grows, as a share of the rows needed, from 0 to 16. Default: 0.25, a quarter more.
    ///
    /// More headroom avoids overflows if the number of rows varies strongly.
    pub headroom: f32,
    /// Maximum bytes of a step's buffers, or `None` for no limit. Default: `None`.
    ///
    /// A step or page that needs more is refused with [`InputError::MemoryLimit`](crate::InputError::MemoryLimit).
    /// Outputs then restart at their first capacities. Grown outputs count: with [`Growth::Fixed`] they stay in their
    /// [`capacities`](Self::capacities).
    ///
    /// Not included: buffers that only earlier steps needed (dropped after eight steps), uniform blocks, staging
    /// memory, and the [CPU engine](crate::cpu).
    pub max_bytes: Option<u64>,
    /// Time after which a read-back on a native target fails with [`Timeout`](crate::ReadBackError::Timeout). Default:
    /// ten minutes.
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
            order: ResultOrder::default(),
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
    /// Method of assigning objects to cells. Default: [`Scheme::Hierarchical`].
    pub scheme: Scheme,
    /// Distance by which each box is grown on every side, finite and not negative. Default: 0.
    ///
    /// Two boxes pair if their distance on every axis is at most twice the margin. Finite bounds are rounded outward. A
    /// denormal margin counts as 0. With a larger margin, denormal bounds count as 0.
    pub margin: f32,
    /// Period of each axis, from 2^-100 to 2^90, or 0 for an axis without one. Default: 0.
    ///
    /// - **Objects are wrapped**: along each periodic axis on which its bounds are finite, a box moves by whole periods
    ///   until its lower corner is in `0 <= x < period`. The new corner is exact for `x >= 0`, else rounded once. If it
    ///   rounds to the period, as −1e-9 does with a period of 1, it becomes 0.
    /// - **Across borders** of periods: only [`SelfQuery::Within`](crate::SelfQuery::Within) finds objects on the other
    ///   side. Pairs do not cross borders. Rays and other queries are not wrapped.
    pub periods: [f32; 3],
    /// Number of worlds: independent scenes in one step. Objects of different worlds never pair, except those of
    /// [`ALL_WORLDS`](crate::ALL_WORLDS). Default: 1.
    ///
    /// With more than one, every step needs the world of each object ([`Scene::worlds`](crate::Scene::worlds)).
    pub worlds: u32,
    /// True to find pairs. Default: true.
    pub pairs: bool,
    /// Options of the outputs.
    pub outputs: OutputOptions,
    /// Sort algorithm. Default: the device's fastest. Set another to work around a driver or to compare speeds.
    pub sort: SortStrategy,
    /// True to apply `layers` and `group` of the objects. Default: true.
    ///
    /// Without filters, pairs are found faster. [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED) always applies.
    pub filters: bool,
    /// Your own pair filter in WGSL. Pairs that it rejects are never counted or written. Default: `None`.
    ///
    /// The text declares `fn admits_pair(a: u32, b: u32) -> bool`. Passes call it for every two objects that overlap
    /// and pass the filters. `a` and `b` are the indices of the objects in results, `a < b`. It may call:
    ///
    /// | | |
    /// |---|---|
    /// | `pair_data(index: u32) -> u32` | word `index` of the [data](crate::Scene::pair_filter_data); 0 past its end |
    /// | `pair_data_count() -> u32` | number of words of the data |
    /// | `pair_layers(object: u32) -> u32` | the object's [layers](crate::Aabb::layers) |
    /// | `pair_group(object: u32) -> u32` | the object's [group](crate::Aabb::group), with flags |
    ///
    /// - **Allowed**: further functions, structs, constants and aliases whose names begin with `admits_`.
    /// - **Forbidden**: module variables, bindings, overrides, entry points, and calls that synchronize or exchange
    ///   values with other invocations, such as `workgroupBarrier` and subgroup functions.
    /// - **Pure**: the result may depend only on the two indices, the objects' layers and groups, and the data. One
    ///   pass may count pairs and a later one write them. If the results differ between passes, as rounded floats may,
    ///   rows are missing or stale, but nothing is written out of bounds. Loops must end.
    /// - **Scope**: pairs and [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps). Rays and other queries ignore the
    ///   filter. The CPU engine cannot run it: see
    ///   [`BroadPhase::step_scene_where`](crate::BroadPhase::step_scene_where). Serde skips it.
    /// - **Errors**: if the text does not compile, creating the broad phase fails. In browsers, the next read-back
    ///   fails.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub pair_filter: Option<&'a str>,
    /// True to count box tests, as in [`Counters::pair_candidates`](crate::Counters::pair_candidates). Costs atomic
    /// additions. Default: false.
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
    /// `None` if capacities do not grow.
    pub(crate) fn headroom(&self) -> Option<f32> {
        (self.outputs.growth == Growth::Grow).then_some(self.outputs.headroom)
    }

    /// Checks everything that does not depend on a device or an input.
    ///
    /// [`BroadPhase::new`](crate::BroadPhase::new) and [`GpuBroadPhase::new`](crate::GpuBroadPhase::new) call it first.
    ///
    /// # Errors
    /// [`DescriptorError`] for a value out of range, with the value and the limit.
    pub fn validate(&self) -> Result<(), DescriptorError> {
        validate(self)?;
        check_world_count(self, LARGEST_COUNT - 1)
    }

    pub(crate) const fn has_worlds(&self) -> bool {
        self.worlds > 1
    }

    pub(crate) fn prepares(&self) -> bool {
        self.dimensions == Dimensions::Two || self.margin > 0.0 || self.has_worlds() || self.periods != [0.0; 3]
    }

    pub(crate) fn check_worlds(&self, worlds: u64, objects: u64) -> Result<(), InputError> {
        if self.has_worlds() && worlds != objects {
            return Err(InputError::WorldsMissing { worlds, objects });
        }
        Ok(())
    }
}

pub(crate) fn check_world_count(descriptor: &BroadPhaseDescriptor<'_>, limit: u64) -> Result<(), DescriptorError> {
    let count = u64::from(descriptor.worlds);
    if count > limit {
        let what = "worlds";
        return Err(DescriptorError::TooMany { what, count, limit });
    }
    Ok(())
}

pub(crate) fn validate(descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), DescriptorError> {
    // The inverse of a cell size must be a normal float on all levels.
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
    let capacities = &options.capacities;
    let Capacities { entries, rounds, .. } = *capacities;
    let outputs = Output::EACH.map(|output| (output.counted().name, capacities.of(output)));
    for (what, rows) in outputs.into_iter().chain([("entries", entries), ("rounds", rounds)]) {
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
