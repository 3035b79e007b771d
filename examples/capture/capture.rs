//! Records one step for a graphics debugger, and restarts the program under RenderDoc.

use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, GpuBroadPhase, OutputOptions, Query, QueryInput, Ray, RayMode,
    ResultOrder, Scene, Source, Statics, StepResult, wgpu,
};
use pollster::block_on;

/// Prefix of all labels in the capture.
pub const LABEL: &str = "gpu_broad_phase";

const BOXES: usize = 1000;
const STATICS: usize = 200;
/// Edge of the cube in which boxes have their lower corners.
const SIDE: f32 = 12.0;

/// Runs one step that uses most features, inside a debugger capture.
pub fn step() -> Result<StepResult, Box<dyn Error>> {
    let backend = Backend::Gpu(wgpu::Backends::VULKAN);
    let any = block_on(BroadPhase::with_backend(&BroadPhaseDescriptor::default(), backend))?;
    let (device, queue) = any.device().zip(any.queue()).ok_or("no device")?;
    let descriptor = BroadPhaseDescriptor {
        label: Some(LABEL),
        margin: 0.05,
        outputs: OutputOptions {
            order: ResultOrder::Sorted,
            ray_mode: RayMode::All,
            ray_cells: true,
            timestamps: true,
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let mut broad_phase = GpuBroadPhase::new(device, queue, &descriptor)?;

    let corners = corners();
    let boxes: Vec<_> = corners
        .iter()
        .map(|&low| Aabb::new(low, low.map(|low| low + 1.0)))
        .collect();
    let along_x = |&origin| Ray::new(origin, [1.0, 0.2, 0.1], f32::INFINITY);
    let rays: Vec<_> = corners.iter().map(along_x).collect();
    let queries: Vec<_> = corners.iter().map(|&middle| Query::sphere(middle, 0.5)).collect();
    let (statics, objects) = boxes.split_at(STATICS);
    let scene = Scene {
        objects: Source::Host(objects),
        statics: Statics {
            objects: Source::Host(statics),
            ..Statics::default()
        },
        query: QueryInput {
            rays: rays[..].into(),
            queries: queries[..].into(),
            ..QueryInput::default()
        },
        ..Scene::default()
    };

    // SAFETY: no other capture of this device is running.
    unsafe { device.start_graphics_debugger_capture() };
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
    broad_phase.step(&mut encoder, scene)?;
    queue.submit([encoder.finish()]);
    // Waits for the device, so that the capture ends when all work is done.
    let result = block_on(broad_phase.read_back());
    // SAFETY: the capture was started above.
    unsafe { device.stop_graphics_debugger_capture() };
    Ok(result?)
}

fn corners() -> Vec<[f32; 3]> {
    // Pseudorandom numbers after Lehmer (1949), modulo 2^31 - 1.
    let mut state = 1u64;
    let mut unit = || {
        state = state * 48_271 % ((1 << 31) - 1);
        state as f32 / (1u64 << 31) as f32
    };
    (0..BOXES).map(|_| [0; 3].map(|_| SIDE * unit())).collect()
}

/// Runs this program under RenderDoc with `arguments`, which must make it call [`step`]. Returns the capture's path.
pub fn launch(directory: &Path, arguments: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    if !cfg!(debug_assertions) {
        return Err("wgpu knows RenderDoc only in builds with debug assertions: leave --release out".into());
    }
    std::fs::create_dir_all(directory)?;
    // RenderDoc appends `_capture.rdc`. An older file would hide a failed capture.
    let file = directory.join("step_capture.rdc");
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    let status = Command::new("renderdoccmd")
        .args(["capture", "--wait-for-exit", "--capture-file"])
        .arg(directory.join("step"))
        .arg(std::env::current_exe()?)
        .args(arguments)
        .status()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "no renderdoccmd on the PATH: install RenderDoc, on Debian and Ubuntu with \
                `apt-get install renderdoccmd`, elsewhere from renderdoc.org"
                .to_owned(),
            _ => format!("renderdoccmd: {error}"),
        })?;
    // RenderDoc's exit status does not reflect that of the captured program.
    if !file.is_file() {
        return Err(format!("RenderDoc ({status}) made no capture; what stands above may say why").into());
    }
    Ok(file)
}
