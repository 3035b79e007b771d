//! Pipelines of a device, compiled once and shared. A driver takes tens of milliseconds for one pipeline, and a broad
//! phase has about fifty.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::device_context::is_lost;
use super::link::Replacement;
use super::scope::Scopes;
use super::shader::Pass;

pub(crate) struct Pipeline {
    pub layout: wgpu::BindGroupLayout,
    pub pipeline: wgpu::ComputePipeline,
}

#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pass: &'static str,
    /// Constants that the pass declares, as float bits.
    constants: Vec<(&'static str, u64)>,
    /// The caller's replacement text, for variants with its switch on.
    text: Option<String>,
}

/// Locked while the pipeline is created, so that other threads wait for it.
type Entry = Arc<Mutex<Option<Arc<Pipeline>>>>;

pub(crate) struct SharedPipelines {
    device: wgpu::Device,
    entries: Mutex<HashMap<Key, Entry>>,
}

impl Key {
    pub fn new(pass: &Pass, constants: &[(&'static str, f64)], replacement: Option<&Replacement>) -> Self {
        Self {
            pass: pass.name,
            constants: constants.iter().map(|&(name, value)| (name, value.to_bits())).collect(),
            text: replacement.map(|of| of.text.clone()),
        }
    }
}

impl SharedPipelines {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            device: device.clone(),
            entries: Mutex::default(),
        }
    }

    /// The pipelines are dropped with their last user.
    pub fn of(device: &wgpu::Device) -> Arc<Self> {
        let alive: Vec<_> = with_tables(|tables| {
            tables.retain(|table| table.strong_count() > 0);
            tables.iter().filter_map(Weak::upgrade).collect()
        });
        alive
            .into_iter()
            .find(|table| is_same(&table.device, device))
            .unwrap_or_else(|| {
                let table = Arc::new(Self::new(device));
                with_tables(|tables| tables.push(Arc::downgrade(&table)));
                table
            })
    }

    /// If the device rejects the pipeline, the caller's error scopes see the error, and it is not shared. Browsers
    /// report errors later, so there it is shared.
    pub fn get(&self, device: &wgpu::Device, key: Key, make: impl Fn() -> Pipeline) -> Arc<Pipeline> {
        let entry = self.entry(key);
        let mut made = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*made {
            return Arc::clone(pipeline);
        }
        let scopes = Scopes::begin(device);
        let pipeline = Arc::new(make());
        if scopes.end().now().is_some() {
            // Repeats the error for the caller's error scopes, since `scopes` took it.
            return Arc::new(make());
        }
        Arc::clone(made.insert(pipeline))
    }

    fn entry(&self, key: Key) -> Entry {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if key.text.is_some() {
            // A program may try any number of texts, so unused ones are dropped.
            entries.retain(|other, entry| other.text.is_none() || other.text == key.text || is_used(entry));
        }
        Arc::clone(entries.entry(key).or_default())
    }
}

/// Devices of two wgpu instances may compare equal, so the adapters and the errors are compared, too.
fn is_same(one: &wgpu::Device, other: &wgpu::Device) -> bool {
    one == other && one.adapter_info() == other.adapter_info() && share_errors(one, other) && !is_lost(one)
}

/// Returns true if errors of `one` reach the error scopes of `other`, or if `one` is lost and reports none.
fn share_errors(one: &wgpu::Device, other: &wgpu::Device) -> bool {
    // In browsers, `==` suffices, and errors arrive too late for this test.
    if cfg!(target_arch = "wasm32") {
        return true;
    }
    let of_one = Scopes::begin(one);
    let of_other = Scopes::begin(other);
    // Causes an error without an allocation: buffers need usages.
    drop(one.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::empty(),
        mapped_at_creation: false,
    }));
    // Error scopes close in reverse order.
    let by_other = of_other.end().now();
    let by_one = of_one.end().now();
    by_other.is_some() || by_one.is_none()
}

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

/// Browser objects cannot leave their thread.
#[cfg(target_family = "wasm")]
fn with_tables<T>(act: impl FnOnce(&mut Tables) -> T) -> T {
    thread_local!(static TABLES: std::cell::RefCell<Tables> = const { std::cell::RefCell::new(Vec::new()) });
    TABLES.with_borrow_mut(act)
}
