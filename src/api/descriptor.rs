//! What the caller chooses.

use std::time::Duration;

use crate::api::error::{DescriptorError, InputError};
use crate::api::pair_filter;
use crate::api::types::Dimensions;
use crate::shared::bounds::LARGEST_COUNT;

/// Rounds of a step, at most.
pub(crate) const MAX_ROUNDS: u32 = 4096;

/// How objects are put into cells. Every scheme gives the same set of pairs and hits; schemes differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Scheme {
    /// Hierarchical hash grid (after Schornbaum's thesis): an object lies in one cell of the level that fits its size.
    /// Nothing to tune: the finest cell and the levels come from the sizes and the density of the objects themselves.
    /// Where a few objects are far larger than most, pairs look them up in a table of the cells that they cover.
    #[default]
    Hierarchical,
    /// Spatial hash: an object is entered into every cell of one size that it covers. Objects that cover more than
    /// [`MAX_COVER`](crate::grid::MAX_COVER) cells go to the *large* list, which everything is tested against.
    Uniform {
        /// Edge of a cell in the units of the boxes; finite and above zero.
        cell_size: f32,
    },
    /// Half-shifted power-of-two layers (after AHGrid, a Nim library): layer `s` has cells of edge `s` whose borders
    /// lie at odd multiples of `s / 2`, so that borders of different layers never coincide. An object lies in one cell
    /// of the finest layer of which a single cell holds its whole box. Few entries and simple lookups; more box tests
    /// than [`Scheme::Hierarchical`].
    Adaptive {
        /// Edge of a cell of the finest layer, rounded up to a power of two; finite and above zero. There are
        /// [`MAX_LEVELS`](crate::grid::MAX_LEVELS) layers above it, of which only occupied ones cost anything.
        min_scale: f32,
    },
}

/// Which hits of a ray are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RayMode {
    /// One hit per ray: the smallest `t`, ties to the smallest object.
    #[default]
    Closest,
    /// Every object that the ray meets, each once, as a range of hits per ray.
    All,
    /// Whether the ray meets anything, one `u32` per ray: the search ends at the first hit that is found.
    Any,
}

/// In which order pairs come, and with them the hits of a ray ([`RayMode::All`]) and the results of a query
/// ([`QueryMode::All`](crate::QueryMode::All)). Rays and queries themselves are always in order, and so are closest
/// hits, nearest objects and the cells of rays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PairOrder {
    /// An order that depends on the input and the device alone, not on what ran before. Devices may differ, and the CPU
    /// engine from all of them: sort both before you compare, or ask for [`Sorted`](Self::Sorted).
    #[default]
    Deterministic,
    /// Ascending, pairs by `a` and then `b`, hits and results by object: the same bytes on every device and on the CPU,
    /// with every scheme. Costs two radix sorts and 24 bytes per row. A prefix that a capacity cuts, or a
    /// [page](crate::GpuBroadPhase::page), is ascending in itself.
    Sorted,
}

/// How keys are sorted. Every strategy gives the same bytes; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SortStrategy {
    /// The one that suits the device: [`SerialTiles`](Self::SerialTiles) on software adapters, else
    /// [`Subgroups`](Self::Subgroups) where the device can, else [`Portable`](Self::Portable).
    #[default]
    Auto,
    /// What every device can: tiles of keys sorted in workgroup memory.
    Portable,
    /// Tiles of keys sorted in workgroup memory, with ballots of subgroups of any size. [`Portable`](Self::Portable)
    /// where the device lacks [`SUBGROUP`](wgpu::Features::SUBGROUP).
    Subgroups,
    /// Long runs of keys, one per invocation: few words are moved, and few invocations are busy. For software adapters.
    SerialTiles,
}

/// What happens to output buffers that proved too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Growth {
    /// After counters that show an overflow have arrived, the next step makes the buffers fit, with
    /// [`headroom`](OutputOptions::headroom). Room that 64 to 127 steps did without goes again.
    #[default]
    Grow,
    /// Capacities stay as they are: a step that needs more writes a valid prefix and counts what it needed.
    Fixed,
}

/// How many results the buffers hold at first (with [`Growth::Grow`]) or ever (with [`Growth::Fixed`]).
/// `None` takes a multiple of the objects or rays of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Capacities {
    /// Pairs, 8 bytes each.
    pub pairs: Option<u32>,
    /// Hits in [`RayMode::All`], 8 bytes each.
    pub hits: Option<u32>,
    /// Cell entries of [`Scheme::Uniform`], about 24 bytes each, of moving objects and of static ones each. Other
    /// schemes need one per object and ignore this.
    pub entries: Option<u32>,
    /// Cells of rays ([`OutputOptions::ray_cells`]), 16 bytes each.
    pub ray_cells: Option<u32>,
    /// Results of queries ([`QueryMode::All`](crate::QueryMode::All)), 4 bytes each.
    pub results: Option<u32>,
    /// Rounds: the dispatches that each walk, of an object, a ray or a query, is cut into, so that none takes long. A
    /// round makes at most 16,384 box tests per walk, and fewer where a step has more than 262,144 walks, down to
    /// 1,024, where `k` nearest objects are kept in order, 40,000 / (k + 1), and after a driver cut walks short
    /// ([`Status::CUT`](crate::Status::CUT)). `None` is one round, which all but very crowded scenes stay below. A step
    /// whose walks need more says so ([`Status::ROUNDS`](crate::Status::ROUNDS)); [`BroadPhase`](crate::BroadPhase)
    /// makes as many as are needed. At most 4,096.
    pub rounds: Option<u32>,
}

/// Optional parts of steps, whose pipelines [`GpuBroadPhase::prepare`](crate::GpuBroadPhase::prepare) creates ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Static objects.
    pub statics: bool,
    /// Numbers of objects, rays or queries on the device.
    pub device_counts: bool,
    /// Objects, worlds, rays or queries in a buffer of the program that passes cannot read in place:
    /// [`Source::at`](crate::Source::at), [`Source::stride`](crate::Source::stride),
    /// [`Source::form`](crate::Source::form).
    pub strided: bool,
    /// Rays, in the descriptor's mode.
    pub rays: bool,
    /// Rays that sweep a box, or that have a start or a world.
    pub swept_rays: bool,
    /// Queries and self-queries, all results of each.
    pub queries: bool,
    /// The nearest objects of queries.
    pub nearest: bool,
    /// Lists of excluded pairs.
    pub excluded_pairs: bool,
}

impl Uses {
    /// All of it.
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

    /// Whether rays are cast in any form.
    pub(crate) const fn casts(self) -> bool {
        self.rays || self.swept_rays
    }
}

/// Selects and bounds the outputs of a [`GpuBroadPhase`](crate::GpuBroadPhase) or of a
/// [`QuerySet`](crate::QuerySet).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct OutputOptions {
    /// Hits per ray. Default: [`RayMode::Closest`].
    pub ray_mode: RayMode,
    /// True if the cells that each ray's walk visits are written too: for debug views, not for speed. Default: false.
    ///
    /// They come level by level, finest first, and along the ray within a level; within one slab of cells in no
    /// particular direction. Only cells within the bounds of a level's objects are visited, at most 4,096 slabs of
    /// them. None are if the ray is so far out, in cells, that rounding could move it by a cell: hits are then found
    /// without cells. The cells are those of the whole ray, as in a search for all hits. Cut the ray at its hit to see
    /// the walk up to there.
    pub ray_cells: bool,
    /// Order of pairs, hits and results. Default: [`PairOrder::Deterministic`].
    pub pair_order: PairOrder,
    /// Sizes of the outputs. Default: multiples of the objects and rays of the step.
    pub capacities: Capacities,
    /// Growth of outputs that are too small. Default: [`Growth::Grow`].
    pub growth: Growth,
    /// Room beyond the need when outputs grow, as a share of the need: 0.25 is a quarter more. A scene whose pairs jump
    /// from step to step overflows less often with more. Between 0 and 16. Default: 0.25.
    pub headroom: f32,
    /// Maximum bytes of all buffers together ([`GpuBroadPhase::memory`](crate::GpuBroadPhase::memory)), without a limit
    /// if `None`. Default: `None`.
    ///
    /// Outputs grow no further than fits: a step that needs more writes a prefix and reports it, and
    /// [`BroadPhase`](crate::BroadPhase) reads the answer in pages. What only saves time is dropped first: there is no
    /// table of larger objects ([`Scheme::Hierarchical`]) and no boxes of clusters if they would leave less than half
    /// of the limit, and results may come in another order. Staging memory of uploads and read-backs comes on top. The
    /// [CPU engine](crate::cpu) ignores the limit: [`Growth::Fixed`] bounds its answers.
    pub max_bytes: Option<u64>,
    /// Maximum wait of a read-back on native targets, which then fails with
    /// [`ReadBackError::Timeout`](crate::ReadBackError::Timeout). Default: ten minutes.
    pub timeout: Duration,
    /// True if each stage is timed on the GPU. On a device without the feature
    /// [`TIMESTAMP_QUERY`](wgpu::Features::TIMESTAMP_QUERY) steps are the same, and
    /// [`timings`](crate::StepResult::timings) is empty. Default: false.
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

/// Everything that a broad phase is made from.
///
/// With the feature `serde` fields that a stored descriptor lacks, such as one of an older version, have their default.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct BroadPhaseDescriptor<'a> {
    /// Put before the labels of all buffers, bind groups and passes in place of `gpu_broad_phase`. Not stored by serde:
    /// it names what a program makes, and no answer depends on it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub label: Option<&'a str>,
    /// How many axes count. Default: three.
    pub dimensions: Dimensions,
    /// How objects are put into cells. Default: [`Scheme::Hierarchical`].
    pub scheme: Scheme,
    /// Every box is grown by this on every side, rounded outward, before anything else is done with it; finite and not
    /// negative. Two boxes then pair where their distance on every axis is at most twice the margin. Each finite bound
    /// grows, and an infinite one stays infinite. A denormal margin counts as 0, and denormal bounds do so wherever
    /// there is a margin. Default: 0.
    pub margin: f32,
    /// Periods of the axes, 0 where an axis has none: the space repeats itself, and positions are moved by whole
    /// periods to `0 <= x < period`, exactly where they are not negative and with one rounding where they are. A place
    /// that rounds to the period itself, such as −1e-9 with a period of 1, becomes 0. A box is moved along each axis on
    /// which both of its bounds are finite. Only [`SelfQuery::Within`](crate::SelfQuery::Within) look across the
    /// border. Finite and not negative. Default: 0, no periods.
    pub periods: [f32; 3],
    /// How many worlds there are: independent scenes in one step, whose objects never meet. With more than one, every
    /// step names the world of each object. Default: 1.
    pub worlds: u32,
    /// Whether pairs are wanted. Default: true.
    pub pairs: bool,
    /// Outputs: ray hits, order, room, timing.
    pub outputs: OutputOptions,
    /// How keys are sorted: for measurements and tests, since the default suits the device.
    #[doc(hidden)]
    pub sort: SortStrategy,
    /// Whether `layers` and `owner` of the objects are looked at. Without filters the pair loop is faster;
    /// [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED) works all the same. Default: true.
    pub filters: bool,
    /// A WGSL function of the caller's that says which objects may pair; none by default. It is joined to the passes
    /// that look for pairs, and asked about every two objects whose boxes meet and which the filters admit. Pairs that
    /// it does not admit are neither counted nor written.
    ///
    /// The text declares `fn admits_pair(a: u32, b: u32) -> bool`. Objects are numbered as in results, and `a < b`. It
    /// may declare further functions, structs, constants and aliases, whose names begin with `admits_`. It declares no
    /// variables of the module, bindings, overrides or entry points. It calls no function that waits for other
    /// invocations or exchanges values with them, such as `workgroupBarrier` and those of subgroups. It may call these:
    ///
    /// | | |
    /// |---|---|
    /// | `pair_data(index: u32) -> u32` | a word of the step's data; 0 past their end |
    /// | `pair_data_count() -> u32` | how many words there are |
    /// | `pair_layers(object: u32) -> u32` | [`Aabb::layers`](crate::Aabb::layers) of an object |
    /// | `pair_owner(object: u32) -> u32` | [`Aabb::owner`](crate::Aabb::owner) of an object, with its flags |
    ///
    /// The data are [`Scene::pair_filter_data`](crate::Scene::pair_filter_data).
    ///
    /// It has to give one answer for the same objects, layers, owners and words. Pairs are counted by one walk and may
    /// be written by another. Where the two answers differ, as comparisons of rounded floats may, the pairs of an
    /// object are too few or too many: rows are then missing or stale, and nothing is written out of bounds. Loops have
    /// to end.
    ///
    /// [`SelfQuery::Overlaps`](crate::SelfQuery::Overlaps) ask it, too. Rays and other queries do not. The CPU engine
    /// cannot run it: see [`BroadPhase::step_scene_where`](crate::BroadPhase::step_scene_where). A text that does not
    /// compile is an error when the broad phase is made. Browsers tell of it later, as of all that their device
    /// refuses. Not stored by serde.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub pair_filter: Option<&'a str>,
    /// Whether box tests are counted ([`Counters::pair_candidates`](crate::Counters::pair_candidates),
    /// [`Counters::ray_candidates`](crate::Counters::ray_candidates)). Costs atomics; for tests and tuning. Default:
    /// false.
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
    /// Checks all that does not depend on a device or an input: what [`BroadPhase::new`](crate::BroadPhase::new) and
    /// [`GpuBroadPhase::new`](crate::GpuBroadPhase::new) check first.
    ///
    /// # Errors
    /// [`DescriptorError`] for a value out of range, with the value and the limit.
    pub fn validate(&self) -> Result<(), DescriptorError> {
        validate(self)?;
        check_world_count(self, LARGEST_COUNT - 1)
    }

    /// Whether objects are entered into every cell that they cover.
    pub(crate) const fn is_uniform(&self) -> bool {
        matches!(self.scheme, Scheme::Uniform { .. })
    }

    /// Whether the finest cell is chosen from the objects.
    pub(crate) const fn is_hierarchical(&self) -> bool {
        matches!(self.scheme, Scheme::Hierarchical)
    }

    /// Whether there are several worlds.
    pub(crate) const fn has_worlds(&self) -> bool {
        self.worlds > 1
    }

    /// Whether objects need [`prepare`](crate::reference::table::prepare).
    pub(crate) fn prepares(&self) -> bool {
        self.dimensions == Dimensions::Two || self.margin > 0.0 || self.has_worlds() || self.periods != [0.0; 3]
    }

    /// With several worlds every object needs one.
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

/// Fails if the descriptor cannot work, whatever the input is.
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

/// Fails if the options cannot work.
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
