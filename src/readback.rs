//! Reading results: calls of their own, after the submission.

use crate::broad_phase::GpuBroadPhase;
use crate::counters::{Counters, STATUS_CUT, word};
use crate::descriptor::RayMode;
use crate::error::ReadBackError;
use crate::gpu::scope::Scopes;
use crate::plan::{self, Rows};
use crate::result::{StageTime, StepResult};
use crate::types::{Pair, RayCell, RayHit};

impl GpuBroadPhase {
    /// Reads the counters of the last step, once it was submitted. With [`Growth::Grow`](crate::Growth::Grow) this is
    /// also what lets the next step make room for what this one needed.
    ///
    /// Submits a copy to `queue`. On native targets the call waits for the device; in the browser it awaits it.
    ///
    /// # Errors
    /// [`ReadBackError::NoStep`] before the first step and after [`trim`](Self::trim), [`ReadBackError::Map`] or
    /// [`ReadBackError::DeviceLost`] where the device is lost, [`ReadBackError::Timeout`] where it takes too long,
    /// [`ReadBackError::Device`] where it refused the recording.
    pub async fn read_counters(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<Counters, ReadBackError> {
        if self.lost {
            return Err(ReadBackError::DeviceLost);
        }
        if let Some(error) = std::mem::take(&mut self.caught).wait().await {
            self.forget();
            return Err(ReadBackError::Device(error));
        }
        let plan = self.recorded.as_ref().ok_or(ReadBackError::NoStep)?.plan;
        let bytes = 4 * word::COUNT as u64;
        let words = self.read(device, queue, self.buffers.get("counters"), bytes).await?;
        let counters = Counters::from_words(
            bytemuck::cast_slice(&words),
            &plan.params,
            plan.rounds,
            plan.static_entries,
        );
        if counters.status & STATUS_CUT != 0 {
            self.wanted.caution += 1;
        }
        let need = |needed: u64| u32::try_from(needed).unwrap_or(u32::MAX);
        self.needed = Rows {
            entries: need(counters.entries_needed),
            static_entries: need(counters.static_entries_needed),
            pairs: need(counters.pairs_needed),
            hits: need(counters.hits_needed),
            ray_cells: need(counters.ray_cells_needed),
            results: need(counters.results_needed),
            rounds: counters.rounds_needed,
            bit_words: plan::bit_words(counters.pairs_needed, counters.entries_needed),
            hits_kept: plan::hits_kept(counters.hits_needed, plan.params.ray_count.into()),
            caution: self.wanted.caution,
        };
        if self.grows() {
            let held = Rows {
                entries: counters.entries_capacity,
                static_entries: counters.static_entries_capacity,
                pairs: counters.pairs_capacity,
                hits: counters.hits_capacity,
                ray_cells: counters.ray_cells_capacity,
                results: counters.results_capacity,
                rounds: counters.rounds_capacity,
                bit_words: 0,
                hits_kept: 0,
                caution: 0,
            };
            self.wanted = self.wanted.grown(self.needed, held);
        }
        Ok(counters)
    }

    /// Reads the whole result of the last step, [`window`](Self::window) or [`query`](Self::query), once it was submitted:
    /// the counters and those pairs, hits, cells of rays and results of queries that it wrote and the buffers hold. A query
    /// writes no pairs.
    ///
    /// # Errors
    /// As [`read_counters`](Self::read_counters).
    pub async fn read_back(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<StepResult, ReadBackError> {
        let counters = self.read_counters(device, queue).await?;
        let recorded = self.recorded.as_ref().ok_or(ReadBackError::NoStep)?;
        let (plan, emits_pairs) = (recorded.plan, recorded.emits_pairs);
        let mut result = StepResult {
            counters,
            ..StepResult::default()
        };
        let held = |needed: u64, first: u32, capacity: u32| needed.saturating_sub(first.into()).min(capacity.into());
        if emits_pairs {
            let pairs = held(counters.pairs_needed, plan.params.first_pair, plan.params.pair_capacity);
            result.pairs = self.read_rows::<Pair>(device, queue, "pairs", pairs).await?;
        }
        if emits_pairs && plan.has_worlds() {
            let worlds = u64::from(plan.params.world_count);
            result.world_pairs = self.read_rows::<u32>(device, queue, "world_pairs", worlds).await?;
        }
        if plan.params.ray_count > 0 {
            let rays = u64::from(plan.params.ray_count);
            match plan.ray_mode {
                RayMode::Closest => {
                    result.ray_hits = self.read_rows::<RayHit>(device, queue, "ray_hits", rays).await?;
                }
                RayMode::Any => result.ray_any = self.read_rows::<u32>(device, queue, "ray_any", rays).await?,
                RayMode::All => {
                    let hits = held(counters.hits_needed, plan.params.first_hit, plan.params.hit_capacity);
                    result.ray_hits = self.read_rows::<RayHit>(device, queue, "ray_hits", hits).await?;
                    result.ray_offsets = self.read_rows::<u32>(device, queue, "ray_offsets", rays + 1).await?;
                }
            }
            if plan.ray_cells {
                let params = &plan.params;
                let cells = held(
                    counters.ray_cells_needed,
                    params.first_ray_cell,
                    params.ray_cell_capacity,
                );
                result.ray_cells = self.read_rows::<RayCell>(device, queue, "ray_cells", cells).await?;
                result.ray_cell_offsets = self
                    .read_rows::<u32>(device, queue, "ray_cell_offsets", rays + 1)
                    .await?;
            }
        }
        let queries = u64::from(plan.params.query_count);
        if plan.asks_all() {
            let first = plan.params.first_result;
            let results = held(counters.results_needed, first, plan.params.result_capacity);
            result.query_objects = self.read_rows(device, queue, "query_objects", results).await?;
            result.query_offsets = self.read_rows(device, queue, "query_offsets", queries + 1).await?;
        }
        if plan.asks_nearest() {
            let neighbors = queries * u64::from(plan.params.nearest);
            result.query_nearest = self.read_rows(device, queue, "query_nearest", neighbors).await?;
        }
        result.timings = self.read_timings(device, queue).await?;
        Ok(result)
    }

    async fn read_rows<T: bytemuck::Pod>(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        name: &str,
        rows: u64,
    ) -> Result<Vec<T>, ReadBackError> {
        let bytes = rows * size_of::<T>() as u64;
        let bytes = self.read(device, queue, self.buffers.get(name), bytes).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    async fn read_timings(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Vec<StageTime>, ReadBackError> {
        let Some(timing) = &self.timing else {
            return Ok(Vec::new());
        };
        let (buffer, bytes) = timing.resolved();
        let bytes = self.read(device, queue, buffer, bytes).await?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        Ok(timing.read(&ticks, queue.get_timestamp_period()))
    }

    /// Copies the first bytes of a buffer to the host.
    async fn read(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        source: &wgpu::Buffer,
        bytes: u64,
    ) -> Result<Vec<u8>, ReadBackError> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        // A device that was lost unnoticed refuses the staging buffer or its mapping.
        let scopes = Scopes::begin(device);
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("gpu_broad_phase/readback"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/readback"),
        });
        encoder.copy_buffer_to_buffer(source, 0, &staging, 0, bytes);
        #[cfg_attr(target_arch = "wasm32", allow(unused_variables, reason = "nobody waits there"))]
        let submission = queue.submit([encoder.finish()]);
        let (sender, receiver) = futures_intrusive::channel::shared::oneshot_channel();
        staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
            // The receiver is gone where the caller dropped the future: nobody wants the answer.
            let _ = sender.send(mapped);
        });
        if let Some(error) = scopes.end().wait().await {
            return Err(ReadBackError::Map(error));
        }
        // The browser drives its own event loop and has no blocking poll.
        #[cfg(not(target_arch = "wasm32"))]
        device
            .poll(wgpu::PollType::Wait {
                submission_index: Some(submission),
                timeout: Some(self.descriptor().timeout),
            })
            .map_err(|error| match error {
                wgpu::PollError::Timeout => ReadBackError::Timeout(self.descriptor().timeout),
                error => ReadBackError::Map(error.to_string()),
            })?;
        match receiver.receive().await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(ReadBackError::Map(error.to_string())),
            None => return Err(ReadBackError::DeviceLost),
        }
        let bytes = staging
            .get_mapped_range(..)
            .map_err(|error| ReadBackError::Map(error.to_string()))?
            .to_vec();
        staging.unmap();
        Ok(bytes)
    }
}
