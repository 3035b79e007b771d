//! Uniform blocks and capacities of a step on the CPU, which has no byte limits.

use super::host::HostScene;
use super::table::prepare;
use crate::api::descriptor::{BroadPhaseDescriptor, Growth};
use crate::api::error::{BroadPhaseError, InputError};
use crate::api::input::count;
use crate::api::scene::QueryInput;
use crate::api::types::Aabb;
use crate::layout::blocks::{Overrides, PairParams, QueryParams, RayParams};
use crate::layout::grid::{self, Params};
use crate::layout::query_sizes::QuerySizes;
use crate::shared::bounds::LARGEST_COUNT;

pub(crate) fn fixed(descriptor: &BroadPhaseDescriptor<'_>, capacity: Option<u32>) -> Option<u32> {
    capacity.filter(|_| descriptor.outputs.growth == Growth::Fixed)
}

fn table_params(
    descriptor: &BroadPhaseDescriptor<'_>,
    objects: usize,
    first_object: u32,
) -> Result<Params, InputError> {
    let object_count = count("objects", objects as u64)?;
    let mut params = Params::of_table(descriptor, object_count, first_object);
    let cells = grid::table_capacity(params.scheme, object_count, descriptor.outputs.capacities.entries);
    params.table_capacity = cells.min(LARGEST_COUNT - 3) as u32;
    Ok(params)
}

/// Returns the uniform blocks of the moving and the static table.
pub(crate) fn params(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Result<[Params; 2], InputError> {
    let (moving, statics) = (scene.objects.len(), scene.static_objects.len());
    count("objects", (moving + statics) as u64)?;
    descriptor.check_worlds(scene.worlds.len() as u64, moving as u64)?;
    descriptor.check_worlds(scene.static_worlds.len() as u64, statics as u64)?;
    let mut of_statics = table_params(descriptor, statics, 0)?;
    // No pair walk begins in the static table, so it needs no clusters.
    of_statics.has_clusters = 0;
    let mut params = table_params(descriptor, moving, of_statics.object_count)?;
    params.large_table_capacity = grid::large_table_capacity(&params, descriptor.pairs);
    for params in [&mut params, &mut of_statics] {
        params.static_count = statics as u32;
    }
    Ok([params, of_statics])
}

/// Returns the block of pairs. Their capacity is 0.
pub(crate) fn pair_params(table: &Params) -> PairParams {
    let static_rows = if table.static_count > 0 { table.object_count } else { 0 };
    PairParams::of_rows(table.entry_capacity, 0, static_rows)
}

/// Returns the blocks of rays and queries. Their capacities are 0.
pub(crate) fn query_params(objects: u64, input: &QueryInput<'_>) -> Result<(RayParams, QueryParams), InputError> {
    let sizes = QuerySizes::of(input, objects, 4);
    Ok((sizes.ray_params()?, sizes.query_params()?))
}

/// Returns [`params`] and all prepared objects, static ones first.
pub(crate) fn prepared(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
) -> Result<([Params; 2], Vec<Aabb>), BroadPhaseError> {
    descriptor.validate()?;
    let params = params(descriptor, scene)?;
    let objects = if descriptor.prepares() || params[0].static_count > 0 {
        [
            prepare::prepare(&params[1], scene.static_objects, &[], scene.static_worlds),
            prepare::prepare(&params[0], scene.objects, &[], scene.worlds),
        ]
        .concat()
    } else {
        scene.objects.to_vec()
    };
    Ok((params, objects))
}

pub(crate) const fn overrides_of(descriptor: &BroadPhaseDescriptor<'_>) -> Overrides {
    Overrides {
        filters: descriptor.filters,
        count_candidates: descriptor.count_candidates,
    }
}
