//! Registers, spills and waves of every pass, from compilers of GPUs that this machine lacks.
//!
//! Two Mesa drivers create devices that only compile, which wgpu cannot open: RADV for AMD, and NVK for NVIDIA with a
//! library that replaces the kernel. RADV runs if it is installed, NVK takes minutes; `GPU_BROAD_PHASE_COMPILERS` makes
//! those that it names required. RADV's whole table:
//! `GPU_BROAD_PHASE_FULL=1 cargo test --workspace --locked --test registers -- --nocapture`
#![cfg(target_os = "linux")]

#[path = "common/specialised.rs"]
mod specialised;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use ash::{khr, vk};
use gpu_broad_phase::shaders::passes;
use gpu_broad_phase::wgpu::{BindingType, BufferBindingType};
use specialised::{Specialised, is_full, is_required, specialised};
use tempfile::TempDir;

/// VGPRs, spilled SGPRs, and waves per SIMD.
type Figures = (u32, u32, u32);

/// Limits on navi21 and vega10. No pass may spill VGPRs or use scratch memory.
const BOUNDS: [Figures; 2] = [(64, 0, 8), (64, 0, 4)];

/// Passes that may exceed the limits, with the worse figures of both Mesa versions.
///
/// Mesa 25.0 uses all registers that occupancy leaves: workgroup memory limits `large_table_emit` to four waves of 128
/// registers.
const WORSE: [(&str, [Figures; 2]); 17] = [
    ("large_table_emit", [(128, 0, 4), (128, 0, 2)]),
    ("large_table_emit, uniform", [(128, 0, 4), (128, 0, 2)]),
    ("sort_scatter", [(40, 0, 5), (36, 0, 3)]),
    ("ray_count", [(80, 0, 6), (84, 5, 3)]),
    ("ray_count, uniform", [(96, 2, 5), (128, 9, 2)]),
    ("ray_emit", [(80, 0, 6), (84, 6, 3)]),
    ("ray_emit, uniform", [(96, 0, 5), (128, 6, 2)]),
    ("ray_closest", [(80, 0, 6), (84, 0, 3)]),
    ("ray_closest, uniform", [(96, 0, 5), (128, 5, 2)]),
    ("ray_any", [(80, 0, 6), (84, 2, 3)]),
    ("ray_any, uniform", [(96, 0, 5), (128, 6, 2)]),
    ("query_count", [(64, 20, 8), (64, 30, 4)]),
    ("query_count, uniform", [(64, 16, 8), (64, 25, 4)]),
    ("query_emit", [(56, 28, 9), (64, 36, 4)]),
    ("query_emit, uniform", [(64, 22, 8), (64, 33, 4)]),
    ("query_nearest", [(88, 6, 5), (84, 12, 3)]),
    ("query_nearest, uniform", [(80, 0, 6), (84, 6, 3)]),
];

/// Measured driver versions. Others must meet the limits only if the driver is required.
const TRIED: [&str; 2] = ["Mesa 22.3.", "Mesa 25.0."];

struct Target {
    device: &'static str,
    /// Index into [`BOUNDS`].
    bounds: Option<usize>,
    driver: &'static str,
    manifest: &'static str,
    variables: &'static [(&'static str, &'static str)],
    columns: &'static [Column],
    /// Runs only if required, with two choices of constants per scheme.
    is_slow: bool,
}

struct Column {
    statistic: &'static str,
    title: &'static str,
    is_least: bool,
    /// Divisor of the driver's figure.
    unit: u32,
}

const fn most(statistic: &'static str, title: &'static str) -> Column {
    Column {
        statistic,
        title,
        is_least: false,
        unit: 1,
    }
}

const fn least(statistic: &'static str, title: &'static str, unit: u32) -> Column {
    Column {
        statistic,
        title,
        is_least: true,
        unit,
    }
}

/// Column that this test measures itself.
const MILLISECONDS: &str = "milliseconds";

/// Columns of RADV. The first three have limits, and the next two must be 0.
const fn radv_columns(waves: Column) -> [Column; 10] {
    [
        most("VGPRs", "VGPRs"),
        most("Spilled SGPRs", "spilled SGPRs"),
        waves,
        most("Spilled VGPRs", "spilled VGPRs"),
        most("Scratch size", "scratch"),
        most("LDS size", "LDS"),
        most("Code size", "code"),
        most("Latency", "latency"),
        most("Inverse Throughput", "inverse throughput"),
        most(MILLISECONDS, "ms to compile"),
    ]
}

const TARGETS: [Target; 3] = [
    Target {
        device: "navi21",
        bounds: Some(0),
        driver: "radv",
        manifest: "radeon_icd",
        variables: &[("RADV_FORCE_FAMILY", "navi21")],
        // RADV counts a wave of 64 lanes, its usual choice, as two subgroups.
        columns: &radv_columns(least("Subgroups per SIMD", "waves of 16", 2)),
        is_slow: false,
    },
    Target {
        device: "vega10",
        bounds: Some(1),
        driver: "radv",
        manifest: "radeon_icd",
        variables: &[("RADV_FORCE_FAMILY", "vega10")],
        columns: &radv_columns(least("Subgroups per SIMD", "waves of 10", 1)),
        is_slow: false,
    },
    Target {
        device: "GA102",
        bounds: None,
        driver: "nvk",
        manifest: "nouveau_icd",
        variables: &[
            ("NOUVEAU_CHIPSET", "172"),
            ("LD_PRELOAD", "libnouveau_noop_drm_shim.so"),
        ],
        columns: &[
            most("Number of GPRs", "GPRs"),
            most("SLM Size", "local memory"),
            most("Code Size", "code"),
            most("Instruction count", "instructions"),
            most(MILLISECONDS, "ms to compile"),
        ],
        is_slow: true,
    },
];

const REPORT: &str = "GPU_BROAD_PHASE_REGISTERS_REPORT";

/// Set to 1 to compile every choice of constants.
const WHOLE: &str = "GPU_BROAD_PHASE_REGISTERS_WHOLE";

fn manifests(target: &Target) -> Vec<PathBuf> {
    ["/etc", "/usr/local/share", "/usr/share"]
        .iter()
        .filter_map(|folder| fs::read_dir(Path::new(folder).join("vulkan/icd.d")).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(target.manifest))
        .collect()
}

/// Starts a process per driver, since drivers read their variables once and may crash.
fn start(target: &Target, report: &Path) -> Child {
    let manifests = std::env::join_paths(manifests(target)).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_driver_compiles_every_pass", "--ignored", "--nocapture"])
        .envs(target.variables.iter().copied())
        .env("VK_ICD_FILENAMES", &manifests)
        .env("VK_DRIVER_FILES", &manifests)
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .env(REPORT, report)
        .env(WHOLE, u8::from(is_full() && !target.is_slow).to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

struct Compiler {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    executables: khr::pipeline_executable_properties::Device,
    checks_buffers: bool,
    name: String,
}

impl Compiler {
    fn open() -> Option<Self> {
        // SAFETY: every structure outlives the call that reads it, and nothing is destroyed while it is used.
        unsafe {
            let entry = ash::Entry::load().ok()?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let info = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&info, None).ok()?;
            let physical = instance.enumerate_physical_devices().ok()?.into_iter().next()?;
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
            instance.get_physical_device_properties2(physical, &mut properties);
            let device_name = properties.properties.device_name_as_c_str().unwrap().to_string_lossy();
            let driver_name = driver.driver_name_as_c_str().unwrap().to_string_lossy();
            let driver_info = driver.driver_info_as_c_str().unwrap().to_string_lossy();
            let name = format!("{device_name}: {driver_name} {driver_info}");

            let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
            let mut subgroups = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
            let mut statistics = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
            let mut features = vk::PhysicalDeviceFeatures2::default()
                .push_next(&mut robustness)
                .push_next(&mut subgroups)
                .push_next(&mut statistics);
            instance.get_physical_device_features2(physical, &mut features);
            // The queried features stay enabled; this is the only core one.
            features.features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let extensions = [
                khr::pipeline_executable_properties::NAME.as_ptr(),
                ash::ext::robustness2::NAME.as_ptr(),
            ];
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&extensions)
                .push_next(&mut features);
            let device = instance
                .create_device(physical, &info, None)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_ne!(statistics.pipeline_executable_info, vk::FALSE, "{name}");
            Some(Self {
                executables: khr::pipeline_executable_properties::Device::new(&instance, &device),
                _entry: entry,
                instance,
                device,
                checks_buffers: robustness.robust_buffer_access2 != vk::FALSE,
                name,
            })
        }
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // SAFETY: all objects created from them are gone.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

impl Compiler {
    fn statistics(&self, words: &[u32], bindings: &[vk::DescriptorSetLayoutBinding<'_>]) -> Vec<(String, f64)> {
        let device = &self.device;
        // SAFETY: every structure outlives the call that reads it; nothing runs on the device.
        unsafe {
            let module = vk::ShaderModuleCreateInfo::default().code(words);
            let module = device.create_shader_module(&module, None).unwrap();
            let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(bindings);
            let set = device.create_descriptor_set_layout(&set, None).unwrap();
            let sets = [set];
            let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device.create_pipeline_layout(&layout, None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .flags(vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE)
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info = vk::ComputePipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
                .stage(stage)
                .layout(layout);
            let pipelines = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            let pipeline = pipelines.map_err(|(_, error)| error).unwrap()[0];
            let executable = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let read = self
                .executables
                .get_pipeline_executable_statistics(&executable)
                .unwrap();
            let figures = read.iter().map(|statistic| {
                let name = statistic.name_as_c_str().unwrap().to_string_lossy().into_owned();
                let value = statistic.value;
                let value = match statistic.format {
                    vk::PipelineExecutableStatisticFormatKHR::BOOL32 => value.b32.into(),
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => value.i64 as f64,
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => value.u64 as f64,
                    _ => value.f64,
                };
                (name, value)
            });
            let figures = figures.collect();
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(set, None);
            device.destroy_shader_module(module, None);
            figures
        }
    }
}

/// Run by the other test in a process per target.
#[test]
#[ignore = "a part of the other test"]
fn one_driver_compiles_every_pass() {
    let Some(report) = std::env::var_os(REPORT) else { return };
    let Some(compiler) = Compiler::open() else { return };
    let mut all = specialised();
    if std::env::var_os(WHOLE).is_some_and(|value| value == "0") {
        all.retain(Specialised::is_plain_or_full);
    }
    let mut report = fs::File::create(report).unwrap();
    writeln!(report, "{}", compiler.name).unwrap();
    let (report, next) = (&Mutex::new(report), &AtomicUsize::new(0));
    let compile_some = || {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let words = one.to_spirv((1, 6), compiler.checks_buffers);
            let entries = one.pass.layout_entries();
            let bindings = entries.iter().map(|entry| {
                let BindingType::Buffer { ty, .. } = entry.ty else {
                    panic!("{}: {entry:?}", one.name())
                };
                vk::DescriptorSetLayoutBinding::default()
                    .binding(entry.binding)
                    .descriptor_type(match ty {
                        BufferBindingType::Uniform => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
                        BufferBindingType::Storage { .. } => vk::DescriptorType::STORAGE_BUFFER,
                    })
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            });
            let bindings: Vec<_> = bindings.collect();
            let clock = Instant::now();
            let figures = compiler.statistics(&words, &bindings);
            let milliseconds = clock.elapsed().as_millis();
            let figures = figures.iter().map(|(name, value)| format!("\t{name}={value}"));
            let figures: String = figures.collect();
            let line = format!(
                "{}\t{}\t{MILLISECONDS}={milliseconds}{figures}\n",
                one.pass.name,
                one.name()
            );
            report.lock().unwrap().write_all(line.as_bytes()).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(compile_some);
        }
    });
}

struct Compiled {
    pass: String,
    name: String,
    figures: Vec<(String, f64)>,
}

fn read(report: &str) -> (&str, Vec<Compiled>) {
    let mut lines = report.lines();
    let title = lines.next().unwrap();
    let compiled = lines.map(|line| {
        let mut parts = line.split('\t').map(str::to_owned);
        let (pass, name) = (parts.next().unwrap(), parts.next().unwrap());
        let figures = parts.map(|figure| {
            let (name, value) = figure.rsplit_once('=').unwrap();
            (name.to_owned(), value.parse().unwrap())
        });
        let figures = figures.collect();
        Compiled { pass, name, figures }
    });
    (title, compiled.collect())
}

/// Returns the rows of a pass: for all schemes but the uniform one, and for that one.
fn rows_of(pass: &str) -> [(String, bool); 2] {
    [(pass.to_owned(), false), (format!("{pass}, uniform"), true)]
}

fn worst(columns: &[Column], compiled: &[Compiled]) -> Vec<(String, usize, Vec<u32>)> {
    let rows = passes().flat_map(|pass| rows_of(pass.name).map(|row| (pass.name, row)));
    let rows = rows.filter_map(|(pass, (row, is_uniform))| {
        let is_of_row = |one: &&Compiled| one.pass == pass && one.name.contains("-SCHEME=1") == is_uniform;
        let of_row: Vec<_> = compiled.iter().filter(is_of_row).collect();
        if of_row.is_empty() {
            return None;
        }
        let figures = columns.iter().map(|column| {
            let values = of_row.iter().map(|one| {
                let found = one.figures.iter().find(|(name, _)| name == column.statistic);
                let (_, value) = found.unwrap_or_else(|| panic!("{}: no {}", one.name, column.statistic));
                *value as u32 / column.unit
            });
            if column.is_least { values.min() } else { values.max() }.unwrap()
        });
        Some((row, of_row.len(), figures.collect()))
    });
    rows.collect()
}

fn bounds(device: usize, row: &str) -> Figures {
    let worse = WORSE.iter().find(|(name, _)| *name == row);
    worse.map_or(BOUNDS[device], |(_, figures)| figures[device])
}

fn judge(device: usize, pass: &str, figures: &[u32]) -> Option<String> {
    let &[vgprs, spilled_sgprs, waves, spilled_vgprs, scratch, ..] = figures else {
        unreachable!()
    };
    let (found, bounds) = ((vgprs, spilled_sgprs, waves), bounds(device, pass));
    let is_over = vgprs > bounds.0 || spilled_sgprs > bounds.1 || waves < bounds.2 || spilled_vgprs > 0 || scratch > 0;
    is_over.then(|| {
        format!(
            "{pass}: VGPRs, spilled SGPRs and waves are {found:?}, bounds {bounds:?}; \
             {spilled_vgprs} VGPRs spilled, {scratch} bytes of scratch"
        )
    })
}

fn tell(target: &Target, report: &str) -> Vec<String> {
    let (title, compiled) = read(report);
    println!(
        "\n{}, {title}, {} modules, the worst of each pass\n",
        target.device,
        compiled.len()
    );
    let titles = target.columns.iter().map(|column| format!(" {} |", column.title));
    println!("| pass | modules |{}", titles.collect::<String>());
    println!("|---|--:|{}", "--:|".repeat(target.columns.len()));
    let mut over = Vec::new();
    for (pass, modules, figures) in worst(target.columns, &compiled) {
        let shown = figures.iter().map(|figure| format!(" {figure} |"));
        println!("| {pass} | {modules} |{}", shown.collect::<String>());
        over.extend(target.bounds.and_then(|device| judge(device, &pass, &figures)));
    }
    let over: Vec<_> = over.iter().map(|line| format!("{title}: {line}")).collect();
    if is_required(target.driver) || TRIED.iter().any(|version| title.contains(version)) {
        over
    } else {
        over.iter().for_each(|line| println!("not held to bounds: {line}"));
        Vec::new()
    }
}

#[test]
fn registers_are_enough() {
    for (pass, _) in WORSE {
        let mut rows = passes().flat_map(|pass| rows_of(pass.name));
        assert!(rows.any(|(row, _)| row == pass), "no pass {pass}");
    }
    let folder = TempDir::new().unwrap();
    let report = |target: &Target| folder.path().join(target.device);
    let taking_part = TARGETS.iter().filter(|target| {
        let is_wanted = is_required(target.driver) || !target.is_slow && !manifests(target).is_empty();
        if !is_wanted {
            println!("skipped: {} for {}", target.driver, target.device);
        }
        is_wanted
    });
    let started: Vec<_> = taking_part
        .map(|target| (target, start(target, &report(target))))
        .collect();
    let ended: Vec<_> = started
        .into_iter()
        .map(|(target, mut process)| (target, process.wait().unwrap()))
        .collect();
    let mut over = Vec::new();
    for (target, status) in ended {
        assert!(status.success(), "{} for {}: {status}", target.driver, target.device);
        match fs::read_to_string(report(target)) {
            Ok(report) => over.extend(tell(target, &report)),
            Err(_) => {
                assert!(
                    !is_required(target.driver),
                    "GPU_BROAD_PHASE_COMPILERS asks for {}: it opens no {}",
                    target.driver,
                    target.device
                );
                println!("skipped: {} opens no {}", target.driver, target.device);
            }
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}
