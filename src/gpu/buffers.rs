//! Buffers of a broad phase: created in the sizes of the plan, reused while large enough, dropped when unused.

use std::collections::HashMap;

use super::bindings::KEPT;
use super::work_log::create_buffer;
use crate::api::error::InputError;
use crate::api::memory::{MemoryPart, MemoryUse};

/// Declaration of a buffer. The WGSL variable has the same name, unless a dispatch overrides it.
///
/// Using a buffer that the step did not allocate is a bug in this crate and panics with the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferId {
    pub name: &'static str,
    pub part: MemoryPart,
    usage: wgpu::BufferUsages,
}

impl BufferId {
    pub const fn new(name: &'static str, part: MemoryPart) -> Self {
        Self {
            name,
            part,
            usage: wgpu::BufferUsages::empty(),
        }
    }

    pub const fn used_as(self, usage: wgpu::BufferUsages) -> Self {
        Self {
            usage: self.usage.union(usage),
            ..self
        }
    }
}

macro_rules! buffers {
    ($($(#[$doc:meta])* $constant:ident = $name:literal: $part:ident $(as $usage:ident)?;)+) => {
        pub(crate) mod buffer {
            use $crate::api::memory::MemoryPart;
            use $crate::gpu::buffers::BufferId;

            $(
                $(#[$doc])*
                pub(crate) const $constant: BufferId =
                    BufferId::new($name, MemoryPart::$part)$(.used_as(wgpu::BufferUsages::$usage))?;
            )+
            #[cfg(test)]
            pub(crate) const ALL: &[BufferId] = &[$($constant),+];
        }
    };
}

pub(crate) use buffers;

pub(crate) type Sizes = Vec<(BufferId, u64)>;

pub(crate) struct Buffers {
    label: String,
    by_name: HashMap<&'static str, Held>,
}

struct Held {
    id: BufferId,
    buffer: wgpu::Buffer,
    requested: u64,
    /// Number of consecutive steps that requested less than half of the buffer.
    idle: u64,
}

impl Held {
    fn is_spacious_for(&self, bytes: u64) -> bool {
        bytes < self.buffer.size() / 2
    }
}

impl Buffers {
    pub fn new(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            by_name: HashMap::new(),
        }
    }

    /// Allocates missing and too small buffers. Returns the replaced ones.
    pub fn fit(
        &mut self,
        device: &wgpu::Device,
        sizes: impl IntoIterator<Item = (BufferId, u64)>,
        caller_owned: &[BufferId],
    ) -> Vec<wgpu::Buffer> {
        let mut outgrown = Vec::new();
        for (id, bytes) in sizes {
            if caller_owned.contains(&id) {
                continue;
            }
            if let Some(held) = self.by_name.get_mut(id.name).filter(|held| held.buffer.size() >= bytes) {
                held.requested = held.requested.max(bytes);
                continue;
            }
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let buffer = create_buffer(
                device,
                &wgpu::BufferDescriptor {
                    label: Some(&format!("{}/{}", self.label, id.name)),
                    size: rounded(bytes),
                    usage: usage | id.usage,
                    mapped_at_creation: false,
                },
            );
            let held = Held {
                id,
                buffer,
                requested: bytes,
                idle: 0,
            };
            outgrown.extend(self.by_name.insert(id.name, held).map(|small| small.buffer));
        }
        outgrown
    }

    /// Begins a step. Drops and returns buffers of which each of the last [`KEPT`] steps requested less than half.
    pub fn begin_step(&mut self) -> Vec<wgpu::Buffer> {
        for held in self.by_name.values_mut() {
            held.idle = if held.is_spacious_for(held.requested) {
                held.idle + 1
            } else {
                0
            };
            held.requested = 0;
        }
        self.give_up(|held| held.idle >= KEPT)
    }

    pub fn drop_oversized(&mut self, planned: Sizes) {
        drop(self.give_up(|held| held.is_spacious_for(planned_bytes(&planned, held.id).unwrap_or(0))));
    }

    fn give_up(&mut self, goes: impl Fn(&Held) -> bool) -> Vec<wgpu::Buffer> {
        let mut gone = Vec::new();
        self.by_name.retain(|_, held| {
            let goes = goes(held);
            if goes {
                gone.push(held.buffer.clone());
            }
            !goes
        });
        gone
    }

    /// Drops and returns all buffers but `kept`.
    pub fn keep(&mut self, kept: &[BufferId]) -> Vec<wgpu::Buffer> {
        self.give_up(|held| !kept.contains(&held.id))
    }

    pub fn clear(&mut self) {
        self.by_name.clear();
    }

    pub fn get(&self, id: BufferId) -> &wgpu::Buffer {
        self.named(id.name)
            .unwrap_or_else(|| panic!("the buffer {} has no size in this step", id.name))
    }

    pub fn named(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.by_name.get(name).map(|held| &held.buffer)
    }

    pub fn existing(&self, id: BufferId) -> Option<&wgpu::Buffer> {
        self.named(id.name)
    }

    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn all(&self) -> Vec<wgpu::Buffer> {
        self.by_name.values().map(|held| held.buffer.clone()).collect()
    }

    pub fn sizes(&self) -> impl Iterator<Item = (MemoryPart, u64)> {
        self.by_name.values().map(|held| (held.id.part, held.buffer.size()))
    }

    pub fn memory(&self) -> MemoryUse {
        MemoryUse::of(self.sizes())
    }
}

pub(crate) fn check_own<'b>(
    inputs: impl IntoIterator<Item = (&'static str, Option<&'b wgpu::Buffer>)>,
    own: &[&Buffers],
) -> Result<(), InputError> {
    let named = |caller: &wgpu::Buffer| {
        let mut held = own.iter().flat_map(|buffers| buffers.by_name.values());
        held.find(|held| held.buffer == *caller).map(|held| held.id.name)
    };
    let found = inputs
        .into_iter()
        .find_map(|(what, caller)| Some((what, named(caller?)?)));
    match found {
        Some((what, output)) => Err(InputError::OwnOutput { what, output }),
        None => Ok(()),
    }
}

fn planned_bytes(planned: &Sizes, id: BufferId) -> Option<u64> {
    planned
        .iter()
        .find(|(planned, _)| *planned == id)
        .map(|&(_, bytes)| bytes)
}

pub(crate) const fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(16)
}
