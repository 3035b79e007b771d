//! What steps will take, before anything is made.

use super::broad_phase::GpuBroadPhase;
use super::needs::Needs;
use super::plan::Plan;
use crate::api::counters::{Counters, Status};
use crate::api::descriptor::{self, BroadPhaseDescriptor, Growth};
use crate::api::error::DescriptorError;
use crate::api::input::{RAY_STRIDE, SWEPT_STRIDE};
use crate::api::memory::{MemoryUse, StepCounts};
use crate::gpu::buffers::rounded;
use crate::shared::asked::Asked;
use crate::shared::bounds::binding_limit;
use crate::stages::table::{self, statics};

impl GpuBroadPhase {
    /// The bytes of the buffers that steps will have with a descriptor, once outputs grew to what is found, and before
    /// anything is made. Sources are taken to lie on the host: what the caller brings in buffers of its own, an
    /// [`ObjectSet`](crate::ObjectSet) among it, takes nothing of [`inputs`](MemoryUse::inputs), as [`MemoryUse`] says.
    /// Building the table of static objects takes more for that one step. What stands beside the step, and sets of
    /// queries, come on top.
    ///
    /// # Errors
    /// [`DescriptorError`] for a descriptor that cannot work; [`DescriptorError::StepTooLarge`] where a step of that
    /// size does not fit the device or the descriptor's [`max_bytes`](BroadPhaseDescriptor::max_bytes), and why.
    pub fn forecast(
        device: &wgpu::Device,
        descriptor: &BroadPhaseDescriptor<'_>,
        counts: &StepCounts,
    ) -> Result<MemoryUse, DescriptorError> {
        descriptor::validate(descriptor)?;
        let descriptor = BroadPhaseDescriptor {
            sort: descriptor.sort.choose(device.features(), &device.adapter_info()),
            ..*descriptor
        };
        let limit = binding_limit(&device.limits());
        let asked = Asked {
            rays: counts.rays.into(),
            ray_stride: if counts.sweeps { SWEPT_STRIDE } else { RAY_STRIDE },
            queries: counts.queries.into(),
            wide_queries: counts.spheres,
            query_mode: counts.query_mode,
            ..Asked::default()
        };
        let plan = |wanted: Needs| {
            let statics = match counts.statics {
                0 => None,
                statics => Some(Plan::of_statics(&descriptor, statics.into(), wanted, limit)?),
            };
            let objects = counts.objects.into();
            let mut step = Plan::new(&descriptor, objects, statics.as_ref(), &asked, wanted, limit)?;
            let given = [counts.excluded_pairs, counts.pair_filter_data].map(u64::from);
            step.exclude(&descriptor, descriptor.pair_filter.is_some(), given, limit)?;
            Ok((step, statics))
        };
        let (first, _) = plan(Needs::default()).map_err(DescriptorError::StepTooLarge)?;
        let params = &first.shape.params;
        let counters = Counters {
            entries_needed: if params.is_uniform() {
                counts.entries
            } else {
                counts.objects
            }
            .into(),
            entries_capacity: params.entry_capacity,
            pairs_needed: counts.pairs.into(),
            pairs_capacity: params.pair_capacity,
            hits_needed: counts.hits.into(),
            hits_capacity: params.hit_capacity,
            results_needed: counts.results.into(),
            results_capacity: params.result_capacity,
            rounds_needed: 1,
            rounds_capacity: first.shape.rounds,
            status: Status::default(),
            ..Counters::default()
        };
        let needed = Needs::of(&counters, first.rays_counted());
        let wanted = if descriptor.growth == Growth::Grow {
            Needs::default().grown(needed, Needs::held(&counters))
        } else {
            Needs::default()
        };
        let (step, of_statics) = plan(wanted).map_err(DescriptorError::StepTooLarge)?;
        let of_statics = of_statics.iter().flat_map(|plan| {
            // Either side of the sort is as large.
            let kept = statics::kept(&plan.shape.params, table::buffer::VALUES_0);
            plan.sizes().into_iter().filter(move |(id, _)| kept.contains(id))
        });
        let mut sum = MemoryUse::default();
        for (id, bytes) in step.sizes().into_iter().chain(of_statics) {
            *sum.part(id.part) += rounded(bytes);
        }
        Ok(sum)
    }
}
