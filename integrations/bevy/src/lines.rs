use bevy::color::{ColorToPacked, Srgba};
use gpu_broad_phase::{
    BroadPhaseDescriptor, DebugDraw, DebugLines, DebugOutput, LineVertex, Scheme, StepError, StepOutput, wgpu,
};

pub(crate) type LineRequest = (DebugLines, Srgba);

pub(crate) struct Lines {
    /// Kinds of lines to draw, and the limit per kind.
    pub requested: (Vec<LineRequest>, u32),
    draws: Vec<DebugDraw>,
    scheme: Scheme,
    room: u32,
    outputs: Vec<DebugOutput>,
}

impl Lines {
    pub fn new(device: &wgpu::Device, scheme: Scheme) -> Self {
        let limits = device.limits();
        let bytes = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let room = bytes / (2 * size_of::<LineVertex>() as u64);
        Self {
            room: u32::try_from(room).unwrap_or(u32::MAX),
            requested: Default::default(),
            draws: Vec::new(),
            scheme,
            outputs: Vec::new(),
        }
    }

    /// Returns `true` if there are any.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, step: Option<&StepOutput>) -> Result<bool, StepError> {
        self.outputs.clear();
        let (requested, most) = &self.requested;
        // Resizing also frees the buffers of kinds no longer requested.
        let label = Some("gpu_broad_phase/bevy/lines");
        let descriptor = BroadPhaseDescriptor {
            scheme: self.scheme,
            ..BroadPhaseDescriptor::default()
        };
        self.draws
            .resize_with(requested.len(), || DebugDraw::new(&descriptor, label));
        let Some(step) = step else {
            return Ok(false);
        };
        for (&(lines, color), draw) in requested.iter().zip(&mut self.draws) {
            self.outputs
                .push(draw.record(encoder, step, lines, color.to_u8_array(), self.room.min(*most))?);
        }
        Ok(!self.outputs.is_empty())
    }

    pub fn bytes(&self) -> u64 {
        self.draws.iter().map(|draw| draw.memory().total()).sum()
    }

    pub fn outputs(&self) -> &[DebugOutput] {
        &self.outputs
    }
}
