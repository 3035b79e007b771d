//! The buffers that a broad phase owns: made on demand, by the sizes of the plan, kept while they are large enough and
//! given up where steps do without.

use std::collections::HashMap;

use super::bindings::KEPT;

/// Buffers that say how many workgroups are dispatched, or vertices drawn.
pub(crate) const INDIRECT: [&str; 6] = [
    "args",
    "pair_walk_groups",
    "groups_0",
    "groups_1",
    "nothing",
    "draw_args",
];

/// Buffers that a caller's shader may bind as uniform blocks: see [`TableShader`](crate::TableShader).
const UNIFORM: [&str; 1] = ["grid"];

/// Buffers that are drawn from.
const VERTICES: [&str; 1] = ["lines"];

/// Names of buffers and their bytes.
pub(crate) type Sizes = Vec<(&'static str, u64)>;

/// Buffers by the names of the pass table.
pub(crate) struct Buffers {
    label: String,
    by_name: HashMap<&'static str, Held>,
}

struct Held {
    buffer: wgpu::Buffer,
    /// The most bytes that were asked for since the last step began.
    asked: u64,
    /// Steps in a row that asked for no more than half of it.
    idle: u64,
}

impl Held {
    fn is_spacious_for(&self, bytes: u64) -> bool {
        bytes <= self.buffer.size() / 2
    }
}

impl Buffers {
    pub fn new(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            by_name: HashMap::new(),
        }
    }

    /// Makes every buffer, given by name and bytes, at least as large, but for those that the caller brings. Returns
    /// what proved too small.
    pub fn fit(
        &mut self,
        device: &wgpu::Device,
        sizes: impl IntoIterator<Item = (&'static str, u64)>,
        caller_owned: &[&str],
    ) -> Vec<wgpu::Buffer> {
        let mut outgrown = Vec::new();
        for (name, bytes) in sizes {
            if caller_owned.contains(&name) {
                continue;
            }
            if let Some(held) = self.by_name.get_mut(name).filter(|held| held.buffer.size() >= bytes) {
                held.asked = held.asked.max(bytes);
                continue;
            }
            let mut usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            usage.set(wgpu::BufferUsages::INDIRECT, INDIRECT.contains(&name));
            usage.set(wgpu::BufferUsages::VERTEX, VERTICES.contains(&name));
            usage.set(wgpu::BufferUsages::UNIFORM, UNIFORM.contains(&name));
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(&format!("{}/{name}", self.label)),
                size: rounded(bytes),
                usage,
                mapped_at_creation: false,
            });
            let held = Held {
                buffer,
                asked: bytes,
                idle: 0,
            };
            outgrown.extend(self.by_name.insert(name, held).map(|small| small.buffer));
        }
        outgrown
    }

    /// Begins a step, which writes everything anew: gives up what [`KEPT`] steps in a row, with all that was asked
    /// after each, used half of at most. Returns it.
    pub fn begin_step(&mut self) -> Vec<wgpu::Buffer> {
        for held in self.by_name.values_mut() {
            held.idle = if held.is_spacious_for(held.asked) {
                held.idle + 1
            } else {
                0
            };
            held.asked = 0;
        }
        self.give_up(|_, held| held.idle >= KEPT)
    }

    /// Gives up what the plan asks for half of at most.
    pub fn give_up_spacious(&mut self, planned: Sizes) {
        let planned: HashMap<_, _> = planned.into_iter().collect();
        drop(self.give_up(|name, held| held.is_spacious_for(planned.get(name).copied().unwrap_or(0))));
    }

    /// Gives up what the plan does not ask for or asks for in another size, but for the buffers that are `kept`.
    /// Returns it.
    pub fn release(&mut self, planned: Sizes, caller_owned: &[&str], kept: &[&str]) -> Vec<wgpu::Buffer> {
        let planned: HashMap<_, _> = planned.into_iter().collect();
        self.give_up(|name, held| {
            let as_planned = |&bytes: &u64| rounded(bytes) == held.buffer.size();
            let stays = planned.get(name).is_some_and(as_planned) && !caller_owned.contains(&name);
            !stays && !kept.contains(&name)
        })
    }

    fn give_up(&mut self, goes: impl Fn(&str, &Held) -> bool) -> Vec<wgpu::Buffer> {
        let mut gone = Vec::new();
        self.by_name.retain(|name, held| {
            let goes = goes(name, held);
            if goes {
                gone.push(held.buffer.clone());
            }
            !goes
        });
        gone
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
        &self.by_name[name].buffer
    }

    pub fn find(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.by_name.get(name).map(|held| &held.buffer)
    }

    pub fn all(&self) -> Vec<wgpu::Buffer> {
        self.by_name.values().map(|held| held.buffer.clone()).collect()
    }

    /// Every buffer's name and bytes.
    pub fn sizes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.by_name.iter().map(|(&name, held)| (name, held.buffer.size()))
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.sizes().map(|(_, bytes)| bytes).sum()
    }
}

/// Bytes of a buffer that is to hold so many.
pub(crate) const fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(16)
}
