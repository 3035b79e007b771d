//! GPU time per stage, from timestamps around its compute pass.

use super::work_log::create_buffer;
use crate::api::result::StageTime;

const STAGES: u32 = 64;

pub(crate) struct Timing {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    stages: Vec<&'static str>,
}

impl Timing {
    /// `None` if times are not wanted or the device lacks timestamps.
    pub fn new(device: &wgpu::Device, label: &str, are_wanted: bool) -> Option<Self> {
        if !are_wanted || !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let label = format!("{label}/timestamps");
        Some(Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some(&label),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * STAGES,
            }),
            resolved: create_buffer(
                device,
                &wgpu::BufferDescriptor {
                    label: Some(&label),
                    size: 8 * 2 * u64::from(STAGES),
                    usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: false,
                },
            ),
            stages: Vec::new(),
        })
    }

    pub fn begin_step(&mut self) {
        self.stages.clear();
    }

    pub fn stage(&mut self, name: &'static str) -> wgpu::ComputePassTimestampWrites<'_> {
        let first = 2 * self.stages.len() as u32;
        debug_assert!(first < 2 * STAGES);
        self.stages.push(name);
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        }
    }

    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2 * self.stages.len() as u32, &self.resolved, 0);
    }

    /// Buffer of resolved timestamps, and the number of bytes that this step uses.
    pub fn resolved(&self) -> (&wgpu::Buffer, u64) {
        (&self.resolved, 16 * self.stages.len() as u64)
    }

    pub fn stages(&self) -> &[&'static str] {
        &self.stages
    }

    /// `period` is in nanoseconds per tick.
    pub fn read(stages: &[&'static str], ticks: &[u64], period: f32) -> Vec<StageTime> {
        let first = ticks.first().copied().unwrap_or(0);
        let nanoseconds = |from: u64, to: u64| to.saturating_sub(from) as f64 * f64::from(period);
        stages
            .iter()
            .zip(ticks.chunks_exact(2))
            .map(|(&stage, edge)| StageTime {
                stage,
                begin: nanoseconds(first, edge[0]),
                nanoseconds: nanoseconds(edge[0], edge[1]),
            })
            .collect()
    }
}
