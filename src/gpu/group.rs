#[must_use]
pub(crate) struct Group {
    open: bool,
}

impl Group {
    pub fn begin(device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, label: &str) -> Self {
        let open = supports_debug_groups(&device.adapter_info());
        if open {
            encoder.push_debug_group(label);
        }
        Self { open }
    }

    pub fn end(self, encoder: &mut wgpu::CommandEncoder) {
        if self.open {
            encoder.pop_debug_group();
        }
    }
}

/// Returns false for Vulkan drivers of Mesa 22. At the second debug group of a command buffer, they write through a
/// stale pointer if the first held labelled passes.
fn supports_debug_groups(info: &wgpu::AdapterInfo) -> bool {
    info.backend != wgpu::Backend::Vulkan || !info.driver_info.starts_with("Mesa 22.")
}
