//! Reuses broad phases and their devices, which are slow to create.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, PoisonError};

use gpu_broad_phase::{Backend, BroadPhase, BroadPhaseDescriptor, wgpu};
use pollster::block_on;

use super::TestAdapter;

type Free = HashMap<wgpu::Backends, Vec<(BroadPhase, u32)>>;

static FREE: LazyLock<Mutex<Free>> = LazyLock::new(Mutex::default);

/// Maximum tests per pooled broad phase, so that tests also meet new ones.
const USES: u32 = 100;

/// A broad phase that returns to the pool when dropped, unless its test panics.
pub struct Pooled {
    backends: wgpu::Backends,
    broad_phase: Option<BroadPhase>,
    uses_left: u32,
}

pub fn opened(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> BroadPhase {
    block_on(BroadPhase::with_backend(descriptor, Backend::Gpu(adapter.backends))).expect("a broad phase")
}

/// Returns a broad phase that may have run other scenes, which must not change results. Tests of new broad phases or of
/// memory use [`opened`].
pub fn pooled(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> Pooled {
    let backends = adapter.backends;
    let free = FREE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_mut(&backends)
        .and_then(Vec::pop);
    let (broad_phase, uses_left) = match free {
        Some((mut broad_phase, uses_left)) => {
            broad_phase.set_descriptor(descriptor).unwrap();
            (broad_phase, uses_left)
        }
        None => (opened(adapter, descriptor), USES),
    };
    Pooled {
        backends,
        broad_phase: Some(broad_phase),
        uses_left: uses_left - 1,
    }
}

impl Deref for Pooled {
    type Target = BroadPhase;

    fn deref(&self) -> &BroadPhase {
        self.broad_phase.as_ref().expect("only `drop` takes it")
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut BroadPhase {
        self.broad_phase.as_mut().expect("only `drop` takes it")
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let is_used_again = self.uses_left > 0 && !std::thread::panicking();
        if let Some(broad_phase) = self.broad_phase.take().filter(|_| is_used_again) {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(self.backends)
                .or_default()
                .push((broad_phase, self.uses_left));
        }
    }
}
