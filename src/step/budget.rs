use super::demand::Demand;
use super::plan::{Plan, StepSizes};
use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions};
use crate::api::error::InputError;
use crate::layout::grid::{CLUSTER, Params, Record, large_table_capacity};
use crate::stages::pairs::PairPlan;
use crate::stages::rays::RayPlan;
use crate::stages::shape::CapacityOf;

/// Minimum rows of a shrunk output: fewer would make too many pages.
const SMALLEST_OUTPUT: u32 = 1024;

impl Plan {
    /// Enables clusters and sizes the large-object table, or drops both if memory is short. Both affect the order of
    /// pairs, so the choice depends only on input, descriptor and device.
    pub fn fit_records(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'_>,
        sizes: &StepSizes<'_>,
        binding_limit: u64,
    ) -> Result<(), InputError> {
        let params = &mut self.shape.params;
        let objects = u64::from(params.object_count);
        let mut records = binding_limit / size_of::<Record>() as u64;
        if params.has_clusters == 1 && objects + objects.div_ceil(CLUSTER.into()) <= records {
            let cluster = u64::from(CLUSTER);
            records = records / (cluster + 1) * cluster;
        } else {
            params.has_clusters = 0;
        }
        let most = records.saturating_sub(objects);
        params.large_table_capacity = most.min(large_table_capacity(params, descriptor.pairs).into()) as u32;
        let takes_more = params.large_table_capacity > 0 || params.has_clusters == 1;
        let Some(limit) = descriptor.outputs.max_bytes.filter(|_| takes_more) else {
            return Ok(());
        };
        let unlimited = BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes: None,
                ..descriptor.outputs
            },
            pair_filter: None,
            ..*descriptor
        };
        // Ignores inputs that may vary while the objects stay the same.
        let sizes = &StepSizes {
            object_limit: None,
            layouts: [None; 2],
            exclusions: [0; 2],
            ..*sizes
        };
        let mut least = Self::new(&unlimited, sizes, Demand::default(), binding_limit)?;
        least.drop_speedups(descriptor, 0);
        let shrinks = least.shrinks(descriptor);
        let wanted = rows_of(&mut least.shape.params, &shrinks);
        least.shrink(&shrinks, &wanted, 0.0);
        // Leaves the other half of the limit to outputs and later growth.
        if least.bytes() > limit / 2 {
            self.shape.params.large_table_capacity = 0;
            self.shape.params.has_clusters = 0;
        }
        Ok(())
    }

    /// Shrinks all outputs by the same share if buffers exceed `max_bytes`.
    pub fn fit_memory(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), InputError> {
        let Some(limit) = descriptor.outputs.max_bytes else {
            return Ok(());
        };
        if !self.is_counted {
            self.drop_speedups(descriptor, limit);
        }
        let bytes = self.bytes();
        if bytes <= limit {
            return Ok(());
        }
        let shrinks = self.shrinks(descriptor);
        let wanted = rows_of(&mut self.shape.params, &shrinks);
        self.shrink(&shrinks, &wanted, 0.0);
        let needed = self.bytes();
        if needed > limit {
            return Err(InputError::MemoryLimit { needed, limit });
        }
        let mut share = (limit - needed) as f64 / (bytes - needed) as f64;
        // Bytes are not proportional to rows, so this may need several tries.
        while share > 0.0 {
            self.shrink(&shrinks, &wanted, share);
            if self.bytes() <= limit {
                break;
            }
            share = (share - 0.01).max(0.0);
            self.shrink(&shrinks, &wanted, share);
        }
        Ok(())
    }

    fn drop_speedups(&mut self, descriptor: &BroadPhaseDescriptor<'_>, limit: u64) {
        let shrinks = self.shrinks(descriptor);
        for drop in PairPlan::DROPPABLE_SPEEDUPS
            .into_iter()
            .chain(RayPlan::DROPPABLE_SPEEDUPS)
        {
            let mut least = *self;
            for rows in &shrinks {
                let rows = rows(&mut least.shape.params);
                *rows = (*rows).max(SMALLEST_OUTPUT);
            }
            if least.bytes() > limit {
                drop(&mut self.shape.params);
            }
        }
    }

    /// Sets the rows of each output to its minimum plus `share` of the difference to `wanted`.
    fn shrink(&mut self, shrinks: &[CapacityOf], wanted: &[u32], share: f64) {
        for (rows, &wanted) in shrinks.iter().zip(wanted) {
            let smallest = wanted.min(SMALLEST_OUTPUT);
            *rows(&mut self.shape.params) = smallest + (f64::from(wanted - smallest) * share) as u32;
        }
    }

    fn shrinks(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Vec<CapacityOf> {
        let mut rows: Vec<_> = self.pairs.shrinks(descriptor).into_iter().collect();
        rows.extend(self.rays.shrinks(descriptor));
        rows.extend(self.queries.shrinks(descriptor));
        rows
    }
}

fn rows_of(params: &mut Params, outputs: &[CapacityOf]) -> Vec<u32> {
    outputs.iter().map(|rows| *rows(params)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::RayMode;
    use crate::layout::query_sizes::QuerySizes;
    use crate::stages::pairs::FEW_CACHED_PARTNERS;
    use crate::stages::rays::{FIRST_CACHED_HITS, MAX_CACHED_HITS, SORTED_RAYS};

    fn cast(rays: u64, hint: Demand, max_bytes: Option<u64>) -> Result<Plan, InputError> {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                max_bytes,
                ..Default::default()
            },
            ..Default::default()
        };
        let queries = QuerySizes {
            rays,
            casts: true,
            ray_stride: 2,
            ..QuerySizes::default()
        };
        let sizes = StepSizes {
            objects: 10_000,
            queries,
            ..StepSizes::default()
        };
        Plan::new(&descriptor, &sizes, hint, 128 << 20)
    }

    #[test]
    fn memory_is_taken_first_from_what_saves_time_alone() {
        let (rays, wanted) = (u64::from(SORTED_RAYS), Demand::default());
        let whole = cast(rays, wanted, None).unwrap();
        assert!(whole.shape.params.sorts_rays() && whole.shape.params.cached_hits == FIRST_CACHED_HITS);
        let mut least = whole;
        (least.shape.params.rays_sorted, least.shape.params.cached_hits) = (0, 0);
        least.shape.params.cached_partners = FEW_CACHED_PARTNERS;
        let shrinks = least.shrinks(&BroadPhaseDescriptor::default());
        for rows in shrinks {
            *rows(&mut least.shape.params) = SMALLEST_OUTPUT;
        }
        let plan = cast(rays, wanted, Some(least.bytes())).unwrap();
        assert!(!plan.shape.params.sorts_rays() && plan.shape.params.cached_hits == 0);
        assert_eq!(plan.shape.params.cached_partners, FEW_CACHED_PARTNERS);
        assert!(plan.bytes() <= least.bytes());
        let plan = cast(rays, wanted, Some(2 * whole.bytes())).unwrap();
        assert_eq!(plan.shape.params, whole.shape.params);
    }

    #[test]
    fn room_for_the_large_object_table_does_not_depend_on_steps_before() {
        let more = Demand {
            pairs: 1 << 20,
            rounds: 3,
            bit_words: 64,
            cached_hits: Some(MAX_CACHED_HITS),
            ..Demand::default()
        };
        let whole = cast(5000, Demand::default(), None).unwrap();
        assert_eq!(whole.shape.params.large_table_capacity, 2500);
        let mut seen = Vec::new();
        for share in 8..40 {
            let limit = Some(whole.bytes() * share / 16);
            let capacities = [Demand::default(), more].map(|wanted| cast(5000, wanted, limit));
            let [Ok(first), Ok(later)] = capacities else {
                continue;
            };
            assert_eq!(
                first.shape.params.large_table_capacity, later.shape.params.large_table_capacity,
                "{limit:?}"
            );
            seen.push(first.shape.params.large_table_capacity);
        }
        assert!(seen.contains(&0) && seen.contains(&2500), "{seen:?}");
    }

    #[test]
    fn what_was_counted_is_written_from_what_was_kept() {
        let mut plan = cast(5000, Demand::default(), None).unwrap();
        let before = plan.shape.params;
        plan.is_counted = true;
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                max_bytes: Some(plan.bytes() - 16),
                ..Default::default()
            },
            ..Default::default()
        };
        plan.fit_memory(&descriptor).unwrap();
        assert!(plan.shape.params.pair_capacity < before.pair_capacity);
        assert_eq!(
            (plan.shape.params.cached_hits, plan.shape.params.rays_sorted),
            (before.cached_hits, before.rays_sorted)
        );
    }
}
