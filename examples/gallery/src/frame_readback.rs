use std::sync::{Arc, Mutex, PoisonError};

/// Copies an element to the host in the frame's encoder. The element arrives during a later submission.
pub struct FrameReadback<T> {
    label: &'static str,
    arrived: Arc<Mutex<Vec<wgpu::Buffer>>>,
    free: Vec<wgpu::Buffer>,
    latest: Option<T>,
}

impl<T: bytemuck::Pod> FrameReadback<T> {
    pub fn new(label: &'static str) -> Self {
        Self {
            label,
            arrived: Arc::default(),
            free: Vec::new(),
            latest: None,
        }
    }

    /// Copies the first element of `buffer`, which needs `COPY_SRC`.
    pub fn record(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) {
        self.poll();
        let bytes = size_of::<T>() as u64;
        let staging = self.free.pop().unwrap_or_else(|| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(self.label),
                size: bytes,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
        let arrived = Arc::clone(&self.arrived);
        encoder.map_buffer_on_submit(&staging.clone(), wgpu::MapMode::Read, .., move |mapped| {
            if mapped.is_ok() {
                arrived.lock().unwrap_or_else(PoisonError::into_inner).push(staging);
            }
        });
    }

    pub fn latest(&mut self) -> Option<T> {
        self.poll();
        self.latest
    }

    fn poll(&mut self) {
        let arrived = std::mem::take(&mut *self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        for staging in arrived {
            // Fails only if the device was lost.
            if let Ok(bytes) = staging.get_mapped_range(..) {
                self.latest = Some(bytemuck::pod_read_unaligned(&bytes));
            }
            staging.unmap();
            self.free.push(staging);
        }
    }
}
