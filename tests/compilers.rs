//! Translates every pass with naga, then runs compilers and validators of each target. Programs named in
//! `GPU_BROAD_PHASE_COMPILERS` must exist; others run if they are on the `PATH`.

#[path = "common/specialised.rs"]
mod specialised;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu_broad_phase::shaders::{Pass, passes};
use gpu_broad_phase::wgpu;
use naga::back::{hlsl, msl};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::ModuleInfo;
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};
use specialised::{Specialised, has_subgroups, is_full, is_required, schemes, specialised};
use tempfile::TempDir;

fn program(name: &str) -> Option<PathBuf> {
    let is_required = is_required(name);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
        .find(|path| path.is_file());
    if found.is_none() {
        assert!(
            !is_required,
            "GPU_BROAD_PHASE_COMPILERS asks for {name}: not on the PATH"
        );
        eprintln!("skipped: no {name} on the PATH");
    }
    found
}

fn complaint(command: &mut Command) -> Option<String> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    (!output.status.success()).then(|| format!("{command:?}\n{}", String::from_utf8_lossy(&text)))
}

fn expect_none(complaints: &[String]) {
    assert!(
        complaints.is_empty(),
        "{} complaints\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn to_spirv(one: &Specialised, version: (u8, u8)) -> Vec<u8> {
    let words = one.to_spirv(version, false);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn to_hlsl(module: &Module, info: &ModuleInfo, shader_model: hlsl::ShaderModel) -> (String, String) {
    let mut registers = [0; 3];
    let mut globals: Vec<_> = module
        .global_variables
        .iter()
        .filter_map(|(_, variable)| Some((variable.binding?, variable.space)))
        .collect();
    globals.sort_by_key(|(binding, _)| binding.binding);
    let binding_map = globals
        .into_iter()
        .map(|(binding, space)| {
            let class = match space {
                AddressSpace::Uniform => 0,
                AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => 1,
                _ => 2,
            };
            let target = hlsl::BindTarget {
                register: registers[class],
                restrict_indexing: true,
                ..Default::default()
            };
            registers[class] += 1;
            (binding, target)
        })
        .collect();
    let options = hlsl::Options {
        shader_model,
        binding_map,
        fake_missing_bindings: false,
        special_constants_binding: Some(hlsl::BindTarget {
            register: registers[0],
            ..Default::default()
        }),
        zero_initialize_workgroup_memory: false,
        ..Default::default()
    };
    let pipeline = hlsl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, "main".to_owned())),
    };
    let mut text = String::new();
    let reflection = hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(module, info, None)
        .unwrap();
    (text, reflection.entry_point_names[0].clone().unwrap())
}

const BROKEN_HLSL: &str = "[numthreads(64, 1, 1)] void main() { nothing.Store(0u, 1u); }";

#[test]
fn spirv_val_takes_every_pass() {
    let Some(spirv_val) = program("spirv-val") else { return };
    let folder = Folder::new();
    let validate = |name: &str, bytes: &[u8], environment: &str| {
        let file = folder.file(&format!("{name}.spv"), bytes);
        complaint(Command::new(&spirv_val).args(["--target-env", environment]).arg(file))
    };
    let mut complaints = Vec::new();
    let all = specialised();
    for environment in ["vulkan1.0", "vulkan1.3"] {
        for one in &all {
            let (version, environment) = match environment {
                // Subgroup operations need Vulkan 1.1.
                "vulkan1.0" if has_subgroups(one.pass) => ((1, 3), "vulkan1.1"),
                "vulkan1.0" => ((1, 0), environment),
                _ => ((1, 6), environment),
            };
            let bytes = to_spirv(one, version);
            complaints.extend(validate(&one.name(), &bytes, environment));
        }
    }
    expect_none(&complaints);
    println!("spirv-val: {} modules for two environments", all.len());

    let mut cut = to_spirv(&all[0], (1, 0));
    cut.truncate(cut.len() - 8);
    assert!(validate("cut", &cut, "vulkan1.0").is_some(), "spirv-val takes anything");
}

/// Rewrites HLSL that only glslang fails to parse:
/// - Casts of a number to an array, `(uint[4])0`, become functions, or a list if they initialise a global.
/// - Calls that initialise a global become lists of their arguments.
fn for_glslang(text: &str) -> String {
    let mut functions = String::new();
    let mut rewritten = String::new();
    let mut rest = text;
    while let Some(end) = rest.find("])0") {
        let start = rest[..end].rfind('(').unwrap();
        let (element, length) = rest[start + 1..end].split_once('[').unwrap();
        let is_global = rest[..start].rsplit('\n').next().unwrap().starts_with("static ");
        if is_global {
            let zeros = vec![format!("({element})0"); length.parse().unwrap()];
            rewritten += &format!("{}{{{}}}", &rest[..start], zeros.join(", "));
            rest = &rest[end + 3..];
            continue;
        }
        let name = format!("zeros_{element}_{length}");
        if !functions.contains(&format!(" {name}()")) {
            functions += &format!(
                "typedef {element} array_{name}[{length}];\narray_{name} {name}() {{ {element} zeros[{length}]; "
            );
            functions +=
                &format!("for (uint k = 0u; k < {length}u; k++) {{ zeros[k] = ({element})0; }} return zeros; }}\n");
        }
        rewritten += &format!("{}{name}()", &rest[..start]);
        rest = &rest[end + 3..];
    }
    rewritten += rest;
    let lines = rewritten.lines().map(|line| match line.split_once(" = Construct") {
        Some((global, call)) if global.starts_with("static const ") => {
            let list = call.split_once('(').and_then(|(_, list)| list.strip_suffix(");"));
            format!("{global} = {{{}}};\n", list.unwrap())
        }
        _ => format!("{line}\n"),
    });
    functions + &lines.collect::<String>()
}

#[test]
fn glslang_takes_every_pass_as_hlsl() {
    let Some(glslang) = program("glslangValidator") else {
        return;
    };
    let folder = Folder::new();
    let output = folder.file("output.spv", "");
    let compile = |name: &str, text: &str, entry_point: &str| {
        let file = folder.file(&format!("{name}.hlsl"), for_glslang(text));
        let arguments = [
            "-D",
            "-V",
            "-S",
            "comp",
            "--target-env",
            "vulkan1.1",
            "--auto-map-bindings",
            "-e",
            entry_point,
            "-o",
        ];
        complaint(Command::new(&glslang).args(arguments).arg(&output).arg(file))
    };
    let mut complaints = Vec::new();
    let mut all = specialised();
    // DXC compiles the same HLSL with all constants, so here one choice is enough.
    if program("dxc").is_some() {
        all.dedup_by_key(|one| one.pass.name);
    } else if !is_full() {
        all.retain(Specialised::is_plain_or_full);
    }
    for one in &all {
        let (text, entry_point) = to_hlsl(&one.module, &one.info, hlsl::ShaderModel::V5_1);
        complaints.extend(compile(&one.name(), &text, &entry_point));
    }
    expect_none(&complaints);
    println!("glslangValidator: {} HLSL shaders", all.len());
    assert!(
        compile("broken", BROKEN_HLSL, "main").is_some(),
        "glslangValidator takes anything"
    );
}

#[test]
fn dxc_takes_every_pass() {
    let Some(dxc) = program("dxc") else { return };
    let folder = Folder::new();
    let compile = |name: &str, text: &str, entry_point: &str| {
        let file = folder.file(&format!("{name}.hlsl"), text);
        let arguments = [
            "-T",
            "cs_6_0",
            "-HV",
            "2018",
            "-no-warnings",
            "-Ges",
            "-E",
            entry_point,
            "-Fo",
        ];
        let output = file.with_extension("dxil");
        complaint(Command::new(&dxc).args(arguments).arg(output).arg(file))
    };
    let mut all = specialised();
    if !is_full() {
        all.retain(Specialised::is_plain_or_full);
    }
    let complain = |one: &Specialised| {
        let (text, entry_point) = to_hlsl(&one.module, &one.info, hlsl::ShaderModel::V6_0);
        compile(&one.name(), &text, &entry_point)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let complaints: Vec<_> = std::thread::scope(|scope| {
        let part = |first: usize| -> Vec<String> {
            let mine = all.iter().skip(first).step_by(threads);
            mine.filter_map(complain).collect()
        };
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    expect_none(&complaints);
    println!("dxc: {} HLSL shaders", all.len());
    assert!(compile("broken", BROKEN_HLSL, "main").is_some(), "dxc takes anything");
}

/// Chromium's compiler checks more WGSL rules than naga.
#[test]
fn tint_takes_every_pass() {
    let Some(tint) = program("tint") else { return };
    let folder = Folder::new();
    let output = folder.file("output.wgsl", "");
    let read = |name: &str, text: &str| {
        let file = folder.file(&format!("{name}.wgsl"), text);
        complaint(
            Command::new(&tint)
                .args(["--format", "wgsl", "-o"])
                .arg(&output)
                .arg(file),
        )
    };
    let source = |pass: &Pass| match pass.features() {
        wgpu::Features::SUBGROUP => format!("enable subgroups;\n{}", pass.source()),
        _ => pass.source(),
    };
    let complaints: Vec<_> = passes().filter_map(|pass| read(pass.name, &source(pass))).collect();
    expect_none(&complaints);
    println!("tint: {} passes", passes().count());
    assert!(read("broken", "@compute fn main() {}").is_some(), "tint takes anything");
}

const FXC_SECONDS: f64 = 2.0;
/// Limits for slow passes, about twice their time. FXC inlines every call, so its time grows faster than the code.
const FXC_SECONDS_OF_SLOW_PASSES: [(&str, f64); 4] =
    [("ray_", 20.0), ("query_", 17.0), ("keys", 6.5), ("pair_static_", 4.5)];

fn fxc_seconds(name: &str) -> f64 {
    let walk = FXC_SECONDS_OF_SLOW_PASSES
        .iter()
        .find(|(begin, _)| name.starts_with(begin));
    walk.map_or(FXC_SECONDS, |(_, seconds)| *seconds)
}

struct Compiled {
    name: String,
    seconds: f64,
    said: String,
}

/// Compiles all files. Restarts the program after each file that takes too long.
fn compile_by_fxc(fxc: &Path, folder: &Path, mut names: Vec<String>) -> Vec<Compiled> {
    let mut all = Vec::new();
    while !names.is_empty() {
        let list = folder.join("list");
        std::fs::write(&list, names.join("\n") + "\n").unwrap();
        let output = Command::new(fxc)
            .arg(FXC_SECONDS_OF_SLOW_PASSES[0].1.to_string())
            .current_dir(folder)
            .stdin(File::open(list).unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let before = all.len();
        for line in text.lines() {
            let mut fields = line.trim_end().splitn(3, '\t');
            let (Some(name), Some(seconds), Some(said)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            all.push(Compiled {
                name: name.to_owned(),
                seconds: seconds.parse().unwrap(),
                said: said.to_owned(),
            });
        }
        assert!(all.len() > before, "{}", String::from_utf8_lossy(&output.stderr));
        names.drain(..all.len() - before);
    }
    all
}

/// Without DXC, wgpu uses FXC on DX12. `tests/dx12/fxc.sh` installs it.
#[test]
fn fxc_takes_every_pass_in_time() {
    let Some(fxc) = program("fxc") else { return };
    let wanted = std::env::var("GPU_BROAD_PHASE_FXC").unwrap_or_default();
    let every_choice = wanted == "all";
    let wanted = if every_choice { "" } else { wanted.as_str() };
    let folder = Folder::new();
    let mut names = Vec::new();
    for one in specialised() {
        let switches: Vec<_> = one.constants.iter().filter(|(name, _)| *name != "SCHEME").collect();
        let scheme = one.constants.iter().find(|(name, _)| *name == "SCHEME");
        let is_last = scheme.is_none_or(|(_, value)| Some(value) == schemes(one.pass).last());
        let is_least = is_last && switches.iter().all(|(_, value)| *value == 0);
        let is_most = is_last && switches.iter().all(|(_, value)| *value == 1);
        // FXC has no subgroup operations, and wgpu offers none with it.
        if has_subgroups(one.pass) || !one.pass.name.starts_with(wanted) {
            continue;
        }
        if !(every_choice || is_least || is_most) {
            continue;
        }
        let (text, entry_point) = to_hlsl(&one.module, &one.info, hlsl::ShaderModel::V5_1);
        assert_eq!(entry_point, "main", "{}", one.pass.name);
        folder.file(&one.name(), text);
        names.push(one.name());
    }
    let all = compile_by_fxc(&fxc, folder.0.path(), names);
    let mut slowest: BTreeMap<&str, (usize, &Compiled)> = BTreeMap::new();
    for one in &all {
        let pass = one.name.split('-').next().unwrap();
        let (count, worst) = slowest.entry(pass).or_insert((0, one));
        *count += 1;
        if one.seconds > worst.seconds {
            *worst = one;
        }
    }
    let mut rows: Vec<_> = slowest.into_iter().collect();
    rows.sort_by(|(_, (_, a)), (_, (_, b))| b.seconds.total_cmp(&a.seconds));
    println!("| pass | choices | least, seconds | most, seconds | what came of it |\n|---|---|---|---|---|");
    for (pass, (count, worst)) in rows {
        let of_pass = all.iter().filter(|one| one.name.split('-').next() == Some(pass));
        let least = of_pass.map(|one| one.seconds).fold(f64::INFINITY, f64::min);
        println!(
            "| `{pass}` | {count} | {least:.2} | {:.2} | {} |",
            worst.seconds, worst.said
        );
    }
    let complaints: Vec<_> = all
        .iter()
        .filter(|one| one.seconds > fxc_seconds(&one.name) || !one.said.ends_with(" bytes"))
        .map(|one| format!("{}: {:.2} s, {}", one.name, one.seconds, one.said))
        .collect();
    expect_none(&complaints);

    folder.file("broken", BROKEN_HLSL);
    let broken = compile_by_fxc(&fxc, folder.0.path(), vec!["broken".to_owned()]);
    assert!(broken[0].said.starts_with("error"), "fxc takes anything");
}

#[test]
fn every_specialisation_translates_to_msl() {
    for one in specialised() {
        let options = msl::Options {
            lang_version: (2, 0),
            fake_missing_bindings: true,
            zero_initialize_workgroup_memory: false,
            bounds_check_policies: BoundsCheckPolicies {
                index: BoundsCheckPolicy::ReadZeroSkipWrite,
                buffer: BoundsCheckPolicy::ReadZeroSkipWrite,
                ..Default::default()
            },
            ..Default::default()
        };
        let (text, _) = msl::write_string(&one.module, &one.info, &options, &Default::default())
            .unwrap_or_else(|error| panic!("{}: {error}", one.name()));
        assert!(text.contains("kernel"), "{}", one.name());
    }
}
