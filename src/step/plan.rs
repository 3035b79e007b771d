//! Everything that the host knows of a step before it runs: its shape, its stages, and the bytes of its buffers.

use super::needs::Needs;
use crate::api::counters::{Counters, word};
use crate::api::descriptor::{BroadPhaseDescriptor, Growth, MAX_ROUNDS, PairOrder, RayMode};
use crate::api::error::{DescriptorError, InputError};
use crate::api::types::{Pair, RayCell, RayHit};
use crate::gpu::buffers::{Sizes, rounded};
use crate::gpu::reading::Readable;
use crate::gpu::upload::{Block, Blocks};
use crate::shared::asked::Asked;
use crate::shared::digits::counter_words;
use crate::shared::grid::{self, Params};
use crate::shared::limits::{LARGEST_COUNT, count};
use crate::stages::order::{self, OrderBlocks};
use crate::stages::pairs::{PairBlocks, PairPlan};
use crate::stages::queries::{QueryBlocks, QueryPlan};
use crate::stages::rays::{self, RayBlocks, RayPlan};
use crate::stages::shape::{STEP_COUNTERS, Shape};
use crate::stages::table::{self, TableBlocks, TablePlan, statics};
use crate::stages::{scan, sort};

/// A step before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    pub shape: Shape,
    pub table: TablePlan,
    pub pairs: PairPlan,
    pub rays: RayPlan,
    pub queries: QueryPlan,
    /// Whether outputs are put in ascending order.
    pub sorts_outputs: bool,
    /// Whether pairs and hits were counted already, so that what counting kept for writing them has to stay as it is.
    pub is_counted: bool,
    /// Whether it is of a step, not of a query of the table that a step left.
    pub is_of_step: bool,
    /// Entries that the static objects' table holds.
    pub static_entries: u32,
    /// Bytes of that table and of what building it takes.
    pub static_bytes: u64,
}

/// The uniform blocks of a step.
pub(crate) struct StepBlocks {
    pub params: Block,
    /// Of walks of the static objects' table.
    pub static_params: Block,
    pub table: TableBlocks,
    pub pairs: PairBlocks,
    pub rays: RayBlocks,
    pub queries: QueryBlocks,
    pub order: Vec<(order::Ordered, OrderBlocks)>,
}

impl Plan {
    /// `statics` is the plan of the static objects' table; `wanted` holds what earlier steps were seen to need;
    /// `binding_limit` is in bytes.
    pub fn new(
        descriptor: &BroadPhaseDescriptor<'_>,
        objects: u64,
        statics: Option<&Self>,
        asked: &Asked,
        wanted: Needs,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        let static_count = statics.map_or(0, |statics| statics.shape.params.object_count);
        count("objects", objects.saturating_add(static_count.into()))?;
        let object_count = count("objects", objects)?;
        let capacities = descriptor.capacities;
        let words = binding_limit / 4;
        let mut params = Params::of_table(descriptor, object_count, static_count);
        if params.is_uniform() {
            let first = grid::first_entries(object_count, capacities.entries);
            params.entry_capacity = match (capacities.entries, descriptor.growth) {
                (Some(fixed), Growth::Fixed) => count("cell entries", fixed.into())?,
                // One word more than entries has to fit: the offsets of their pairs.
                _ => first.max(wanted.entries.into()).min(words - 1).min(LARGEST_COUNT - 1) as u32,
            };
        }
        // More words than cells have to fit: the starts of the large list's slots and of what takes no part, and the
        // cover table's end.
        let past_cells = u64::from(params.large_mask) + 3;
        let cells = grid::table_capacity(params.scheme, object_count, capacities.entries);
        params.table_capacity = cells.min(words - past_cells).min(LARGEST_COUNT - past_cells) as u32;
        params.static_count = static_count;
        let static_rows = if static_count > 0 { object_count } else { 0 };
        params.pair_rows = params.entry_capacity.saturating_add(static_rows);
        let mut plan = Self {
            shape: Shape {
                params,
                rounds: 1,
                walk_shrink: 0,
                sort: descriptor.sort,
            },
            table: TablePlan {
                // That is also how moving objects come to lie behind static ones.
                prepares: descriptor.prepares() || static_count > 0,
            },
            pairs: PairPlan {
                are_wanted: descriptor.pairs,
                stand: false,
            },
            rays: RayPlan {
                mode: descriptor.ray_mode,
                cells: false,
                limit: None,
            },
            queries: QueryPlan { limit: None },
            sorts_outputs: descriptor.pair_order == PairOrder::Sorted,
            is_counted: false,
            is_of_step: true,
            static_entries: statics.map_or(0, |statics| statics.shape.params.entry_capacity),
            static_bytes: statics.map_or(0, Self::table_bytes),
        };
        plan.fit_cover(descriptor, statics, asked, binding_limit)?;
        PairPlan::fit_partners(&mut plan.shape, binding_limit);
        plan.fit_pairs(descriptor, wanted, binding_limit);
        plan.fit_rounds(descriptor, wanted);
        plan.pairs.fit_bits(&mut plan.shape, wanted.bit_words, binding_limit);
        plan.ask(descriptor, asked, wanted, binding_limit)?;
        Ok(plan)
    }

    /// The table of so many static objects, which nothing is asked of on its own.
    pub fn of_statics(
        descriptor: &BroadPhaseDescriptor<'_>,
        objects: u64,
        wanted: Needs,
        binding_limit: u64,
    ) -> Result<Self, InputError> {
        let table = BroadPhaseDescriptor {
            pairs: false,
            pair_order: PairOrder::default(),
            // The step that it is part of looks at all bytes.
            max_bytes: None,
            ..*descriptor
        };
        let wanted = Needs {
            entries: wanted.static_entries,
            ..Needs::default()
        };
        let mut plan = Self::new(&table, objects, None, &Asked::default(), wanted, binding_limit)?;
        plan.shape.params.static_count = plan.shape.params.object_count;
        plan.table.prepares = true;
        Ok(plan)
    }

    /// Only so many objects take part as a word of a buffer says.
    pub fn limit_objects(&mut self, descriptor: &BroadPhaseDescriptor<'_>, word: u32) -> Result<(), InputError> {
        self.shape.params.object_limit = word + 1;
        self.table.prepares = true;
        self.fit_memory(descriptor)
    }

    /// Asks something else of the table, whose pairs stay.
    pub fn ask(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        asked: &Asked,
        wanted: Needs,
        binding_limit: u64,
    ) -> Result<(), InputError> {
        let params = &mut self.shape.params;
        asked.write(params)?;
        self.rays.ask(descriptor, asked, params);
        self.queries.ask(asked, params);
        self.is_counted = false;
        self.rays.fit(params, wanted.hits_kept, binding_limit);
        self.fit_answers(descriptor, wanted, binding_limit);
        self.fit_memory(descriptor)?;
        match self.sizes().into_iter().find(|&(_, bytes)| bytes > binding_limit) {
            Some((id, needed)) => Err(InputError::BufferTooLarge {
                what: id.name,
                needed,
                limit: binding_limit,
            }),
            None => Ok(()),
        }
    }

    /// Chooses how many rounds the walks have.
    pub fn fit_rounds(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs) {
        self.shape.rounds = rounds(descriptor, wanted);
        self.shape.walk_shrink = wanted.walk_shrink;
    }

    /// Chooses how many pairs the output holds.
    pub fn fit_pairs(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs, binding_limit: u64) {
        let rows = output_rows(descriptor.growth, binding_limit);
        let params = &mut self.shape.params;
        params.pair_capacity = rows(
            descriptor.capacities.pairs,
            wanted.pairs,
            few_each(params.object_count),
            size_of::<Pair>(),
        );
    }

    /// Chooses how many rows the answers to rays and queries hold.
    pub fn fit_answers(&mut self, descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs, binding_limit: u64) {
        let rows = output_rows(descriptor.growth, binding_limit);
        let params = &mut self.shape.params;
        params.hit_capacity = match self.rays.mode {
            RayMode::Closest => params.ray_count,
            RayMode::Any => 0,
            RayMode::All => rows(
                descriptor.capacities.hits,
                wanted.hits,
                few_each(params.ray_count),
                size_of::<RayHit>(),
            ),
        };
        params.result_capacity = if params.nearest > 0 {
            0
        } else {
            rows(
                descriptor.capacities.results,
                wanted.results,
                few_each(params.query_count),
                // Sorting them takes buffers of wider rows.
                if self.sorts_outputs {
                    size_of::<Pair>()
                } else {
                    size_of::<u32>()
                },
            )
        };
        if self.rays.cells {
            params.ray_cell_capacity = rows(
                descriptor.capacities.ray_cells,
                wanted.ray_cells,
                64 * u64::from(params.ray_count) + 1024,
                size_of::<RayCell>(),
            );
        }
    }

    /// The outputs that are sorted: of pairs, rays and queries.
    pub fn ordered(&self) -> Vec<order::Ordered> {
        if !self.sorts_outputs {
            return Vec::new();
        }
        let params = &self.shape.params;
        let pairs = self.pairs.are_wanted.then(|| PairPlan::order(params));
        let answers = [self.rays.order(params), QueryPlan::order(params)];
        pairs.into_iter().chain(answers.into_iter().flatten()).collect()
    }

    /// What a recording with pairs or without them leaves to be read; `last` is what the last answer needed.
    pub fn outputs(&self, with_pairs: bool, last: &Needs) -> Vec<Readable> {
        let params = &self.shape.params;
        let mut outputs = Vec::new();
        if with_pairs {
            outputs.extend(PairPlan::outputs(params, last.pairs));
        }
        outputs.extend(self.rays.outputs(params, [last.hits, last.ray_cells]));
        outputs.extend(QueryPlan::outputs(params, last.results));
        outputs
    }

    /// What the words of the counters say.
    pub fn counters(&self, words: &[u32]) -> Counters {
        Counters::from_words(words, &self.shape.params, self.shape.rounds, self.static_entries)
    }

    /// Every buffer that the step owns, and its bytes.
    pub fn sizes(&self) -> Sizes {
        let params = &self.shape.params;
        let ordered = self.ordered();
        // What stages share is as large as the largest needs.
        let scanned = [
            table::entry_counts(params),
            params.pair_rows.saturating_add(1),
            params.ray_count + 1,
            params.query_count + 1,
        ];
        let sorted = [table::digits(&self.shape), rays::digits(&self.shape)];
        let outputs = order::digits(&ordered, &self.shape).into_iter().flatten();
        let sorted = sorted.into_iter().chain(outputs);
        let counter_words = sorted.map(|digits| counter_words(&digits)).fold(0, u32::max);
        let mut sizes = self.table.sizes(params);
        sizes.push((STEP_COUNTERS, 4 * word::COUNT as u64));
        sizes.extend(sort::sizes(counter_words));
        sizes.extend(scan::sizes(scanned.into_iter().fold(1, u32::max)));
        sizes.extend(self.pairs.sizes(&self.shape));
        sizes.extend(self.rays.sizes(&self.shape));
        sizes.extend(self.queries.sizes(&self.shape));
        sizes.extend(order::sizes(&ordered));
        // A binding may not be empty.
        sizes.iter_mut().for_each(|(_, bytes)| *bytes = (*bytes).max(16));
        sizes
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        let own: u64 = self.sizes().into_iter().map(|(_, bytes)| rounded(bytes)).sum();
        own + self.static_bytes
    }

    /// Bytes of the buffers that are the own ones of a table of static objects.
    fn table_bytes(&self) -> u64 {
        let own = self.sizes().into_iter();
        let own = own.filter(|(id, _)| !statics::OF_STEP.contains(id));
        own.map(|(_, bytes)| rounded(bytes)).sum()
    }

    /// Writes the uniform blocks.
    pub fn write(&self, blocks: &mut Blocks) -> StepBlocks {
        let Self { shape, .. } = self;
        let ordered = self.ordered();
        StepBlocks {
            params: blocks.push(&shape.params),
            static_params: blocks.push(&shape.params.of_statics()),
            table: self.table.write(blocks, shape),
            pairs: PairPlan::write(blocks, shape),
            rays: self.rays.write(blocks, shape),
            queries: self.queries.write(blocks, shape),
            order: {
                let written = order::write(blocks, &ordered, shape);
                ordered.into_iter().zip(written).collect()
            },
        }
    }
}

/// Rounds of the next step.
pub(crate) fn rounds(descriptor: &BroadPhaseDescriptor<'_>, wanted: Needs) -> u32 {
    let first = descriptor.capacities.rounds.unwrap_or(1);
    first.max(wanted.rounds).min(MAX_ROUNDS)
}

const fn few_each(count: u32) -> u64 {
    4 * count as u64 + 1024
}

/// How many rows an output holds, from its fixed or first capacity, what earlier steps were seen to need, a default and
/// the bytes of a row.
fn output_rows(growth: Growth, binding_limit: u64) -> impl Fn(Option<u32>, u32, u64, usize) -> u32 {
    move |fixed, wanted, default, row_bytes| {
        let default = u32::try_from(default).unwrap_or(u32::MAX);
        let rows = match (fixed, growth) {
            (Some(fixed), Growth::Fixed) => return fixed,
            (Some(first), Growth::Grow) => first.max(wanted),
            (None, _) => default.max(wanted),
        };
        // The largest u32 is no place.
        rows.min(u32::try_from(binding_limit / row_bytes as u64).unwrap_or(u32::MAX))
            .min(u32::MAX - 1)
    }
}

/// Refuses a descriptor with which not even a step without objects fits: every other step takes more.
pub(crate) fn check_smallest_step(
    descriptor: &BroadPhaseDescriptor<'_>,
    binding_limit: u64,
) -> Result<(), DescriptorError> {
    if descriptor.pairs && descriptor.has_worlds() {
        // Each has a count of its pairs.
        let limit = (binding_limit / 4).min(LARGEST_COUNT - 1);
        let count = u64::from(descriptor.worlds);
        if count > limit {
            let what = "worlds";
            return Err(DescriptorError::TooMany { what, count, limit });
        }
    }
    match Plan::new(descriptor, 0, None, &Asked::default(), Needs::default(), binding_limit) {
        Ok(_) => Ok(()),
        Err(error) => Err(DescriptorError::NoStepFits(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Aabb;
    use crate::stages::pairs::{FEW_PARTNERS_KEPT, MOST_PARTNERS_KEPT};
    use crate::stages::rays::{KEPT_HITS_BYTES, MOST_HITS_KEPT};

    #[test]
    fn partners_that_are_kept_leave_room_for_as_many_objects_as_boxes_do() {
        let kept = |objects| {
            let plan = Plan::new(
                &BroadPhaseDescriptor::default(),
                objects,
                None,
                &Asked::default(),
                Needs::default(),
                128 << 20,
            );
            plan.unwrap().shape.params.partners_kept
        };
        let most = (128 << 20) / size_of::<Aabb>() as u64;
        assert_eq!([1_000_000, most].map(kept), [MOST_PARTNERS_KEPT, FEW_PARTNERS_KEPT]);
    }

    #[test]
    fn kept_hits_stay_within_a_binding_and_their_share() {
        for rays in [1, 5000, 1 << 20, 3 << 20] {
            let wanted = Needs {
                hits_kept: Some(MOST_HITS_KEPT),
                ..Needs::default()
            };
            let plan = Plan::new(
                &BroadPhaseDescriptor {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                10_000,
                None,
                &Asked {
                    rays,
                    ray_stride: 2,
                    ..Asked::default()
                },
                wanted,
                128 << 20,
            )
            .unwrap();
            let kept = 8 * u64::from(plan.shape.params.hits_kept) * rays;
            assert!(kept <= KEPT_HITS_BYTES, "{rays}: {kept}");
            assert_eq!(plan.shape.params.hits_kept == 0, rays == 3 << 20);
        }
    }
}
