use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use gpu_broad_phase::wgpu::{self, Adapter, Features};
use gpu_broad_phase::{GpuBroadPhase, adapters, shaders};
use measure::title;
use pollster::block_on;

use crate::Status;
use crate::args::{Backend, InfoArgs};
use crate::engine::backends;
use crate::output::{OutputFile, print};
use crate::report::Reporter;

pub fn run(args: &InfoArgs, reporter: Reporter) -> Result<Status> {
    if let Some(folder) = &args.dump_shaders {
        let mut count = 0;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for pass in shaders::passes() {
            let path = folder.join(format!("{}.wgsl", pass.name));
            OutputFile::open(&path)?.save(|file| file.write_all(pass.source().as_bytes()))?;
            count += 1;
        }
        reporter.say(format!("{count} shaders in {}", folder.display()));
    }
    let Some(backends) = backends(args.backend) else {
        bail!("--backend cpu has no adapters: choose another backend");
    };
    let adapters = block_on(adapters(backends));
    if adapters.is_empty() && args.backend != Backend::Auto {
        bail!("no adapter found for {}", args.backend.name());
    }
    print(|out| list(out, &adapters))?;
    Ok(Status::Done)
}

fn list(out: &mut impl Write, adapters: &[Adapter]) -> io::Result<()> {
    if adapters.is_empty() {
        writeln!(out, "no adapter found: --backend auto uses the CPU engine")?;
    }
    let required = GpuBroadPhase::required_limits();
    for (index, adapter) in adapters.iter().enumerate() {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let mut missing = Vec::new();
        required.check_limits_with_fail_fn(&limits, false, |name, wanted, allowed| {
            missing.push(format!("{name} is {allowed}, needs {wanted}"));
        });
        writeln!(out, "{index}: {}", title(&info))?;
        writeln!(out, "   type         {:?}", info.device_type)?;
        writeln!(out, "   driver       {} {}", info.driver, info.driver_info)?;
        if info.backend == wgpu::Backend::Dx12 {
            writeln!(out, "   compiler     {}", dx12_compiler(adapter.features()))?;
        }
        writeln!(
            out,
            "   limits       {} storage buffers per stage, bindings of {} MiB, {} bytes of workgroup memory",
            limits.max_storage_buffers_per_shader_stage,
            limits.max_storage_buffer_binding_size >> 20,
            limits.max_compute_workgroup_storage_size,
        )?;
        writeln!(out, "   optional     {}", features(adapter.features()))?;
        let verdict = if missing.is_empty() {
            "met".to_owned()
        } else {
            missing.join("; ")
        };
        writeln!(out, "   requirements {verdict}")?;
    }
    Ok(())
}

fn features(present: Features) -> String {
    let each = GpuBroadPhase::optional_features().iter_names().map(|(name, feature)| {
        let answer = if present.contains(feature) { "yes" } else { "no" };
        format!("{name} {answer}")
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Guesses the compiler, which wgpu does not report. FXC has no subgroups; with DXC nearly all devices have them.
fn dx12_compiler(present: Features) -> String {
    let file = dxc_file();
    if present.contains(Features::SUBGROUP) {
        let file = file.map_or("linked, or found by Windows".to_owned(), |path| {
            path.display().to_string()
        });
        return format!("DXC ({file})");
    }
    let advice = match file {
        Some(path) => format!("{} was not used; check WGPU_DX12_COMPILER", path.display()),
        None => "put dxcompiler.dll beside the program to use DXC".to_owned(),
    };
    format!("probably FXC: first steps with rays or queries compile 5 to 25 seconds longer; {advice}")
}

/// Searches beside the program and the PATH, as Windows does.
fn dxc_file() -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let folders = env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(env::split_paths(&folders))
        .map(|folder| folder.join("dxcompiler.dll"))
        .find(|path| path.is_file())
}
