//! Failing standard streams and result files.
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::support::{Folder, Ran};

const BOXES: &str = "0,0,0,1,1,1\n0.5,0,0,2,1,1\n0.5,0,0,3,1,1\n";

/// Every write to this output fails.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

fn closed() -> Stdio {
    let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let pipe = reader.stdin.take().unwrap();
    reader.wait().unwrap();
    pipe.into()
}

fn with_boxes() -> Folder {
    let folder = Folder::new();
    folder.write("boxes.csv", BOXES);
    folder
}

/// Printing commands; `verify` only with an adapter.
fn printing() -> Vec<Vec<&'static str>> {
    let mut commands = vec![
        vec!["pairs", "boxes.csv", "--backend", "cpu", "--quiet"],
        vec!["stats", "boxes.csv", "--backend", "cpu", "--quiet"],
        vec!["generate", "uniform", "--count", "9"],
        vec!["info", "--quiet"],
        vec!["--help"],
        vec!["--version"],
    ];
    static ADAPTERS: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("GPU_BROAD_PHASE_ADAPTERS").ok());
    // Without a backend, `verify` would warn of unusable devices.
    let names = ADAPTERS.iter().flat_map(|names| names.split(','));
    if let Some(backend) = names.map(str::trim).find(|name| !name.is_empty()) {
        commands.push(vec!["verify", "boxes.csv", "--quiet", "--backend", backend]);
    }
    commands
}

#[test]
fn standard_output_that_is_full_is_an_error() {
    let folder = with_boxes();
    for arguments in printing() {
        let ran: Ran = folder.command(&arguments).stdout(full()).output().unwrap().into();
        assert_eq!(ran.status, 1, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("broadphase: standard output: No space left"),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_reader_of_standard_output_that_leaves_is_none() {
    let folder = with_boxes();
    for arguments in printing() {
        let ran: Ran = folder.command(&arguments).stdout(closed()).output().unwrap().into();
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_leaves_does_not_make_an_answer_whole() {
    let folder = with_boxes();
    let arguments = ["pairs", "boxes.csv", "--backend", "cpu", "--quiet", "--max-pairs", "2"];
    let ran: Ran = folder.command(&arguments).stdout(closed()).output().unwrap().into();
    assert_eq!(ran.status, 1);
    assert_eq!(
        ran.stderr,
        "broadphase: incomplete: 3 pairs, `--max-pairs` allows 2: raise it\n"
    );
}

#[test]
fn standard_error_that_fails_is_nobodys_business() {
    let folder = with_boxes();
    let mut commands: Vec<_> = printing().into_iter().map(|arguments| (arguments, 0)).collect();
    commands.extend([
        (vec!["pairs", "boxes.csv", "--backend", "cpu"], 0),
        (vec!["pairs", "boxes.csv", "--backend", "cpu", "--max-pairs", "1"], 1),
        (vec!["pairs", "nothing.csv"], 2),
        (vec!["pears"], 2),
        (vec![], 2),
    ]);
    for (arguments, status) in commands {
        for stderr in [full(), closed()] {
            let ran: Ran = folder.command(&arguments).stderr(stderr).output().unwrap().into();
            assert_eq!(ran.status, status, "{arguments:?}");
        }
    }
}

#[test]
fn a_link_to_a_result_that_does_not_come_stays() {
    let folder = with_boxes();
    symlink(folder.path("target.csv"), folder.path("link.csv")).unwrap();
    let ran = folder.run(&["pairs", "nothing.csv", "--quiet", "-o", "link.csv"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(folder.path("link.csv").is_symlink() && !folder.path("target.csv").exists());
    assert_eq!(
        folder.run(&["pairs", "boxes.csv", "--quiet", "-o", "link.csv"]).status,
        0
    );
    assert!(folder.path("link.csv").is_symlink() && folder.path("target.csv").exists());
}

#[test]
fn results_that_cannot_be_written_are_status_1() {
    let folder = with_boxes();
    std::fs::create_dir(folder.path("shaders")).unwrap();
    for name in [
        "a.csv",
        "a.npy",
        "a.png",
        "a.snapshot",
        "cloth0.ply",
        "shaders/keys.wgsl",
    ] {
        symlink("/dev/full", folder.path(name)).unwrap();
    }
    for (arguments, file) in [
        (
            vec!["pairs", "boxes.csv", "--backend", "cpu", "--quiet", "-o", "a.csv"],
            "a.csv",
        ),
        (
            vec!["pairs", "boxes.csv", "--backend", "cpu", "--quiet", "-o", "a.npy"],
            "a.npy",
        ),
        (vec!["heatmap", "boxes.csv", "--quiet", "-o", "a.png"], "a.png"),
        (
            vec![
                "pairs",
                "boxes.csv",
                "--backend",
                "cpu",
                "--quiet",
                "--snapshot",
                "a.snapshot",
            ],
            "a.snapshot",
        ),
        (
            vec!["generate", "cloth", "--count", "50", "--quiet", "-o", "cloth.ply"],
            "cloth0.ply",
        ),
        (
            vec!["info", "--dump-shaders", "shaders", "--quiet"],
            "shaders/keys.wgsl",
        ),
    ] {
        let ran = folder.run(&arguments);
        assert_eq!(ran.status, 1, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
        let expected = format!("broadphase: {file}: No space left");
        assert!(ran.stderr.starts_with(&expected), "{arguments:?}: {}", ran.stderr);
    }
}
