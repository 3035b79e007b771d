//! The plan of a recording: plain values, computed once from descriptor, input, demand and limits.

use crate::api::counters::{Output, PerOutput, word};
use crate::api::descriptor::{BroadPhaseDescriptor, ResultOrder, SortStrategy, check_world_count};
use crate::api::error::{DescriptorError, InputError};
use crate::api::input::{Source, count};
use crate::api::output::{Page, PairOutput};
use crate::api::scene::Scene;
use crate::api::types::Aabb;
use crate::gpu::adapter::DeviceClass;
use crate::gpu::buffers::{BufferId, Buffers, Sizes, rounded};
use crate::gpu::reading::Readable;
use crate::layout::blocks::{SortParams, SourceLayout};
use crate::layout::counters::Held;
use crate::layout::digits::count_words;
use crate::layout::query_sizes::QuerySizes;
use crate::shared::bounds::LARGEST_COUNT;
use crate::stages::order::Ordered;
use crate::stages::pairs::{self, ExclusionPlan, PairPlan};
use crate::stages::queries::QueryPlan;
use crate::stages::rays::RayPlan;
use crate::stages::shape::{Basis, COUNTERS, Demand, Rounds, STEP_COUNTERS};
use crate::stages::table::{TableInput, TablePlan, statics};
use crate::stages::{order, scan, sort};

/// Numbers of a step's input.
#[derive(Clone, Copy, Default)]
pub(crate) struct StepInput {
    pub objects: u64,
    pub static_objects: u64,
    /// Index of the word in the caller's buffer that holds the number of objects, if only the device knows it.
    pub object_limit: Option<u32>,
    /// Layouts of objects and worlds; `None` if packed.
    pub layouts: [Option<SourceLayout>; 2],
    pub static_layouts: [Option<SourceLayout>; 2],
    /// Number of excluded pairs, and number of words for the pair filter.
    pub exclusions: [u64; 2],
    pub queries: QuerySizes,
}

impl StepInput {
    pub fn of(scene: &Scene<'_>, alignment: u32) -> Self {
        let layouts = |objects: &Source<'_, Aabb>, worlds: &Source<'_, u32>| {
            [objects.placement(alignment).layout, worlds.placement(alignment).layout]
        };
        let (objects, static_objects) = (scene.objects.count(), scene.statics.objects.count());
        let all = objects.saturating_add(static_objects);
        Self {
            objects,
            static_objects,
            object_limit: scene.object_count.map(|limit| limit.word),
            layouts: layouts(&scene.objects, &scene.worlds),
            static_layouts: layouts(&scene.statics.objects, &scene.statics.worlds),
            exclusions: [scene.excluded_pairs.count(), scene.pair_filter_data.count()],
            queries: QuerySizes::of(&scene.query, all, alignment),
        }
    }
}

/// Plan of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepPlan {
    pub statics: Option<TablePlan>,
    pub exclusions: Option<ExclusionPlan>,
    pub table: TablePlan,
    pub pairs: Option<OrderedPairs>,
    pub answers: AnswerPlan,
}

/// Plan of pairs, and of sorting them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OrderedPairs {
    pub plan: PairPlan,
    pub order: Option<Ordered>,
}

/// Plan of rays and queries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnswerPlan {
    pub rays: Option<RayPlan>,
    pub queries: Option<QueryPlan>,
    pub order: Vec<Ordered>,
    pub rounds: Rounds,
    sort: SortStrategy,
}

impl StepPlan {
    pub fn new(basis: &Basis<'_>, input: &StepInput) -> Result<Self, InputError> {
        let objects = count("objects", input.objects.saturating_add(input.static_objects))?;
        let statics = count("static objects", input.static_objects)?;
        let exclusions = ExclusionPlan::new(basis.descriptor, objects, input.exclusions)?;
        let of_statics = TableInput {
            objects: input.static_objects,
            statics,
            is_static: true,
            layouts: input.static_layouts,
            ..TableInput::default()
        };
        let of_moving = TableInput {
            objects: input.objects,
            statics,
            is_static: false,
            object_limit: input.object_limit,
            layouts: input.layouts,
            behind_objects: exclusions.map(|exclusions| exclusions.block.bytes()),
        };
        let table = TablePlan::new(basis, &of_moving)?;
        let finds_pairs = basis.descriptor.pairs;
        let pairs = || OrderedPairs::new(basis, &table, PairPlan::new(basis, &table, exclusions.is_some()));
        let plan = Self {
            statics: (statics > 0).then(|| TablePlan::new(basis, &of_statics)).transpose()?,
            exclusions,
            pairs: finds_pairs.then(pairs),
            answers: AnswerPlan::new(basis, &table, &input.queries)?,
            table,
        };
        let sizes = [
            plan.table_sizes(),
            plan.static_sizes(),
            plan.pair_sizes(),
            plan.answers.sizes(),
        ];
        check(basis, &sizes.concat(), 0)?;
        Ok(plan)
    }

    /// Sizes of the moving table's buffers.
    pub fn table_sizes(&self) -> Sizes {
        let pair_rows = self.pairs.map_or(0, |pairs| pairs.plan.params.entry_rows);
        let mut sizes = self.table.sizes(pair_rows);
        sizes.push((STEP_COUNTERS, 4 * word::COUNT as u64));
        sizes.extend(self.exclusions.iter().flat_map(ExclusionPlan::sizes));
        bindable(sizes)
    }

    /// Sizes of the static table's buffers, including those that only building needs.
    pub fn static_sizes(&self) -> Sizes {
        self.statics.as_ref().map_or_else(Sizes::new, |statics| {
            let mut sizes = statics.sizes(0);
            sizes.retain(|&(id, _)| statics::is_own(id));
            sizes.push((COUNTERS, 4 * word::COUNT as u64));
            bindable(sizes)
        })
    }

    pub fn pair_sizes(&self) -> Sizes {
        self.pairs.map_or_else(Sizes::new, |pairs| pairs.sizes(self.table.sort))
    }

    /// The variant that counts pairs; `None` if the device chooses.
    pub fn is_crowded(&self) -> Option<bool> {
        match &self.pairs {
            Some(pairs) => pairs.plan.is_crowded,
            None => pairs::is_crowded(&self.table.params, None),
        }
    }

    /// Number of objects, and capacities. Those of rays and queries are added by [`AnswerPlan::held`].
    pub fn held(&self) -> Held {
        Held {
            objects: self.table.params.all_objects(),
            entries: self.table.params.entry_capacity,
            static_entries: self.statics.map_or(0, |statics| statics.params.entry_capacity),
            rows: PerOutput::of(|output| match (output, &self.pairs) {
                (Output::Pairs, Some(pairs)) => pairs.plan.params.capacity,
                _ => 0,
            }),
            ..Held::default()
        }
    }
}

impl OrderedPairs {
    fn new(basis: &Basis<'_>, table: &TablePlan, plan: PairPlan) -> Self {
        let order = sorts(basis).then(|| plan.order(&table.params));
        Self { plan, order }
    }

    /// Plan of the page from these rows on.
    pub fn page(&self, basis: &Basis<'_>, table: &TablePlan, first: &Page) -> Self {
        Self::new(basis, table, self.plan.page(basis, first))
    }

    pub fn output(&self, buffers: &Buffers) -> PairOutput {
        PairOutput {
            world_offsets: self.order.and_then(|order| order.world_offsets(buffers)),
            ..self.plan.output(buffers)
        }
    }

    pub fn readable(&self, buffers: &Buffers) -> Vec<Readable> {
        let mut outputs = self.plan.readable(buffers);
        outputs.extend(self.order.and_then(|order| order.readable(buffers)));
        outputs
    }

    pub fn sizes(&self, sort: SortStrategy) -> Sizes {
        let mut sizes = self.plan.sizes();
        sizes.extend(self.plan.scanned().into_iter().flat_map(scan::sizes));
        sizes.extend(order_sizes(self.order.as_slice(), sort, &[]));
        bindable(sizes)
    }
}

impl AnswerPlan {
    pub fn new(basis: &Basis<'_>, table: &TablePlan, sizes: &QuerySizes) -> Result<Self, InputError> {
        let rays = RayPlan::new(basis, table, sizes)?;
        let queries = QueryPlan::new(basis, table, sizes)?;
        Ok(Self::of(basis, table, rays, queries))
    }

    fn of(basis: &Basis<'_>, table: &TablePlan, rays: Option<RayPlan>, queries: Option<QueryPlan>) -> Self {
        let objects = table.params.all_objects();
        let hits = rays.and_then(|rays| rays.order(objects));
        let results = queries.and_then(|queries| queries.order(objects));
        Self {
            order: hits.into_iter().chain(results).filter(|_| sorts(basis)).collect(),
            rays,
            queries,
            rounds: basis.rounds(),
            sort: table.sort,
        }
    }

    /// Plan of rays and queries to an earlier step's table. `beside`: bytes of the other buffers.
    pub fn of_query(basis: &Basis<'_>, table: &TablePlan, sizes: &QuerySizes, beside: u64) -> Result<Self, InputError> {
        let plan = Self::new(basis, table, sizes)?;
        check(basis, &plan.sizes(), beside)?;
        Ok(plan)
    }

    /// Plan of a page. `beside`: bytes of the other buffers.
    pub fn page(&self, basis: &Basis<'_>, table: &TablePlan, first: &Page, beside: u64) -> Result<Self, InputError> {
        let rays = self.rays.map(|rays| rays.page(basis, first));
        let queries = self.queries.map(|queries| queries.page(basis, first));
        let plan = Self {
            rounds: self.rounds,
            ..Self::of(basis, table, rays, queries)
        };
        check(basis, &plan.sizes(), beside)?;
        Ok(plan)
    }

    pub fn sizes(&self) -> Sizes {
        let mut sizes = vec![(COUNTERS, 4 * word::COUNT as u64)];
        let counts = [
            self.rays.map(|rays| rays.params.count),
            self.queries.map(|queries| queries.params.count),
        ];
        let scanned = counts.into_iter().flatten().max();
        sizes.extend(scanned.into_iter().flat_map(|count| scan::sizes(count + 1)));
        sizes.extend(self.rays.iter().flat_map(RayPlan::sizes));
        sizes.extend(self.queries.iter().flat_map(QueryPlan::sizes));
        let digits = self.rays.as_ref().map_or_else(Vec::new, RayPlan::digits);
        sizes.extend(order_sizes(&self.order, self.sort, &digits));
        bindable(sizes)
    }

    pub fn held(&self, of_step: &Held) -> Held {
        let own = |output| {
            let of_rays = self.rays.and_then(|rays| rays.capacity(output));
            of_rays.or(self.queries.and_then(|queries| queries.capacity(output)))
        };
        Held {
            rows: PerOutput::of(|output| own(output).unwrap_or(of_step.rows[output])),
            rounds: self.rounds.count,
            ..*of_step
        }
    }
}

fn sorts(basis: &Basis<'_>) -> bool {
    basis.descriptor.outputs.order == ResultOrder::Sorted
}

/// Sizes of the buffers that order `outputs`. Passes that sort `digits` share the buffers of counts.
fn order_sizes(outputs: &[Ordered], strategy: SortStrategy, digits: &[SortParams]) -> Sizes {
    let ordered = order::digits(outputs, strategy);
    let all = ordered.iter().map(|(_, digits)| &digits[..]).chain([digits]);
    let words = all.filter(|digits| !digits.is_empty()).map(count_words);
    let counts = words.reduce(|[a, b], [c, d]| [a.max(c), b.max(d)]);
    let mut sizes = order::sizes(outputs);
    sizes.extend(counts.into_iter().flat_map(sort::sizes));
    sizes
}

/// Bindings cannot be empty.
fn bindable(mut sizes: Sizes) -> Sizes {
    sizes.iter_mut().for_each(|(_, bytes)| *bytes = (*bytes).max(16));
    sizes
}

pub(crate) fn bytes(sizes: &[(BufferId, u64)]) -> u64 {
    sizes.iter().map(|&(_, bytes)| rounded(bytes)).sum()
}

fn check(basis: &Basis<'_>, sizes: &[(BufferId, u64)], beside: u64) -> Result<(), InputError> {
    if let Some(&(id, needed)) = sizes.iter().find(|&&(_, bytes)| bytes > basis.binding_limit) {
        return Err(InputError::BufferTooLarge {
            what: id.name,
            needed,
            limit: basis.binding_limit,
        });
    }
    let needed = beside + bytes(sizes);
    match basis.descriptor.outputs.max_bytes {
        Some(limit) if needed > limit => Err(InputError::MemoryLimit { needed, limit }),
        _ => Ok(()),
    }
}

pub(crate) fn check_smallest_step(
    descriptor: &BroadPhaseDescriptor<'_>,
    binding_limit: u64,
) -> Result<(), DescriptorError> {
    // Offsets of pairs take 4 bytes per world and 8 more.
    if descriptor.pairs {
        check_world_count(descriptor, (binding_limit / 4 - 2).min(LARGEST_COUNT - 1))?;
    }
    let basis = Basis {
        descriptor,
        demand: &Demand::default(),
        binding_limit,
        class: DeviceClass::Unknown,
    };
    match StepPlan::new(&basis, &StepInput::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(DescriptorError::NoStepFits(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::OutputOptions;

    fn plan(max_bytes: Option<u64>) -> Result<StepPlan, InputError> {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes,
                ..Default::default()
            },
            ..Default::default()
        };
        let input = StepInput {
            objects: 10_000,
            static_objects: 500,
            queries: QuerySizes {
                rays: 5000,
                casts: true,
                ray_stride: 2,
                ..QuerySizes::default()
            },
            ..StepInput::default()
        };
        StepPlan::new(&Basis::of(&descriptor, &Demand::default()), &input)
    }

    #[test]
    fn a_step_needs_no_more_memory_than_its_error_says() {
        let Err(InputError::MemoryLimit { needed, limit: 4096 }) = plan(Some(4096)) else {
            panic!("a step of 10,000 objects fits in 4096 bytes");
        };
        assert_eq!(
            plan(Some(needed - 1)),
            Err(InputError::MemoryLimit {
                needed,
                limit: needed - 1
            })
        );
        assert_eq!(plan(Some(needed)), plan(None));
    }
}
