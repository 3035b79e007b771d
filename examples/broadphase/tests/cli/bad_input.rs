//! Bad inputs give status 2 and one line with file, place and reason.

use crate::support::{Folder, npy, npy_header};

const BOXES: &str = "0,0,0,1,1,1\n0.5,0,0,2,1,1\n";

#[test]
fn usage() {
    let folder = Folder::new();
    folder.write("boxes.csv", BOXES);
    for (arguments, needle) in [
        (vec!["pairs", "boxes.csv", "--sceme", "uniform"], "--sceme"),
        (vec!["pairs"], "<SCENE>"),
        (vec!["pears", "boxes.csv"], "pears"),
        (vec!["pairs", "boxes.csv", "--scheme", "octree"], "octree"),
        (vec!["pairs", "boxes.csv", "--cell-size", "0"], "above zero"),
        (
            vec!["pairs", "boxes.csv", "--scheme", "adaptive", "--min-scale", "nan"],
            "above zero",
        ),
        (vec!["stats"], "<SCENE>"),
        (vec!["pairs", "boxes.csv", "--adapter", ""], "--adapter"),
        (vec!["pairs", "boxes.csv", "--dimensions", "4"], "4"),
        (vec!["pairs", "boxes.csv", "--max-pairs", "0"], "0"),
        (vec!["pairs", "boxes.csv", "--between", "edges"], "two kinds"),
        (vec!["verify"], "--random"),
        (vec!["verify", "--random", "0"], "--random"),
        (vec!["generate", "uniform", "--count", "0"], "--count"),
        (vec!["neighbors", "boxes.csv"], "--radius R, or --nearest K"),
        (vec!["neighbors", "boxes.csv", "--nearest", "2", "--full"], "--full"),
        (
            vec!["pairs", "boxes.csv", "--between", "vertices,face"],
            "unknown kind \"face\": use vertices, edges or faces",
        ),
        (vec!["pairs", "boxes.csv", "--margin", "-.5"], "zero or more"),
        (vec!["pairs", "boxes.csv", "--margin", "-inf"], "zero or more"),
        (vec!["pairs", "boxes.csv", "--margin", "-nan"], "zero or more"),
        (vec!["bench", "uniform", "-"], "a single scene"),
        (vec!["heatmap", "boxes.csv"], "--output"),
        (vec![], "Usage"),
    ] {
        let ran = folder.run(&arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(needle), "{arguments:?}: {}", ran.stderr);
        assert!(
            arguments.is_empty() || ran.stderr.lines().count() == 1,
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("to pass "), "{arguments:?}: {}", ran.stderr);
    }
    let long = folder.run(&["pairs", "boxes.csv", "--margin", &"9".repeat(100_000)]);
    assert!(
        long.stderr.len() < 1_000 && long.stderr.contains("--margin"),
        "{}",
        long.stderr
    );
}

#[test]
fn options_that_do_not_fit_together() {
    let folder = Folder::new();
    folder.write("boxes.csv", BOXES);
    for (option, needle) in [
        (vec!["--dimensions", "2"], "the scene is 3D"),
        (vec!["--free"], "--free needs a mesh"),
        (vec!["--between", "edges,edges"], "--between needs a mesh"),
        (vec!["--elements", "faces"], "--elements needs a mesh"),
        (vec!["--next", "boxes.csv"], "--next needs a mesh"),
        (vec!["--cell-size", "2"], "--scheme uniform"),
        (vec!["--cell-size", "2", "--scheme", "adaptive"], "--scheme uniform"),
        (vec!["--min-scale", "2"], "--scheme adaptive"),
        (vec!["--min-scale", "2", "--scheme", "uniform"], "--scheme adaptive"),
        (
            vec!["--min-scale", "1e28", "--scheme", "adaptive"],
            "it must be between 2^-100 and 2^90",
        ),
        (vec!["--adapter", "any"], "--backend cpu"),
        (vec!["-o", "pairs.txt"], "pairs.txt: wrong ending; use .csv or .npy"),
        (vec!["-o", "nowhere/pairs.csv"], "nowhere/pairs.csv"),
    ] {
        folder.refuses(&[&["pairs", "boxes.csv"], &option[..]].concat(), &[needle]);
    }
}

#[test]
fn tables_as_text() {
    let folder = Folder::new();
    for (name, text, needles) in [
        ("columns.csv", "1,2,3,4,5\n", ["columns.csv", "5 columns"]),
        ("points.csv", "1,2,3\n", ["3 columns", "boxes need 6"]),
        (
            "ragged.csv",
            "0,0,0,1,1,1\n0,0,0,1,1\n",
            ["line 2", "5 columns, expected 6"],
        ),
        (
            "words.csv",
            "0,0,0,1,1,1\n0,0,zero,1,1,1\n",
            ["line 2: column 3", "\"zero\" is not a number"],
        ),
        ("first.csv", "0,0,zero,1,1,1\n", ["line 1", "\"zero\""]),
        ("empty.csv", "", ["empty.csv", "the file is empty"]),
        ("blank.csv", "\n\n", ["blank.csv", "no rows"]),
        (
            "group.csv",
            "a,b,c,d,e,f,layers,group\n0,0,0,1,1,1,1,-1\n",
            ["line 2: column 8", "\"-1\" is not an integer"],
        ),
        ("extra.csv", "0,0,0,1,1,1,1,1\n", ["extra.csv", "8 columns"]),
        (
            "binary.csv",
            "\u{0}\u{1},\u{2}\n\u{3},4\n",
            ["line 2", "is not a number"],
        ),
        ("boxes.bin", BOXES, ["boxes.bin", "unknown file ending"]),
        (
            "lines.txt",
            "# boxes\r\n\r\n x;y;z;a;b;c\r\n0;0;0;1;1;1 # one\r\n\r\n0;0;zero;1;1;1",
            ["line 6: column 3", "\"zero\" is not a number"],
        ),
        ("old_mac.csv", "a,b,c\r0,0,0\r\r0,0,o", ["line 4: column 3", "\"o\""]),
        ("mark.csv", "\u{feff}0,0,0,1,1,1\n0,0,0,1,1\n", ["line 2", "5 columns"]),
        (
            "header.dat",
            "# of 7\nx y z a b c d\n0 0 0 1 1 1\n",
            ["line 3: 6 columns", "expected 7 as in line 2"],
        ),
        (
            "comma.csv",
            "x;y;z;a;b;c\n0;0;0;1,5;1;1\n",
            ["line 2: column 4: \"1,5\"", "use decimal points, not commas"],
        ),
        (
            "comma_first.csv",
            "0,5;0,5;0,5;1,5;1,5;1,5\n",
            ["line 1: column 1: \"0,5\"", "use decimal points, not commas"],
        ),
        (
            "comma_blanks.txt",
            "0,5 0,5 0,5 1,5 1,5 1,5\n",
            ["line 1: column 1: \"0,5\"", "use decimal points, not commas"],
        ),
        (
            "comma_tabs.tsv",
            "x\ty\tz\n0,5\t0,5\t0,5\n",
            ["line 2: column 1: \"0,5\"", "use decimal points, not commas"],
        ),
        (
            "gap.tsv",
            "0\t0\t0\t1\t\t1\n",
            ["line 1: column 5", "\"\" is not a number"],
        ),
        ("quote.csv", "\"0\",\"0,1\n", ["line 1: column 2", "is not a number"]),
    ] {
        folder.write(name, text);
        folder.refuses(&["pairs", name], &needles);
    }
    folder.write("wide.txt", b"\xff\xfe0\0,\x001\0");
    folder.refuses(&["pairs", "wide.txt"], &["wide.txt", "UTF-16"]);
    folder.refuses(&["pairs", "nothing.csv"], &["nothing.csv", "os error 2"]);
    folder.refuses(&["pairs", "."], &[".: not a file"]);
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    folder.refuses(&["pairs", "folder.csv"], &["folder.csv", "not a file"]);
}

#[test]
#[cfg(unix)]
fn pipes() {
    let folder = Folder::new();
    for name in ["pipe.csv", "pipe.npy", "pipe.ply", "pipe.obj"] {
        let made = std::process::Command::new("mkfifo").arg(folder.path(name)).status();
        assert!(made.unwrap().success());
        folder.refuses(&["pairs", name], &[name, "not a regular file"]);
    }
}

#[test]
fn numpy_arrays() {
    let folder = Folder::new();
    let data = [0; 48];
    let header = |dtype: &str, shape: &str| npy_header(dtype, false, shape);
    let mut long_header = b"\x93NUMPY\x02\x00".to_vec();
    long_header.extend(u32::MAX.to_le_bytes());
    let deep = "(".repeat(3000);
    for (name, bytes, needle) in [
        (
            "short.npy",
            npy(&header("<f4", "(2, 6)"), &data[..47]),
            "row 1: truncated",
        ),
        ("bools.npy", npy(&header("|b1", "(8, 6)"), &data), "truth values (bool)"),
        ("complex.npy", npy(&header("<c8", "(1, 6)"), &data), "complex numbers"),
        (
            "quads.npy",
            npy(&header("<f16", "(1, 3)"), &data),
            "floats of more than 8 bytes",
        ),
        (
            "strings.npy",
            npy(&header("<U2", "(1, 6)"), &data),
            "numbers of type <U2",
        ),
        ("objects.npy", npy(&header("|O", "(1, 6)"), &data), "Python objects"),
        ("single.npy", npy(&header("<f8", "()"), &data[..8]), "a single number"),
        (
            "fortran.npy",
            npy(&npy_header("<f4", true, "(2, 6)"), &data[..47]),
            "row 1: truncated",
        ),
        (
            "three.npy",
            npy(&header("<f4", "(1, 3, 4)"), &data),
            "the shape [1, 3, 4]",
        ),
        (
            "four.npy",
            npy(&header("<f4", "(1, 2, 3, 2)"), &data),
            "an array of 4 dimensions",
        ),
        ("flat.npy", npy(&header("<f4", "(12,)"), &data), "1 columns"),
        ("columns.npy", npy(&header("<f4", "(4, 3)"), &data), "3 columns"),
        ("none.npy", npy(&header("<f4", "(0, 0)"), &[]), "0 columns"),
        (
            "huge.npy",
            npy(&header("<f4", "(1000000000000, 6)"), &data),
            "exceeds the file's size",
        ),
        (
            "overflow.npy",
            npy(&header("<f4", "(4294967296, 4294967296)"), &data),
            "exceeds the file's size",
        ),
        (
            "wide.npy",
            npy(&header("<f4", "(0, 4294967296, 4294967296)"), &data),
            "exceeds the file's size",
        ),
        (
            "digits.npy",
            npy(&header("<f4", "(99999999999999999999999, 6)"), &data),
            "exceeds the file's size",
        ),
        ("header.npy", long_header, "truncated: a header of 4294967295 bytes"),
        ("deep.npy", npy(&deep, &data), "invalid header"),
        // An existing parser takes three times longer per `{`.
        (
            "braces.npy",
            npy(&format!("{{'shape': ({} 4", "{".repeat(15)), &data),
            "invalid header",
        ),
        (
            "text.npy",
            npy(&format!("shape {}", "gar{bage\n".repeat(15).repeat(30)), &data),
            "invalid header",
        ),
        (
            "echo.npy",
            npy(&format!("{{'shape': ({}", "x".repeat(3900)), &data),
            "invalid header",
        ),
        (
            "zeros.npy",
            npy(&header("<f4", &format!("({}9999, 6)", "0".repeat(3000))), &data),
            "0000… exceeds the file's size",
        ),
        ("garbage.npy", npy("shape gar{bage", &data), "invalid header"),
        ("magic.npy", b"NUMPY, but not quite".to_vec(), "not an NPY file"),
        ("stub.npy", b"\x93NUM".to_vec(), "too short"),
        ("empty.npy", vec![], "the file is empty"),
    ] {
        folder.write(name, bytes);
        let said = folder.refuses(&["pairs", name], &[name, needle]);
        assert!(said.len() < 200, "{said}");
    }
}

#[test]
fn rays() {
    let folder = Folder::new();
    folder.write("boxes.csv", BOXES);
    folder.write("three.csv", "0,0,0\n");
    folder.write("flat.csv", "0,0,1,0,9\n");
    folder.refuses(
        &["rays", "boxes.csv", "three.csv"],
        &["three.csv", "3 columns; rays need 7"],
    );
    folder.refuses(
        &["rays", "boxes.csv", "flat.csv"],
        &["flat.csv", "the rays are 2D and the scene is 3D"],
    );
    folder.write("filters.csv", "a,b,c,d,e,f,g,layers,group\n0,0,0,1,0,0,9,1,1\n");
    folder.refuses(
        &["rays", "boxes.csv", "filters.csv"],
        &["filters.csv", "cannot have layers"],
    );
    folder.write("rays.ply", "ply\n");
    folder.refuses(
        &["rays", "boxes.csv", "rays.ply"],
        &["rays.ply", "a PLY mesh; use a table (.csv"],
    );
}

const PLY_VERTICES: &str =
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
const PLY_FACES: &str = "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n";

#[test]
fn ply_meshes() {
    let folder = Folder::new();
    let faces = |count: &str, rows: &str| format!("{PLY_VERTICES}element face {count}\n{PLY_FACES}{rows}");
    let edges = |kind: &str, rows: &str| {
        format!(
            "{PLY_VERTICES}element face 1\nproperty list uchar int vertex_indices\nelement edge 1\n\
             property int vertex1\nproperty {kind} vertex2\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n{rows}"
        )
    };
    let no_faces = format!("{PLY_VERTICES}end_header\n0 0 0\n1 0 0\n0 1 0\n");
    let flat = PLY_VERTICES.replace("property float z\n", "") + "end_header\n0 0\n0 0\n0 0\n";
    let binary = PLY_VERTICES.replace("ascii", "binary_little_endian");
    let huge = binary.replace("vertex 3", "vertex 99999999999") + "end_header\n";
    let overflow = binary.replace("vertex 3", "vertex 18446744073709551615") + "end_header\n";
    let nothing = "ply\nformat ascii 1.0\nelement thing 99999999999\nend_header\n";
    for (name, text, needle) in [
        ("no_faces.ply", no_faces, "no faces; use --elements vertices"),
        (
            "range.ply",
            faces("1", "3 0 1 3\n"),
            "face 0: unknown vertex 3: there are 3",
        ),
        ("negative.ply", faces("1", "3 0 1 -1\n"), "face 0"),
        (
            "two.ply",
            faces("1", "2 0 1\n"),
            "two.ply: no faces; skipped 1 face of fewer than 3 vertices",
        ),
        (
            "rest.ply",
            faces("1", "3 0 1 2 0\n"),
            "face 0: more numbers than properties",
        ),
        ("count.ply", faces("1", "-3 0 1 2\n"), "face 0: \"-3\" is not a number"),
        (
            "long.ply",
            faces("1", &format!("3 0 1 {}\n", "x".repeat(5000))),
            "face 0: \"xxx",
        ),
        (
            "vertex.ply",
            faces("1", "3 0 1 2\n").replace("1 0 0", "1 1,5 0"),
            "vertex 1: \"1,5\"",
        ),
        ("fewer.ply", faces("2", "3 0 1 2\n"), "face 1: truncated"),
        ("list.ply", faces("1", "200 0 1 2\n"), "face 0"),
        (
            "many.ply",
            faces("4000000000", "3 0 1 2\n"),
            "truncated: 4000000000 \"face\" elements",
        ),
        ("word.ply", faces("1", "3 0 one 2\n"), "face 0"),
        ("flat.ply", flat, "vertices need a number z, or --dimensions 2"),
        ("huge.ply", huge, "truncated: 99999999999 \"vertex\" elements"),
        ("overflow.ply", overflow, "truncated"),
        (
            "nothing.ply",
            nothing.to_owned(),
            "truncated: 99999999999 \"thing\" elements",
        ),
        (
            "cut.ply",
            binary.clone() + "end_header\n" + &"x".repeat(35),
            "truncated",
        ),
        ("header.ply", PLY_VERTICES.to_owned(), "header"),
        (
            "edge_range.ply",
            edges("int", "0 3\n"),
            "edge 0: unknown vertex 3: there are 3, from 0",
        ),
        (
            "edge_negative.ply",
            edges("int", "0 -1\n"),
            "edge 0: a vertex index must be",
        ),
        (
            "edge_half.ply",
            edges("int", "0 0.5\n"),
            "edge 0: a vertex index must be",
        ),
        (
            "edge_huge.ply",
            edges("int", "0 4294967296\n"),
            "edge 0: a vertex index must be",
        ),
        (
            "edge_nan.ply",
            edges("int", "nan 0\n"),
            "edge 0: a vertex index must be",
        ),
        ("edge_word.ply", edges("int", "0 one\n"), "edge 0: \"one\""),
        ("edge_fewer.ply", edges("int", "0\n"), "edge 0: truncated"),
        (
            "edge_float.ply",
            edges("float", "0 1\n"),
            "edges need an integer vertex2",
        ),
        (
            "edge_names.ply",
            edges("int", "0 1\n").replace("vertex1", "a"),
            "edges need an integer vertex1",
        ),
        (
            "edge_many.ply",
            edges("int", "0 1\n").replace("edge 1", "edge 4000000000"),
            "truncated: 4000000000 \"edge\" elements",
        ),
        ("magic.ply", "plywood\n".to_owned(), "magic number"),
        ("empty.ply", String::new(), "the file is empty"),
    ] {
        folder.write(name, text);
        let said = folder.refuses(&["pairs", name], &[name, needle]);
        assert!(said.len() < 200, "{said}");
    }
}

#[test]
fn ply_strips() {
    let folder = Folder::new();
    let strips = |format: &str, list: &str, count: u32| {
        let vertices = PLY_VERTICES.replace("ascii", format);
        format!("{vertices}element tristrips {count}\nproperty list {list} vertex_indices\nend_header\n")
    };
    let text = |list: &str, rows: &str| {
        let head = strips("ascii", list, rows.lines().count() as u32);
        format!("{head}0 0 0\n1 0 0\n0 1 0\n{rows}").into_bytes()
    };
    let binary = |format: &str, members: &[u8]| {
        let mut bytes = strips(format, "int int", 1).into_bytes();
        bytes.extend([0; 36]);
        bytes.extend(members);
        bytes
    };
    let many = [&i32::MAX.to_le_bytes()[..], &[0; 40]].concat();
    let far = [4, 0, 1, 2, 3].map(i32::to_be_bytes).concat();
    for (name, bytes, needle) in [
        (
            "range.ply",
            text("int int", "3 0 1 2\n5 0 1 2 -1 3\n"),
            "tristrips 1: unknown vertex 3: there are 3, from 0",
        ),
        (
            "joined.ply",
            text("int int", "6 0 1 2 2 9 9\n"),
            "tristrips 0: unknown vertex 9: there are 3, from 0",
        ),
        (
            "range_be.ply",
            binary("binary_big_endian", &far),
            "tristrips 0: unknown vertex 3: there are 3, from 0",
        ),
        (
            "negative.ply",
            text("char short", "4 0 1 2 -2\n"),
            "tristrips 0: a vertex index must be an integer of 0 or more; -1 ends a strip",
        ),
        (
            "real.ply",
            text("int float", "3 0 1 2\n"),
            "tristrips 0: a vertex index must be",
        ),
        (
            "name.ply",
            String::from_utf8(text("int int", "3 0 1 2\n"))
                .unwrap()
                .replace("vertex_indices", "strip")
                .into_bytes(),
            "tristrips need a list vertex_indices or vertex_index",
        ),
        (
            "fewer.ply",
            text("int int", "2000000000 0 1 2\n"),
            "tristrips 0: truncated",
        ),
        (
            "less.ply",
            text("int int", "-3 0 1 2\n"),
            "tristrips 0: \"-3\" is not a number",
        ),
        (
            "many.ply",
            binary("binary_little_endian", &many),
            "tristrips 0: truncated",
        ),
        (
            "minus.ply",
            binary("binary_little_endian", &[255; 8]),
            "tristrips 0: List length cannot be negative",
        ),
        (
            "rows.ply",
            [
                strips("binary_little_endian", "uint uint", 4_000_000_000).into_bytes(),
                vec![0; 40],
            ]
            .concat(),
            "truncated: 4000000000 \"tristrips\" elements",
        ),
        (
            "short.ply",
            text("int int", "3 0 1 -1\n"),
            "no faces; skipped 1 strip of fewer than 3 vertices, the first in tristrips 0",
        ),
    ] {
        folder.write(name, bytes);
        let said = folder.refuses(&["pairs", name], &[name, needle]);
        assert!(said.len() < 200, "{said}");
    }
}

#[test]
fn meshes_without_the_wanted_elements() {
    let folder = Folder::new();
    let cloud = format!("{PLY_VERTICES}end_header\n0 0 0\n1 0 0\n0 1 0\n");
    folder.write("cloud.ply", &cloud);
    folder.write("boxes.csv", BOXES);
    folder.write("cloud.obj", "v 0 0 0\nv 1 0 0\n");
    let cloud_of_gltf = r#"{"asset":{"version":"2.0"},"nodes":[{"mesh":0}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0},"mode":0}]}],
"accessors":[{"bufferView":0,"componentType":5126,"count":1,"type":"VEC3"}],
"bufferViews":[{"buffer":0,"byteLength":12}],
"buffers":[{"byteLength":12,"uri":"data:;base64,AAAAAAAAAAAAAAAA"}]}"#;
    folder.write("cloud.gltf", cloud_of_gltf);
    for name in ["cloud.ply", "cloud.obj", "cloud.gltf"] {
        for command in [
            &["pairs", name][..],
            &["rays", name, "boxes.csv"],
            &["query", name, "boxes.csv"],
            &["stats", name],
            &["verify", name],
            &["why", name, "0", "1"],
            &["heatmap", name, "-o", "a.png"],
        ] {
            let ran = folder.run(command);
            let expected = format!("broadphase: {name}: no faces; use --elements vertices\n");
            assert_eq!((ran.status, ran.stderr), (2, expected), "{command:?}");
        }
        for (options, hint) in [
            (
                ["--elements", "edges"],
                "no edges and no faces; use --elements vertices",
            ),
            (["--elements", "vertices,faces"], "no faces; use --elements vertices"),
            (
                ["--between", "edges,edges"],
                "no edges and no faces; use --between vertices,vertices",
            ),
            (
                ["--between", "vertices,faces"],
                "no faces; use --between vertices,vertices",
            ),
        ] {
            folder.refuses(&[&["pairs", name], &options[..]].concat(), &[name, hint]);
        }
        folder.cpu(&["pairs", name, "--elements", "vertices"]);
        folder.cpu(&["pairs", name, "--between", "vertices,vertices"]);
    }
    folder.write("wire.obj", "v 0 0 0\nv 1 0 0\nl 1 2\n");
    for (options, hint) in [
        (["--elements", "faces"], "no faces, 1 edge; use --elements edges"),
        (
            ["--between", "vertices,faces"],
            "no faces, 1 edge; use --between edges,edges",
        ),
    ] {
        folder.refuses(&[&["pairs", "wire.obj"], &options[..]].concat(), &[hint]);
    }
}

#[test]
fn obj_meshes() {
    let folder = Folder::new();
    for (name, text, needles) in [
        (
            "range.obj",
            "v 0 0 0\nv 1 0 0\nf 1 2 3\n",
            ["line 3", "unknown vertex 3: there are 2"],
        ),
        ("zero.obj", "v 0 0 0\nf 0 1 1\n", ["line 2", "unknown vertex 0"]),
        ("short.obj", "v 0 0\n", ["line 1", "3 numbers"]),
        ("word.obj", "v 0 0 zero\n", ["line 1", "\"zero\" is not a number"]),
        (
            "two.obj",
            "v 0 0 0\nv 1 0 0\nf 1 2\n",
            ["no faces; skipped 1 face of fewer than 3", "in line 3"],
        ),
        (
            "line_range.obj",
            "v 0 0 0\nv 1 0 0\nl 1 2 3\nf 1 2 1\n",
            ["line 3", "unknown vertex 3: there are 2"],
        ),
        (
            "line_back.obj",
            "v 0 0 0\nl 1 -2\n",
            ["line 2", "unknown vertex -2: 1 so far"],
        ),
        (
            "line_word.obj",
            "v 0 0 0\nl 1 x/1\n",
            ["line 2", "\"x/1\" is not a vertex"],
        ),
        (
            "line_one.obj",
            "v 0 0 0\nl 1\n",
            ["no faces; skipped 1 line of fewer than 2", "in line 2"],
        ),
        (
            "line_none.obj",
            "v 0 0 0\nl\n",
            ["no faces; skipped 1 line of fewer than 2", "in line 2"],
        ),
        ("joined.obj", "v 0 \\\n 0 0\nv 1 \\\n0 zero\n", ["line 3", "\"zero\""]),
        ("goes_on.obj", "v 0 0 0\nf 1 1 1 \\\n", ["line 2", "truncated"]),
        (
            "no_faces.obj",
            "v 0 0 0\n",
            ["no_faces.obj", "no faces; use --elements vertices"],
        ),
        ("nothing.obj", "# nothing\n", ["nothing.obj", "no vertices"]),
    ] {
        folder.write(name, text);
        folder.refuses(&["pairs", name], &needles);
    }
}

#[test]
fn frames_that_do_not_belong_together() {
    let folder = Folder::new();
    folder.write("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    for (name, text, needle) in [
        (
            "vertices.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 1 1\nf 1 2 3\n",
            "vertex count differs: 4, 3 in the first frame",
        ),
        (
            "faces.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 3 2\n",
            "face count differs: 2, 1 in the first frame",
        ),
        (
            "other.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 3 2\n",
            "face 0 has other vertices",
        ),
    ] {
        folder.write(name, text);
        folder.refuses(&["pairs", "a.obj", "--next", name], &[name, needle]);
    }
    let wired = |line: &str| format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 1 1\nv 1 1 1\nf 1 2 3\n{line}");
    folder.write("wire.obj", wired("l 3 4 5\n"));
    folder.write("same.obj", wired("l 5 4\nl 1 2\nl 4 3\n"));
    folder.cpu(&["pairs", "wire.obj", "--next", "same.obj"]);
    for (name, line, needle) in [
        ("fewer.obj", "l 3 4\n", "edge count differs: 4, 5 in the first frame"),
        ("moved.obj", "l 3 4\nl 3 5\n", "edge 4 has other vertices"),
    ] {
        folder.write(name, wired(line));
        folder.refuses(&["pairs", "wire.obj", "--next", name], &[name, needle]);
    }
    folder.refuses(
        &["pairs", "a.obj", "--elements", "edges", "--between", "faces,edges"],
        &["faces", "--elements"],
    );
    folder.refuses(
        &["pairs", "a.obj", "--next", "boxes.csv"],
        &["boxes.csv", "No such file"],
    );
    folder.write("boxes.csv", BOXES);
    folder.refuses(
        &["pairs", "a.obj", "--next", "boxes.csv"],
        &["boxes.csv", "a table as text; use a mesh (.ply"],
    );
}

#[test]
fn generating() {
    let folder = Folder::new();
    for (arguments, needle) in [
        (vec!["cloth", "--count", "50"], "NAME.ply"),
        (vec!["cloth", "--count", "50", "-o", "a.csv"], "NAME.ply"),
        (
            vec!["cloth", "--count", "4294967295", "-o", "a.ply"],
            "at most 1000000 vertices",
        ),
        (vec!["rays", "--count", "5", "--t-max", "nan"], "0 or more"),
        (vec!["rays", "--count", "5", "--t-max=-1"], "0 or more"),
        (vec!["uniform", "--count", "5", "--side", "3"], "--side"),
        (vec!["points", "--count", "5", "--t-max", "3"], "--t-max"),
        (vec!["lattice", "--count", "5", "-o", "a.ply"], "a.ply"),
    ] {
        let ran = folder.run(&[&["generate"], &arguments[..]].concat());
        assert_eq!(
            (ran.status, ran.stderr.lines().count()),
            (2, 1),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(needle), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn cells_are_neither_lost_nor_made_up() {
    let folder = Folder::new();
    folder.write("long.csv", "0,0,0,1,1,1\n0,0,0,1,1,1,0.5\n");
    folder.refuses(&["pairs", "long.csv"], &["line 2", "7 columns, expected 6"]);
    folder.write("blank.tsv", "\t\t0\t0\t1\t1\n\t\t0\t0\t1\t1\n");
    folder.refuses(&["pairs", "blank.tsv"], &["line 1", "column 1", "is not a number"]);
    folder.write("header.csv", "a,b,c,d,e,f,layers,group\n");
    assert_eq!(folder.cpu(&["pairs", "header.csv"]), "");
}

#[test]
fn texts_of_meshes_may_begin_with_a_mark() {
    let folder = Folder::new();
    let triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    folder.write("plain.obj", triangle);
    folder.write("marked.obj", format!("\u{feff}{triangle}"));
    let elements = ["--elements", "vertices,faces"];
    let [plain, marked] =
        ["plain.obj", "marked.obj"].map(|name| folder.cpu(&[&["pairs", name], &elements[..]].concat()));
    assert!(plain == marked && plain.lines().count() == 3, "{plain}{marked}");
}
