//! Uniform blocks of a recording. They share one buffer per owner, written by a copy within the encoder:
//! `Queue::write_buffer` takes effect before the submission, so all steps of an encoder would read the last step's
//! data. Bind groups hold no offsets into this buffer, so they do not depend on what a step counts.

use encase::{ShaderType, UniformBuffer, internal::WriteInto};

use super::bindings::{Bindings, Range};
use super::buffers::{Buffers, buffers};
use super::staging::Staging;
use crate::shared::bounds::roomy;

buffers! {
    BLOCKS = "blocks": Fixed as UNIFORM;
}

pub(crate) struct Blocks {
    bytes: Vec<u8>,
    alignment: usize,
    ranges: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(usize);

impl Default for Blocks {
    /// Aligned for every device.
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            alignment: wgpu::Limits::default().min_uniform_buffer_offset_alignment as usize,
            ranges: Vec::new(),
        }
    }
}

impl Blocks {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            alignment: device.limits().min_uniform_buffer_offset_alignment as usize,
            ..Self::default()
        }
    }

    pub fn push<T: ShaderType + WriteInto>(&mut self, value: &T) -> Block {
        let begin = self.bytes.len().next_multiple_of(self.alignment);
        let length = value.size().get();
        self.bytes.resize(begin + length as usize, 0);
        // Writing to a slice of the block's size cannot fail.
        let written = UniformBuffer::new(&mut self.bytes[begin..]).write(value);
        debug_assert!(written.is_ok());
        self.ranges.push((begin as u64, length));
        Block(self.ranges.len() - 1)
    }

    /// Records the upload of all blocks to the buffer of their owner.
    pub fn finish(
        self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        uploads: &Staging,
        buffers: &mut Buffers,
        bindings: &mut Bindings,
    ) -> Uniforms {
        let bytes = roomy(self.bytes.len() as u64);
        bindings.forget(&buffers.fit(device, [(buffer::BLOCKS, bytes)], &[]));
        let buffer = buffers.get(buffer::BLOCKS);
        uploads.upload(device, encoder, buffers.label(), &self.bytes, buffer);
        Uniforms {
            buffer: buffer.clone(),
            ranges: self.ranges,
        }
    }
}

pub(crate) struct Uniforms {
    buffer: wgpu::Buffer,
    ranges: Vec<(u64, u64)>,
}

impl Uniforms {
    pub fn range(&self, Block(index): Block) -> Range {
        let (offset, size) = self.ranges[index];
        Range {
            buffer: self.buffer.clone(),
            offset,
            size: wgpu::BufferSize::new(size),
        }
    }
}
