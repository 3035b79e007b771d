use std::io::Write;

use crate::support::{Folder, Ran, backend, npy, npy_header, pairs};
use gpu_broad_phase::wgpu;

/// A square and a triangle with a common vertex, and a triangle far away.
const POSITIONS: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
    [2.0, 1.0, 0.5],
    [2.0, 2.0, 0.25],
    [9.0, 9.0, 9.0],
    [9.5, 9.0, 9.0],
];
const FACES: [&[u32]; 3] = [&[0, 1, 2, 3], &[2, 4, 5], &[5, 6, 7]];

#[test]
fn one_scene_in_every_format() {
    let folder = Folder::new();
    folder.generate(&["clustered", "--count", "300", "--seed", "4", "-o", "boxes.npy"]);
    folder.generate(&["clustered", "--count", "300", "--seed", "4", "-o", "boxes.csv"]);
    let expected = folder.cpu(&["pairs", "boxes.npy"]);
    assert!(pairs(&expected).len() > 100);
    assert!(pairs(&expected).is_sorted());
    assert_eq!(folder.cpu(&["pairs", "boxes.csv"]), expected);

    let f4 = folder.read("boxes.npy");
    let data = &f4[f4.len() - 300 * 6 * 4..];
    let values = || {
        data.chunks(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
    };
    let f8: Vec<u8> = values().flat_map(|value| f64::from(value).to_le_bytes()).collect();
    folder.write("f8.npy", npy(&npy_header("<f8", false, "(300, 6)"), &f8));
    assert_eq!(folder.cpu(&["pairs", "f8.npy"]), expected);
    let big: Vec<u8> = values().flat_map(|value| value.to_be_bytes()).collect();
    folder.write("big.npy", npy(&npy_header(">f4", false, "(300, 6)"), &big));
    assert_eq!(folder.cpu(&["pairs", "big.npy"]), expected);
}

#[test]
fn f64_rounds_outward() {
    let folder = Folder::new();
    // 0.1 is below its nearest f32, so a lower bound must round down.
    let below = f64::from(0.1_f32.next_down());
    folder.write("boxes.csv", format!("0,0,0,{below},1,1\n0.1,0,0,1,1,1\n"));
    assert_eq!(folder.cpu(&["pairs", "boxes.csv"]), "0,1\n");
    let rows = [[0.0, 0.0, 0.0, below, 1.0, 1.0], [0.1, 0.0, 0.0, 1.0, 1.0, 1.0]];
    let f8: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    folder.write("boxes.npy", npy(&npy_header("<f8", false, "(2, 6)"), &f8));
    assert_eq!(folder.cpu(&["pairs", "boxes.npy"]), "0,1\n");
}

#[test]
fn one_mesh_in_every_format() {
    let folder = Folder::new();
    let obj = || {
        let vertices = POSITIONS.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n"));
        let faces = FACES.iter().map(|face| {
            let corners: String = face.iter().map(|vertex| format!(" {}/1", vertex + 1)).collect();
            format!("f{corners}\n")
        });
        vertices.chain(faces).collect::<String>()
    };
    folder.write("mesh.obj", obj());
    let header = |format: &str, scalar: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment made by hand\nelement vertex 8\nproperty {scalar} x\nproperty \
             {scalar} y\n\
             property {scalar} z\nproperty uchar red\nelement face 3\nproperty list uchar int vertex_index\nend_header\n"
        )
    };
    let mut ascii = header("ascii", "float");
    for [x, y, z] in POSITIONS {
        ascii += &format!("{x} {y} {z} 7\n");
    }
    for face in FACES {
        let corners: String = face.iter().map(|vertex| format!(" {vertex}")).collect();
        ascii += &format!("{}{corners}\n", face.len());
    }
    folder.write("ascii.ply", ascii);
    let mut little = header("binary_little_endian", "double").into_bytes();
    let mut big = header("binary_big_endian", "float").into_bytes();
    for position in POSITIONS {
        little.extend(position.iter().flat_map(|value| value.to_le_bytes()));
        big.extend(position.iter().flat_map(|&value| (value as f32).to_be_bytes()));
        little.push(7);
        big.push(7);
    }
    for face in FACES {
        little.push(face.len() as u8);
        big.push(face.len() as u8);
        little.extend(face.iter().flat_map(|vertex| vertex.to_le_bytes()));
        big.extend(face.iter().flat_map(|vertex| vertex.to_be_bytes()));
    }
    folder.write("little.ply", little);
    folder.write("big.ply", big);

    // Vertices 0–7; edges by larger vertex: 8 (0,1), 9 (1,2), 10 (0,3), 11 (2,3), 12 (2,4), 13 (2,5), 14 (4,5), 15
    // (5,6), 16 (5,7), 17 (6,7); faces 18–20.
    for mesh in ["mesh.obj", "ascii.ply", "little.ply", "big.ply"] {
        let answer = |options: &[&str]| folder.cpu(&[&["pairs", mesh], options].concat());
        assert_eq!(answer(&[]), "18,19\n19,20\n", "{mesh}");
        assert_eq!(answer(&["--free"]), "", "{mesh}");
        assert_eq!(answer(&["--free", "--max-pairs", "1"]), "", "{mesh}");
        assert_eq!(
            answer(&["--between", "vertices,faces"]),
            "0,18\n1,18\n2,18\n2,19\n3,18\n4,19\n5,19\n5,20\n6,20\n7,20\n",
            "{mesh}"
        );
        assert_eq!(answer(&["--between", "faces,vertices", "--free"]), "", "{mesh}");
        assert_eq!(
            answer(&["--elements", "edges,faces"]),
            answer(&["--elements", "faces,edges"]),
            "{mesh}"
        );
        let edges = pairs(&answer(&["--between", "edges,edges"]));
        assert!(edges.iter().flatten().all(|id| (8..18).contains(id)), "{mesh}");
        let free = pairs(&answer(&["--between", "edges,edges", "--free"]));
        assert_eq!(free.len(), 0, "{mesh}: {free:?}");
        let all = pairs(&answer(&["--elements", "vertices,edges,faces"]));
        assert!(edges.iter().all(|pair| all.contains(pair)), "{mesh}");
    }
}

#[test]
fn kinds_of_candidates_have_files_and_ids_of_their_own() {
    let folder = Folder::new();
    folder.generate(&["cloth", "--count", "200", "--seed", "3", "-o", "cloth.ply"]);
    let mesh = ["pairs", "cloth0.ply", "--next", "cloth1.ply"];
    let ask = |options: &[&str]| folder.cpu(&[&mesh[..], options].concat());
    let kinds = ["vertices,faces", "edges,edges", "vertices,edges"];
    let mut asked = vec!["-o", "all.csv"];
    asked.extend(kinds.iter().flat_map(|kinds| ["--between", kinds]));
    ask(&asked);
    let mut counts = String::new();
    for kinds in ["vertices,edges", "vertices,faces", "edges,edges"] {
        let expected = ask(&["--between", kinds]);
        assert!(expected.lines().count() > 100);
        let name = kinds.replace(',', "-");
        let written = String::from_utf8(folder.read(&format!("all.{name}.csv"))).unwrap();
        assert_eq!(written, expected, "{kinds}");
        counts += &format!("{name},{}\n", expected.lines().count());
    }
    asked.splice(..2, ["--count-only"]);
    assert_eq!(ask(&asked), counts);

    ask(&["--between", "edges,edges", "--write-edges", "edges.csv"]);
    let edges = pairs(&String::from_utf8(folder.read("edges.csv")).unwrap());
    assert!(edges.is_sorted_by_key(|&[smaller, larger]| (larger, smaller)));
    let vertices = 1 + edges.iter().flatten().max().unwrap();
    let first = [0, vertices, vertices + edges.len() as u32];
    for (kinds, [a, b]) in [
        ("vertices,faces", [0, 2]),
        ("faces,vertices", [0, 2]),
        ("edges,edges", [1, 1]),
    ] {
        let global = pairs(&ask(&["--between", kinds]));
        let local = pairs(&ask(&["--between", kinds, "--local-ids"]));
        let expected: Vec<_> = global
            .iter()
            .map(|pair| [pair[0] - first[a], pair[1] - first[b]])
            .collect();
        assert_eq!(local, expected, "{kinds}");
    }
    folder.write("rays.csv", "0,0,9,0,0,-1,inf\n");
    folder.write("boxes.csv", "-9,-9,-9,9,9,9\n");
    for command in [
        &["rays", "cloth0.ply", "rays.csv", "--mode", "all"][..],
        &["query", "cloth0.ply", "boxes.csv"],
    ] {
        let global = pairs(&folder.cpu(command));
        let local = pairs(&folder.cpu(&[command, &["--local-ids"]].concat()));
        assert!(!global.is_empty());
        assert!(
            global
                .iter()
                .zip(&local)
                .all(|(global, local)| global[1] - local[1] == first[2])
        );
    }

    let refuses = |options: &[&str], needles: &[&str]| folder.refuses(&[&mesh[..], options].concat(), needles);
    refuses(
        &["--elements", "edges,faces", "--local-ids"],
        &["--local-ids", "2 kinds"],
    );
    refuses(&["--between", "edges,edges", "--between", "edges,faces"], &["-o FILE"]);
    refuses(
        &["--between", "edges,faces", "--between", "faces,edges", "-o", "x.csv"],
        &["edges-faces", "repeated"],
    );
    refuses(&[&asked[..], &["--max-pairs", "5"]].concat(), &["--max-pairs"]);
    refuses(&["--write-edges", "-"], &["--write-edges"]);
    for option in [&["--local-ids"][..], &["--write-edges", "e.csv"]] {
        folder.refuses(
            &[&["pairs", "boxes.csv"], option].concat(),
            &[option[0], "needs a mesh"],
        );
    }
}

#[test]
fn meshes_as_other_programs_write_them() {
    let folder = Folder::new();
    let vertices = "0. 0 -0\t.5\r\n\n1. +0. 0 .5\n0 1E0 0. 5.e-1\n1 1 0 nan\n2 1 0 inf\n1 2 0 -nan\n";
    folder.write(
        "mesh.ply",
        format!(
            "ply\nformat ascii 1.0\nelement vertex 6\nproperty float x\nproperty double y\nproperty float z\n\
             property float quality\nelement face 4\nproperty list uchar uint vertex_indices\n\
             property list uchar float weights\nend_header\n{vertices}\
             3 0 1 2 0\n3 1 2 3 2 .5 nan\n3 3 4 5 0\n3 0 1 4 1 -inf"
        ),
    );
    assert_eq!(
        folder.cpu(&["pairs", "mesh.ply"]),
        "16,17\n16,18\n16,19\n17,18\n17,19\n18,19\n"
    );
    let text = String::from_utf8(folder.read("mesh.ply")).unwrap();
    folder.write("nan.ply", text.replace("1 1 0 nan", "1 1 -NaN 0"));
    let ran = folder.run(&["pairs", "nan.ply", "--backend", "cpu"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "16,19\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("4 objects, 2 invalid"), "{}", ran.stderr);
    folder.write(
        "mesh.obj",
        "# a path\\\nv 0 \\\n0 0\nv 1 0 0\r\nv 0 1 0\nv 1 1 0\nf 1\\\r\n 2 \\\n3\nf 2 3 4\n",
    );
    assert_eq!(folder.cpu(&["pairs", "mesh.obj"]), "9,10\n");
}

#[test]
fn two_dimensions_and_filters() {
    let folder = Folder::new();
    folder.write("flat.csv", "x,y,u,v\n0,0,1,1\n1,1,2,2\n3,3,4,4\n");
    assert_eq!(folder.cpu(&["pairs", "flat.csv", "--dimensions", "2"]), "0,1\n");
    folder.write("rays.csv", "-1,0.5,2,0,inf\n3.5,5,0,-1,0.5\n");
    assert_eq!(folder.cpu(&["rays", "flat.csv", "rays.csv"]), "0,0,0.5\n1,-1,inf\n");
    assert_eq!(folder.cpu(&["rays", "flat.csv", "rays.csv", "--mode", "all"]), "0,0\n");
    folder.write(
        "filters.csv",
        "a,b,c,d,e,f,layers,group\n0,0,0,1,1,1,4294967295,0\n0,0,0,1,1,1,131073,7\n0,0,0,1,1,1,65538,7\n0,0,0,1,1,1,131073,0\n",
    );
    assert_eq!(folder.cpu(&["pairs", "filters.csv"]), "0,1\n0,2\n0,3\n2,3\n");
    folder.write(
        "flat_filters.csv",
        "a,b,c,d,layers,group\n0,0,1,1,4294967295,5\n0,0,1,1,4294967295,5\n",
    );
    assert_eq!(folder.cpu(&["pairs", "flat_filters.csv"]), "");
}

#[test]
fn invalid_boxes_are_counted_and_keep_their_numbers() {
    let folder = Folder::new();
    folder.write(
        "boxes.csv",
        "nan,0,0,1,1,1\n0,0,0,1,1,1\n1,1,1,0,0,0\n-inf,-inf,-inf,inf,inf,inf\n",
    );
    let ran = folder.run(&["pairs", "boxes.csv", "--backend", "cpu"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "1,3\n"));
    assert!(ran.stderr.contains("4 objects, 2 invalid"), "{}", ran.stderr);
    let quiet = folder.run(&["pairs", "boxes.csv", "--backend", "cpu", "--quiet"]);
    let warning = "broadphase: boxes.csv: ignored 2 of 4 boxes as invalid, the first in row 0: x from NaN to 1\n";
    assert_eq!(quiet.stderr, warning);
}

#[test]
fn results_as_arrays() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n0.5,0,0,2,1,1\n");
    folder.write("rays.csv", "-0.1,0.5,0.5,3,0,0,inf\n0,5,0,1,0,0,inf\n");
    folder.cpu(&["pairs", "boxes.csv", "-o", "pairs.npy"]);
    let bytes = folder.read("pairs.npy");
    let header = String::from_utf8_lossy(&bytes[10..bytes.len() - 8]).into_owned();
    assert!(header.contains("'<u4'") && header.contains("(1, 2"), "{header}");
    assert_eq!(bytes[bytes.len() - 8..], [0, 0, 0, 0, 1, 0, 0, 0]);

    folder.cpu(&["rays", "boxes.csv", "rays.csv", "-o", "hits.npy"]);
    let bytes = folder.read("hits.npy");
    let header = String::from_utf8_lossy(&bytes[10..bytes.len() - 48]).into_owned();
    assert!(header.contains("'<f8'") && header.contains("(2, 3"), "{header}");
    let values: Vec<_> = bytes[bytes.len() - 48..]
        .chunks(8)
        .map(|word| f64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(values[..2], [0.0, 0.0]);
    assert_eq!(values[3..], [1.0, -1.0, f64::INFINITY]);
    let text = folder.cpu(&["rays", "boxes.csv", "rays.csv"]);
    assert_eq!(
        text.lines().next().unwrap().split(',').nth(2).unwrap().parse::<f64>(),
        Ok(values[2])
    );
}

#[test]
fn the_first_pairs_are_written_and_the_need_is_told() {
    let folder = Folder::new();
    folder.generate(&["uniform", "--count", "2000", "-o", "boxes.npy"]);
    let whole = pairs(&folder.cpu(&["pairs", "boxes.npy"]));
    let needed = whole.len().to_string();
    for scheme in ["hierarchical", "uniform", "adaptive"] {
        for backend in ["cpu", backend()] {
            let answer = |most: &str| {
                let arguments = ["pairs", "boxes.npy", "--scheme", scheme, "--backend", backend];
                folder.run(&[&arguments[..], &["--quiet", "--max-pairs", most]].concat())
            };
            let few = answer("100");
            assert_eq!(few.status, 1, "{}", few.stderr);
            let expected = format!("incomplete: {needed} pairs, `--max-pairs` allows 100: raise it");
            assert!(few.stderr.contains(&expected), "{}", few.stderr);
            assert_eq!(pairs(&few.stdout), whole[..100], "{scheme} {backend}");
            // The last two sizes exceed one binding of a device.
            for most in [needed.as_str(), "20000000", "4294967295"] {
                let enough = answer(most);
                assert_eq!(
                    (enough.status, enough.stderr.as_str()),
                    (0, ""),
                    "{scheme} {backend} {most}"
                );
                assert_eq!(pairs(&enough.stdout), whole, "{scheme} {backend} {most}");
            }
        }
    }
    // Cells far smaller than the boxes need more entries than the initial capacity.
    let small = ["--scheme", "uniform", "--cell-size", "0.4", "--max-pairs", "100"];
    let few = folder.run_on_adapter(&[&["pairs", "boxes.npy"], &small[..]].concat());
    assert_eq!((few.status, pairs(&few.stdout)), (1, whole[..100].to_vec()));
}

#[test]
#[cfg(target_os = "linux")]
fn without_an_adapter_the_cpu_answers() {
    let folder = Folder::new();
    folder.generate(&["power-law", "--count", "500", "-o", "boxes.csv"]);
    let expected = folder.cpu(&["pairs", "boxes.csv"]);
    let ran = folder.run_without_adapter(&["pairs", "boxes.csv"]);
    assert_eq!((ran.status, ran.stdout), (0, expected));
    let said = "adapter: none, CPU engine (no hardware GPU; ";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    for arguments in [
        vec!["pairs", "boxes.csv", "--backend", "vulkan"],
        vec!["pairs", "boxes.csv", "--backend", "gl"],
        vec!["pairs", "boxes.csv", "--adapter", "0"],
        vec!["verify", "boxes.csv"],
        vec!["verify", "--random", "1"],
        vec!["info", "--backend", "vulkan"],
    ] {
        let ran = folder.run_without_adapter(&arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("no adapter found"), "{arguments:?}: {}", ran.stderr);
        let named = arguments.iter().find(|name| ["vulkan", "gl"].contains(name));
        let expected = named.map_or(String::new(), |name| format!("no adapter found for {name}"));
        assert!(ran.stderr.contains(&expected), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(folder.run_without_adapter(&["info"]).status, 0);
}

/// Software adapters bind 128 MiB.
#[test]
fn what_a_device_cannot_bind_is_an_error_with_advice_for_the_command_line() {
    let folder = Folder::new();
    let rows = (0..4_200_000).map(|index| (2 * index) as f32);
    let rows = rows.flat_map(|x| [x, 0.0, 0.0, x + 1.0, 1.0, 1.0]);
    let data: Vec<u8> = rows.flat_map(f32::to_le_bytes).collect();
    folder.write("boxes.npy", npy(&npy_header("<f4", false, "(4200000, 6)"), &data));
    let ran = folder.run_on_adapter(&["pairs", "boxes.npy", "--count-only", "--quiet"]);
    if ran.status == 0 {
        println!("skipped: no adapter is required, or it binds more");
        return;
    }
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert_eq!(
        ran.stderr,
        "broadphase: objects: 134400000 bytes needed, the device binds at most 134217728: use --backend cpu, or omit \
         --backend and --adapter, and the CPU engine takes over\n"
    );
    for advised in [&["--backend", "cpu"][..], &[]] {
        let ran = folder.run(&[&["pairs", "boxes.npy", "--count-only"], advised].concat());
        assert_eq!(
            (ran.status, ran.stdout.as_str()),
            (0, "0\n"),
            "{advised:?}: {}",
            ran.stderr
        );
    }
}

/// Software adapters are slower than the CPU engine.
#[test]
#[cfg(target_os = "linux")]
fn nobody_gets_a_software_adapter_unasked() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n1,0,0,2,1,1\n");
    let listed = folder.run(&["info"]).stdout;
    let types = listed.lines().filter(|line| line.trim().starts_with("type "));
    let has_hardware = types.clone().any(|line| !line.ends_with("Cpu"));
    if types.count() == 0 || has_hardware {
        println!("skipped: no software adapter, or hardware beside it");
        return;
    }
    let ran = folder.run(&["pairs", "boxes.csv"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "0,1\n"));
    let said = "adapter: none, CPU engine (no hardware GPU; `broadphase info` lists software adapters)\n";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let stats = folder.run(&["stats", "boxes.csv"]).stdout;
    assert!(stats.contains("bytes on the device"), "{stats}");
}

#[test]
fn a_step_is_one_line_and_its_stages_are_told_where_asked_for() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n1,0,0,2,1,1\n");
    let messages = |options: &[&str]| {
        folder
            .run_on_adapter(&[&["pairs", "boxes.csv"], options].concat())
            .stderr
    };
    let plain = messages(&[]);
    let compiles = usize::from(backend() != "cpu");
    assert_eq!(plain.lines().count(), 2 + compiles, "{plain}");
    assert!(plain.contains("2 objects, 0 invalid ignored; 1 pair; "), "{plain}");
    assert_eq!(
        plain.matches("the time includes compiling ").count(),
        compiles,
        "{plain}"
    );
    // GL has no timestamps.
    if backend() == "vulkan" {
        let timed = messages(&["--timings"]);
        for needle in [
            "first step, with ",
            " shaders compiled: ",
            " ms; CPU engine: ",
            "second step:",
            "pair_count",
        ] {
            assert!(timed.contains(needle), "{needle} in {timed}");
        }
    }
}

/// Mesa's device-select layer looks for a display in `XDG_RUNTIME_DIR`.
#[test]
fn nothing_is_complained_of_where_there_is_no_runtime_folder() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n1,0,0,2,1,1\n");
    for arguments in [
        &["info"][..],
        &["pairs", "boxes.csv"],
        &["pairs", "boxes.csv", "--backend", backend()],
    ] {
        let ran = Ran::from(
            folder
                .command(arguments)
                .env_remove("XDG_RUNTIME_DIR")
                .output()
                .unwrap(),
        );
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(
            !ran.stderr.contains("XDG_RUNTIME_DIR") && !ran.stderr.contains("error"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn outputs_that_cannot_be_written_are_told_first() {
    let folder = Folder::new();
    folder.write("broken.csv", "0,0\n");
    for arguments in [
        &["pairs", "absent.csv", "-o", "none/rows.csv"][..],
        &["pairs", "absent.csv", "--snapshot", "none/kept"],
        &["pairs", "absent.csv", "--write-edges", "none/edges.csv"],
        &["rays", "absent.csv", "absent.csv", "-o", "none/rows.npy"],
        &["query", "absent.csv", "absent.csv", "-o", "none/rows.npy"],
        &["neighbors", "absent.csv", "--radius", "1", "-o", "none/rows.npy"],
    ] {
        folder.refuses(arguments, &["none"]);
    }
    for arguments in [
        vec!["heatmap", "absent.csv", "-o", "none/map.png"],
        vec!["generate", "cloth", "--count", "100", "-o", "none/cloth.ply"],
        vec!["bench", "--count", "10", "-o", "none/rows.csv"],
    ] {
        let ran = folder.run(&arguments);
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains("none/"), "{}", ran.stderr);
    }
    folder.write("old.csv", "what was here\n");
    folder.refuses(&["pairs", "broken.csv", "-o", "old.csv"], &["broken.csv"]);
    assert_eq!(folder.read("old.csv"), b"what was here\n");
    folder.refuses(&["pairs", "broken.csv", "-o", "new.csv"], &["broken.csv"]);
    assert!(!folder.path("new.csv").exists());
}

#[test]
fn near_misses_get_a_suggestion() {
    let folder = Folder::new();
    for (arguments, suggestion) in [
        (&["pars", "boxes.csv"][..], "'pairs'"),
        (&["pairs", "boxes.csv", "--marginn", "1"], "'--margin'"),
        (&["pairs", "boxes.csv", "--scheme", "unifrom"], "'uniform'"),
    ] {
        let ran = folder.run(arguments);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains("similar"), "{}", ran.stderr);
        assert!(ran.stderr.contains(suggestion), "{}", ran.stderr);
    }
}

#[test]
fn boxes_grow_by_a_margin() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n2,0,0,3,1,1\n");
    folder.write("asked.csv", "-1,0,0,-0.5,1,1\n");
    folder.write("rays.csv", "-1,1.25,0.5,1,0,0,inf\n");
    for (margin, pairs, hits) in [
        ("0.25", "", "0,0\n0,1\n"),
        ("0.5", "0,1\n", "0,0\n0,1\n"),
        ("0", "", ""),
    ] {
        assert_eq!(folder.cpu(&["pairs", "boxes.csv", "--margin", margin]), pairs);
        let rays = ["rays", "boxes.csv", "rays.csv", "--mode", "all", "--margin", margin];
        assert_eq!(folder.cpu(&rays), hits);
    }
    // The margin does not grow the query.
    assert_eq!(folder.cpu(&["query", "boxes.csv", "asked.csv", "--margin", "0.25"]), "");
    assert_eq!(
        folder.cpu(&["query", "boxes.csv", "asked.csv", "--margin", "0.5"]),
        "0,0\n"
    );
    folder.refuses(&["pairs", "boxes.csv", "--margin", "-1"], &["'-1' for '--margin"]);
}

#[test]
fn boxes_of_one_body_make_no_pair() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n0,0,0,1,1,1\n0,0,0,1,1,1\n0,0,0,1,1,1\n");
    folder.write("bodies.csv", "0\n0\n-1\n-1\n");
    let pairs = ["pairs", "boxes.csv", "--groups", "bodies.csv"];
    assert_eq!(folder.cpu(&pairs), "0,2\n0,3\n1,2\n1,3\n2,3\n");
    for (text, needle) in [
        ("0\n0\n1\n", "3 rows, the scene has 4 boxes"),
        ("0\n0\n1\n0.5\n", "row 3: 0.5"),
        ("0\n0\n1\n-2\n", "row 3: -2"),
        ("0\n0\n1\n1073741823\n", "row 3: 1073741823"),
        ("0,1\n0,1\n1,1\n2,2\n", "2 columns"),
    ] {
        folder.write("bodies.csv", text);
        folder.refuses(&pairs, &["bodies.csv", needle]);
    }
    let flat: Vec<u8> = [0_i64, 0, -1, -1].iter().flat_map(|body| body.to_le_bytes()).collect();
    folder.write("bodies.npy", npy(&npy_header("<i8", false, "(4,)"), &flat));
    assert_eq!(
        folder
            .cpu(&["pairs", "boxes.csv", "--groups", "bodies.npy"])
            .lines()
            .count(),
        5
    );
    folder.write("owned.csv", "a,b,c,d,e,f,layers,group\n0,0,0,1,1,1,1,3\n");
    folder.refuses(&["pairs", "owned.csv", "--groups", "bodies.csv"], &["group column"]);

    folder.write(
        "mesh.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 4 5 6\n",
    );
    let mesh = ["pairs", "mesh.obj", "--groups", "bodies.csv"];
    folder.write("bodies.csv", "5\n5\n5\n6\n6\n6\n");
    assert_eq!(folder.cpu(&mesh), "12,13\n");
    folder.write("bodies.csv", "5\n5\n5\n5\n5\n5\n");
    assert_eq!(folder.cpu(&mesh), "");
    folder.write("bodies.csv", "5\n5\n6\n6\n6\n6\n");
    folder.refuses(&mesh, &["element 12 has vertices 0 and 2 of different bodies"]);
}

#[test]
fn pairs_that_a_file_names_are_left_out() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n0,0,0,1,1,1\n0,0,0,1,1,1\n5,5,5,6,6,6\n");
    folder.write("known.csv", "2,0\n1,3\n0,0\n0,4000000000\n");
    let pairs = ["pairs", "boxes.csv", "--exclude", "known.csv"];
    assert_eq!(folder.cpu(&pairs), "0,1\n1,2\n");
    assert_eq!(folder.cpu(&[&pairs[..], &["--count-only"]].concat()), "2\n");
    let why = folder
        .run(&["why", "boxes.csv", "0", "2", "--exclude", "known.csv"])
        .stdout;
    assert!(why.contains("the list of excluded pairs contains the pair"), "{why}");
    folder.cpu(&["pairs", "boxes.csv", "-o", "all.csv"]);
    assert_eq!(folder.cpu(&["pairs", "boxes.csv", "--exclude", "all.csv"]), "");
    for (text, needle) in [
        ("0,1,2\n", "3 columns; use 2 for pairs"),
        ("0,1\n0,0.5\n", "row 1: 0.5 is not an id"),
        ("-1,0\n", "row 0: -1 is not an id"),
    ] {
        folder.write("known.csv", text);
        folder.refuses(&pairs, &["known.csv", needle]);
    }
    // Triangles 12 and 13 follow six vertices and six edges.
    folder.write(
        "mesh.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 4 5 6\n",
    );
    let mesh = ["pairs", "mesh.obj"];
    assert_eq!(folder.cpu(&mesh), "12,13\n");
    folder.write("known.csv", "13,12\n0,12\n");
    assert_eq!(folder.cpu(&[&mesh[..], &["--exclude", "known.csv"]].concat()), "");
}

/// Results are lists of ids. Text without rows has no header, hence no columns.
#[test]
fn own_results_are_inputs_even_if_empty() {
    let folder = Folder::new();
    folder.write("apart.csv", "0,0,0,1,1,1\n5,5,5,6,6,6\n");
    folder.write("near.csv", "0,0,0,1,1,1\n0,0,0,1,1,1\n");
    folder.write("far.csv", "9,9,9\n");
    folder.write("points.obj", "v 0 0 0\nv 0 0 0\nv 0 1 0\n");
    for ending in ["csv", "npy"] {
        let file = format!("known.{ending}");
        let exclude = ["pairs", "near.csv", "--exclude", &file];
        for (command, rows) in [
            ("pairs apart.csv", "0,1\n"),
            ("pairs near.csv", ""),
            ("query near.csv far.csv", "0,1\n"),
            ("neighbors far.csv --radius 1", "0,1\n"),
        ] {
            let command: Vec<_> = command.split(' ').chain(["-o", &file]).collect();
            folder.quietly(&command);
            folder.answers(&exclude, rows, "");
        }
        let edges = ["pairs", "points.obj", "--elements", "vertices", "--write-edges", &file];
        folder.answers(&edges, "0,1\n", "");
        folder.answers(
            &["pairs", "points.obj", "--elements", "vertices", "--exclude", &file],
            "0,1\n",
            "",
        );
        // Other results are not pairs.
        for command in [
            "neighbors near3.csv --radius 1 --distances",
            "query near.csv near.csv --nearest 1",
            "rays near.csv rays.csv",
        ] {
            folder.write("near3.csv", "0,0,0\n0,0,0\n");
            folder.write("rays.csv", "-1,0.5,0.5,1,0,0,9\n");
            let command: Vec<_> = command.split(' ').chain(["-o", &file]).collect();
            folder.quietly(&command);
            folder.refuses(&exclude, &[&file, "3 columns; use 2 for pairs"]);
        }
        for kind in [
            "uniform",
            "power-law",
            "clustered",
            "planar",
            "one-cell",
            "lattice",
            "points",
            "rays",
        ] {
            for dimensions in ["2", "3"] {
                let option = ["--count", "9", "--dimensions", dimensions, "-o"];
                folder.generate(&[&[kind], &option[..], &[&file]].concat());
                let boxes = format!("boxes.{ending}");
                folder.generate(&[&["uniform"], &option[..], &[&boxes]].concat());
                let read = match kind {
                    "points" => vec!["neighbors", &file, "--radius", "1"],
                    "rays" => vec!["rays", &boxes, &file],
                    _ => vec!["pairs", &file],
                };
                folder.quietly(&read);
                if kind != "rays" {
                    folder.quietly(&["query", &boxes, &file]);
                }
            }
        }
    }
    let mut piped = folder.command(&["pairs", "near.csv", "--exclude", "-", "--backend", "cpu", "--quiet"]);
    let ran = piped.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "0,1\n",
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );

    folder.write("none.csv", "# none\n\n");
    folder.answers(&["pairs", "near.csv", "--exclude", "none.csv"], "0,1\n", "");
    // No command writes these.
    for name in ["zero.npy", "zero.csv"] {
        folder.write(name, "");
    }
    folder.refuses(
        &["pairs", "near.csv", "--exclude", "zero.npy"],
        &["zero.npy: the file is empty"],
    );
    for arguments in [
        vec!["pairs", "zero.csv"],
        vec!["pairs", "near.csv", "--groups", "zero.csv"],
        vec!["rays", "near.csv", "zero.csv"],
        vec!["query", "near.csv", "zero.csv"],
        vec!["neighbors", "zero.csv", "--radius", "1"],
    ] {
        folder.refuses(&arguments, &["zero.csv: the file is empty"]);
    }
    let taken = ["pairs", "near.csv", "--exclude", "zero.csv", "-o", "zero.csv"];
    folder.refuses(&taken, &["this input is also a result file"]);

    folder.write("header.csv", "a,b,c,d,e,f\n");
    for command in [
        "pairs header.csv",
        "neighbors far.csv --radius 1",
        "query near.csv far.csv",
        "rays near.csv rays.csv",
    ] {
        let command: Vec<_> = command.split(' ').chain(["--snapshot", "step.snapshot"]).collect();
        folder.quietly(&command);
        let counts = folder.quietly(&["replay", "step.snapshot"]).stdout;
        assert!(counts.contains("complete"), "{command:?}: {counts}");
    }
}

#[test]
fn what_is_asked_for_by_name_has_to_exist() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n");
    for arguments in [
        vec!["pairs", "boxes.csv", "--adapter", "no such adapter"],
        vec!["pairs", "boxes.csv", "--adapter", "4711"],
        vec!["verify", "boxes.csv", "--adapter", "no such adapter"],
        vec!["verify", "boxes.csv", "--backend", "cpu"],
    ] {
        let ran = folder.run(&arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn verify_compares_and_prints_a_table() {
    let folder = Folder::new();
    folder.generate(&["lattice", "--count", "400", "-o", "boxes.npy"]);
    folder.generate(&["rays", "--count", "100", "-o", "rays.npy"]);
    for arguments in [
        vec!["verify", "boxes.npy", "rays.npy"],
        vec!["verify", "--random", "2", "--seed", "11"],
    ] {
        let ran = folder.run(&arguments);
        if ran.status == 2 && std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_none() {
            println!("skipped: {}", ran.stderr);
            return;
        }
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        assert!(
            ["hierarchical", "uniform", "adaptive"]
                .iter()
                .all(|scheme| ran.stdout.contains(scheme)),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn no_result_replaces_an_input_or_another_result() {
    let folder = Folder::new();
    folder.generate(&["uniform", "--count", "50", "-o", "boxes.npy"]);
    folder.generate(&["rays", "--count", "20", "-o", "rays.npy"]);
    let before = [folder.read("boxes.npy"), folder.read("rays.npy")];
    for (arguments, fault) in [
        (
            &["pairs", "boxes.npy", "-o", "boxes.npy"][..],
            "this input is also a result file",
        ),
        (
            &["pairs", "boxes.npy", "-o", "./boxes.npy"],
            "this input is also a result file",
        ),
        (
            &["rays", "boxes.npy", "rays.npy", "-o", "rays.npy"],
            "this input is also a result file",
        ),
        (
            &["pairs", "boxes.npy", "-o", "a.npy", "--snapshot", "a.npy"],
            "two results have this file",
        ),
        (
            &["pairs", "boxes.npy", "-o", "missing/a.npy"],
            "no such folder: missing",
        ),
        (
            &["pairs", "boxes.npy", "--count-only", "--max-pairs", "1"],
            "conflicts with --max-pairs",
        ),
    ] {
        let ran = folder.run(&[arguments, &["--backend", "cpu"]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(fault), "{arguments:?}: {}", ran.stderr);
    }
    assert!(before == [folder.read("boxes.npy"), folder.read("rays.npy")]);
    assert!(!folder.path("a.npy").exists());
}

#[test]
fn every_scheme_gives_one_answer() {
    let folder = Folder::new();
    for (name, options) in [
        ("boxes.npy", &["power-law", "--count", "900"][..]),
        ("flat.npy", &["clustered", "--count", "900", "--dimensions", "2"]),
    ] {
        folder.generate(&[options, &["-o", name]].concat());
        let expected = folder.cpu(&["pairs", name]);
        assert!(pairs(&expected).len() > 100);
        for scheme in [
            &["uniform"][..],
            &["uniform", "--cell-size", "7"],
            &["adaptive"],
            &["adaptive", "--min-scale", "0.01"],
        ] {
            let arguments = [&["pairs", name, "--scheme"], scheme].concat();
            assert_eq!(folder.cpu(&arguments), expected, "{arguments:?}");
            let ran = folder.run_on_adapter(&arguments);
            assert_eq!((ran.status, ran.stdout), (0, expected.clone()), "{arguments:?}");
        }
    }
    let chosen = folder.run(&["pairs", "boxes.npy", "--scheme", "adaptive", "--backend", "cpu"]);
    assert!(chosen.stderr.contains("smallest scale: 1.0"), "{}", chosen.stderr);
}

fn table(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn stats_tell_cells_levels_and_candidates() {
    let folder = Folder::new();
    // Three boxes in one cell, one in another, a large, an infinite and an invalid one.
    folder.write(
        "boxes.csv",
        "0.1,0.1,0.1,0.2,0.2,0.2\n0.1,0.1,0.1,0.2,0.2,0.2\n0.3,0.3,0.3,0.4,0.4,0.4\n4.1,0.1,0.1,4.2,0.2,0.2\n\
         1.1,1.1,1.1,2.9,2.9,2.9\n-inf,0,0,inf,1,1\nnan,0,0,1,1,1\n",
    );
    let text = folder.cpu(&["stats", "boxes.csv", "--scheme", "adaptive", "--min-scale", "1"]);
    let rows = table(&text);
    for row in [
        &["scheme", "adaptive,", "1.0"][..],
        &["dimensions", "3"],
        &["objects", "7"],
        &["invalid", "1"],
        &["large", "list", "1"],
        &["levels", "2"],
        &["entries", "7"],
        &["pairs", "5"],
        &["entries", "per", "object", "1.000"],
        // Columns: level, cell, objects, entries, buckets, occupied, mean, most, table.
        &["0", "1.0", "4", "4", "5", "2", "2.000", "3", "dense"],
        &["1", "2.0", "1", "1", "1", "1", "1.000", "1", "dense"],
        &["1", "2", "2"],
        &["2-3", "1", "3"],
    ] {
        assert!(rows.iter().any(|found| found == row), "{row:?} in {text}");
    }
    assert!(!text.contains("bytes on the device"), "{text}");

    folder.write("flat.csv", "0,0,3,3\n1,1,2,2\n");
    for scheme in ["hierarchical", "uniform", "adaptive"] {
        let ran = folder.run(&["stats", "flat.csv", "--scheme", scheme]);
        assert_eq!(ran.status, 0, "{scheme}: {}", ran.stderr);
        let rows = table(&ran.stdout);
        assert!(rows.contains(&vec!["dimensions", "2"]) && rows.contains(&vec!["pairs", "1"]));
        let on_device = std::env::var_os("GPU_BROAD_PHASE_ADAPTERS").is_some();
        assert!(
            !on_device || ran.stdout.contains("bytes on the device"),
            "{}",
            ran.stdout
        );
    }
    // With cells of 1, the boxes have 16 and 4 entries. They share four cells, but are compared only in the lowest.
    let text = folder.cpu(&["stats", "flat.csv", "--scheme", "uniform", "--cell-size", "1"]);
    for row in [
        &["entries", "20"][..],
        &["candidates", "1"],
        &["candidates", "per", "pair", "1.000"],
        &["entries", "per", "object", "10.000"],
    ] {
        assert!(table(&text).iter().any(|found| found == row), "{row:?} in {text}");
    }
    folder.write("none.csv", "nan,0,0,0,0,0\n");
    let text = folder.cpu(&["stats", "none.csv"]);
    assert!(table(&text).contains(&vec!["candidates", "per", "pair", "-"]), "{text}");
}

#[test]
fn shaders_are_dumped() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["info", "--dump-shaders", "shaders"]).status, 0);
    let files: Vec<_> = std::fs::read_dir(folder.path("shaders"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() > 10);
    for file in files {
        assert!(
            std::fs::read_to_string(&file).unwrap().contains("@compute"),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_heatmap_is_a_picture() {
    let folder = Folder::new();
    folder.generate(&["planar", "--count", "500", "-o", "boxes.csv"]);
    let ran = folder.run(&["heatmap", "boxes.csv", "-o", "map.png"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(folder.read("map.png").starts_with(b"\x89PNG"));
    folder.write("point.csv", "1,1,1,1,1,1\nnan,0,0,0,0,0\n");
    assert_eq!(folder.run(&["heatmap", "point.csv", "-o", "map.png"]).status, 0);
    folder.write("infinite.csv", "-inf,0,0,1,1,1\n");
    for (arguments, needle) in [
        (["heatmap", "infinite.csv", "-o", "map.png"], "no finite boxes"),
        (["heatmap", "boxes.csv", "-o", "map.jpg"], "map.jpg"),
    ] {
        let ran = folder.run(&arguments);
        assert_eq!((ran.status, ran.stderr.contains(needle)), (2, true), "{}", ran.stderr);
    }
}

#[test]
#[cfg(unix)]
fn a_reader_that_leaves_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_broadphase"))
        .args(["generate", "uniform", "--count", "200000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn rows_are_the_same_in_every_order() {
    let folder = Folder::new();
    folder.generate(&["clustered", "--count", "400", "--seed", "5", "-o", "boxes.npy"]);
    folder.generate(&["rays", "--count", "60", "--seed", "6", "-o", "rays.npy"]);
    for backend in ["cpu", backend()] {
        for order in ["deterministic", "sorted", "unordered"] {
            let rows = |command: &[&str]| {
                let options = ["--quiet", "--backend", backend, "--order", order];
                let ran = folder.run(&[command, &options].concat());
                assert_eq!(ran.status, 0, "{}", ran.stderr);
                ran.stdout
            };
            assert_eq!(rows(&["pairs", "boxes.npy"]), folder.cpu(&["pairs", "boxes.npy"]));
            let rays = ["rays", "boxes.npy", "rays.npy", "--mode", "all"];
            assert_eq!(rows(&rays), folder.cpu(&rays));
            let query = ["query", "boxes.npy", "boxes.npy"];
            assert_eq!(rows(&query), folder.cpu(&query));
        }
    }
    folder.refuses(&["pairs", "boxes.npy", "--order", "random"], &["random"]);
}

#[test]
fn a_cache_of_pipelines_changes_no_answer_whatever_its_file_holds() {
    if backend() != "vulkan" {
        return;
    }
    let folder = Folder::new();
    folder.generate(&["uniform", "--count", "300", "-o", "boxes.npy"]);
    let run = |cache: &str| {
        let ran = folder.run_on_adapter(&["pairs", "boxes.npy", "--quiet", "--pipeline-cache", cache]);
        assert_eq!((ran.status, &ran.stderr[..]), (0, ""), "{cache}");
        ran.stdout
    };
    let expected = run("off");
    assert!(!folder.path("off").exists());
    assert_eq!(run("new/folder"), expected);
    folder.write("file", "");
    assert_eq!(run("file"), expected);

    let adapters = pollster::block_on(gpu_broad_phase::adapters(wgpu::Backends::VULKAN));
    let keys = adapters
        .iter()
        .filter_map(|adapter| wgpu::util::pipeline_cache_key(&adapter.get_info()));
    let files: Vec<_> = keys.map(|key| format!("kept/{key}.gz")).collect();
    std::fs::create_dir(folder.path("kept")).unwrap();
    // Cache data of another device.
    let mut foreign = b"WGPUPLCH\x01\0\0\0\x08\0\0\0\x01".to_vec();
    foreign.resize(64, 0xff);
    for data in [&b""[..], b"no data of a cache", &foreign] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        let whole = encoder.finish().unwrap();
        for bytes in [&whole[..], &whole[..whole.len() - 3], data] {
            for file in &files {
                folder.write(file, bytes);
            }
            assert_eq!(run("kept"), expected, "{data:?}");
        }
    }
}
