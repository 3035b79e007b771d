//! Pipelines of a device: each is compiled once and shared by all users. Drivers take tens of milliseconds for one, and
//! a broad phase has some fifty.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::device_context::KnownDevice;
use super::link::Replacement;
use super::scope::Scopes;
use super::shader::Pass;
use crate::shared::submission;

/// A pass made ready for a device.
pub(crate) struct Pipeline {
    pub layout: wgpu::BindGroupLayout,
    pub pipeline: wgpu::ComputePipeline,
}

/// Pass, values of constants, replaced text: equal keys have the same pipeline.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pass: &'static str,
    /// The constants that the pass declares, with their values as bits.
    constants: Vec<(&'static str, u64)>,
    /// The caller's text in place of a file, where the pass has that file.
    text: Option<String>,
}

/// The lock is held while the pipeline is made, so that others wait for it.
type Entry = Arc<Mutex<Option<Arc<Pipeline>>>>;

/// The pipelines of a device.
pub(crate) struct SharedPipelines {
    device: KnownDevice,
    entries: Mutex<HashMap<Key, Entry>>,
}

impl Key {
    /// `constants` are those that the pass declares.
    pub fn new(pass: &Pass, constants: &[(&'static str, f64)], replacement: Option<&Replacement>) -> Self {
        Self {
            pass: pass.name,
            constants: constants.iter().map(|&(name, value)| (name, value.to_bits())).collect(),
            text: replacement.map(|of| of.text.clone()),
        }
    }
}

impl SharedPipelines {
    /// Creates a table that is not shared.
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            device: KnownDevice::new(device),
            entries: Mutex::default(),
        }
    }

    /// Returns the table of a device. It lives as long as one of its users.
    pub fn of(device: &wgpu::Device) -> Arc<Self> {
        let alive: Vec<_> = with_tables(|tables| {
            tables.retain(|table| table.strong_count() > 0);
            tables.iter().filter_map(Weak::upgrade).collect()
        });
        // `is` cannot tell a lost device from another one with the same number.
        let is_of = |table: &Arc<Self>| table.device.is(device) && !submission::is_lost(table.device.device());
        alive.into_iter().find(is_of).unwrap_or_else(|| {
            let table = Arc::new(Self::new(device));
            with_tables(|tables| tables.push(Arc::downgrade(&table)));
            table
        })
    }

    /// Returns the pipeline of a key, which `make` makes unless it is there. A device that refuses it returns one that
    /// cannot be used, and tells the error scopes of the caller. Such a pipeline is not shared, but for browsers, which
    /// tell later.
    pub fn get(&self, device: &wgpu::Device, key: Key, make: impl Fn() -> Pipeline) -> Arc<Pipeline> {
        let entry = self.entry(key);
        let mut made = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*made {
            return Arc::clone(pipeline);
        }
        let scopes = Scopes::begin(device);
        let pipeline = Arc::new(make());
        if scopes.end().now().is_some() {
            // Once more, for the scopes of the caller.
            return Arc::new(make());
        }
        Arc::clone(made.insert(pipeline))
    }

    fn entry(&self, key: Key) -> Entry {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if key.text.is_some() {
            // A program may try any number of texts.
            entries.retain(|other, entry| other.text.is_none() || other.text == key.text || is_used(entry));
        }
        Arc::clone(entries.entry(key).or_default())
    }
}

/// Returns whether the pipeline is in use or being made.
fn is_used(entry: &Entry) -> bool {
    let made = entry.try_lock();
    made.map_or(true, |made| {
        made.as_ref().is_some_and(|pipeline| Arc::strong_count(pipeline) > 1)
    })
}

type Tables = Vec<Weak<SharedPipelines>>;

#[cfg(not(target_family = "wasm"))]
fn with_tables<T>(act: impl FnOnce(&mut Tables) -> T) -> T {
    static TABLES: Mutex<Tables> = Mutex::new(Vec::new());
    act(&mut TABLES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Objects of a browser stay on their thread.
#[cfg(target_family = "wasm")]
fn with_tables<T>(act: impl FnOnce(&mut Tables) -> T) -> T {
    thread_local!(static TABLES: std::cell::RefCell<Tables> = const { std::cell::RefCell::new(Vec::new()) });
    TABLES.with_borrow_mut(act)
}
