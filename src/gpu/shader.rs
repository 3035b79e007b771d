//! A compute pass: a WGSL module that is joined from files, and what it binds.

use std::ops::Deref;
use std::sync::OnceLock;

pub use super::link::Binding;
use super::link::{self, Holes, Replacement};
use crate::api::descriptor::{BroadPhaseDescriptor, Uses};
use crate::shared::wgsl::File;

/// One compute pass: a WGSL module with the entry point `main`.
#[derive(Debug)]
pub struct Pass {
    /// Name of the pass: the name of its root file, which a suffix of the variant may follow. The reference pass has
    /// the name of the root. `sort_scatter` is also the reference of `sort_scatter_subgroups`.
    pub name: &'static str,
    /// The WGSL file that has the entry point.
    root: &'static str,
    holes: Holes,
    is_needed: fn(&PassContext<'_>) -> bool,
    linked: OnceLock<Linked>,
}

#[derive(Debug)]
struct Linked {
    files: Vec<File>,
    bindings: Vec<(u32, Binding, &'static str)>,
    /// Names of its pipeline constants.
    overrides: Vec<&'static str>,
    workgroup: u32,
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
            let workgroup = link::workgroup(&files);
            Linked {
                workgroup: workgroup.unwrap_or_else(|| panic!("{} says no size of its workgroups", self.root)),
                files,
                bindings,
                overrides,
            }
        })
    }

    /// The WGSL that runs, as one text. Where [`features`](Self::features) has `SUBGROUP`, WGSL wants `enable
    /// subgroups;` before it; wgpu's own front end knows no such line and does without.
    pub fn source(&self) -> String {
        self.source_with(None)
    }

    /// The WGSL with a text in place of one of its files.
    pub(crate) fn source_with(&self, replacement: Option<&Replacement>) -> String {
        link::join(&self.linked().files, replacement)
    }

    #[doc(hidden)]
    /// What the pass binds in group 0, in ascending order: number, kind, and the name of the variable, which is that of
    /// the buffer.
    pub fn bindings(&self) -> &[(u32, Binding, &'static str)] {
        &self.linked().bindings
    }

    /// Invocations of one of its workgroups.
    #[doc(hidden)]
    pub fn workgroup(&self) -> u32 {
        self.linked().workgroup
    }

    /// The layout of its bind group.
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
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect()
    }

    /// Returns whether the pass has an override of this name.
    #[doc(hidden)]
    pub fn declares(&self, constant: &str) -> bool {
        self.linked().overrides.contains(&constant)
    }

    /// The pass where rays sweep a box, or do not.
    pub(crate) const fn sweeping(&self, sweeps: bool) -> Variant<'_> {
        Variant {
            pass: self,
            sweeps,
            excludes: false,
        }
    }

    /// The pass where a list or a function of the caller's excludes pairs, or neither does.
    pub(crate) const fn excluding(&self, excludes: bool) -> Variant<'_> {
        Variant {
            pass: self,
            sweeps: false,
            excludes,
        }
    }

    /// Returns all variants that the pass has.
    pub(crate) fn variants(&self) -> impl Iterator<Item = Variant<'_>> {
        let sweeping = self.declares(SWEPT).then(|| self.sweeping(true));
        let excluding = self.declares(EXCLUDES).then(|| self.excluding(true));
        [self.into()].into_iter().chain(sweeping).chain(excluding)
    }

    /// Returns the variants that every step with this descriptor runs; with `uses`, those that any such step may run.
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

    /// The files that it is joined from, its own last.
    #[cfg(test)]
    pub(crate) fn files(&self) -> &[File] {
        &self.linked().files
    }

    #[cfg(test)]
    pub(crate) fn holes(&self) -> Holes {
        self.holes
    }

    /// What a device needs to have for this pass.
    pub fn features(&self) -> wgpu::Features {
        if self.linked().files.iter().any(|(_, text)| text.contains("subgroup")) {
            wgpu::Features::SUBGROUP
        } else {
            wgpu::Features::empty()
        }
    }
}

/// The constant that is on where rays sweep a box.
pub(crate) const SWEPT: &str = "SWEPT";
/// The constant that is on where a list or a function of the caller's excludes pairs.
pub(crate) const EXCLUDES: &str = "EXCLUDES";

/// A pass as it is dispatched: with the constants that differ from step to step.
#[derive(Clone, Copy)]
pub(crate) struct Variant<'p> {
    pub pass: &'p Pass,
    /// Whether rays sweep a box.
    pub sweeps: bool,
    /// Whether a list or a function of the caller's excludes pairs.
    pub excludes: bool,
}

impl Variant<'_> {
    /// How many variants a pass may have.
    pub const COUNT: usize = 3;

    /// Returns whether the pass can exclude pairs and this variant does not.
    pub fn excludes_nothing(self) -> bool {
        self.pass.declares(EXCLUDES) && !self.excludes
    }

    /// Returns whether the pass declares the constants that are on.
    pub fn is_declared(self) -> bool {
        (!self.sweeps || self.pass.declares(SWEPT)) && (!self.excludes || self.pass.declares(EXCLUDES))
    }

    /// The number of the variant among those of its pass. No pass both casts rays and finds pairs.
    pub const fn index(self) -> usize {
        self.sweeps as usize + 2 * self.excludes as usize
    }

    /// The name of the pass and the number of the variant.
    pub const fn key(self) -> (&'static str, usize) {
        (self.pass.name, self.index())
    }
}

impl<'p> From<&'p Pass> for Variant<'p> {
    fn from(pass: &'p Pass) -> Self {
        pass.sweeping(false)
    }
}

/// What decides whether a variant of a pass is made ahead: the descriptor, and what steps may use beside it.
pub(crate) struct PassContext<'d> {
    descriptor: &'d BroadPhaseDescriptor<'d>,
    pub uses: Uses,
    /// Of the variant.
    pub sweeps: bool,
    /// Of the variant.
    pub excludes: bool,
    /// Whether this is about all that steps may come to need, not about what each of them runs.
    pub is_preparing: bool,
}

impl<'d> Deref for PassContext<'d> {
    type Target = BroadPhaseDescriptor<'d>;

    fn deref(&self) -> &Self::Target {
        self.descriptor
    }
}

/// The rows of a stage's part of the pass table. A pass is joined from the file of its own name in the stage's folder,
/// or `from` another file there with these choices for holes. `if` says with which descriptors, and which uses beside
/// them, steps run it, so that its pipeline is made ahead. Without it the pipeline is made when it is first used.
macro_rules! passes {
    ($stage:literal { $(
        $(#[$doc:meta])* $constant:ident = $name:literal
            $(from $root:literal { $($hole:ident: $choice:literal),+ })? $(if $is_needed:expr)?;
    )+ }) => {
        $(
            $(#[$doc])*
            pub static $constant: $crate::gpu::shader::Pass = $crate::gpu::shader::Pass::new(
                $name,
                $crate::gpu::shader::root!($stage $name $($root)?),
                &[$($((stringify!($hole), $choice)),+)?],
                $crate::gpu::shader::is_needed!($($is_needed)?),
            );
        )+
        /// The passes of the stage, in the order in which a step may run them.
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
