//! Aborts the tests at the first unexplained message of the Vulkan validation layer.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use gpu_broad_phase::wgpu;

/// Messages caused by faults of the layer itself, each with an explanation.
const LAYER_FAULTS: &[(&str, &str)] = &[(
    "SPIR-V module not valid: Invalid source language operand: 10",
    "10 is WGSL, which naga names with the debug information of InstanceFlags::DEBUG (wgpu has no messages without \
     that flag), \
     and which the layer of 1.3.239 does not know; spirv-val sees the modules without it in tests/compilers.rs",
)];

pub fn is_wanted() -> bool {
    std::env::var("GPU_BROAD_PHASE_VALIDATION").is_ok_and(|value| value != "0")
}

thread_local! {
    static PROVOKED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

struct AbortingLog;

impl log::Log for AbortingLog {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("wgpu_hal::vulkan")
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let message = record.args().to_string();
        let is_provoked = PROVOKED.with_borrow_mut(|provoked| {
            provoked
                .as_mut()
                .map(|messages| messages.push(message.clone()))
                .is_some()
        });
        // Messages with a tab continue the one before, with labels.
        if is_provoked || message.starts_with('\t') {
            return;
        }
        if LAYER_FAULTS.iter().any(|(id, _)| message.contains(id)) {
            return;
        }
        // The test harness would hide `eprintln`, and wgpu would catch a panic.
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("?");
        let _ = writeln!(std::io::stderr(), "{test}: {}: {message}", record.level());
        std::process::abort();
    }

    fn flush(&self) {}
}

/// Must be called before the first instance is created.
pub fn install() {
    if is_wanted() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| log::set_logger(&AbortingLog).expect("the only logger"));
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Provokes a message and panics unless it arrives, which shows that the layer is active.
#[cfg(not(target_vendor = "apple"))]
pub fn expect_layer(device: &wgpu::Device) {
    use ash::vk;

    if !is_wanted() {
        return;
    }
    PROVOKED.set(Some(Vec::new()));
    // SAFETY: nothing else destroys the device or the buffer, and nothing uses the buffer.
    unsafe {
        let hal = device.as_hal::<wgpu::hal::api::Vulkan>().expect("a Vulkan device");
        let wrong = vk::BufferCreateInfo::default().usage(vk::BufferUsageFlags::STORAGE_BUFFER);
        if let Ok(buffer) = hal.raw_device().create_buffer(&wrong, None) {
            hal.raw_device().destroy_buffer(buffer, None);
        }
    }
    let messages = PROVOKED.take().unwrap_or_default();
    let expected = "VUID-VkBufferCreateInfo-size-00912";
    assert!(
        messages.iter().any(|message| message.contains(expected)),
        "the Vulkan validation layer is not there: {messages:?}"
    );
}

#[cfg(target_vendor = "apple")]
pub fn expect_layer(_: &wgpu::Device) {}
