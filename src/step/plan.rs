use super::demand::Demand;
use crate::api::counters::{Counters, Status, word};
use crate::api::descriptor::{BroadPhaseDescriptor, MAX_ROUNDS, OutputOptions, PairOrder, check_world_count};
use crate::api::error::{DescriptorError, InputError, ReadBackError};
use crate::api::input::count;
use crate::api::result::Outputs;
use crate::api::types::Page;
use crate::gpu::buffers::{BufferId, Sizes, buffers, rounded};
use crate::gpu::reading::{Readable, Reading};
use crate::gpu::upload::{Block, Blocks};
use crate::layout::blocks::{Exclusions, SourceLayout};
use crate::layout::digits::{count_words, table_digits};
use crate::layout::grid::Params;
use crate::layout::query_sizes::QuerySizes;
use crate::shared::bounds::LARGEST_COUNT;
use crate::stages::order::{self, OrderUniforms};
use crate::stages::pairs::{self, PairPlan, PairUniforms};
use crate::stages::queries::{QueryPlan, QueryUniforms};
use crate::stages::rays::{self, RayPlan, RayUniforms};
use crate::stages::shape::{COUNTERS, Room, Shape};
use crate::stages::table::{self, TablePlan, TableUniforms};
use crate::stages::{scan, sort};

buffers! {
    /// Copy of the counters before the step's queries. Later queries start from this copy.
    STEP_COUNTERS = "step_counters": Fixed;
}

pub(crate) use buffer::STEP_COUNTERS;

/// Buffers that a static table does not own.
pub(crate) const NOT_OWNED_BY_STATICS: [BufferId; 4] = [
    table::buffer::OBJECTS,
    table::buffer::SOURCE_OBJECTS,
    table::buffer::WORLDS,
    STEP_COUNTERS,
];

#[derive(Clone, Copy, Default)]
pub(crate) struct StepSizes<'p> {
    pub objects: u64,
    /// Index of the word in the caller's buffer that holds the number of objects, if only the device knows it.
    pub object_limit: Option<u32>,
    /// Layouts of objects and worlds; `None` if packed.
    pub layouts: [Option<SourceLayout>; 2],
    pub statics: Option<&'p Plan>,
    /// Number of excluded pairs, and number of words for the pair filter.
    pub exclusions: [u64; 2],
    pub queries: QuerySizes,
    pub is_hardware: bool,
}

/// Later recordings derive new plans from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    pub shape: Shape,
    pub table: TablePlan,
    pub pairs: PairPlan,
    pub rays: RayPlan,
    pub queries: QueryPlan,
    pub sorts_outputs: bool,
    /// True once pairs and hits are counted. Optimizations then stay, since writing reads the data that counting
    /// cached.
    pub is_counted: bool,
    /// False for a query of a step's table.
    pub is_of_step: bool,
    /// True for a query set, which has only result buffers: the table is the broad phase's.
    pub is_borrowed: bool,
    pub static_entries: u32,
    /// Bytes of the static table, including buffers that only its building needs.
    pub static_bytes: u64,
}

pub(crate) struct StepUniforms {
    pub params: Block,
    pub static_params: Block,
    pub table: TableUniforms,
    pub pairs: PairUniforms,
    pub rays: RayUniforms,
    pub queries: QueryUniforms,
    pub order: Vec<(order::Ordered, OrderUniforms)>,
}

impl Plan {
    /// The order of calls matters. Capacities select variants, both determine the bytes, and the memory limit comes
    /// last.
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'_>,
        sizes: &StepSizes<'_>,
        hint: Demand,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        let &StepSizes { objects, statics, .. } = sizes;
        let static_count = statics.map_or(0, |statics| statics.shape.params.object_count);
        count("objects", objects.saturating_add(static_count.into()))?;
        let object_count = count("objects", objects)?;
        let mut params = Params::of_table(descriptor, object_count, static_count);
        TablePlan::fit(
            &mut params,
            &descriptor.outputs.capacities,
            hint.entries,
            room(descriptor, binding_limit),
        )?;
        params.static_count = static_count;
        params.object_limit = sizes.object_limit.map_or(0, |word| word + 1);
        params.pair_rows = if static_count > 0 { object_count } else { 0 };
        params.split(0);
        let exclusions = exclusions(descriptor, &params, sizes.exclusions)?;
        let [layout, source_worlds] = sizes.layouts;
        let mut plan = Self {
            shape: Shape {
                params,
                rounds: rounds(descriptor, hint),
                walk_shrink: hint.walk_shrink,
                sort: descriptor.sort,
            },
            table: TablePlan {
                // `prepare` copies objects, which makes room for static objects before them and exclusions after them.
                prepares: descriptor.prepares()
                    || static_count > 0
                    || sizes.object_limit.is_some()
                    || layout.is_some()
                    || exclusions.is_some(),
                behind_objects: exclusions.map_or(0, |exclusions| exclusions.bytes()),
                layout,
                source_worlds: source_worlds.filter(|_| params.has_worlds()),
            },
            pairs: PairPlan {
                are_requested: descriptor.pairs,
                keeps_earlier_pairs: false,
                exclusions,
            },
            rays: RayPlan {
                mode: descriptor.outputs.ray_mode,
                is_cast: false,
                cells: false,
                copying: None,
            },
            queries: QueryPlan {
                has_queries: false,
                copying: None,
                has_exclusions: exclusions.is_some(),
            },
            sorts_outputs: descriptor.outputs.pair_order == PairOrder::Sorted,
            is_counted: false,
            is_of_step: true,
            is_borrowed: false,
            static_entries: statics.map_or(0, |statics| statics.shape.params.entry_capacity),
            static_bytes: statics.map_or(0, Self::table_bytes),
        };
        plan.fit_records(descriptor, sizes, binding_limit)?;
        // Counted box tests differ between variants and must not depend on earlier steps, so the device chooses.
        let objects = plan.shape.params.object_count;
        let crowded = hint
            .is_crowded
            .or_else(|| pairs::starts_sparse(descriptor, objects).then_some(false));
        let crowded = crowded.filter(|_| !descriptor.count_candidates);
        plan.pairs.fit_variant(&mut plan.shape.params, crowded);
        // The order of pairs depends on this, so demand must not decide, as it would within a limit of memory.
        if sizes.is_hardware && !descriptor.count_candidates && descriptor.outputs.max_bytes.is_none() {
            plan.pairs.fit_split(&mut plan.shape.params);
        }
        plan.pairs.fit_partners(&mut plan.shape.params, binding_limit);
        plan.fit_pairs(descriptor, hint, binding_limit);
        plan.pairs.fit_bits(&mut plan.shape, hint.bit_words, binding_limit);
        plan.pairs.fit_chunks(&mut plan.shape, hint.chunk_words, binding_limit);
        plan.with_answers(descriptor, &sizes.queries, hint, binding_limit)
    }

    pub fn of_statics(
        descriptor: &BroadPhaseDescriptor<'_>,
        objects: u64,
        layouts: [Option<SourceLayout>; 2],
        hint: Demand,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        let table = BroadPhaseDescriptor {
            pairs: false,
            outputs: OutputOptions {
                pair_order: PairOrder::default(),
                // The step's own plan checks this limit.
                max_bytes: None,
                ..descriptor.outputs
            },
            ..*descriptor
        };
        let hint = Demand {
            entries: hint.static_entries,
            ..Demand::default()
        };
        let sizes = StepSizes {
            objects,
            layouts,
            ..StepSizes::default()
        };
        let mut plan = Self::new(&table, &sizes, hint, binding_limit)?;
        plan.shape.params.static_count = plan.shape.params.object_count;
        plan.shape.params.has_clusters = 0;
        plan.table.prepares = true;
        Ok(plan)
    }

    pub fn borrowed(mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Self {
        self.is_of_step = true;
        self.is_borrowed = true;
        self.static_bytes = 0;
        self.pairs.are_requested = false;
        self.pairs.keeps_earlier_pairs = false;
        // Self-queries use the step's exclusions, which are behind the table's objects.
        self.pairs.exclusions = None;
        self.sorts_outputs = descriptor.outputs.pair_order == PairOrder::Sorted;
        self.rays.mode = descriptor.outputs.ray_mode;
        self
    }

    fn check_bindings(&self, binding_limit: u64) -> Result<(), InputError> {
        match self.sizes().into_iter().find(|&(_, bytes)| bytes > binding_limit) {
            Some((id, needed)) => Err(InputError::BufferTooLarge {
                what: id.name,
                needed,
                limit: binding_limit,
            }),
            None => Ok(()),
        }
    }

    /// Plan of a query. With `pairs_exist`, the step's pairs are kept.
    pub fn of_query(mut self, pairs_exist: bool) -> Self {
        self.is_of_step = false;
        self.pairs.keeps_earlier_pairs = pairs_exist;
        self
    }

    pub fn with_queries(
        mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        queries: &QuerySizes,
        hint: Demand,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        self.shape.rounds = rounds(descriptor, hint);
        self.shape.walk_shrink = hint.walk_shrink;
        self.is_counted = false;
        self.with_answers(descriptor, queries, hint, binding_limit)
    }

    pub fn page(
        mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        first: Page,
        emits_pairs: bool,
        hint: Demand,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        self.is_counted = true;
        if emits_pairs {
            self.fit_pairs(descriptor, hint, binding_limit);
        }
        self.fit_answers(descriptor, hint, binding_limit);
        self.fit_memory(descriptor)?;
        let params = &mut self.shape.params;
        params.first_pair = first.pairs;
        params.first_hit = first.hits;
        params.first_ray_cell = first.ray_cells;
        params.first_result = first.results;
        Ok(self)
    }

    fn with_answers(
        mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        queries: &QuerySizes,
        hint: Demand,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        let params = &mut self.shape.params;
        queries.write(params)?;
        self.rays.set_sizes(descriptor, queries, params);
        self.queries.set_sizes(queries, params);
        self.rays.fit(params, hint.cached_hits, binding_limit);
        self.fit_answers(descriptor, hint, binding_limit);
        self.fit_memory(descriptor)?;
        self.check_bindings(binding_limit)?;
        Ok(self)
    }

    fn fit_pairs(&mut self, descriptor: &BroadPhaseDescriptor<'_>, hint: Demand, binding_limit: u64) {
        let (params, room) = (&mut self.shape.params, room(descriptor, binding_limit));
        self.pairs
            .fit_rows(params, &descriptor.outputs.capacities, hint.pairs, room);
    }

    fn fit_answers(&mut self, descriptor: &BroadPhaseDescriptor<'_>, hint: Demand, binding_limit: u64) {
        let (params, room) = (&mut self.shape.params, room(descriptor, binding_limit));
        let (capacities, is_sorted) = (&descriptor.outputs.capacities, self.sorts_outputs);
        self.rays
            .fit_rows(params, capacities, [hint.hits, hint.ray_cells], room);
        self.queries.fit_rows(params, capacities, hint.results, is_sorted, room);
    }

    pub fn ordered(&self) -> Vec<order::Ordered> {
        if !self.sorts_outputs {
            return Vec::new();
        }
        let params = &self.shape.params;
        let outputs = [
            self.pairs.order(params),
            self.rays.order(params),
            self.queries.order(params),
        ];
        outputs.into_iter().flatten().collect()
    }

    /// Outputs to read back. Their row counts are guessed from `last`.
    pub fn readable(&self, of: Outputs, last: &Demand) -> Vec<Readable> {
        let params = &self.shape.params;
        let mut outputs = Vec::new();
        if of.pairs {
            outputs.extend(self.pairs.readable(params, last.pairs));
        }
        if of.rays {
            outputs.extend(self.rays.readable(params, [last.hits, last.ray_cells]));
        }
        if of.queries {
            outputs.extend(self.queries.readable(params, last.results));
        }
        outputs
    }

    pub fn counters(&self, reading: &Reading) -> Result<Counters, ReadBackError> {
        let words: Vec<u32> = reading.rows(COUNTERS.name, word::COUNT as u64)?;
        if words.len() < word::COUNT {
            return Err(ReadBackError::DeviceLost);
        }
        let mut counters = Counters::from_words(&words, &self.shape.params, self.shape.rounds, self.static_entries);
        if self.is_borrowed {
            // The broad phase itself reports overflow of pairs.
            let own = Status::from_bits(!Status::PAIRS.bits());
            counters.status = counters.status.intersection(own);
        }
        Ok(counters)
    }

    pub fn rays_counted(&self) -> Option<u32> {
        let params = &self.shape.params;
        self.rays.all_hits(params).then_some(params.ray_count)
    }

    pub fn is_crowded(&self, reading: &Reading) -> Option<bool> {
        let words: Vec<u32> = reading.rows(COUNTERS.name, word::COUNT as u64).ok()?;
        let looked = self.pairs.are_requested && self.shape.params.has_clusters == 1;
        words.get(word::CROWDED).filter(|_| looked).map(|&word| word != 0)
    }

    pub fn sizes(&self) -> Sizes {
        let params = &self.shape.params;
        let ordered = self.ordered();
        // Stages share the scan and sort buffers, which must fit the largest use.
        let answers = [params.ray_count + 1, params.query_count + 1];
        let scanned = match self.is_borrowed {
            true => vec![],
            false => vec![table::entry_counts(params), pairs::scanned(params).unwrap_or(0)],
        };
        let scanned = answers.into_iter().chain(scanned);
        let of_table = (!self.is_borrowed).then(|| table_digits(params, self.shape.sort));
        let sorted = of_table.into_iter().chain([rays::digits(&self.shape)]);
        let outputs = order::digits(&ordered, &self.shape).into_iter();
        let outputs = outputs.map(|(_, digits)| digits);
        let sorted: Vec<_> = sorted.chain(outputs).collect();
        let counts = sorted.iter().map(|digits| count_words(digits));
        let mut sizes = Sizes::new();
        if !self.is_borrowed {
            sizes.extend(self.table.sizes(params));
            sizes.push((STEP_COUNTERS, 4 * word::COUNT as u64));
        }
        sizes.push((COUNTERS, 4 * word::COUNT as u64));
        sizes.extend(sort::sizes(counts.fold([0; 2], |[a, b], [c, d]| [a.max(c), b.max(d)])));
        sizes.extend(scan::sizes(scanned.fold(1, u32::max)));
        sizes.extend(self.pairs.sizes(&self.shape));
        sizes.extend(self.rays.sizes(&self.shape));
        sizes.extend(self.queries.sizes(&self.shape));
        sizes.extend(order::sizes(&ordered));
        // Bindings cannot be empty.
        sizes.iter_mut().for_each(|(_, bytes)| *bytes = (*bytes).max(16));
        sizes
    }

    pub fn bytes(&self) -> u64 {
        let own: u64 = self.sizes().into_iter().map(|(_, bytes)| rounded(bytes)).sum();
        own + self.static_bytes
    }

    fn table_bytes(&self) -> u64 {
        let own = self.sizes().into_iter();
        let own = own.filter(|(id, _)| !NOT_OWNED_BY_STATICS.contains(id));
        own.map(|(_, bytes)| rounded(bytes)).sum()
    }

    pub fn write(&self, blocks: &mut Blocks) -> StepUniforms {
        let Self { shape, .. } = self;
        let ordered = self.ordered();
        let static_params = blocks.push(&shape.params.of_statics());
        StepUniforms {
            params: blocks.push(&shape.params),
            static_params,
            table: self.table.write(blocks, shape),
            pairs: self.pairs.write(blocks, shape, static_params),
            rays: self.rays.write(blocks, shape),
            queries: self.queries.write(blocks, shape),
            order: {
                let written = order::write(blocks, &ordered, shape);
                ordered.into_iter().zip(written).collect()
            },
        }
    }
}

fn exclusions(
    descriptor: &BroadPhaseDescriptor<'_>,
    params: &Params,
    [list, data]: [u64; 2],
) -> Result<Option<Exclusions>, InputError> {
    let has_filter = descriptor.pair_filter.is_some();
    if list == 0 && !has_filter {
        return Ok(None);
    }
    let data = if has_filter { data } else { 0 };
    let [list, data] = [count("excluded pairs", list)?, count("words of the pair filter", data)?];
    Ok(Some(Exclusions::new(params.all_objects(), list, data)))
}

pub(crate) fn rounds(descriptor: &BroadPhaseDescriptor<'_>, hint: Demand) -> u32 {
    let first = descriptor.outputs.capacities.rounds.unwrap_or(1);
    first.max(hint.rounds).min(MAX_ROUNDS)
}

const fn room(descriptor: &BroadPhaseDescriptor<'_>, binding_limit: u64) -> Room {
    Room {
        growth: descriptor.outputs.growth,
        binding_limit,
    }
}

pub(crate) fn check_smallest_step(
    descriptor: &BroadPhaseDescriptor<'_>,
    binding_limit: u64,
) -> Result<(), DescriptorError> {
    // Each world has a pair count of 4 bytes.
    check_world_count(descriptor, (binding_limit / 4).min(LARGEST_COUNT - 1))?;
    match Plan::new(descriptor, &StepSizes::default(), Demand::default(), binding_limit) {
        Ok(_) => Ok(()),
        Err(error) => Err(DescriptorError::NoStepFits(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Aabb;
    use crate::stages::pairs::{FEW_CACHED_PARTNERS, MAX_CACHED_PARTNERS};
    use crate::stages::rays::{CACHED_HITS_BYTES, MAX_CACHED_HITS};

    fn of(objects: u64) -> StepSizes<'static> {
        StepSizes {
            objects,
            ..StepSizes::default()
        }
    }

    #[test]
    fn split_walks_do_not_depend_on_earlier_steps() {
        let crowded = Demand {
            pairs: 1 << 20,
            is_crowded: Some(true),
            ..Demand::default()
        };
        for (objects, split_bits) in [(1, 1), (1 << 14, 1), ((1 << 14) + 1, 0)] {
            let sizes = StepSizes {
                is_hardware: true,
                ..of(objects)
            };
            for hint in [Demand::default(), crowded] {
                let plan = Plan::new(&BroadPhaseDescriptor::default(), &sizes, hint, 128 << 20).unwrap();
                assert_eq!(plan.shape.params.split_bits, split_bits, "{objects} objects");
            }
        }
        let limited = BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes: Some(1 << 22),
                ..Default::default()
            },
            ..Default::default()
        };
        let sizes = StepSizes {
            is_hardware: true,
            ..of(10_000)
        };
        let plan = Plan::new(&limited, &sizes, Demand::default(), 128 << 20).unwrap();
        assert_eq!(plan.shape.params.split_bits, 0);
    }

    #[test]
    fn partners_that_are_kept_leave_room_for_as_many_objects_as_boxes_do() {
        let kept = |objects| {
            let plan = Plan::new(
                &BroadPhaseDescriptor::default(),
                &of(objects),
                Demand::default(),
                128 << 20,
            );
            plan.unwrap().shape.params.cached_partners
        };
        let most = (128 << 20) / size_of::<Aabb>() as u64;
        assert_eq!([1_000_000, most].map(kept), [MAX_CACHED_PARTNERS, FEW_CACHED_PARTNERS]);
    }

    #[test]
    fn as_many_entries_of_the_uniform_scheme_fit_as_a_binding_has_words() {
        let uniform = BroadPhaseDescriptor {
            scheme: crate::Scheme::Uniform { cell_size: 1.0 },
            ..Default::default()
        };
        let hint = Demand {
            entries: u32::MAX,
            ..Demand::default()
        };
        let plan = Plan::new(&uniform, &of(1_000_000), hint, 128 << 20);
        assert_eq!(plan.unwrap().shape.params.entry_capacity, (128 << 20) / 4 - 1);
    }

    #[test]
    fn kept_hits_stay_within_a_binding_and_their_share() {
        for rays in [1, 5000, 1 << 20, 3 << 20] {
            let hint = Demand {
                cached_hits: Some(MAX_CACHED_HITS),
                ..Demand::default()
            };
            let plan = Plan::new(
                &BroadPhaseDescriptor {
                    outputs: OutputOptions {
                        ray_mode: crate::RayMode::All,
                        ..Default::default()
                    },
                    ..Default::default()
                },
                &StepSizes {
                    queries: QuerySizes {
                        rays,
                        casts: true,
                        ray_stride: 2,
                        ..QuerySizes::default()
                    },
                    ..of(10_000)
                },
                hint,
                128 << 20,
            )
            .unwrap();
            let kept = 8 * u64::from(plan.shape.params.cached_hits) * rays;
            assert!(kept <= CACHED_HITS_BYTES, "{rays}: {kept}");
            assert_eq!(plan.shape.params.cached_hits == 0, rays == 3 << 20);
        }
    }
}
