//! The buffers that a broad phase owns: made on demand, by the sizes of the plan, and kept while they are large enough.

use std::collections::HashMap;

use crate::plan::Plan;

/// Buffers by the names of the pass table.
pub(crate) struct Buffers {
    label: String,
    by_name: HashMap<&'static str, wgpu::Buffer>,
}

impl Buffers {
    pub fn new(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            by_name: HashMap::new(),
        }
    }

    /// Makes every buffer of the plan at least as large as it asks for, but for those that the caller brings.
    pub fn fit(&mut self, device: &wgpu::Device, plan: &Plan, brought: &[&str]) {
        for (name, bytes) in plan.buffers() {
            let fits = self.by_name.get(name).is_some_and(|buffer| buffer.size() >= bytes);
            if !fits && !brought.contains(&name) {
                let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(&format!("{}/{name}", self.label)),
                    size: bytes.next_multiple_of(16),
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                self.by_name.insert(name, buffer);
            }
        }
    }

    /// A buffer of the plan that [`fit`](Self::fit) was last called with.
    pub fn get(&self, name: &str) -> &wgpu::Buffer {
        &self.by_name[name]
    }

    pub fn find(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.by_name.get(name)
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.by_name.values().map(wgpu::Buffer::size).sum()
    }
}
