use super::work_log::create_buffer;

pub(crate) fn filled(device: &wgpu::Device, label: &str, usage: wgpu::BufferUsages, bytes: &[u8]) -> wgpu::Buffer {
    let buffer = create_buffer(
        device,
        &wgpu::BufferDescriptor {
            label: Some(label),
            size: (bytes.len() as u64).next_multiple_of(16).max(16),
            usage,
            mapped_at_creation: true,
        },
    );
    // Mapping fails only on a lost device. The buffer then stays empty and is never read.
    if let Ok(mut view) = buffer.get_mapped_range_mut(..) {
        view.slice(..bytes.len()).copy_from_slice(bytes);
    }
    buffer.unmap();
    buffer
}
