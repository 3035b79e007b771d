//! What steps and sets of queries will take, before anything is made.

use super::broad_phase::GpuBroadPhase;
use super::demand::Demand;
use super::plan::{Plan, StepSizes};
use super::query_set::QuerySet;
use crate::api::counters::{Counters, Status};
use crate::api::descriptor::{self, BroadPhaseDescriptor, Growth};
use crate::api::error::{DescriptorError, InputError};
use crate::api::input::{RAY_STRIDE, SWEPT_STRIDE};
use crate::api::memory::{MemoryUse, QueryKind, StepCounts};
use crate::api::queries::{Askers, Neighbors, Partners};
use crate::gpu::buffers;
use crate::layout::asked::Asked;
use crate::shared::bounds::binding_limit;
use crate::stages::table::{self, statics};

impl GpuBroadPhase {
    /// The bytes of the buffers that steps will have with a descriptor, once outputs grew to what is found, and before
    /// anything is made. Sources are taken to lie on the host: what the caller brings in buffers of its own, an
    /// [`ObjectSet`](crate::ObjectSet) among it, takes nothing of [`inputs`](MemoryUse::inputs), as [`MemoryUse`] says.
    /// Building the table of static objects takes more for that one step. What stands beside the step, and sets of
    /// queries, come on top: [`QuerySet::forecast`], [`PairEvents::forecast`](crate::PairEvents::forecast) and the
    /// like.
    ///
    /// # Errors
    /// [`DescriptorError`] for a descriptor that cannot work; [`DescriptorError::StepTooLarge`] where a step of that
    /// size does not fit the device or the descriptor's [`max_bytes`](BroadPhaseDescriptor::max_bytes), and why.
    pub fn forecast(
        device: &wgpu::Device,
        descriptor: &BroadPhaseDescriptor<'_>,
        counts: &StepCounts,
    ) -> Result<MemoryUse, DescriptorError> {
        let (step, of_statics) = plans(device, descriptor, counts)?;
        let of_statics = of_statics.iter().flat_map(|plan| {
            // Either side of the sort is as large.
            let kept = statics::kept(&plan.shape.params, table::buffer::VALUES_0);
            plan.sizes().into_iter().filter(move |(id, _)| kept.contains(id))
        });
        Ok(buffers::forecast(step.sizes().into_iter().chain(of_statics)))
    }
}

impl QuerySet {
    /// The bytes of the buffers that a set of queries will have, once outputs grew to what is found, and before
    /// anything is made. `descriptor` is that of the set, with the other fields as the broad phase has them. `counts`
    /// has the objects of the step, and the rays and queries of the set with what is found for them. Sources are taken
    /// to lie on the host.
    ///
    /// # Errors
    /// As [`GpuBroadPhase::forecast`].
    pub fn forecast(
        device: &wgpu::Device,
        descriptor: &BroadPhaseDescriptor<'_>,
        counts: &StepCounts,
    ) -> Result<MemoryUse, DescriptorError> {
        let of_step = BroadPhaseDescriptor {
            max_bytes: None,
            ..*descriptor
        };
        let of_objects = StepCounts {
            objects: counts.objects,
            statics: counts.statics,
            ..StepCounts::default()
        };
        let (table, _) = plans(device, &of_step, &of_objects)?;
        let (asked, limit) = (asked(counts), binding_limit(&device.limits()));
        let plan = grown(descriptor, counts, |wanted| {
            Ok((table.lent(descriptor).asking(descriptor, &asked, wanted, limit)?, ()))
        });
        let (plan, ()) = plan.map_err(DescriptorError::StepTooLarge)?;
        Ok(buffers::forecast(plan.sizes()))
    }
}

/// The plan of steps of some size, and that of their static objects' table, once outputs grew.
pub(crate) fn plans(
    device: &wgpu::Device,
    descriptor: &BroadPhaseDescriptor<'_>,
    counts: &StepCounts,
) -> Result<(Plan, Option<Plan>), DescriptorError> {
    descriptor::validate(descriptor)?;
    let descriptor = BroadPhaseDescriptor {
        sort: descriptor.sort.choose(device.features(), &device.adapter_info()),
        ..*descriptor
    };
    let (asked, limit) = (asked(counts), binding_limit(&device.limits()));
    let plans = grown(&descriptor, counts, |wanted| {
        let statics = match counts.statics {
            0 => None,
            statics => Some(Plan::of_statics(&descriptor, statics.into(), [None; 2], wanted, limit)?),
        };
        let sizes = StepSizes {
            objects: counts.objects.into(),
            statics: statics.as_ref(),
            exclusions: [counts.excluded_pairs, counts.pair_filter_data].map(u64::from),
            asked,
            ..StepSizes::default()
        };
        Ok((Plan::new(&descriptor, &sizes, wanted, limit)?, statics))
    });
    plans.map_err(DescriptorError::StepTooLarge)
}

/// What is asked of the objects. Radii and directions take no memory.
fn asked(counts: &StepCounts) -> Asked {
    let askers = match counts.query_kind {
        QueryKind::Boxes | QueryKind::Spheres => None,
        QueryKind::Neighbors => Some(Askers::Neighbors(Neighbors::default())),
        QueryKind::Partners => Some(Askers::Partners(Partners::default())),
    };
    let queries = match askers {
        None => counts.queries.into(),
        Some(_) => u64::from(counts.objects) + u64::from(counts.statics),
    };
    Asked {
        rays: counts.rays.into(),
        casts: counts.rays > 0,
        ray_stride: if counts.sweeps { SWEPT_STRIDE } else { RAY_STRIDE },
        queries,
        asks: queries > 0,
        wide_queries: counts.query_kind == QueryKind::Spheres,
        askers,
        query_mode: counts.query_mode,
        ..Asked::default()
    }
}

/// A plan, and what comes with it, once outputs grew to what is found.
fn grown<T>(
    descriptor: &BroadPhaseDescriptor<'_>,
    counts: &StepCounts,
    plan: impl Fn(Demand) -> Result<(Plan, T), InputError>,
) -> Result<(Plan, T), InputError> {
    let (first, of_first) = plan(Demand::default())?;
    if descriptor.growth != Growth::Grow {
        return Ok((first, of_first));
    }
    let params = &first.shape.params;
    let [entries_needed, static_entries_needed] = if params.is_uniform() {
        [counts.entries, counts.static_entries]
    } else {
        [counts.objects, counts.statics]
    };
    let counters = Counters {
        entries_needed: entries_needed.into(),
        entries_capacity: params.entry_capacity,
        static_entries_needed: static_entries_needed.into(),
        static_entries_capacity: first.static_entries,
        pairs_needed: counts.pairs.into(),
        pairs_capacity: params.pair_capacity,
        hits_needed: counts.hits.into(),
        hits_capacity: params.hit_capacity,
        ray_cells_needed: counts.ray_cells.into(),
        ray_cells_capacity: params.ray_cell_capacity,
        results_needed: counts.results.into(),
        results_capacity: params.result_capacity,
        rounds_needed: 1,
        rounds_capacity: first.shape.rounds,
        status: Status::default(),
        ..Counters::default()
    };
    let needed = Demand::of(&counters, first.rays_counted());
    plan(Demand::default().grown(needed, Demand::held(&counters)))
}
