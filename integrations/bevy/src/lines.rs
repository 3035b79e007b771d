//! Lines of what a step found, made on the device.

use bevy::color::{ColorToPacked, Srgba};
use gpu_broad_phase::{BroadPhaseDescriptor, DebugDraw, DebugLines, DebugOutput, StepError, StepOutput, wgpu};

/// Lines of one kind that are wanted.
pub(crate) type Asked = (DebugLines, Srgba);

/// Makes lines behind steps.
pub(crate) struct Lines {
    /// What is drawn, and how many lines of each at most.
    pub asked: (Vec<Asked>, u32),
    draws: Vec<DebugDraw>,
    descriptor: BroadPhaseDescriptor<'static>,
    outputs: Vec<DebugOutput>,
}

impl Lines {
    pub fn new(descriptor: &BroadPhaseDescriptor<'static>) -> Self {
        Self {
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
                .push(draw.record(encoder, step, lines, color.to_u8_array(), *most)?);
        }
        Ok(!self.outputs.is_empty())
    }

    pub fn outputs(&self) -> &[DebugOutput] {
        &self.outputs
    }
}
