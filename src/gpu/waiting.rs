//! Waits for submissions, and ends the wait with work that is no longer wanted.

use std::time::Duration;

/// Waits for a submission. Under a watch that was stopped it returns early, as after a timeout.
///
/// Browsers drive their own event loop and have no blocking poll: there it returns at once.
#[cfg_attr(target_arch = "wasm32", allow(unused_variables, reason = "nobody waits there"))]
pub(crate) fn wait(
    device: &wgpu::Device,
    submission: wgpu::SubmissionIndex,
    timeout: Duration,
) -> Result<(), wgpu::PollError> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use crate::shared::cancel::CancelToken;

        /// How often a watch is looked at.
        const GLANCE: Duration = Duration::from_millis(50);
        let poll = |timeout: Duration| {
            let wait = wgpu::PollType::Wait {
                submission_index: Some(submission.clone()),
                timeout: Some(timeout),
            };
            device.poll(wait).map(drop)
        };
        let Some(token) = CancelToken::current() else {
            return poll(timeout);
        };
        let began = std::time::Instant::now();
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            match poll(left.min(GLANCE)) {
                Err(wgpu::PollError::Timeout) if left > GLANCE && !token.is_stopped() => {}
                ended => return ended,
            }
        }
    }
    #[cfg(target_arch = "wasm32")]
    Ok(())
}
