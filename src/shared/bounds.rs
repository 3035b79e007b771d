use super::wgsl::number;

/// Limit of object and entry indices. The bits above are primary flags.
pub(crate) const LARGEST_COUNT: u64 = 1 << 29;
/// Maximum workgroups per dimension: WebGPU's default limit.
pub(crate) const MAX_GROUPS: u32 = number("common/workgroup", "MAX_GROUPS");
/// Maximum nearest objects per query. Each box test may take this number of iterations.
pub(crate) const MAX_NEAREST: u32 = 1024;

/// Rounds `bytes` up to reduce reallocation: to 1/8 of the next power of two, at least 256.
pub(crate) const fn roomy(bytes: u64) -> u64 {
    let eighth = bytes.next_power_of_two() / 8;
    bytes.next_multiple_of(if eighth > 256 { eighth } else { 256 })
}

pub(crate) fn binding_limit(limits: &wgpu::Limits) -> u64 {
    // Rounded down to 16 bytes, since buffer sizes are rounded up to 16 bytes.
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15
}
