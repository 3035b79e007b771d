use std::sync::OnceLock;

pub use super::link::Binding;
use super::link::{self, Holes, Replacement};
use crate::shared::wgsl::File;

/// One compute pass: a WGSL module with the entry point `main`.
#[derive(Debug)]
pub struct Pass {
    /// Name of the root file, plus a suffix for variants. The reference pass on the CPU has the root file's name; that
    /// of `sort_scatter_subgroups` is `sort_scatter`.
    pub name: &'static str,
    root: &'static str,
    holes: Holes,
    /// Pipeline constant (`override bool`) that may differ between steps.
    switch: Option<&'static str>,
    linked: OnceLock<Linked>,
}

#[derive(Debug)]
struct Linked {
    files: Vec<File>,
    bindings: Vec<(u32, Binding, &'static str)>,
    overrides: Vec<&'static str>,
    workgroup: Option<u32>,
}

impl Pass {
    pub(crate) const fn new(
        name: &'static str,
        root: &'static str,
        holes: Holes,
        switch: Option<&'static str>,
    ) -> Self {
        Self {
            name,
            root,
            holes,
            switch,
            linked: OnceLock::new(),
        }
    }

    fn linked(&self) -> &Linked {
        self.linked.get_or_init(|| {
            let files = link::link(self.root, self.holes);
            let bindings = link::bindings(&files);
            let overrides = link::overrides(&files);
            Linked {
                workgroup: link::workgroup(&files),
                files,
                bindings,
                overrides,
            }
        })
    }

    /// WGSL of the pass as one text. If [`features`](Self::features) has `SUBGROUP`, standard WGSL needs
    /// `enable subgroups;` in front, but wgpu's own front end rejects that line.
    pub fn source(&self) -> String {
        self.source_with(None)
    }

    pub(crate) fn source_with(&self, replacement: Option<&Replacement>) -> String {
        link::join(&self.linked().files, replacement)
    }

    #[doc(hidden)]
    /// Bindings of group 0 in ascending order: number, kind, and name of the variable, which is also the buffer's name.
    pub fn bindings(&self) -> &[(u32, Binding, &'static str)] {
        &self.linked().bindings
    }

    /// Invocations per workgroup.
    #[doc(hidden)]
    pub fn workgroup(&self) -> u32 {
        let known = self.linked().workgroup;
        known.unwrap_or_else(|| panic!("{} says no size of its workgroups", self.root))
    }

    /// Entries of the bind group layout.
    #[doc(hidden)]
    pub fn layout_entries(&self) -> Vec<wgpu::BindGroupLayoutEntry> {
        let bindings = self.bindings().iter();
        bindings
            .map(|&(binding, kind, _)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: match kind {
                        Binding::Uniform => wgpu::BufferBindingType::Uniform,
                        Binding::Read => wgpu::BufferBindingType::Storage { read_only: true },
                        Binding::Write => wgpu::BufferBindingType::Storage { read_only: false },
                    },
                    has_dynamic_offset: kind == Binding::Uniform,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect()
    }

    /// Returns true if the pass has a pipeline constant (`override`) of this name.
    #[doc(hidden)]
    pub fn declares(&self, constant: &str) -> bool {
        self.linked().overrides.contains(&constant)
    }

    /// The variant with the pass's switch on or off.
    pub(crate) const fn switched(&'static self, is_on: bool) -> Variant {
        debug_assert!(!is_on || self.switch.is_some());
        Variant { pass: self, is_on }
    }

    pub(crate) fn variants(&'static self) -> impl Iterator<Item = Variant> {
        let on = self.switch.map(|_| self.switched(true));
        [self.into()].into_iter().chain(on)
    }

    #[cfg(test)]
    pub(crate) fn files(&self) -> &[File] {
        &self.linked().files
    }

    #[cfg(test)]
    pub(crate) fn switch(&self) -> Option<&'static str> {
        self.switch
    }

    #[cfg(test)]
    pub(crate) fn holes(&self) -> Holes {
        self.holes
    }

    /// Device features that the pass requires.
    pub fn features(&self) -> wgpu::Features {
        if self.linked().files.iter().any(|(_, text)| text.contains("subgroup")) {
            wgpu::Features::SUBGROUP
        } else {
            wgpu::Features::empty()
        }
    }
}

/// A pass with its switch on or off.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    pub pass: &'static Pass,
    pub is_on: bool,
}

impl Variant {
    pub const COUNT: usize = 2;

    /// Name and value of the switch.
    pub fn constant(self) -> Option<(&'static str, f64)> {
        self.pass.switch.map(|name| (name, self.is_on.into()))
    }

    pub const fn index(self) -> usize {
        self.is_on as usize
    }

    pub const fn key(self) -> (&'static str, usize) {
        (self.pass.name, self.index())
    }
}

impl From<&'static Pass> for Variant {
    fn from(pass: &'static Pass) -> Self {
        pass.switched(false)
    }
}

/// Declares the passes of a stage. The root file of a pass has the same name, or the name after `from`, followed by the
/// words that fill its holes. `switch` names the pipeline constant that may differ between steps.
macro_rules! passes {
    ($stage:literal { $(
        $(#[$doc:meta])* $constant:ident = $name:literal
            $(from $root:literal { $($hole:ident: $choice:literal),+ })? $(switch $switch:expr)?;
    )+ }) => {
        $(
            #[doc = concat!("Pass `", $name, "`.")]
            $(#[$doc])*
            pub static $constant: $crate::gpu::shader::Pass = $crate::gpu::shader::Pass::new(
                $name,
                $crate::gpu::shader::root!($stage $name $($root)?),
                &[$($((stringify!($hole), $choice)),+)?],
                $crate::gpu::shader::switch!($($switch)?),
            );
        )+
        pub(crate) static PASSES: &[&$crate::gpu::shader::Pass] = &[$(&$constant),+];
    };
}

macro_rules! root {
    ($stage:literal $name:literal) => {
        concat!($stage, "/", $name)
    };
    ($stage:literal $name:literal $root:literal) => {
        concat!($stage, "/", $root)
    };
}

macro_rules! switch {
    () => {
        None
    };
    ($switch:expr) => {
        Some($switch)
    };
}

pub(crate) use {passes, root, switch};
