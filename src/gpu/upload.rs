//! Uniform blocks of a step, in buffers that no pending step overwrites. With `Queue::write_buffer`, which takes effect
//! before the submission, all steps of an encoder would read the last step's data.

use encase::{ShaderType, UniformBuffer, internal::WriteInto};

use super::bindings::{Bindings, Range};

pub(crate) struct Blocks {
    bytes: Vec<u8>,
    alignment: usize,
    ranges: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(usize);

impl Blocks {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            bytes: Vec::new(),
            alignment: device.limits().min_uniform_buffer_offset_alignment as usize,
            ranges: Vec::new(),
        }
    }

    pub fn push<T: ShaderType + WriteInto>(&mut self, value: &T) -> Block {
        let mut block = UniformBuffer::new(Vec::<u8>::new());
        // Writing to a growable vector cannot fail.
        if block.write(value).is_ok() {
            let block = block.into_inner();
            self.bytes.resize(self.bytes.len().next_multiple_of(self.alignment), 0);
            self.ranges.push((self.bytes.len() as u64, block.len() as u64));
            self.bytes.extend(block);
        }
        Block(self.ranges.len() - 1)
    }

    /// Uploads all blocks in one buffer, or reuses one with equal contents.
    pub fn finish(self, device: &wgpu::Device, bindings: &mut Bindings, label: &str) -> Uniforms {
        Uniforms {
            buffer: bindings.uniform(device, label, self.bytes),
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
