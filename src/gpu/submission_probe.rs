//! Probes how wgpu reports submissions; see `src/shared/submission.rs`.

use crate::shared::submission;

/// Tests once per program whether wgpu reports a submission at once. Submits an empty encoder that maps a mapped
/// buffer, which fails.
///
/// Programs that abort on panic, including browsers, cannot test this and assume it.
pub(crate) fn probe(device: &wgpu::Device, queue: &wgpu::Queue) {
    if !submission::is_untried() {
        return;
    }
    if let Some(at_once) = reports_at_once(device, queue) {
        if !at_once {
            log::warn!("gpu_broad_phase: this version of wgpu reports submissions late");
        }
        submission::report_at_once(at_once);
    }
}

#[cfg(not(all(panic = "unwind", not(target_arch = "wasm32"))))]
const fn reports_at_once(_: &wgpu::Device, _: &wgpu::Queue) -> Option<bool> {
    Some(true)
}

/// Returns true if the failing mapping's callback runs during the submission, without a panic. Returns `None` if the
/// device is lost.
#[cfg(all(panic = "unwind", not(target_arch = "wasm32")))]
pub fn reports_at_once(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<bool> {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::scope::Scopes;

    let is_reported = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_reported);
    let scopes = Scopes::begin(device);
    let submitted = catch_unwind(AssertUnwindSafe(|| {
        let encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/submission_probe"),
        });
        let mapped = submission::mapped(device);
        encoder.map_buffer_on_submit(&mapped, wgpu::MapMode::Write, .., move |_| {
            flag.store(true, Ordering::Relaxed);
        });
        queue.submit([encoder.finish()]);
    }));
    let error = scopes.end().now();
    let is_reported = is_reported.load(Ordering::Relaxed);
    match (submitted, error) {
        (Ok(()), Some(_)) if submission::is_lost(device) => None,
        (Ok(()), error) => Some(is_reported && error.is_none()),
        (Err(_), _) => Some(false),
    }
}
