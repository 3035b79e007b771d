//! Uniform blocks and capacities of a step on the CPU, which has no byte limits.

use super::host::HostScene;
use super::scan::scan;
use super::table::{entry_count, prepare};
use crate::api::counters::CountedOutput;
use crate::api::counters::word;
use crate::api::descriptor::{BroadPhaseDescriptor, Growth};
use crate::api::error::{BroadPhaseError, InputError, completed};
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::layout::blocks::{Overrides, PairParams, QueryParams, RayParams, ScanParams, wide};
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

fn params(descriptor: &BroadPhaseDescriptor<'_>, scene: &HostScene<'_>) -> Result<[Params; 2], InputError> {
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

/// Returns [`prepared`], with the capacities of entries and pair counts.
pub(crate) fn sized(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &HostScene<'_>,
) -> Result<([Params; 2], Vec<Aabb>), BroadPhaseError> {
    let (mut params, objects) = prepared(descriptor, scene)?;
    for params in &mut params {
        params.entry_capacity = entry_capacity(descriptor, params, &objects)?;
    }
    Ok((params, objects))
}

/// Returns the block of pairs. Their capacity is 0.
pub(crate) fn pair_params(table: &Params) -> PairParams {
    let static_rows = if table.static_count > 0 { table.object_count } else { 0 };
    PairParams::of_rows(table.entry_capacity, 0, static_rows)
}

/// Returns the blocks of rays and queries. Their capacities are 0.
pub(crate) fn query_params(table: &Params, scene: &HostScene<'_>) -> Result<(RayParams, QueryParams), InputError> {
    let sizes = QuerySizes::of(&scene.query_input, table.all_objects().into(), 4);
    Ok((sizes.ray_params()?, sizes.query_params()?))
}

/// Entry capacity: one per object. In the uniform scheme, the number of entries needed, but at most a fixed capacity.
fn entry_capacity(descriptor: &BroadPhaseDescriptor<'_>, params: &Params, objects: &[Aabb]) -> Result<u32, InputError> {
    if !params.is_uniform() {
        return Ok(params.entry_capacity);
    }
    let counts = entry_count::entry_count(params, objects);
    let needed: u64 = counts.into_iter().map(u64::from).sum();
    let capacity = fixed(descriptor, descriptor.outputs.capacities.entries);
    let held = capacity.map_or(needed, |capacity| needed.min(capacity.into()));
    count("entries", held)
}

/// Saves the static table's entry count: the moving table uses the same words.
pub(crate) fn save_static_entries(counters: &mut [u32]) {
    counters.copy_within(
        word::ENTRIES_NEEDED..word::ENTRIES_NEEDED + 2,
        word::STATIC_ENTRIES_NEEDED,
    );
}

/// Scans the counts of an output. Returns the number of rows to write.
pub(crate) fn scan_output(
    output: &CountedOutput,
    counts: &mut [u32],
    counters: &mut [u32],
    capacity: Option<u32>,
) -> Result<u32, BroadPhaseError> {
    completed(())?;
    let block = ScanParams {
        count: counts.len() as u32,
        total_word: output.word as u32,
        capacity: capacity.unwrap_or(u32::MAX),
        status_bit: output.status.bits(),
    };
    scan(&block, counts, counters);
    let needed = wide(counters, output.word);
    match capacity {
        // Offsets that do not fit saturate to the largest u32, so no row has that place.
        Some(capacity) => Ok(needed.min(u64::from(capacity)).min(u64::from(u32::MAX - 1)) as u32),
        None => output.checked_row_count(needed),
    }
}

/// Returns the uniform blocks of the moving and the static table, and all prepared objects, static ones first.
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
