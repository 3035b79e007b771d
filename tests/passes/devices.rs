use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::common::{TestAdapter, adapters, daily_or_full};
use crate::harness::{Device, Dispatch};
use gpu_broad_phase::shaders::{Binding, Pass};
use gpu_broad_phase::wgpu;
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};

/// Runs devices in parallel, since most dispatches are too small for several cores.
pub fn on_each_device(test: impl Fn(Arc<dyn Device>) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for adapter in adapters() {
            scope.spawn(move || test(Arc::new(adapter)));
        }
    });
}

/// As [`on_each_device`], with (part, number of parts) of the cases. Two threads share the first adapter, which runs
/// the most.
pub fn on_parts_of_each_device<T: Send>(test: impl Fn(Arc<dyn Device>, usize, usize) -> T + Sync) -> Vec<T> {
    let test = &test;
    std::thread::scope(|scope| {
        let again = scope.spawn(|| {
            let first = adapters().into_iter().next();
            first.map(|adapter| test(Arc::new(adapter), 1, 2))
        });
        let threads: Vec<_> = (0..)
            .zip(adapters())
            .map(|(index, adapter)| {
                let parts = if index == 0 { 2 } else { 1 };
                scope.spawn(move || test(Arc::new(adapter), 0, parts))
            })
            .collect();
        let mut found: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        found.extend(again.join().unwrap());
        found
    })
}

type PipelineKey = (usize, &'static str, Vec<(&'static str, u32)>);

type Pipeline = (wgpu::BindGroupLayout, wgpu::ComputePipeline);

fn pipeline(adapter: &TestAdapter, pass: &'static Pass, constants: &[(&'static str, u32)]) -> Pipeline {
    static PIPELINES: Mutex<BTreeMap<PipelineKey, Pipeline>> = Mutex::new(BTreeMap::new());
    let key = (adapter.number, pass.name, constants.to_vec());
    let mut pipelines = PIPELINES.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || create(&adapter.device, pass, constants);
    pipelines.entry(key).or_insert_with(make).clone()
}

impl Device for TestAdapter {
    fn name(&self) -> &str {
        &self.name
    }

    fn runs(&self, case: usize) -> bool {
        // Fewer than four of seven cases would leave passes untested. Scenes repeat settings every 2, 3 or 4 cases.
        if self.is_first() {
            case % 7 < daily_or_full(4, 7)
        } else {
            self.runs_one_in(5, case)
        }
    }

    fn features(&self) -> wgpu::Features {
        self.device.features()
    }

    fn rounds_as_reference(&self) -> bool {
        self.device.adapter_info().device_type == wgpu::DeviceType::Cpu
    }

    fn dispatch(&self, dispatch: &Dispatch<'_>) -> BTreeMap<&'static str, Vec<u8>> {
        let (device, queue) = (&self.device, &self.queue);
        let (layout, pipeline) = pipeline(self, dispatch.pass, &dispatch.constants);
        let buffers: Vec<_> = dispatch
            .buffers
            .iter()
            .map(|bound| {
                device.create_buffer_init(&BufferInitDescriptor {
                    label: Some(bound.name),
                    contents: &bound.bytes,
                    usage: match bound.kind {
                        Binding::Uniform => wgpu::BufferUsages::UNIFORM,
                        _ => wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                    },
                })
            })
            .collect();
        let bound = || dispatch.buffers.iter().zip(&buffers);
        let entries: Vec<_> = bound()
            .map(|(bound, buffer)| wgpu::BindGroupEntry {
                binding: bound.number,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(dispatch.pass.name),
            layout: &layout,
            entries: &entries,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut compute = encoder.begin_compute_pass(&Default::default());
            compute.set_pipeline(&pipeline);
            compute.set_bind_group(0, &group, &[]);
            let [width, height] = dispatch.groups;
            compute.dispatch_workgroups(width, height, 1);
        }
        let read: Vec<_> = bound()
            .filter(|(bound, _)| bound.kind == Binding::Write)
            .map(|(bound, buffer)| {
                let staging = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("read back"),
                    size: buffer.size(),
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
                (bound.name, staging)
            })
            .collect();
        let submission = queue.submit([encoder.finish()]);
        for (_, staging) in &read {
            staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        }
        // Waits for this submission only, since other tests share the device.
        let wait = wgpu::PollType::Wait {
            submission_index: Some(submission),
            timeout: None,
        };
        device.poll(wait).unwrap();
        let bytes = |staging: wgpu::Buffer| staging.get_mapped_range(..).unwrap().to_vec();
        read.into_iter().map(|(name, staging)| (name, bytes(staging))).collect()
    }
}

fn poisoned(source: &str, of_type: &str) -> String {
    let list = of_type.strip_prefix("array<").and_then(|list| list.strip_suffix('>'));
    let parts: Vec<_> = if let Some((element, count)) = list.and_then(|list| list.rsplit_once(", ")) {
        vec![poisoned(source, element); count.parse().unwrap()]
    } else if let Some((_, body)) = source.split_once(&format!("struct {of_type} {{\n")) {
        let fields = body.lines().take_while(|line| *line != "}");
        let types = fields.filter_map(|line| line.trim().strip_suffix(',')?.split_once(": "));
        types.map(|(_, of_field)| poisoned(source, of_field)).collect()
    } else {
        vec!["0xdeadbeefu".to_owned()]
    };
    format!("{of_type}({})", parts.join(", "))
}

/// Makes the pass fill workgroup memory with poison first, since it runs without wgpu's zero initialisation.
fn with_poisoned_memory(source: &str) -> String {
    let mut fill = String::new();
    for declared in source.lines().filter_map(|line| line.strip_prefix("var<workgroup> ")) {
        let (name, of_type) = declared.trim_end_matches(';').split_once(": ").unwrap();
        let list = of_type.strip_prefix("array<").and_then(|list| list.strip_suffix('>'));
        let (place, element, count) = match list.and_then(|list| list.rsplit_once(", ")) {
            Some((element, count)) => (format!("{name}[poisoned]"), element, count),
            None => (name.to_owned(), of_type, "1"),
        };
        let store = match element {
            "atomic<u32>" => format!("atomicStore(&{place}, 0xdeadbeefu)"),
            plain => format!("{place} = {}", poisoned(source, plain)),
        };
        // Every workgroup has at least 32 invocations.
        fill += &format!("for (var poisoned = local % 32u; poisoned < u32({count}); poisoned += 32u) {{ {store}; }}\n");
    }
    if fill.is_empty() {
        return source.to_owned();
    }
    let main = source.find("fn main(").unwrap();
    let begin = main + source[main..].find(") {\n").unwrap() + ") {\n".len();
    format!("{}{fill}workgroupBarrier();\n{}", &source[..begin], &source[begin..])
}

fn create(device: &wgpu::Device, pass: &Pass, constants: &[(&'static str, u32)]) -> Pipeline {
    let label = Some(pass.name);
    let mut entries = pass.layout_entries();
    for entry in &mut entries {
        if let wgpu::BindingType::Buffer { has_dynamic_offset, .. } = &mut entry.ty {
            *has_dynamic_offset = false;
        }
    }
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label,
        entries: &entries,
    });
    let source = wgpu::ShaderModuleDescriptor {
        label,
        source: wgpu::ShaderSource::Wgsl(with_poisoned_memory(&pass.source()).into()),
    };
    // SAFETY: these tests look for accesses that wgpu's checks would hide.
    let module = unsafe { device.create_shader_module_trusted(source, wgpu::ShaderRuntimeChecks::unchecked()) };
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let constants: Vec<_> = constants
        .iter()
        .map(|&(name, value)| (name, f64::from(value)))
        .collect();
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &constants,
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    (layout, pipeline)
}
