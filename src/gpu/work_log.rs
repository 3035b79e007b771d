//! Log of the work that this thread hands to wgpu. Off unless a test watches.

use std::cell::RefCell;

#[allow(missing_docs, reason = "only tests see it")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Stage(String),
    /// `groups` is `None` if the device knows the number.
    Dispatch {
        pass: &'static str,
        groups: Option<u32>,
    },
    Clear {
        buffer: &'static str,
        bytes: u64,
    },
    Copy {
        to: &'static str,
        bytes: u64,
    },
    Buffer {
        label: String,
        bytes: u64,
        usage: wgpu::BufferUsages,
    },
    BindGroup {
        pass: &'static str,
    },
}

thread_local! {
    static LOG: RefCell<Option<Vec<Work>>> = const { RefCell::new(None) };
}

/// Returns the result of `body` and the work it recorded on this thread.
pub fn watch<T>(body: impl FnOnce() -> T) -> (T, Vec<Work>) {
    LOG.set(Some(Vec::new()));
    let result = body();
    (result, LOG.take().unwrap_or_default())
}

pub(crate) fn log(work: impl FnOnce() -> Work) {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.push(work());
        }
    });
}

pub(crate) fn create_buffer(device: &wgpu::Device, descriptor: &wgpu::BufferDescriptor<'_>) -> wgpu::Buffer {
    log(|| Work::Buffer {
        label: descriptor.label.unwrap_or_default().to_owned(),
        bytes: descriptor.size,
        usage: descriptor.usage,
    });
    device.create_buffer(descriptor)
}
