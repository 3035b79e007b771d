//! The choice of an engine and of an adapter.

/// Engine that a [`BroadPhase`](crate::BroadPhase) runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend<'a> {
    /// The best hardware GPU on Vulkan, Metal, DX12 or WebGPU. The [CPU engine](crate::cpu) where there is none or it
    /// gives no device: it is faster than a software adapter. The CPU engine also takes over, for good, from a device
    /// that cannot bind a step's input or hold the smallest step. [`query`](crate::BroadPhase::query) stays on the
    /// device. If a program finds no hardware, it does not look again.
    #[default]
    Auto,
    /// The best adapter of these backends, hardware before software.
    Gpu(wgpu::Backends),
    /// One adapter.
    Adapter {
        /// Backends to search, such as [`wgpu::Backends::all`].
        backends: wgpu::Backends,
        /// Index of the adapter in [`adapters`](crate::adapters), or else a part of its name in any case.
        name: &'a str,
    },
    /// The [CPU engine](crate::cpu).
    Cpu,
}

impl Backend<'_> {
    /// Describes the wanted adapter as the end of a sentence.
    pub(crate) fn wanted(self) -> String {
        match self {
            Self::Adapter { name, .. } => format!(" that is called or numbered {name}"),
            Self::Gpu(backends) if backends != wgpu::Backends::all() => format!(" for {}", names(backends)),
            _ => String::new(),
        }
    }
}

/// Returns the names of backends, such as `vulkan, gl`.
fn names(backends: wgpu::Backends) -> String {
    let names = backends.iter_names().map(|(name, _)| name.to_lowercase());
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_named_as_they_are_spoken_of() {
        assert_eq!(names(wgpu::Backends::VULKAN), "vulkan");
        assert_eq!(names(wgpu::Backends::VULKAN | wgpu::Backends::GL), "vulkan, gl");
    }
}
