use std::collections::HashMap;

/// A buffer or bind group is dropped after this number of recordings without a use. Above 1, because callers alternate
/// between buffers, steps and queries.
pub(crate) const KEPT: u64 = 8;

struct Used {
    last: u64,
    group: wgpu::BindGroup,
}

type PassVariant = (&'static str, usize);

#[derive(PartialEq, Eq, Hash)]
struct Key {
    variant: PassVariant,
    bound: Vec<Range>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Range {
    pub buffer: wgpu::Buffer,
    pub offset: u64,
    pub size: Option<wgpu::BufferSize>,
}

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

#[derive(Default)]
pub(crate) struct Bindings {
    recording: u64,
    groups: HashMap<Key, Used>,
}

impl Bindings {
    /// Begins a recording. Drops bind groups unused for [`KEPT`] recordings.
    pub fn begin(&mut self) {
        self.recording += 1;
        let first = self.recording.saturating_sub(KEPT);
        self.groups.retain(|_, group| group.last >= first);
    }

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
                group: create(&key.bound),
            });
        group.last = recording;
        &group.group
    }

    pub fn has(&self, variant: PassVariant) -> bool {
        self.groups.keys().any(|key| key.variant == variant)
    }

    /// Drops bind groups of the buffers in `gone`, which frees their memory at once.
    pub fn forget(&mut self, gone: &[wgpu::Buffer]) {
        if !gone.is_empty() {
            self.groups
                .retain(|key, _| !key.bound.iter().any(|range| gone.contains(&range.buffer)));
        }
    }

    pub fn clear(&mut self) {
        self.groups.clear();
    }
}
