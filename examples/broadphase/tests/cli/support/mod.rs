use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        for name in ["::", "BroadPhase", "Growth", "Capacities", "step_scene"] {
            assert!(!stderr.contains(name), "{name} in {stderr}");
        }
        Self {
            status: output.status.code().expect("an exit status"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr,
        }
    }
}

pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadphase"));
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs on the first required adapter, else on the CPU. Without `--backend`, software adapters would be skipped.
    pub fn run_on_adapter(&self, arguments: &[&str]) -> Ran {
        self.run(&[arguments, &["--backend", backend()]].concat())
    }

    /// Only Linux's loaders can be pointed at missing drivers.
    pub fn run_without_adapter(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"] {
            command.env(variable, "/nonexistent");
        }
        command.output().unwrap().into()
    }

    /// Standard output of a command that succeeds.
    pub fn cpu(&self, arguments: &[&str]) -> String {
        let ran = self.run(&[arguments, &["--backend", "cpu"]].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        ran.stdout
    }

    /// Only warnings are printed.
    pub fn quietly(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(&[arguments, &["--backend", "cpu", "--quiet"]].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        ran
    }

    /// Expects `rows`, and one warning that contains `warning` unless that is empty.
    pub fn answers(&self, arguments: &[&str], rows: &str, warning: &str) {
        let ran = self.quietly(arguments);
        assert_eq!(ran.stdout, rows, "{arguments:?}: {}", ran.stderr);
        let lines = usize::from(!warning.is_empty());
        assert_eq!(ran.stderr.lines().count(), lines, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(warning), "{arguments:?}: {}", ran.stderr);
    }

    pub fn generate(&self, arguments: &[&str]) {
        let ran = self.run(&[&["generate"], arguments].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    }

    /// Expects status 2 and one line with all of `needles`, and returns the line.
    pub fn refuses(&self, arguments: &[&str], needles: &[&str]) -> String {
        let ran = self.run(&[arguments, &["--backend", "cpu", "--quiet"]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        for needle in needles {
            assert!(
                ran.stderr.contains(needle),
                "{arguments:?}: {:?} lacks {needle:?}",
                ran.stderr
            );
        }
        ran.stderr
    }
}

pub fn backend() -> &'static str {
    let promised = std::env::var("GPU_BROAD_PHASE_ADAPTERS").unwrap_or_default();
    let first = promised.split(',').next().unwrap_or_default().trim().to_owned();
    ["vulkan", "gl", "metal", "dx12"]
        .into_iter()
        .find(|&backend| backend == first)
        .unwrap_or("cpu")
}

pub fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn npy_header(dtype: &str, fortran: bool, shape: &str) -> String {
    let order = if fortran { "True" } else { "False" };
    format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

pub fn pairs(text: &str) -> Vec<[u32; 2]> {
    text.lines()
        .map(|line| {
            let (a, b) = line.split_once(',').unwrap();
            [a.parse().unwrap(), b.parse().unwrap()]
        })
        .collect()
}
