use std::ops::Deref;
use std::sync::OnceLock;

pub use super::link::Binding;
use super::link::{self, Holes, Replacement};
use crate::api::descriptor::{BroadPhaseDescriptor, Uses};
use crate::shared::wgsl::File;

/// One compute pass: a WGSL module with the entry point `main`.
#[derive(Debug)]
pub struct Pass {
    /// Name of the root file, plus a suffix for variants. The reference pass on the CPU has the root file's name; that
    /// of `sort_scatter_subgroups` is `sort_scatter`.
    pub name: &'static str,
    root: &'static str,
    holes: Holes,
    is_needed: fn(&PassContext<'_>) -> bool,
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
        is_needed: fn(&PassContext<'_>) -> bool,
    ) -> Self {
        Self {
            name,
            root,
            holes,
            is_needed,
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

    pub(crate) const fn sweeping(&self, sweeps: bool) -> Variant<'_> {
        Variant {
            pass: self,
            sweeps,
            excludes: false,
        }
    }

    pub(crate) const fn excluding(&self, excludes: bool) -> Variant<'_> {
        Variant {
            pass: self,
            sweeps: false,
            excludes,
        }
    }

    pub(crate) fn variants(&self) -> impl Iterator<Item = Variant<'_>> {
        let sweeping = self.declares(SWEPT).then(|| self.sweeping(true));
        let excluding = self.declares(EXCLUDES).then(|| self.excluding(true));
        [self.into()].into_iter().chain(sweeping).chain(excluding)
    }

    /// Returns the variants that every step with `descriptor` runs or, with `uses`, those that a step with these uses
    /// may run.
    pub(crate) fn needed(
        &self,
        descriptor: &BroadPhaseDescriptor<'_>,
        uses: Option<Uses>,
    ) -> impl Iterator<Item = Variant<'_>> {
        self.variants().filter(move |variant| {
            (self.is_needed)(&PassContext {
                descriptor,
                is_preparing: uses.is_some(),
                uses: uses.unwrap_or_default(),
                sweeps: variant.sweeps,
                excludes: variant.excludes,
            })
        })
    }

    #[cfg(test)]
    pub(crate) fn files(&self) -> &[File] {
        &self.linked().files
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

pub(crate) const SWEPT: &str = "SWEPT";
pub(crate) const EXCLUDES: &str = "EXCLUDES";

/// A pass with the pipeline constants that may differ between steps.
#[derive(Clone, Copy)]
pub(crate) struct Variant<'p> {
    pub pass: &'p Pass,
    pub sweeps: bool,
    pub excludes: bool,
}

impl Variant<'_> {
    pub const COUNT: usize = 3;

    pub fn is_declared(self) -> bool {
        (!self.sweeps || self.pass.declares(SWEPT)) && (!self.excludes || self.pass.declares(EXCLUDES))
    }

    /// Index among the variants of the pass: at most 2, since no pass both sweeps and excludes.
    pub const fn index(self) -> usize {
        self.sweeps as usize + 2 * self.excludes as usize
    }

    pub const fn key(self) -> (&'static str, usize) {
        (self.pass.name, self.index())
    }
}

impl<'p> From<&'p Pass> for Variant<'p> {
    fn from(pass: &'p Pass) -> Self {
        pass.sweeping(false)
    }
}

pub(crate) struct PassContext<'d> {
    descriptor: &'d BroadPhaseDescriptor<'d>,
    pub uses: Uses,
    pub sweeps: bool,
    pub excludes: bool,
    /// True to include passes that only some steps need.
    pub is_preparing: bool,
}

impl<'d> Deref for PassContext<'d> {
    type Target = BroadPhaseDescriptor<'d>;

    fn deref(&self) -> &Self::Target {
        self.descriptor
    }
}

/// Declares the passes of a stage. The root file of a pass has the same name, or the name after `from`, followed by the
/// words that fill its holes. `if` is the condition for creating the pipeline before its first use.
macro_rules! passes {
    ($stage:literal { $(
        $(#[$doc:meta])* $constant:ident = $name:literal
            $(from $root:literal { $($hole:ident: $choice:literal),+ })? $(if $is_needed:expr)?;
    )+ }) => {
        $(
            #[doc = concat!("Pass `", $name, "`.")]
            $(#[$doc])*
            pub static $constant: $crate::gpu::shader::Pass = $crate::gpu::shader::Pass::new(
                $name,
                $crate::gpu::shader::root!($stage $name $($root)?),
                &[$($((stringify!($hole), $choice)),+)?],
                $crate::gpu::shader::is_needed!($($is_needed)?),
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

macro_rules! is_needed {
    () => {
        |_| false
    };
    ($is_needed:expr) => {
        $is_needed
    };
}

pub(crate) use {is_needed, passes, root};
