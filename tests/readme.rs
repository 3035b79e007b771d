//! Runs the README's first program by its own commands with the files of the package, in a crate outside the workspace,
//! so no dev-dependency adds features.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn block(text: &str, heading: &str, language: &str) -> String {
    let text = &text[text.find(heading).expect("the heading")..];
    let fence = format!("```{language}\n");
    let text = &text[text.find(&fence).expect("the block") + fence.len()..];
    text[..text.find("```").expect("its end")].to_owned()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(ROOT).join("target"), PathBuf::from)
}

struct Fresh {
    folder: TempDir,
}

impl Fresh {
    /// A crate without debug symbols, which builds in half the time.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fresh = Self { folder };
        fresh.cargo(&["new", "--quiet", "first", "--vcs", "none"], fresh.folder.path());
        std::fs::copy(Path::new(ROOT).join("Cargo.lock"), fresh.path().join("Cargo.lock")).unwrap();
        let config = "[profile.dev]\ndebug = false\n";
        std::fs::create_dir(fresh.path().join(".cargo")).unwrap();
        std::fs::write(fresh.path().join(".cargo/config.toml"), config).unwrap();
        fresh
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("first")
    }

    /// Returns the folder of the unpacked package. It is always the same, so that builds replace each other.
    fn package(&self) -> PathBuf {
        let folder = self.folder.path();
        let words = "package --quiet --package gpu-broad-phase --locked --allow-dirty --no-verify --target-dir";
        let words: Vec<_> = words.split(' ').chain(folder.to_str()).collect();
        self.cargo(&words, Path::new(ROOT));
        let packed = format!("gpu-broad-phase-{}", env!("CARGO_PKG_VERSION"));
        let file = format!("package/{packed}.crate");
        let unpacked = target().join("readme");
        std::fs::create_dir_all(&unpacked).unwrap();
        // Times of packed files are constant, so cargo would not see that they changed.
        let words = ["-xmf", &file, "-C", unpacked.to_str().unwrap()];
        let output = self.run("tar", &words, folder);
        assert!(output.status.success(), "{output:?}");
        unpacked.join(packed)
    }

    fn run(&self, program: &str, words: &[&str], folder: &Path) -> Output {
        let mut command = Command::new(program);
        // cargo's variables for tests would mislead the cargo started here.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&*name);
            }
        }
        let command = command.args(words).current_dir(folder);
        command.env("CARGO_TARGET_DIR", target()).output().unwrap()
    }

    fn cargo(&self, words: &[&str], folder: &Path) -> String {
        let output = self.run(env!("CARGO"), words, folder);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "cargo {words:?}: {said}");
        said
    }
}

#[test]
fn the_first_program_runs_and_one_without_backends_says_what_it_lacks() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let heading = "## In your program";
    let fresh = Fresh::new();
    let main = fresh.path().join("src/main.rs");
    let package = fresh.package();
    for line in block(&readme, heading, "sh").lines() {
        // Drops comments.
        let line = line
            .split('#')
            .next()
            .unwrap()
            .replace("../gpu-broad-phase", package.to_str().unwrap());
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words[0], "cargo", "{line}");
        fresh.cargo(&words[1..], &fresh.path());
    }
    std::fs::write(&main, block(&readme, heading, "rust")).unwrap();
    fresh.cargo(&["run"], &fresh.path());

    // Without a backend feature, no call panics.
    let manifest = fresh.path().join("Cargo.toml");
    let with = std::fs::read_to_string(&manifest).unwrap();
    let without = with.replace("gpu-broad-phase = { ", "gpu-broad-phase = { default-features = false, ");
    assert_ne!(with, without);
    std::fs::write(&manifest, without).unwrap();
    let program = r#"fn main() {
        use gpu_broad_phase::{Backend, BroadPhase, BroadPhaseDescriptor, BroadPhaseError, adapters, block_on, wgpu};
        assert!(block_on(adapters(wgpu::Backends::all())).is_empty());
        let descriptor = BroadPhaseDescriptor::default();
        let broad_phase = block_on(BroadPhase::new(&descriptor)).expect("the CPU");
        assert!(broad_phase.adapter_info().is_none());
        let all = Backend::Gpu(wgpu::Backends::all());
        let error = block_on(BroadPhase::with_backend(&descriptor, all)).err().expect("no backend");
        assert!(matches!(error, BroadPhaseError::NoBackend));
        println!("{error}");
    }"#;
    std::fs::write(&main, program).unwrap();
    let output = fresh.run(env!("CARGO"), &["run"], &fresh.path());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("feature `backends`"),
        "{said}"
    );
}
