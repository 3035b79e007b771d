use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bindings::KEPT;
use super::work_log::create_buffer;
use crate::shared::bounds::roomy;
use crate::shared::recording::Mark;

/// Number of free buffers kept per buffer of the same size that one recent recording took. The number in flight varies.
const KEPT_PER_TAKEN: u32 = 4;
/// Value of `used` for a returned buffer until the next recording begins. Device callbacks do not know that recording's
/// number.
const JUST_BACK: u64 = u64::MAX;

pub(crate) struct Staging {
    usage: wgpu::BufferUsages,
    recording: u64,
    free: Arc<Pool<Buffer>>,
    taken: Mutex<HashMap<u64, Taken>>,
}

#[derive(Default)]
struct Taken {
    last: u64,
    count: u32,
    most: u32,
}

pub(crate) struct Pool<T>(Mutex<Vec<T>>);

pub(crate) struct Buffer {
    /// Number of the recording that took the buffer; for a free buffer, of the first recording after its return.
    used: u64,
    pub buffer: wgpu::Buffer,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pool<T> {
    pub fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool<Buffer> {
    pub fn put(&self, mut buffer: Buffer) {
        buffer.used = JUST_BACK;
        self.lock().push(buffer);
    }
}

impl Staging {
    pub fn uploads() -> Self {
        Self::new(wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC)
    }

    pub fn readings() -> Self {
        Self::new(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)
    }

    pub fn new(usage: wgpu::BufferUsages) -> Self {
        Self {
            usage,
            recording: 0,
            free: Arc::default(),
            taken: Mutex::default(),
        }
    }

    pub fn begin(&mut self) {
        self.recording += 1;
        let first = self.recording.saturating_sub(KEPT);
        let taken = self.taken.get_mut().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|_, taken| taken.last >= first);
        let mut spares = HashMap::new();
        self.free.lock().retain_mut(|free| {
            if free.used == JUST_BACK {
                free.used = self.recording;
            }
            let size = free.buffer.size();
            let same = spares.entry(size).or_insert(0);
            *same += 1;
            let spares = taken.get(&size).map_or(0, |taken| KEPT_PER_TAKEN * taken.most);
            free.used >= first || *same <= spares
        });
    }

    /// Drops all free buffers. Buffers in flight are dropped on their return.
    pub fn clear(&mut self) {
        self.free = Arc::default();
    }

    pub fn take(&self, device: &wgpu::Device, label: &str, bytes: u64) -> Buffer {
        let size = roomy(bytes);
        // Mapping a much larger buffer may cost more than creating one.
        let fits = |free: &Buffer| (bytes..=4 * size).contains(&free.buffer.size());
        let mut free = self.free.lock();
        let found = (0..free.len())
            .filter(|&index| fits(&free[index]))
            .min_by_key(|&index| free[index].buffer.size());
        let found = found.map(|index| free.swap_remove(index).buffer);
        drop(free);
        self.observe(found.as_ref().map_or(size, wgpu::Buffer::size));
        let create = || {
            create_buffer(
                device,
                &wgpu::BufferDescriptor {
                    label: Some(label),
                    size: size.min(device.limits().max_buffer_size).max(bytes),
                    usage: self.usage,
                    mapped_at_creation: self.usage.contains(wgpu::BufferUsages::MAP_WRITE),
                },
            )
        };
        Buffer {
            used: self.recording,
            buffer: found.unwrap_or_else(create),
        }
    }

    fn observe(&self, size: u64) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = taken.entry(size).or_default();
        taken.count = if taken.last == self.recording {
            taken.count + 1
        } else {
            1
        };
        taken.most = taken.most.max(taken.count);
        taken.last = self.recording;
    }

    /// The staging buffer returns to the pool after the submission.
    pub fn upload(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        label: &str,
        bytes: &[u8],
        to: &wgpu::Buffer,
    ) {
        if bytes.is_empty() {
            return;
        }
        // Free buffers are always mapped. A buffer of the size of `to` also fits other lengths of data.
        let staged = self.take(device, &format!("{label}/upload"), to.size());
        let buffer = staged.buffer.clone();
        let Ok(mut view) = buffer.get_mapped_range_mut(..bytes.len() as u64) else {
            // The device is lost. Error scopes report this, and the encoder stays valid.
            buffer.unmap();
            return;
        };
        view.copy_from_slice(bytes);
        drop(view);
        buffer.unmap();
        encoder.copy_buffer_to_buffer(&buffer, 0, to, 0, bytes.len() as u64);
        let free = Arc::downgrade(&self.free);
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Write, .., move |mapped| {
            if let (Ok(()), Some(free)) = (mapped, free.upgrade()) {
                free.put(staged);
            }
        });
    }

    /// Ends a recording. Only for [`readings`](Self::readings), whose free buffers are unmapped.
    pub fn mark_end(&self, device: &wgpu::Device, encoder: &wgpu::CommandEncoder, mark: Mark) {
        let staged = self.take(device, "gpu_broad_phase/recording", wgpu::MAP_ALIGNMENT);
        let buffer = staged.buffer.clone();
        let free = Arc::downgrade(&self.free);
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, .., move |mapped| {
            mark.submit();
            if mapped.is_ok() {
                staged.buffer.unmap();
                if let Some(free) = free.upgrade() {
                    free.put(staged);
                }
            }
        });
    }

    pub fn free_bytes(&self) -> u64 {
        self.free.lock().iter().map(|free| free.buffer.size()).sum()
    }

    pub fn pool(&self) -> &Arc<Pool<Buffer>> {
        &self.free
    }
}
