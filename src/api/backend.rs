/// Engine that a [`BroadPhase`](crate::BroadPhase) runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend<'a> {
    /// The best hardware GPU on Vulkan, Metal, DX12 or WebGPU. Without one, the [CPU engine](crate::cpu).
    ///
    /// Software adapters are never chosen, since the CPU engine is faster. The CPU engine also takes over permanently
    /// if the device cannot be opened, if even a step without objects exceeds a limit, or if a step needs a larger
    /// buffer than the device can bind. [`query`](crate::BroadPhase::query) never changes the engine. Once a program
    /// finds no hardware, it does not search again.
    #[default]
    Auto,
    /// The best adapter of these backends. Hardware is preferred to software.
    Gpu(wgpu::Backends),
    /// One adapter, by index or name.
    Adapter {
        /// Backends to search, such as [`wgpu::Backends::all`].
        backends: wgpu::Backends,
        /// Index of the adapter in the list of [`adapters`](crate::adapters), or part of its name in upper or lower
        /// case.
        name: &'a str,
    },
    /// The [CPU engine](crate::cpu).
    Cpu,
}

impl Backend<'_> {
    /// Text that follows "no adapter found" in the error.
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
