//! Lines of what a step found, made on the device.

use bevy::color::{ColorToPacked, Srgba};
use gpu_broad_phase::{
    BroadPhaseDescriptor, DebugDraw, DebugLines, DebugOutput, LineVertex, StepError, StepOutput, wgpu,
};

/// Lines of one kind that are wanted.
pub(crate) type QuerySizes = (DebugLines, Srgba);

/// Makes lines behind steps.
pub(crate) struct Lines {
    /// What is drawn, and how many lines of each at most.
    pub asked: (Vec<QuerySizes>, u32),
    draws: Vec<DebugDraw>,
    descriptor: BroadPhaseDescriptor<'static>,
    /// Lines of one kind that the device has room for.
    room: u32,
    outputs: Vec<DebugOutput>,
}

impl Lines {
    pub fn new(device: &wgpu::Device, descriptor: &BroadPhaseDescriptor<'static>) -> Self {
        let limits = device.limits();
        let bytes = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let room = bytes / (2 * size_of::<LineVertex>() as u64);
        Self {
            room: u32::try_from(room).unwrap_or(u32::MAX),
            asked: Default::default(),
            draws: Vec::new(),
            descriptor: *descriptor,
            outputs: Vec::new(),
        }
    }

    /// Records the making of what is asked. Tells whether there is anything.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, step: Option<&StepOutput>) -> Result<bool, StepError> {
        self.outputs.clear();
        let (asked, most) = &self.asked;
        // What is no longer drawn gives its memory back.
        let label = Some("gpu_broad_phase/bevy/lines");
        self.draws
            .resize_with(asked.len(), || DebugDraw::new(&self.descriptor, label));
        let Some(step) = step else {
            return Ok(false);
        };
        for (&(lines, color), draw) in asked.iter().zip(&mut self.draws) {
            self.outputs
                .push(draw.record(encoder, step, lines, color.to_u8_array(), self.room.min(*most))?);
        }
        Ok(!self.outputs.is_empty())
    }

    /// Bytes of their buffers on the device.
    pub fn bytes(&self) -> u64 {
        self.draws.iter().map(|draw| draw.memory().total()).sum()
    }

    pub fn outputs(&self) -> &[DebugOutput] {
        &self.outputs
    }
}
