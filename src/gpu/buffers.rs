//! The buffers that a broad phase owns: made on demand, by the sizes of the plan, and kept while they are large enough.

use std::collections::HashMap;

use crate::plan::Plan;

/// Buffers that say how many workgroups are dispatched, or vertices drawn.
pub(crate) const INDIRECT: [&str; 6] = [
    "args",
    "pair_walk_groups",
    "groups_0",
    "groups_1",
    "nothing",
    "draw_args",
];

/// Buffers that are drawn from.
const VERTICES: [&str; 1] = ["lines"];

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

    /// Makes every buffer, given by name and bytes, at least as large, but for those that the caller brings. Returns what
    /// proved too small.
    pub fn fit(
        &mut self,
        device: &wgpu::Device,
        sizes: impl IntoIterator<Item = (&'static str, u64)>,
        brought: &[&str],
    ) -> Vec<wgpu::Buffer> {
        let mut outgrown = Vec::new();
        for (name, bytes) in sizes {
            let fits = self.by_name.get(name).is_some_and(|buffer| buffer.size() >= bytes);
            if !fits && !brought.contains(&name) {
                let mut usage =
                    wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
                usage.set(wgpu::BufferUsages::INDIRECT, INDIRECT.contains(&name));
                usage.set(wgpu::BufferUsages::VERTEX, VERTICES.contains(&name));
                let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(&format!("{}/{name}", self.label)),
                    size: rounded(bytes),
                    usage,
                    mapped_at_creation: false,
                });
                outgrown.extend(self.by_name.insert(name, buffer));
            }
        }
        outgrown
    }

    /// Gives up what the plan does not ask for or asks for in another size, but for the buffers that are `kept`. Returns it.
    pub fn release(&mut self, plan: &Plan, brought: &[&str], kept: &[&str]) -> Vec<wgpu::Buffer> {
        let planned: HashMap<_, _> = plan.buffers().into_iter().collect();
        let mut released = Vec::new();
        self.by_name.retain(|name, buffer| {
            let as_planned = planned.get(name).is_some_and(|&bytes| rounded(bytes) == buffer.size());
            let stays = kept.contains(name) || (as_planned && !brought.contains(name));
            if !stays {
                released.push(buffer.clone());
            }
            stays
        });
        released
    }

    /// Gives up all buffers but these.
    pub fn keep(&mut self, names: &[&str]) {
        self.by_name.retain(|name, _| names.contains(name));
    }

    /// Gives up all buffers.
    pub fn clear(&mut self) {
        self.by_name.clear();
    }

    /// A buffer of the plan that [`fit`](Self::fit) was last called with.
    pub fn get(&self, name: &str) -> &wgpu::Buffer {
        &self.by_name[name]
    }

    pub fn find(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.by_name.get(name)
    }

    pub fn all(&self) -> Vec<wgpu::Buffer> {
        self.by_name.values().cloned().collect()
    }

    /// Every buffer's name and bytes.
    pub fn sizes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.by_name.iter().map(|(&name, buffer)| (name, buffer.size()))
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.by_name.values().map(wgpu::Buffer::size).sum()
    }
}

/// Bytes of a buffer that is to hold so many.
pub(crate) const fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(16)
}
