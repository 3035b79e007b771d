//! `lampshade`: radix sort of keys and values on the caller's device.

use anyhow::Result;
use gpu_broad_phase::wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePassDescriptor, ComputePassTimestampWrites,
    PollType, QuerySet, QuerySetDescriptor, QueryType,
};
use lampshade::KeyValueSorter;

use crate::bench::answer::Answer;
use crate::bench::brute_force::download;
use crate::bench::gpu::{note_work, upload, warm_up};
use crate::bench::measure::{Contestant, Question};
use crate::bench::sort::{Keys, SortDevice};

pub const NAME: &str = "lampshade";

pub struct Lampshade<'a> {
    on: &'a SortDevice,
    keys: &'a Keys<'a>,
    sorter: KeyValueSorter,
    input: Buffer,
    output: Buffer,
    queries: QuerySet,
    ticks: Buffer,
}

impl<'a> Lampshade<'a> {
    pub fn new(on: &'a SortDevice, keys: &'a Keys<'a>) -> Self {
        let device = &on.device;
        let input = upload(device, keys.unsorted());
        let buffer = |size, usage| {
            device.create_buffer(&BufferDescriptor {
                label: Some(NAME),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        Self {
            sorter: KeyValueSorter::new_for_adapter(device, &on.queue, &device.adapter_info()),
            output: buffer(
                input.size(),
                BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            ),
            ticks: buffer(16, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            queries: device.create_query_set(&QuerySetDescriptor {
                label: Some(NAME),
                ty: QueryType::Timestamp,
                count: 2,
            }),
            input,
            on,
            keys,
        }
    }

    /// Adds an empty pass that writes a time stamp.
    fn mark(&self, encoder: &mut CommandEncoder, begin: Option<u32>, end: Option<u32>) {
        encoder.begin_compute_pass(&ComputePassDescriptor {
            label: Some(NAME),
            timestamp_writes: Some(ComputePassTimestampWrites {
                query_set: &self.queries,
                beginning_of_pass_write_index: begin,
                end_of_pass_write_index: end,
            }),
        });
    }

    fn sort(&mut self) -> Result<f64> {
        let (device, queue) = (&self.on.device, &self.on.queue);
        let mut encoder = device.create_command_encoder(&Default::default());
        self.mark(&mut encoder, None, Some(0));
        let count = self.keys.unsorted().len() as u32;
        self.sorter
            .record_sort_with_key_bits(&mut encoder, &self.input, &self.output, count, self.keys.counts.bits)?;
        self.mark(&mut encoder, Some(1), None);
        encoder.resolve_query_set(&self.queries, 0..2, &self.ticks, 0);
        queue.submit([encoder.finish()]);
        device.poll(PollType::wait_indefinitely())?;
        let words = download(device, queue, &self.ticks)?;
        let tick = |at: usize| u64::from(words[2 * at]) | u64::from(words[2 * at + 1]) << 32;
        let ticks = tick(1).saturating_sub(tick(0));
        Ok(ticks as f64 * f64::from(queue.get_timestamp_period()) / 1e6)
    }
}

impl Contestant for Lampshade<'_> {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn threads(&self) -> usize {
        0
    }

    fn question(&self) -> Question {
        Question::Sort
    }

    fn prepare(&mut self) -> Result<Answer> {
        self.sort()?;
        let words = download(&self.on.device, &self.on.queue, &self.output)?;
        let values = words.chunks_exact(2).map(|item| item[1]).collect();
        self.keys.answer(NAME, values)
    }

    fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
        warm_up(self.on.device_type, || self.sort().map(drop))?;
        let time = self.sort()?;
        note_work();
        Ok(vec![(Question::Sort.stage(), time)])
    }
}
