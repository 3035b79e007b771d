//! Broad phases with devices of their own, used again: making one takes longer than most scenes of a test.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, PoisonError};

use gpu_broad_phase::{BroadPhaseDescriptor, Headless, HeadlessDescriptor};
use pollster::block_on;

use super::TestAdapter;

/// Those that nobody uses, by backend and descriptor.
static FREE: LazyLock<Mutex<HashMap<String, Vec<Headless>>>> = LazyLock::new(Mutex::default);

/// Goes back to the others when it is dropped, unless its test fails.
pub struct Pooled {
    key: String,
    headless: Option<Headless>,
}

/// A broad phase that may have answered other scenes before: no answer may depend on that. For tests of what a new one
/// does, or of its memory, use `Headless` itself.
pub fn pooled(adapter: &TestAdapter, descriptor: &BroadPhaseDescriptor<'_>) -> Pooled {
    let key = format!("{:?} {descriptor:?}", adapter.backends);
    let free = FREE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_mut(&key)
        .and_then(Vec::pop);
    let make = || {
        block_on(Headless::with_descriptor(&HeadlessDescriptor {
            backends: Some(adapter.backends),
            broad_phase: *descriptor,
            ..Default::default()
        }))
        .unwrap()
    };
    Pooled {
        key,
        headless: Some(free.unwrap_or_else(make)),
    }
}

impl Deref for Pooled {
    type Target = Headless;

    fn deref(&self) -> &Headless {
        self.headless.as_ref().expect("it is taken by the drop alone")
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut Headless {
        self.headless.as_mut().expect("it is taken by the drop alone")
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if let Some(headless) = self.headless.take().filter(|_| !std::thread::panicking()) {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(std::mem::take(&mut self.key)).or_default().push(headless);
        }
    }
}
