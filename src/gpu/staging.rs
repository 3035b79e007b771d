//! Buffers that data passes through on its way to the device or back, each for one recording at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bindings::KEPT;
use crate::shared::bounds::roomy;

/// Free buffers that stay of each size that late recordings took, for each that one of them took: how many are under
/// way at once depends on how far the device lags behind, which changes from second to second.
const SPARES: u32 = 4;
/// Stands for the next recording: callbacks of the device do not know its number.
const JUST_BACK: u64 = u64::MAX;

/// Buffers of one usage, used again once nobody needs what they hold.
pub(crate) struct Staging {
    usage: wgpu::BufferUsages,
    recording: u64,
    free: Arc<Pool<Buffer>>,
    /// What was taken, by sizes.
    taken: Mutex<HashMap<u64, Taken>>,
}

/// The buffers of a size that were taken.
#[derive(Default)]
struct Taken {
    /// The last recording that took any.
    last: u64,
    /// How many it took.
    count: u32,
    /// How many a recording took at most.
    most: u32,
}

/// What callbacks of the device put down for whoever comes by next.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

/// A buffer of a pool.
pub(crate) struct Buffer {
    /// The recording that began after it came back, or that took it.
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
    /// Takes a buffer back. It may have been under way for many recordings.
    pub fn put(&self, mut buffer: Buffer) {
        buffer.used = JUST_BACK;
        self.lock().push(buffer);
    }
}

impl Staging {
    /// For data on its way to the device.
    pub fn uploads() -> Self {
        Self::new(wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC)
    }

    /// For data on its way back.
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

    /// Begins a recording: gives up what the last ones did not use.
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
            let spares = taken.get(&size).map_or(0, |taken| SPARES * taken.most);
            free.used >= first || *same <= spares
        });
    }

    /// Gives up everything, and what is under way once it is back.
    pub fn clear(&mut self) {
        self.free = Arc::default();
    }

    /// A buffer with room for so many bytes.
    pub fn take(&self, device: &wgpu::Device, label: &str, bytes: u64) -> Buffer {
        let size = roomy(bytes);
        // Larger ones are not worth what mapping them may cost.
        let fits = |free: &Buffer| (bytes..=4 * size).contains(&free.buffer.size());
        let mut free = self.free.lock();
        let found = (0..free.len())
            .filter(|&index| fits(&free[index]))
            .min_by_key(|&index| free[index].buffer.size());
        let found = found.map(|index| free.swap_remove(index).buffer);
        drop(free);
        self.observe(found.as_ref().map_or(size, wgpu::Buffer::size));
        let create = || {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: size.min(device.limits().max_buffer_size).max(bytes),
                usage: self.usage,
                mapped_at_creation: self.usage.contains(wgpu::BufferUsages::MAP_WRITE),
            })
        };
        Buffer {
            used: self.recording,
            buffer: found.unwrap_or_else(create),
        }
    }

    /// A buffer of this size is taken.
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

    /// Records the copy of `bytes` to the front of a buffer. Their own buffer comes back once the submission of the
    /// encoder is done; an encoder that is dropped takes it along.
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
        // Whatever is free is mapped. As large as the buffer it goes to, it does for other lengths as well.
        let staged = self.take(device, &format!("{label}/upload"), to.size());
        let buffer = staged.buffer.clone();
        let Ok(mut view) = buffer.get_mapped_range_mut(..bytes.len() as u64) else {
            // The device is lost. Its error scopes hear of it here, and the encoder gets nothing that a submission
            // would trip over.
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

    /// Bytes of the buffers that are not under way.
    pub fn free_bytes(&self) -> u64 {
        self.free.lock().iter().map(|free| free.buffer.size()).sum()
    }

    /// Where buffers are taken back.
    pub fn shelf(&self) -> &Arc<Pool<Buffer>> {
        &self.free
    }
}
