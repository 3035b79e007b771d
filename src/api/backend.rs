//! Choice of the engine and its adapter.

/// Engine that a [`BroadPhase`](crate::BroadPhase) runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend<'a> {
    /// The best hardware GPU on Vulkan, Metal, DX12 or WebGPU, else the [CPU engine](crate::cpu).
    ///
    /// The CPU engine is faster than a software adapter. It also takes over permanently if the device cannot bind a
    /// step's input or hold the smallest step; [`query`](crate::BroadPhase::query) stays on the device. A program that
    /// finds no hardware does not search again.
    #[default]
    Auto,
    /// The best adapter of these backends, hardware before software.
    Gpu(wgpu::Backends),
    /// A specific adapter.
    Adapter {
        /// Backends to search, such as [`wgpu::Backends::all`].
        backends: wgpu::Backends,
        /// Index of the adapter in [`adapters`](crate::adapters), or part of its name in any case.
        name: &'a str,
    },
    /// The [CPU engine](crate::cpu).
    Cpu,
}

impl Backend<'_> {
    /// Describes the wanted adapter as the end of a sentence.
    pub(crate) fn wanted(self) -> String {
        match self {
            Self::Adapter { name, .. } => format!(" with the name or index {name}"),
            Self::Gpu(backends) if backends != wgpu::Backends::all() => format!(" for {}", names(backends)),
            _ => String::new(),
        }
    }
}

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
