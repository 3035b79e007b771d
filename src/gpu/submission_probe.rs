//! Tries how recordings can learn of their submission: see `src/shared/submission.rs`.

/// Tries once per program whether a submission that maps a mapped buffer says so at once. Submits an empty encoder.
///
/// Programs that abort on panics, browsers among them, take it for granted.
#[cfg(all(panic = "unwind", not(target_arch = "wasm32")))]
pub(crate) fn probe(device: &wgpu::Device, queue: &wgpu::Queue) {
    use std::sync::Once;

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !is_told_at_submission(device, queue) {
            log::warn!("gpu_broad_phase: this version of wgpu reports submissions late");
            crate::shared::submission::learn_late();
        }
    });
}

#[cfg(not(all(panic = "unwind", not(target_arch = "wasm32"))))]
pub(crate) fn probe(_: &wgpu::Device, _: &wgpu::Queue) {}

/// Returns whether the callback of a mapping that cannot be made runs within the submission, without a panic and
/// without an error of the device.
#[cfg(all(panic = "unwind", not(target_arch = "wasm32")))]
pub fn is_told_at_submission(device: &wgpu::Device, queue: &wgpu::Queue) -> bool {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::scope::Scopes;
    use crate::shared::submission::mapped;

    let is_told = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_told);
    let scopes = Scopes::begin(device);
    let submitted = catch_unwind(AssertUnwindSafe(|| {
        let encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/submission_probe"),
        });
        encoder.map_buffer_on_submit(&mapped(device), wgpu::MapMode::Write, .., move |_| {
            flag.store(true, Ordering::Relaxed);
        });
        queue.submit([encoder.finish()]);
    }));
    let error = scopes.end().now();
    submitted.is_ok() && error.is_none() && is_told.load(Ordering::Relaxed)
}
