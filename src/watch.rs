//! What steps counted, told a few frames later and without a wait.

use std::sync::Arc;

use crate::broad_phase::GpuBroadPhase;
use crate::counters::Counters;
use crate::error::StepError;
use crate::gpu::staging::Shelf;
use crate::plan::Plan;
use crate::readback::{Extent, Reading};

/// Counters that have arrived on the host, in the order of their arrival.
#[derive(Default)]
pub(crate) struct Watch {
    arrived: Arc<Shelf<(Reading, Plan)>>,
    latest: Option<Counters>,
}

impl GpuBroadPhase {
    /// Records the copying of the last step's counters to the host, right behind it and in the same encoder: the way for a frame loop,
    /// which never waits. They arrive when the device is done, a frame or two later; with
    /// [`Growth::Grow`](crate::Growth::Grow) the next step after that makes room for what this one needed, and
    /// [`watched_counters`](Self::watched_counters) tells them. Neither submits, waits nor polls: native devices tell what has
    /// arrived in the course of later submissions, or of `Device::poll`.
    ///
    /// # Errors
    /// [`StepError::NoStep`] before the first step and after [`trim`](Self::trim).
    pub fn watch_counters(&self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) -> Result<(), StepError> {
        let plan = self.recorded.as_ref().ok_or(StepError::NoStep)?.plan;
        let reading = self
            .record_reading(device, encoder, Extent::Counters)
            .ok_or(StepError::NoStep)?;
        let arrived = Arc::downgrade(&self.watch.arrived);
        let buffer = reading.buffer().clone();
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, .., move |mapped| {
            if let (Ok(()), Some(arrived)) = (mapped, arrived.upgrade()) {
                arrived.lock().push((reading, plan));
            }
        });
        Ok(())
    }

    /// The counters that arrived last of those that [`watch_counters`](Self::watch_counters) asked for; none right after
    /// [`trim`](Self::trim).
    pub fn watched_counters(&mut self) -> Option<Counters> {
        self.take_in();
        self.watch.latest
    }

    /// Learns from what has arrived.
    pub(crate) fn take_in(&mut self) {
        let arrived = std::mem::take(&mut *self.watch.arrived.lock());
        for (reading, plan) in arrived {
            // A device that was lost in between has nothing to tell.
            if let Ok(counters) = reading.counters(&plan) {
                self.note(&counters, &plan);
                self.watch.latest = Some(counters);
            }
            self.put_back(reading);
        }
    }
}
