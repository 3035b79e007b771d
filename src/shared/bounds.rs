//! What indices, dispatches and bindings hold at most.

use super::wgsl::number;

/// Indices stay below 2^29: the bits above are home flags of entries.
pub(crate) const LARGEST_COUNT: u64 = 1 << 29;
/// Workgroups of one dimension, at most: WebGPU's default limit.
pub(crate) const MAX_GROUPS: u32 = number("common/workgroup", "MAX_GROUPS");
/// Nearest objects of a query, at most: keeping them in order takes as many turns per box test.
pub(crate) const MAX_NEAREST: u32 = 1024;

/// Bytes of a buffer for something whose size differs from one recording to the next: with some room to spare.
pub(crate) const fn roomy(bytes: u64) -> u64 {
    let eighth = bytes.next_power_of_two() / 8;
    bytes.next_multiple_of(if eighth > 256 { eighth } else { 256 })
}

/// Bytes that one buffer may have and bind.
pub(crate) fn binding_limit(limits: &wgpu::Limits) -> u64 {
    // Sizes are rounded up to 16 bytes.
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) & !15
}
