//! What the caller chooses.

use crate::error::DescriptorError;

/// How objects are put into cells. Every scheme gives the same set of pairs and hits; schemes differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Scheme {
    /// Hierarchical hash grid (after Schornbaum's thesis): an object lies in one cell of the level that fits its size.
    /// Nothing to tune: the finest cell and the levels come from the sizes and the density of the objects themselves.
    #[default]
    Hierarchical,
    /// Spatial hash: an object is entered into every cell of one size that it covers. Objects that cover more than
    /// [`MAX_COVER`](crate::MAX_COVER) cells go to the *large* list, which everything is tested against.
    Uniform {
        /// Edge of a cell in the units of the boxes; finite and above zero.
        cell_size: f32,
    },
}

/// Which hits of a ray are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RayMode {
    /// One hit a ray: the smallest `t`, ties to the smallest object.
    #[default]
    Closest,
    /// Every object that the ray meets, each once, as a range of hits per ray.
    All,
}

/// What happens to output buffers that proved too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// After a read-back that shows an overflow the next step makes the buffers fit, with head room.
    #[default]
    Grow,
    /// Capacities stay as they are: a step that needs more writes a valid prefix and counts what it needed.
    Fixed,
}

/// How many results the buffers hold at first (with [`Growth::Grow`]) or ever (with [`Growth::Fixed`]).
/// `None` takes a multiple of the objects or rays of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacities {
    /// Pairs, 8 bytes each.
    pub pairs: Option<u32>,
    /// Hits in [`RayMode::All`], 8 bytes each.
    pub hits: Option<u32>,
    /// Cell entries of [`Scheme::Uniform`], about 24 bytes each. Other schemes need one an object and ignore this.
    pub entries: Option<u32>,
}

/// Everything that a broad phase is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BroadPhaseDescriptor<'a> {
    /// Put before the labels of all buffers, pipelines and passes in place of `gpu_broad_phase`.
    pub label: Option<&'a str>,
    /// How objects are put into cells.
    pub scheme: Scheme,
    /// Whether pairs are wanted.
    pub pairs: bool,
    /// Which hits are wanted where a step has rays.
    pub ray_mode: RayMode,
    /// Sizes of the outputs.
    pub capacities: Capacities,
    /// What happens to outputs that are too small.
    pub growth: Growth,
    /// Whether `layers` and `owner` of the objects are looked at. Without filters the pair loop is faster;
    /// [`Aabb::EXCLUDED`](crate::Aabb::EXCLUDED) works all the same.
    pub filters: bool,
    /// Whether box tests are counted ([`Counters::pair_candidates`](crate::Counters::pair_candidates),
    /// [`Counters::ray_candidates`](crate::Counters::ray_candidates)). Costs atomics; for tests and tuning.
    pub count_candidates: bool,
    /// Whether each stage is timed on the GPU, where the device has `TIMESTAMP_QUERY`.
    pub timestamps: bool,
}

impl Default for BroadPhaseDescriptor<'_> {
    fn default() -> Self {
        Self {
            label: None,
            scheme: Scheme::default(),
            pairs: true,
            ray_mode: RayMode::default(),
            capacities: Capacities::default(),
            growth: Growth::default(),
            filters: true,
            count_candidates: false,
            timestamps: false,
        }
    }
}

/// What can be said of a descriptor without knowing the input.
pub(crate) fn validate(descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), DescriptorError> {
    if let Scheme::Uniform { cell_size } = descriptor.scheme {
        // Inverses must be normal floats.
        let range = f32::from_bits((127 - 100) << 23)..=f32::from_bits((127 + 100) << 23);
        if !range.contains(&cell_size) {
            return Err(DescriptorError::CellSize(cell_size));
        }
    }
    let Capacities { pairs, hits, entries } = descriptor.capacities;
    for (what, rows) in [("pairs", pairs), ("hits", hits), ("entries", entries)] {
        if rows == Some(0) {
            return Err(DescriptorError::ZeroCapacity { what });
        }
    }
    Ok(())
}
