//! What recordings bind: uniform buffers and bind groups, kept as long as recordings go on to use them.

use std::collections::HashMap;

use super::filled::filled;

/// How many recordings in a row may do without a thing before it is given up: callers take turns with buffers of their
/// own, one per frame in flight, and with steps and queries.
pub(crate) const KEPT: u64 = 8;

/// Something with the number of the recording that used it last.
struct Used<T> {
    last: u64,
    it: T,
}

/// The name of a pass and the number of its variant.
type PassVariant = (&'static str, usize);

/// A variant of a pass and what its bindings are.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    variant: PassVariant,
    bound: Vec<Range>,
}

/// A part of a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Range {
    pub buffer: wgpu::Buffer,
    pub offset: u64,
    pub size: Option<wgpu::BufferSize>,
}

/// A part of a borrowed buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeRef<'b> {
    pub buffer: &'b wgpu::Buffer,
    pub offset: u64,
    pub size: Option<wgpu::BufferSize>,
}

impl Range {
    pub fn borrowed(&self) -> RangeRef<'_> {
        let Self { buffer, offset, size } = self;
        RangeRef {
            buffer,
            offset: *offset,
            size: *size,
        }
    }
}

impl<'b> From<&'b wgpu::Buffer> for RangeRef<'b> {
    fn from(buffer: &'b wgpu::Buffer) -> Self {
        Self {
            buffer,
            offset: 0,
            size: None,
        }
    }
}

impl From<RangeRef<'_>> for Range {
    fn from(RangeRef { buffer, offset, size }: RangeRef<'_>) -> Self {
        let buffer = buffer.clone();
        Self { buffer, offset, size }
    }
}

/// The uniform buffers and bind groups of late recordings.
#[derive(Default)]
pub(crate) struct Bindings {
    recording: u64,
    /// Nobody writes to them once they are made, so that recordings that are still to run keep what they were given.
    uniforms: HashMap<Vec<u8>, Used<wgpu::Buffer>>,
    groups: HashMap<Key, Used<wgpu::BindGroup>>,
}

impl Bindings {
    /// Begins a recording: gives up what the last ones did not use.
    pub fn begin(&mut self) {
        self.recording += 1;
        let first = self.recording.saturating_sub(KEPT);
        self.uniforms.retain(|_, uniform| uniform.last >= first);
        self.groups.retain(|_, group| group.last >= first);
    }

    /// A uniform buffer that holds `bytes`.
    pub fn uniform(&mut self, device: &wgpu::Device, label: &str, bytes: Vec<u8>) -> wgpu::Buffer {
        let recording = self.recording;
        let uniform = self.uniforms.entry(bytes).or_insert_with_key(|bytes| Used {
            last: recording,
            it: filled(device, &format!("{label}/params"), wgpu::BufferUsages::UNIFORM, bytes),
        });
        uniform.last = recording;
        uniform.it.clone()
    }

    /// The bind group of a variant of a pass with these bindings.
    pub fn group(
        &mut self,
        variant: PassVariant,
        bound: Vec<Range>,
        create: impl FnOnce(&[Range]) -> wgpu::BindGroup,
    ) -> &wgpu::BindGroup {
        let recording = self.recording;
        let group = self
            .groups
            .entry(Key { variant, bound })
            .or_insert_with_key(|key| Used {
                last: recording,
                it: create(&key.bound),
            });
        group.last = recording;
        &group.it
    }

    /// Whether a late recording dispatched a variant of a pass.
    pub fn has(&self, variant: PassVariant) -> bool {
        self.groups.keys().any(|key| key.variant == variant)
    }

    /// Gives up the bind groups of buffers that are given up themselves: nothing else would free their memory at once.
    pub fn forget(&mut self, gone: &[wgpu::Buffer]) {
        if !gone.is_empty() {
            self.groups
                .retain(|key, _| !key.bound.iter().any(|range| gone.contains(&range.buffer)));
        }
    }

    /// Gives up everything.
    pub fn clear(&mut self) {
        self.uniforms.clear();
        self.groups.clear();
    }
}
