//! Pipelines of a device: each is made once, whoever uses it. Drivers take tens of milliseconds for one, and a broad phase
//! has some fifty.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::home::KnownDevice;
use super::link::Replacement;
use super::shader::Pass;
use crate::shared::submission;

/// A pass made ready for a device.
pub(crate) struct Pipeline {
    pub layout: wgpu::BindGroupLayout,
    pub pipeline: wgpu::ComputePipeline,
}

/// A pipeline that is made when somebody first needs it.
pub(crate) type Slot = Arc<OnceLock<Pipeline>>;

/// All that a pipeline depends on.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pass: &'static str,
    /// The values of the constants that the pass declares, as bits.
    constants: Vec<(&'static str, u64)>,
    /// The caller's text in place of a file, where the pass has that file.
    text: Option<String>,
}

/// The pipelines of a device by what they depend on.
pub(crate) struct SharedPipelines {
    device: KnownDevice,
    slots: Mutex<HashMap<Key, Slot>>,
}

impl Key {
    /// `constants` are those that the pass declares.
    pub fn new(pass: &Pass, constants: &[(&'static str, f64)], replacement: Option<&Replacement>) -> Self {
        Self {
            pass: pass.name,
            constants: constants.iter().map(|&(name, value)| (name, value.to_bits())).collect(),
            text: replacement
                .filter(|of| pass.has_file(of.path))
                .map(|of| of.text.clone()),
        }
    }
}

impl SharedPipelines {
    /// Pipelines that nobody shares.
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            device: KnownDevice::new(device),
            slots: Mutex::default(),
        }
    }

    /// Returns those of a device, which live as long as anybody who uses them.
    pub fn of(device: &wgpu::Device) -> Arc<Self> {
        with_all(|all| {
            all.retain(|pipelines| pipelines.strong_count() > 0);
            let mut alive = all.iter().filter_map(Weak::upgrade);
            // A lost device is taken for any other of the same number.
            let known = alive.find(|of| of.device.is(device) && !submission::is_lost(of.device.device()));
            known.unwrap_or_else(|| {
                let pipelines = Arc::new(Self::new(device));
                all.push(Arc::downgrade(&pipelines));
                pipelines
            })
        })
    }

    pub fn slot(&self, key: Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if key.text.is_some() {
            // A program may try any number of texts.
            slots.retain(|other, slot| other.text.is_none() || *other == key || Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(key).or_default())
    }

    pub fn forget(&self, refused: &[&Slot]) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| !refused.iter().any(|refused| Arc::ptr_eq(refused, slot)));
    }
}

type All = Vec<Weak<SharedPipelines>>;

#[cfg(not(target_family = "wasm"))]
fn with_all<T>(act: impl FnOnce(&mut All) -> T) -> T {
    static ALL: Mutex<All> = Mutex::new(Vec::new());
    act(&mut ALL.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Objects of a browser stay on their thread.
#[cfg(target_family = "wasm")]
fn with_all<T>(act: impl FnOnce(&mut All) -> T) -> T {
    thread_local!(static ALL: std::cell::RefCell<All> = const { std::cell::RefCell::new(Vec::new()) });
    ALL.with_borrow_mut(act)
}
