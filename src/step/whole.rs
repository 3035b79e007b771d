//! Complete results on the host: steps are repeated with larger buffers, large results are read in pages.

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::api::counters::{Counters, Output, Status};
use crate::api::descriptor::MAX_ROUNDS;
use crate::api::descriptor::{BroadPhaseDescriptor, RayMode, ResultOrder};
use crate::api::error::{BroadPhaseError, StepError, checked_row_count, completed};
use crate::api::output::Page;
use crate::api::result::StepResult;
use crate::api::scene::{QueryInput, Scene};
use crate::gpu::reading::Reading;
use crate::gpu::scope::Scopes;
use crate::shared::cancel::is_stopped;
use crate::shared::lists::sort_lists;
use crate::step::broad_phase::GpuBroadPhase;

pub(crate) struct Whole {
    info: wgpu::AdapterInfo,
    broad_phase: GpuBroadPhase,
    lost: Arc<AtomicBool>,
    /// True if outputs fitted last time. The next step then skips counting them first, which saves a wait.
    steps_fit: bool,
    queries_fit: bool,
}

type Submitted = (Reading, wgpu::SubmissionIndex);

impl Whole {
    pub async fn open(
        adapter: wgpu::Adapter,
        descriptor: &BroadPhaseDescriptor<'_>,
        cache: impl FnOnce(&wgpu::AdapterInfo, &wgpu::Device) -> Option<wgpu::PipelineCache>,
    ) -> Result<Self, BroadPhaseError> {
        let (device, queue) = adapter
            .request_device(&GpuBroadPhase::device_descriptor(&adapter))
            .await
            .map_err(|error| BroadPhaseError::NoDevice(error.to_string()))?;
        let info = adapter.get_info();
        let mut kept = None;
        if device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            // wgpu ignores most cache data that it cannot use, but fails for data of another device.
            let scopes = Scopes::begin(&device);
            kept = cache(&info, &device);
            if scopes.end().now().is_some() {
                kept = None;
            }
        }
        let mut broad_phase = GpuBroadPhase::create(&device, &queue, descriptor, kept.as_ref())?;
        broad_phase.session.part_timeout = Some(descriptor.outputs.timeout);
        let lost = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&lost);
        device.set_device_lost_callback(move |_, _| flag.store(true, Ordering::Relaxed));
        Ok(Self {
            info,
            broad_phase,
            lost,
            steps_fit: false,
            queries_fit: false,
        })
    }

    pub const fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    pub fn device(&self) -> &wgpu::Device {
        self.broad_phase.context().device()
    }

    pub fn queue(&self) -> &wgpu::Queue {
        self.broad_phase.context().queue()
    }

    pub const fn broad_phase(&self) -> &GpuBroadPhase {
        &self.broad_phase
    }

    pub fn set_descriptor(&mut self, descriptor: &BroadPhaseDescriptor<'_>) -> Result<(), BroadPhaseError> {
        (self.steps_fit, self.queries_fit) = (false, false);
        self.broad_phase.set_descriptor(descriptor)?;
        self.broad_phase.session.part_timeout = Some(descriptor.outputs.timeout);
        Ok(())
    }

    /// The last step can still be queried.
    pub fn set_ray_mode(&mut self, mode: RayMode) {
        let own = &mut self.broad_phase.descriptor.outputs.ray_mode;
        if *own != mode {
            *own = mode;
            (self.steps_fit, self.queries_fit) = (false, false);
        }
    }

    pub async fn step_scene(&mut self, scene: &Scene<'_>) -> Result<StepResult, BroadPhaseError> {
        let record = |broad_phase: &mut GpuBroadPhase, encoder: &mut wgpu::CommandEncoder, emits: bool| {
            broad_phase.record_step(encoder, *scene, emits)
        };
        if self.steps_fit
            && let Some(result) = self.answer_at_once(record).await?
        {
            return Ok(result);
        }
        loop {
            // Counting first avoids writing to outputs that are too small.
            let mut counters = self.count(record).await?;
            while self.broad_phase.grows() && missing_rows(&counters).is_some() {
                // Pairs and hits of missing entries are not counted, so only a new step shows the demand.
                let held = |of: &Counters| u64::from(of.entries_capacity) + u64::from(of.static_entries_capacity);
                let before = held(&counters);
                counters = self.count(record).await?;
                if let Some((needed, capacity)) = missing_rows(&counters).filter(|_| held(&counters) <= before) {
                    return Err(too_many("cell entries", needed, capacity));
                }
            }
            if let Some((result, fits)) = self.finish(counters).await? {
                self.steps_fit = fits;
                return Ok(result);
            }
        }
    }

    pub async fn query(&mut self, input: &QueryInput<'_>) -> Result<StepResult, BroadPhaseError> {
        let record = |broad_phase: &mut GpuBroadPhase, encoder: &mut wgpu::CommandEncoder, emits: bool| {
            broad_phase.record_query(encoder, input, emits)
        };
        if self.queries_fit
            && let Some(result) = self.answer_at_once(record).await?
        {
            return Ok(result);
        }
        loop {
            let counters = self.count(record).await?;
            if let Some((result, fits)) = self.finish(counters).await? {
                self.queries_fit = fits;
                return Ok(result);
            }
        }
    }

    /// Returns `None` if outputs or rounds are too few.
    async fn answer_at_once(
        &mut self,
        record: impl Fn(&mut GpuBroadPhase, &mut wgpu::CommandEncoder, bool) -> Result<(), StepError>,
    ) -> Result<Option<StepResult>, BroadPhaseError> {
        let reading = self.submit(|broad_phase, encoder| {
            record(broad_phase, encoder, true)?;
            broad_phase.record_reading(encoder, true)
        })?;
        let mut result = self.receive(reading).await?;
        let counters = result.counters;
        let grows = self.broad_phase.grows();
        if grows && missing_rows(&counters).is_some() {
            return Ok(None);
        }
        self.fit_rounds(&counters)?;
        if unfinished(&counters) || (grows && !self.is_complete(&result, &counters)) {
            return Ok(None);
        }
        if grows {
            result.counters.status = result.counters.status.intersection(Status::ROUNDS | Status::CUT);
        }
        Ok(Some(result))
    }

    /// Writes the outputs. Returns `None` if more rounds are needed. The flag is true if one page sufficed.
    async fn finish(&mut self, counted: Counters) -> Result<Option<(StepResult, bool)>, BroadPhaseError> {
        let mut counters = counted;
        let mut result = None;
        // Writing also finds closest hits and nearest objects, so it may need more rounds.
        if !unfinished(&counters) {
            let (written, fits) = self.write(counters).await?;
            counters = written.counters;
            result = (!unfinished(&counters)).then_some((written, fits));
        }
        self.fit_rounds(&counters)?;
        Ok(result)
    }

    fn fit_rounds(&mut self, counters: &Counters) -> Result<(), BroadPhaseError> {
        let is_short = counters.status.has(Status::ROUNDS);
        let more = if is_short { counters.rounds_capacity + 1 } else { 1 };
        let rounds = counters.rounds_needed.max(more);
        if is_short && rounds > MAX_ROUNDS {
            let needed = u64::from(rounds);
            return Err(too_many("rounds of box tests", needed, MAX_ROUNDS));
        }
        if counters.status.has(Status::CUT) && self.broad_phase.is_cut_smallest() {
            return Err(BroadPhaseError::LoopsCut);
        }
        // Rounds may also fall: one crowded scene should not slow later ones.
        self.broad_phase.growth.demand_rounds(rounds.min(MAX_ROUNDS));
        Ok(())
    }

    async fn count(
        &mut self,
        record: impl Fn(&mut GpuBroadPhase, &mut wgpu::CommandEncoder, bool) -> Result<(), StepError>,
    ) -> Result<Counters, BroadPhaseError> {
        let (reading, submission) = self.submit(|broad_phase, encoder| {
            record(broad_phase, encoder, false)?;
            broad_phase.record_reading(encoder, false)
        })?;
        let counters = self.broad_phase.receive_counters(reading, submission).await;
        counters.map_err(|error| self.cause(error))
    }

    fn is_complete(&self, result: &StepResult, needed: &Counters) -> bool {
        let is_listed = |output| match output {
            Output::Pairs => self.broad_phase.emits_pairs(),
            Output::RayHits => !result.ray_offsets.is_empty(),
            Output::RayCells | Output::QueryObjects => true,
        };
        let holds = |output| result.rows(output) as u64 >= needed.rows(output).0;
        Output::EACH
            .into_iter()
            .all(|output| !is_listed(output) || holds(output))
    }

    /// Writes all pages. The flag is true if one page sufficed.
    async fn write(&mut self, counters: Counters) -> Result<(StepResult, bool), BroadPhaseError> {
        if self.broad_phase.grows() {
            check_returnable(&counters)?;
        }
        let mut whole = self.write_page(Page::default(), true).await?;
        if !self.broad_phase.grows() {
            return Ok((whole, true));
        }
        let mut is_in_parts = false;
        let mut world_pages = vec![whole.world_offsets.clone()];
        loop {
            if self.is_complete(&whole, &counters) {
                if is_in_parts && self.broad_phase.descriptor().outputs.order == ResultOrder::Sorted {
                    sort_pages(&mut whole, &world_pages);
                    sort_lists(&mut whole.ray_hits, &whole.ray_offsets, |hit| hit.object);
                    sort_lists(&mut whole.query_objects, &whole.query_offsets, |&object| object);
                    completed(()).map_err(|error| self.cause(error))?;
                }
                // The other bits report overflow, for which further pages made up.
                whole.counters.status = whole.counters.status.intersection(Status::ROUNDS | Status::CUT);
                return Ok((whole, !is_in_parts));
            }
            is_in_parts = true;
            let mut chunk = self.write_page(whole.next_page(), false).await?;
            world_pages.push(take(&mut chunk.world_offsets));
            whole.counters.status = whole.counters.status | chunk.counters.status;
            let rounds = &mut whole.counters.rounds_needed;
            *rounds = chunk.counters.rounds_needed.max(*rounds);
            whole.append(chunk);
        }
    }

    async fn write_page(&mut self, first: Page, after_counts: bool) -> Result<StepResult, BroadPhaseError> {
        let reading = self.submit(|broad_phase, encoder| {
            broad_phase.record_page(encoder, first, after_counts)?;
            broad_phase.record_reading(encoder, true)
        })?;
        self.receive(reading).await
    }

    async fn receive(&mut self, (reading, submission): Submitted) -> Result<StepResult, BroadPhaseError> {
        let result = self.broad_phase.receive(reading, submission).await;
        result.map_err(|error| self.cause(error))
    }

    fn poll_lost(&mut self) -> bool {
        let _ = self.device().poll(wgpu::PollType::Poll);
        let lost = self.lost.load(Ordering::Relaxed);
        if lost {
            self.broad_phase.mark_lost();
        }
        lost
    }

    fn cause(&mut self, error: impl Into<BroadPhaseError>) -> BroadPhaseError {
        if self.poll_lost() {
            return BroadPhaseError::DeviceLost;
        }
        if is_stopped() {
            // The recording may be partly submitted.
            self.broad_phase.forget();
            (self.steps_fit, self.queries_fit) = (false, false);
            return BroadPhaseError::Cancelled;
        }
        error.into()
    }

    fn submit(
        &mut self,
        record: impl FnOnce(&mut GpuBroadPhase, &mut wgpu::CommandEncoder) -> Result<Reading, StepError>,
    ) -> Result<Submitted, BroadPhaseError> {
        let mut encoder = self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/whole"),
        });
        completed(())?;
        self.poll_lost();
        let recorded = self.broad_phase.guarded(&mut encoder, record);
        let recorded = recorded.map_err(BroadPhaseError::from).and_then(completed);
        let reading = recorded.map_err(|error| self.cause(error))?;
        let submission = self.queue().submit([encoder.finish()]);
        // The encoder of an input may have been dropped.
        let checked = self.broad_phase.check_dropped();
        checked.map_err(|error| self.cause(error))?;
        Ok((reading, submission))
    }
}

/// Merges the pairs of sorted pages. `world_pages`: offsets of worlds in each.
fn sort_pages(whole: &mut StepResult, world_pages: &[Vec<u32>]) {
    if whole.world_offsets.is_empty() {
        whole.pairs.sort_unstable();
        return;
    }
    let (mut rest, mut pages) = (&whole.pairs[..], Vec::new());
    for offsets in world_pages {
        let (page, later) = rest.split_at(offsets.last().map_or(0, |&rows| rows as usize));
        pages.push((page, offsets));
        rest = later;
    }
    let mut pairs = Vec::with_capacity(whole.pairs.len());
    for (world, offset) in whole.world_offsets.iter_mut().enumerate() {
        *offset = pairs.len() as u32;
        for (page, offsets) in &pages {
            if let Some(&[begin, end]) = offsets.get(world..world + 2) {
                pairs.extend_from_slice(&page[begin as usize..end as usize]);
            }
        }
    }
    sort_lists(&mut pairs, &whole.world_offsets, |&pair| pair);
    whole.pairs = pairs;
}

const fn unfinished(counters: &Counters) -> bool {
    counters.status.has(Status::ROUNDS.union(Status::CUT))
}

fn missing_rows(counters: &Counters) -> Option<(u64, u32)> {
    let tables = [
        (counters.entries_needed, counters.entries_capacity),
        (counters.static_entries_needed, counters.static_entries_capacity),
    ];
    tables
        .into_iter()
        .find(|&(needed, capacity)| needed > u64::from(capacity))
}

fn too_many(what: &'static str, needed: u64, limit: u32) -> BroadPhaseError {
    BroadPhaseError::TooManyResults {
        what,
        needed,
        limit: u64::from(limit),
    }
}

fn check_returnable(counters: &Counters) -> Result<(), BroadPhaseError> {
    for output in Output::EACH {
        checked_row_count(&output.counted(), counters.rows(output).0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Pair;

    #[test]
    fn pages_are_sorted_by_world() {
        let world = |pair: &Pair| (pair.a + pair.b) % 6;
        let mut all: Vec<_> = (0..90)
            .map(|row| Pair {
                a: row * 37 % 90,
                b: 100 + row,
            })
            .collect();
        all.retain(|pair| world(pair) != 2);
        let offsets = |pairs: &[Pair]| -> Vec<_> {
            let before = |own: u32| pairs.iter().filter(|pair| world(pair) < own).count() as u32;
            (0..7).map(before).collect()
        };
        let in_order = |pairs: &[Pair]| {
            let mut sorted = pairs.to_vec();
            sorted.sort_unstable_by_key(|pair| (world(pair), *pair));
            sorted
        };
        for rows in [1, 7, 30, 200] {
            let pages: Vec<_> = all.chunks(rows).map(in_order).collect();
            let of_worlds: Vec<_> = pages.iter().map(|page| offsets(page)).collect();
            let mut whole = StepResult {
                pairs: pages.concat(),
                world_offsets: of_worlds[0].clone(),
                ..StepResult::default()
            };
            sort_pages(&mut whole, &of_worlds);
            assert_eq!(whole.pairs, in_order(&all));
            assert_eq!(whole.world_offsets, offsets(&all));
        }
    }

    #[test]
    fn answers_that_no_vector_holds_are_refused_with_what_was_needed() {
        let limit = u64::from(u32::MAX) - 1;
        type Set = fn(&mut Counters, u64);
        let set: [(&str, Set); 4] = [
            ("pairs", |counters, rows| counters.pairs_needed = rows),
            ("hits", |counters, rows| counters.hits_needed = rows),
            ("ray cells", |counters, rows| counters.ray_cells_needed = rows),
            ("results of queries", |counters, rows| counters.results_needed = rows),
        ];
        for (what, set) in set {
            let needing = |rows: u64| {
                let mut counters = Counters::default();
                set(&mut counters, rows);
                check_returnable(&counters).err()
            };
            assert_eq!(needing(limit), None);
            for needed in [limit + 1, 1 << 32, 4_324_453_500] {
                assert_eq!(
                    needing(needed),
                    Some(BroadPhaseError::TooManyResults { what, needed, limit })
                );
            }
        }
    }
}
