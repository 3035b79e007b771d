//! Results may go to any device, but never to an input.
#![cfg(unix)]

use crate::support::Folder;

const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
                   element face 2\nproperty list uchar int vertex_indices\nend_header\n\
                   0 0 0\n1 0 0\n0 1 0\n0 0 5\n3 0 1 2\n3 0 1 3\n";

/// Hard and symbolic links to an input are inputs too.
#[test]
fn no_output_replaces_an_input() {
    let folder = Folder::new();
    let texts = [
        ("boxes.csv", "0,0,0,1,1,1\n0.5,0,0,2,1,1\n"),
        ("points.csv", "0,0,0\n1,0,0\n"),
        ("rays.csv", "-1,0.5,0.5,1,0,0,9\n"),
        ("pairs.csv", "0,1\n"),
        ("groups.csv", "0\n1\n"),
        ("mesh.ply", PLY),
        ("next.ply", PLY),
    ];
    std::fs::create_dir(folder.path("sub")).unwrap();
    for (name, text) in texts {
        folder.write(name, text);
        std::fs::hard_link(folder.path(name), folder.path(&format!("hard_{name}"))).unwrap();
        std::os::unix::fs::symlink(folder.path(name), folder.path(&format!("soft_{name}"))).unwrap();
    }
    for (command, option, input) in [
        ("pairs boxes.csv", "-o", "boxes.csv"),
        ("pairs boxes.csv", "--snapshot", "boxes.csv"),
        ("pairs boxes.csv --exclude pairs.csv", "-o", "pairs.csv"),
        ("pairs boxes.csv --groups groups.csv", "-o", "groups.csv"),
        ("pairs mesh.ply --next next.ply", "--snapshot", "next.ply"),
        ("pairs mesh.ply --exclude pairs.csv", "--write-edges", "pairs.csv"),
        ("rays boxes.csv rays.csv", "-o", "rays.csv"),
        ("rays mesh.ply rays.csv", "--write-edges", "rays.csv"),
        ("query boxes.csv points.csv", "-o", "points.csv"),
        ("query mesh.ply points.csv", "--write-edges", "points.csv"),
        ("neighbors points.csv --radius 1", "-o", "points.csv"),
        ("neighbors points.csv --radius 1", "--snapshot", "points.csv"),
        ("heatmap mesh.ply", "-o", "soft.png"),
        ("bench boxes.csv --runs 1 --engines reference", "-o", "boxes.csv"),
        (
            "bench boxes.csv --runs 1 --engines reference",
            "--markdown",
            "boxes.csv",
        ),
    ] {
        let words: Vec<_> = command.split(' ').collect();
        let outputs = match input {
            "soft.png" => {
                let link = folder.path("soft.png");
                let _ = std::fs::remove_file(&link);
                std::os::unix::fs::symlink(folder.path(words[1]), link).unwrap();
                vec!["soft.png".to_owned()]
            }
            _ => vec![
                input.to_owned(),
                format!("sub/../{input}"),
                format!("hard_{input}"),
                format!("soft_{input}"),
            ],
        };
        for output in outputs {
            let arguments = [&words[..], &[option, &output]].concat();
            let backend: &[&str] = if words[0] == "heatmap" {
                &[]
            } else {
                &["--backend", "cpu"]
            };
            let ran = folder.run(&[&arguments[..], backend, &["--quiet"]].concat());
            assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
            assert!(
                ran.stderr.contains("this input is also a result file"),
                "{arguments:?}: {}",
                ran.stderr
            );
            for (name, text) in texts {
                assert_eq!(folder.read(name), text.as_bytes(), "{arguments:?}: {name}");
            }
        }
    }
    folder.refuses(
        &["pairs", "boxes.csv", "-o", "hard_pairs.csv", "--snapshot", "pairs.csv"],
        &["two results have this file"],
    );
    folder.refuses(
        &["pairs", "none.csv", "-o", "none.csv"],
        &["none.csv: no such input file"],
    );
    assert!(!folder.path("none.csv").exists());
}

#[test]
fn devices_take_results() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n0.5,0,0,2,1,1\n");
    folder.write("mesh.ply", PLY);
    folder.write("points.csv", "0,0,0\n1,0,0\n");
    for command in [
        "pairs boxes.csv -o /dev/null",
        "pairs boxes.csv -o /dev/null --snapshot /dev/null",
        "pairs mesh.ply -o /dev/null --between vertices,faces --between edges,edges --write-edges /dev/null",
        "neighbors points.csv --radius 1 -o /dev/null",
    ] {
        folder.answers(&command.split(' ').collect::<Vec<_>>(), "", "");
    }
    for command in [
        "heatmap mesh.ply -o /dev/null --quiet",
        "generate cloth --count 50 -o /dev/null --quiet",
        "generate uniform --count 5 -o /dev/null --quiet",
    ] {
        let ran = folder.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command}");
    }
    folder.answers(&["pairs", "boxes.csv", "-o", "/dev/stdout"], "0,1\n", "");
    folder.refuses(
        &["pairs", "boxes.csv", "-o", "pairs"],
        &["pairs: wrong ending; use .csv or .npy"],
    );
}
