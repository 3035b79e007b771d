//! Pipelines and dispatches: the only place that creates either.

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
use super::shader::Pass;
use super::shared_pipelines::{Key, Pipeline, SharedPipelines};
use crate::api::descriptor::Uses;
use crate::shared::bounds::MAX_GROUPS;

/// Pipelines that one broad phase or component uses, each made when it is first asked for.
pub(crate) struct Pipelines {
    label: String,
    constants: Vec<(&'static str, f64)>,
    cache: Option<wgpu::PipelineCache>,
    replacement: Option<Replacement>,
    /// The table of the device; a private one with the caller's cache.
    shared: OnceLock<Arc<SharedPipelines>>,
    by_pass: HashMap<&'static str, Forms>,
    /// Dispatches that were recorded so far.
    dispatches: AtomicU32,
}

/// A pass's pipelines.
struct Forms {
    plain: OnceLock<Arc<Pipeline>>,
    /// With [`SWEPT`], where the pass declares it.
    swept: Option<OnceLock<Arc<Pipeline>>>,
}

/// A pass as it is dispatched.
#[derive(Clone, Copy)]
pub(crate) struct Form<'p> {
    pub pass: &'p Pass,
    /// Whether rays sweep a box.
    pub sweeps: bool,
}

impl Forms {
    fn new(pass: &Pass) -> Self {
        Self {
            plain: OnceLock::new(),
            swept: pass.declares(SWEPT).then(OnceLock::new),
        }
    }

    fn of(&self, sweeps: bool) -> &OnceLock<Arc<Pipeline>> {
        self.swept.as_ref().filter(|_| sweeps).unwrap_or(&self.plain)
    }
}

impl<'p> Form<'p> {
    /// The forms of a pass that are made for these uses.
    pub fn of(pass: &'p Pass, uses: Uses) -> impl Iterator<Item = Self> {
        let has_swept = pass.declares(SWEPT);
        let plain = (!has_swept || uses.rays).then_some(false);
        let swept = (has_swept && uses.swept_rays).then_some(true);
        plain.into_iter().chain(swept).map(move |sweeps| Self { pass, sweeps })
    }
}

/// How many workgroups are dispatched.
#[derive(Clone, Copy)]
pub(crate) enum Groups<'b> {
    Count(u32),
    /// As many as a buffer says, in three dimensions.
    In(&'b wgpu::Buffer),
}

/// The constant of passes that have a form of their own where rays sweep a box.
const SWEPT: &str = "SWEPT";

impl Pipelines {
    /// Pipelines of these passes. `constants` are set where a pass declares an `override` of that name. `replacement`
    /// stands in place of a file wherever a pass is joined from it.
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
            by_pass: passes.into_iter().map(|pass| (pass.name, Forms::new(pass))).collect(),
            dispatches: AtomicU32::new(0),
        }
    }

    /// As these, with other constants and another text in place of a file. Pipelines that depend on none of what
    /// differs stay.
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
        for form in passes.into_iter().flat_map(|pass| Form::of(pass, Uses::ALL)) {
            let made = self
                .by_pass
                .get(form.pass.name)
                .and_then(|forms| forms.of(form.sweeps).get());
            if let Some(made) = made.filter(|_| self.key(form) == others.key(form)) {
                // Nobody has set it yet.
                let _ = others.by_pass[form.pass.name].of(form.sweeps).set(Arc::clone(made));
            }
        }
        others
    }

    /// What stands in place of a file.
    pub fn replacement(&self) -> Option<&Replacement> {
        self.replacement.as_ref()
    }

    /// Dispatches that were recorded so far.
    pub fn dispatches(&self) -> u32 {
        self.dispatches.load(Ordering::Relaxed)
    }

    /// Number of pipelines used so far.
    pub fn made(&self) -> usize {
        let forms = self.by_pass.values();
        let both = forms.flat_map(|forms| [Some(&forms.plain), forms.swept.as_ref()]);
        both.flatten().filter(|made| made.get().is_some()).count()
    }

    /// Makes pipelines ahead of their use, on all processors: many drivers compile here, which may take seconds. Tells
    /// of errors that the caller's scopes did not see.
    #[cfg(not(target_family = "wasm"))]
    pub fn make(&self, device: &wgpu::Device, forms: &[Form<'_>]) -> Option<String> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        // The walks take longest, and stand last.
        let make = || {
            while let Some(&form) = forms.iter().rev().nth(next.fetch_add(1, Ordering::Relaxed)) {
                self.get(device, form);
            }
        };
        let make_beside = || {
            // Scopes are of one thread.
            let scopes = Scopes::begin(device);
            make();
            scopes.end().now()
        };
        thread::scope(|scope| {
            let beside: Vec<_> = (1..threads.min(forms.len()))
                // Where no thread is to be had, this one does it all.
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, make_beside).ok())
                .collect();
            make();
            let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            beside.into_iter().find_map(join)
        })
    }

    /// Makes pipelines ahead of their use.
    #[cfg(target_family = "wasm")]
    pub fn make(&self, device: &wgpu::Device, forms: &[Form<'_>]) -> Option<String> {
        for &form in forms {
            self.get(device, form);
        }
        None
    }

    fn get(&self, device: &wgpu::Device, form: Form<'_>) -> &Pipeline {
        self.by_pass[form.pass.name].of(form.sweeps).get_or_init(|| {
            let shared = self.shared.get_or_init(|| match self.cache {
                // Pipelines have to be compiled into it.
                Some(_) => Arc::new(SharedPipelines::new(device)),
                None => SharedPipelines::of(device),
            });
            shared.get(device, self.key(form), || {
                let source = form.pass.source_with(self.replacement.as_ref());
                create(device, form.pass, source, &self.constants(form), self.cache.as_ref())
            })
        })
    }

    fn constants(&self, form: Form<'_>) -> Vec<(&'static str, f64)> {
        let all = self.constants.iter().copied().chain([(SWEPT, form.sweeps.into())]);
        all.filter(|(name, _)| form.pass.declares(name)).collect()
    }

    fn key(&self, form: Form<'_>) -> Key {
        Key::new(form.pass, &self.constants(form), self.replacement.as_ref())
    }

    /// Dispatches a pass; `bound` finds each binding of the pass table by name.
    pub fn dispatch(
        &self,
        device: &wgpu::Device,
        bindings: &mut Bindings,
        compute: &mut wgpu::ComputePass<'_>,
        form: Form<'_>,
        groups: Groups<'_>,
        bound: impl Fn(&'static str) -> Range,
    ) {
        if matches!(groups, Groups::Count(0)) {
            return;
        }
        let Pipeline { layout, pipeline } = self.get(device, form);
        let pass = form.pass;
        let bound = pass.bindings().iter().map(|&(_, _, name)| bound(name)).collect();
        let group = bindings.group(pass.name, bound, |bound| {
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
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&format!("{}/{}", self.label, pass.name)),
                layout,
                entries: &entries,
            })
        });
        compute.set_pipeline(pipeline);
        compute.set_bind_group(0, group, &[]);
        self.dispatches.fetch_add(1, Ordering::Relaxed);
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
    // Browsers have a front end of their own.
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
            // Every pass writes workgroup memory before it reads it (tests/passes fills it with poison). On DX12 one
            // lane would write it all beforehand. FXC writes that out element by element, and would take up to a minute
            // for a shader.
            zero_initialize_workgroup_memory: false,
        },
        cache,
    });
    Pipeline { layout, pipeline }
}
