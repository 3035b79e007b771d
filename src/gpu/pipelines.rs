use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
#[cfg(not(target_family = "wasm"))]
use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::AtomicUsize,
    thread::{self, ScopedJoinHandle},
};

use super::bindings::{Bindings, Range};
use super::link::Replacement;
#[cfg(not(target_family = "wasm"))]
use super::scope::Scopes;
use super::shader::{Binding, Pass, Variant};
use super::shared_pipelines::{Key, Pipeline, SharedPipelines};
use super::work_log::{self, Work};
use crate::shared::bounds::MAX_GROUPS;

pub(crate) struct Pipelines {
    label: String,
    constants: Vec<(&'static str, f64)>,
    cache: Option<wgpu::PipelineCache>,
    replacement: Option<Replacement>,
    /// Pipelines shared by all users of the device, or private ones if the caller supplied a cache.
    shared: OnceLock<Arc<SharedPipelines>>,
    by_pass: HashMap<&'static str, Variants>,
    dispatches: AtomicU32,
}

type Variants = [OnceLock<Arc<Pipeline>>; Variant::COUNT];

#[derive(Clone, Copy)]
pub(crate) enum Groups<'b> {
    Count(u32),
    In(&'b wgpu::Buffer),
}

impl Groups<'_> {
    const fn count(self) -> Option<u32> {
        match self {
            Self::Count(groups) => Some(groups),
            Self::In(_) => None,
        }
    }
}

impl Pipelines {
    /// `constants` apply to passes that declare them. `replacement` replaces a WGSL file in every pass that links it.
    pub fn new(
        label: &str,
        passes: impl IntoIterator<Item = &'static Pass>,
        constants: &[(&'static str, f64)],
        cache: Option<wgpu::PipelineCache>,
        replacement: Option<Replacement>,
    ) -> Self {
        Self {
            cache,
            replacement,
            label: label.to_owned(),
            constants: constants.to_vec(),
            shared: OnceLock::new(),
            by_pass: passes
                .into_iter()
                .map(|pass| (pass.name, Variants::default()))
                .collect(),
            dispatches: AtomicU32::new(0),
        }
    }

    /// Returns a copy with other constants and replacement. Reuses pipelines that do not depend on them.
    pub fn with_others(
        &self,
        passes: impl IntoIterator<Item = &'static Pass>,
        constants: &[(&'static str, f64)],
        replacement: Option<Replacement>,
    ) -> Self {
        let passes: Vec<_> = passes.into_iter().collect();
        let others = Self {
            shared: self.shared.clone(),
            dispatches: AtomicU32::new(self.dispatches()),
            ..Self::new(
                &self.label,
                passes.iter().copied(),
                constants,
                self.cache.clone(),
                replacement,
            )
        };
        for variant in passes.into_iter().flat_map(Pass::variants) {
            let made = self
                .by_pass
                .get(variant.pass.name)
                .and_then(|variants| variants[variant.index()].get());
            if let Some(made) = made.filter(|_| self.key(variant) == others.key(variant)) {
                let _ = others.by_pass[variant.pass.name][variant.index()].set(Arc::clone(made));
            }
        }
        others
    }

    pub fn replacement(&self) -> Option<&Replacement> {
        self.replacement.as_ref()
    }

    pub fn dispatches(&self) -> u32 {
        self.dispatches.load(Ordering::Relaxed)
    }

    pub fn made(&self) -> usize {
        let variants = self.by_pass.values().flatten();
        variants.filter(|made| made.get().is_some()).count()
    }

    /// Creates pipelines on all cores, because many drivers take seconds. Returns an error of another thread: error
    /// scopes are per thread, so the caller's miss it.
    #[cfg(not(target_family = "wasm"))]
    pub fn make(&self, device: &wgpu::Device, variants: &[Variant]) -> Option<String> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        // Walks compile slowest and are last in the list, so creation begins at its end.
        let make = || {
            while let Some(&variant) = variants.iter().rev().nth(next.fetch_add(1, Ordering::Relaxed)) {
                self.get(device, variant);
            }
        };
        let make_beside = || {
            let scopes = Scopes::begin(device);
            make();
            scopes.end().now()
        };
        thread::scope(|scope| {
            let beside: Vec<_> = (1..threads.min(variants.len()))
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, make_beside).ok())
                .collect();
            make();
            let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            beside.into_iter().find_map(join)
        })
    }

    #[cfg(target_family = "wasm")]
    pub fn make(&self, device: &wgpu::Device, variants: &[Variant]) -> Option<String> {
        for &variant in variants {
            self.get(device, variant);
        }
        None
    }

    fn get(&self, device: &wgpu::Device, variant: Variant) -> &Pipeline {
        self.by_pass[variant.pass.name][variant.index()].get_or_init(|| {
            let shared = self.shared.get_or_init(|| match self.cache {
                // A shared pipeline would not be compiled into the caller's cache.
                Some(_) => Arc::new(SharedPipelines::new(device)),
                None => SharedPipelines::of(device),
            });
            shared.get(device, self.key(variant), || {
                let source = variant.pass.source_with(self.replacement_in(variant));
                create(
                    device,
                    variant.pass,
                    source,
                    &self.constants(variant),
                    self.cache.as_ref(),
                )
            })
        })
    }

    fn constants(&self, variant: Variant) -> Vec<(&'static str, f64)> {
        let all = self.constants.iter().copied().chain(variant.constant());
        all.filter(|(name, _)| variant.pass.declares(name)).collect()
    }

    /// Only variants with the replacement's switch on have its text.
    fn replacement_in(&self, variant: Variant) -> Option<&Replacement> {
        let replacement = self.replacement.as_ref();
        replacement.filter(|of| variant.constant() == Some((of.switch, 1.0)))
    }

    pub(crate) fn key(&self, variant: Variant) -> Key {
        Key::new(variant.pass, &self.constants(variant), self.replacement_in(variant))
    }

    pub fn dispatch(
        &self,
        device: &wgpu::Device,
        bindings: &mut Bindings,
        compute: &mut wgpu::ComputePass<'_>,
        variant: Variant,
        groups: Groups<'_>,
        bound: impl Fn(&'static str) -> Range,
    ) {
        if matches!(groups, Groups::Count(0)) {
            return;
        }
        let Pipeline { layout, pipeline } = self.get(device, variant);
        let pass = variant.pass;
        let mut offsets = Vec::new();
        let bound = pass.bindings().iter().map(|&(_, kind, name)| {
            let mut range = bound(name);
            if kind == Binding::Uniform {
                offsets.push(std::mem::take(&mut range.offset) as u32);
            }
            range
        });
        let bound = bound.collect();
        let group = bindings.group(variant.key(), bound, |bound| {
            let entries: Vec<_> = std::iter::zip(pass.bindings(), bound)
                .map(|(&(binding, _, _), range)| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &range.buffer,
                        offset: range.offset,
                        size: range.size,
                    }),
                })
                .collect();
            work_log::log(|| Work::BindGroup { pass: pass.name });
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&format!("{}/{}", self.label, pass.name)),
                layout,
                entries: &entries,
            })
        });
        compute.set_pipeline(pipeline);
        compute.set_bind_group(0, group, &offsets);
        self.dispatches.fetch_add(1, Ordering::Relaxed);
        work_log::log(|| Work::Dispatch {
            pass: pass.name,
            groups: groups.count(),
        });
        match groups {
            Groups::Count(groups) => {
                compute.dispatch_workgroups(groups.min(MAX_GROUPS), groups.div_ceil(MAX_GROUPS), 1);
            }
            Groups::In(buffer) => compute.dispatch_workgroups_indirect(buffer, 0),
        }
    }
}

fn create(
    device: &wgpu::Device,
    pass: &Pass,
    source: String,
    constants: &[(&str, f64)],
    cache: Option<&wgpu::PipelineCache>,
) -> Pipeline {
    let label = Some(pass.name);
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label,
        entries: &pass.layout_entries(),
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    // Browsers require the `enable` directive; wgpu's WGSL front end (naga) rejects it.
    let source = if cfg!(target_family = "wasm") && pass.features().contains(wgpu::Features::SUBGROUP) {
        format!("enable subgroups;\n{source}").into()
    } else {
        source.into()
    };
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label,
        source: wgpu::ShaderSource::Wgsl(source),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants,
            // Every pass initializes its own workgroup memory (tests/passes checks this with poison). The FXC compiler
            // would unroll the zeroing per element and take up to a minute per shader.
            zero_initialize_workgroup_memory: false,
        },
        cache,
    });
    Pipeline { layout, pipeline }
}
