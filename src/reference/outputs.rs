//! From counts to rows: the steps that the CPU engine and the trace have in common.

use super::params::{fixed, overrides_of};
use super::rays::{ray_cells_count, ray_cells_emit};
use super::reads::StepReads;
use super::scan::scan;
use crate::api::counters::{Counted, Output};
use crate::api::descriptor::{BroadPhaseDescriptor, ResultOrder};
use crate::api::error::{BroadPhaseError, checked_row_count, completed};
use crate::api::types::{RayCell, SweptRay};
use crate::layout::blocks::{Overrides, RayBlocks, ScanParams, wide};
use crate::layout::counters::Held;

/// The offset of each list, then the total, and the rows.
type Found<T> = (Vec<u32>, Vec<T>);

/// Outputs of a step or of queries to its tables.
pub(crate) struct Outputs<'a> {
    pub descriptor: &'a BroadPhaseDescriptor<'a>,
    pub overrides: Overrides,
    pub held: Held,
    pub counters: Vec<u32>,
}

impl<'a> Outputs<'a> {
    pub fn new(descriptor: &'a BroadPhaseDescriptor<'a>, held: Held, counters: Vec<u32>) -> Self {
        Self {
            descriptor,
            overrides: overrides_of(descriptor),
            held,
            counters,
        }
    }

    pub fn is_sorted(&self) -> bool {
        self.descriptor.outputs.order == ResultOrder::Sorted
    }

    /// `None` without a limit.
    pub fn capacity(&self, output: Output) -> Option<u32> {
        fixed(self.descriptor, self.descriptor.outputs.capacities.of(output))
    }

    /// Scans `counts` and emits rows, given their number and the offsets. Fails if the work was cancelled, since
    /// counts or rows may be missing.
    pub fn write<T>(
        &mut self,
        output: Output,
        mut counts: Vec<u32>,
        emit: impl FnOnce(u32, &[u32]) -> Vec<T>,
    ) -> Result<Found<T>, BroadPhaseError> {
        let capacity = self.capacity(output);
        let written = scan_output(&output.counted(), &mut counts, &mut self.counters, capacity)?;
        self.held.rows[output] = capacity.unwrap_or(written);
        let rows = completed(emit(written, &counts))?;
        Ok((counts, rows))
    }

    pub fn list_ray_cells(
        &mut self,
        mut params: RayBlocks,
        reads: &StepReads<'_>,
        rays: &[SweptRay],
        watch: impl FnOnce(&[u32]),
    ) -> Result<Found<RayCell>, BroadPhaseError> {
        let tables = [Some(reads.own), reads.statics].into_iter().flatten();
        let grids: Vec<_> = tables.map(|of| of.table.grid).collect();
        let counts = ray_cells_count::ray_cells_count(&params, &grids, rays);
        watch(&counts);
        self.write(Output::RayCells, counts, |written, offsets| {
            params.rays.cell_capacity = written;
            ray_cells_emit::ray_cells_emit(&params, &grids, rays, offsets)
        })
    }
}

/// Scans the counts of an output. Returns the number of rows to write.
pub(super) fn scan_output(
    output: &Counted,
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
        None => checked_row_count(output, needed),
    }
}
