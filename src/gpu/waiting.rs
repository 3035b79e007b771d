use std::time::Duration;

/// Waits until the device has finished a submission. A stopped [`CancelToken`](crate::shared::cancel::CancelToken) ends
/// the wait like a timeout.
///
/// Browsers cannot block, so this returns at once there.
#[cfg_attr(target_arch = "wasm32", allow(unused_variables, reason = "nobody waits there"))]
pub(crate) fn wait(
    device: &wgpu::Device,
    submission: wgpu::SubmissionIndex,
    timeout: Duration,
) -> Result<(), wgpu::PollError> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use crate::shared::cancel::CancelToken;

        const CHECK_INTERVAL: Duration = Duration::from_millis(50);
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
            match poll(left.min(CHECK_INTERVAL)) {
                Err(wgpu::PollError::Timeout) if left > CHECK_INTERVAL && !token.is_stopped() => {}
                ended => return ended,
            }
        }
    }
    #[cfg(target_arch = "wasm32")]
    Ok(())
}
