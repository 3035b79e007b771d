//! Meshes as other programs write them. Skipped content always causes a warning.

use std::path::Path;

use crate::support::Folder;
use broadphase::input;
use broadphase::report::Reporter;

/// Two triangles with edges 4 to 8, and faces 9 and 10.
const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]];
const FACES: [[usize; 3]; 2] = [[0, 1, 2], [0, 1, 3]];

const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 5\n";
const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n";
const PLY_ROWS: &str = "0 0 0\n1 0 0\n0 1 0\n0 0 5\n";

fn ply(faces: &[&str]) -> String {
    format!(
        "{PLY}element face {}\nproperty list uchar int vertex_indices\nend_header\n{PLY_ROWS}{}\n",
        faces.len(),
        faces.join("\n")
    )
}

#[test]
fn elements_of_too_few_vertices_are_left_out_without_a_number() {
    let folder = Folder::new();
    for (name, text, warning) in [
        (
            "last.obj",
            format!("{OBJ}f 1 2 3\nf 1 2 4\nf 1 2\n"),
            "last.obj: skipped 1 face of fewer than 3 vertices, the first in line 7",
        ),
        (
            "first.obj",
            format!("f 1\nf\nf 1/1 2/2\n{OBJ}f 1 2 3\nf 1 2 4\n").replace("f 1\n", "# f\n"),
            "first.obj: skipped 2 faces of fewer than 3 vertices, the first in line 2",
        ),
        (
            "lines.obj",
            format!("{OBJ}l 1\nl\nf 1 2 3\nl 3\nf 1 2 4\nl 1 2\n"),
            "lines.obj: skipped 3 lines of fewer than 2 vertices, the first in line 5",
        ),
        (
            "none.ply",
            ply(&["3 0 1 2", "0", "3 0 1 3"]),
            "none.ply: skipped 1 face of fewer than 3 vertices, the first in face 1",
        ),
        (
            "two.ply",
            ply(&["2 0 1", "1 3", "3 0 1 2", "3 0 1 3", "0"]),
            "two.ply: skipped 3 faces of fewer than 3 vertices, the first in face 0",
        ),
    ] {
        folder.write(name, text);
        folder.answers(&["pairs", name], "9,10\n", warning);
    }
    let header = ply(&[""; 3]).replace("ascii", "binary_little_endian");
    let mut binary = header.as_bytes()[..header.find(PLY_ROWS).unwrap()].to_vec();
    binary.extend(CORNERS.as_flattened().iter().flat_map(|value| value.to_le_bytes()));
    for face in [&[0_i32, 1, 2][..], &[1, 2], &[0, 1, 3]] {
        binary.push(face.len() as u8);
        binary.extend(face.iter().flat_map(|vertex| vertex.to_le_bytes()));
    }
    folder.write("binary.ply", binary);
    folder.answers(
        &["pairs", "binary.ply"],
        "9,10\n",
        "skipped 1 face of fewer than 3 vertices, the first in face 1",
    );

    folder.write("points.obj", format!("{OBJ}l 1 2 3 4\nf 1\nf 2\nf 3\nf 4\n"));
    let edges = ["pairs", "points.obj", "--elements", "edges"];
    folder.answers(&edges, "4,5\n4,6\n5,6\n", "skipped 4 faces of fewer");
    folder.write("loop.obj", format!("{OBJ}l 1 2 2 3\n"));
    let edges = ["pairs", "loop.obj", "--elements", "edges"];
    folder.answers(&edges, "4,5\n", "skipped 1 edge from a vertex to itself");

    for (name, text, needle) in [
        (
            "far.obj",
            format!("{OBJ}f 1 2 3\nf 1 9\n"),
            "line 6: unknown vertex 9: there are 4",
        ),
        (
            "far_line.obj",
            format!("{OBJ}f 1 2 3\nl 9\n"),
            "line 6: unknown vertex 9: there are 4",
        ),
        (
            "word.obj",
            format!("{OBJ}f 1 2 3\nf 1 x\n"),
            "line 6: \"x\" is not a vertex",
        ),
        ("zero.obj", format!("{OBJ}f 1 2 3\nl 0\n"), "line 6: unknown vertex 0"),
        (
            "far.ply",
            ply(&["3 0 1 2", "2 0 4"]),
            "face 1: unknown vertex 4: there are 4, from 0",
        ),
        (
            "after.ply",
            ply(&["0", "3 0 1 2", "1 0", "3 0 1 4"]),
            "face 3: unknown vertex 4: there are 4, from 0",
        ),
        (
            "only.obj",
            format!("{OBJ}f 1 2\n"),
            "no faces; skipped 1 face of fewer than 3 vertices, the first in line 5",
        ),
        (
            "only.ply",
            ply(&["0", "0"]),
            "no faces; skipped 2 faces of fewer than 3",
        ),
    ] {
        folder.write(name, text);
        folder.refuses(&["pairs", name], &[name, needle]);
    }
}

#[test]
fn headers_and_lines_of_ply_files_come_in_every_way() {
    let folder = Folder::new();
    let good = ply(&["3 0 1 2", "3 0 1 3"]);
    let latin = |word: &str| {
        let (before, after) = good.split_once("element vertex").unwrap();
        [
            before.as_bytes(),
            word.as_bytes(),
            b" caf\xe9 \xff\n",
            b"element vertex",
            after.as_bytes(),
        ]
        .concat()
    };
    let words: Vec<_> = PLY_ROWS
        .split_whitespace()
        .chain(["3", "0", "1", "2", "3", "0", "1", "3"])
        .collect();
    let header = &good[..good.find(PLY_ROWS).unwrap()];
    for (name, bytes) in [
        ("comment.ply", latin("comment")),
        ("info.ply", latin("obj_info")),
        ("one_line.ply", format!("{header}{}", words.join(" ")).into_bytes()),
        (
            "one_word.ply",
            format!("{header}\n{}\n\n", words.join("\n\n")).into_bytes(),
        ),
        (
            "five.ply",
            format!(
                "{header}{}\n",
                words
                    .chunks(5)
                    .map(|five| five.join("\t"))
                    .collect::<Vec<_>>()
                    .join("\r\n")
            )
            .into_bytes(),
        ),
        ("returns.ply", good.replace('\n', "\r").into_bytes()),
        ("windows.ply", good.replace('\n', "\r\n").into_bytes()),
        ("marked.ply", format!("\u{feff}{good}").into_bytes()),
        (
            "tabs.ply",
            good.replace("property float x", "property \tfloat  x ").into_bytes(),
        ),
    ] {
        folder.write(name, bytes);
        folder.answers(&["pairs", name], "9,10\n", "");
    }
    // The first data byte is a line feed. Taken for a line end, it would be missing.
    let binary = format!("{PLY}element face 0\nend_header\n").replace("ascii", "binary_little_endian");
    let data: Vec<u8> = (0..12_u32)
        .flat_map(|number| (0x3f80_000a + number).to_le_bytes())
        .collect();
    for (name, header) in [
        ("feed.ply", binary.clone()),
        ("feed_returns.ply", binary.replace('\n', "\r")),
        ("feed_windows.ply", binary.replace('\n', "\r\n")),
    ] {
        folder.write(name, [header.as_bytes(), &data].concat());
        folder.answers(&["pairs", name, "--elements", "vertices", "--count-only"], "0\n", "");
    }
    for (name, elements) in [
        ("no_list.ply", "element face 0\n"),
        ("other_list.ply", "element face 0\nproperty list uchar int corners\n"),
        ("number.ply", "element face 0\nproperty int vertex_indices\n"),
        (
            "edges.ply",
            "element edge 0\nelement face 0\nproperty list uchar int tristrips\n",
        ),
    ] {
        folder.write(name, format!("{PLY}{elements}end_header\n{PLY_ROWS}"));
        folder.answers(&["pairs", name, "--elements", "vertices"], "", "");
    }
    let lines = |rows: &str| format!("{header}{rows}");
    for (name, text, needle) in [
        (
            "missing.ply",
            lines("0 0 0\n1 0\n0 1 0\n0 0 5\n3 0 1 2\n3 0 1 3\n"),
            "vertex 1: fewer numbers than properties in its line",
        ),
        (
            "extra.ply",
            lines("0 0 0\n1 0 0 7\n0 1 0\n0 0 5\n3 0 1 2\n3 0 1 3\n"),
            "vertex 1: more numbers than properties in its line",
        ),
        (
            "rest.ply",
            lines(&format!("{} 1", words.join(" "))),
            "unexpected numbers after the last element",
        ),
        (
            "cut.ply",
            lines(&words[..words.len() - 1].join(" ")),
            "face 1: truncated",
        ),
        (
            "list.ply",
            good.replace("vertex_indices", "corners"),
            "faces need a list vertex_indices or vertex_index",
        ),
        (
            "latin.ply",
            good.replace("element vertex", "element v\u{e9}rtex"),
            "parse line",
        ),
    ] {
        folder.write(name, text);
        let said = folder.refuses(&["pairs", name], &[name, needle]);
        assert!(said.len() < 300, "{said}");
    }
}

fn faces(path: &Path) -> Vec<Vec<u32>> {
    let [mesh, _] = input::frames([path; 2], Reporter { quiet: true }).unwrap();
    mesh.faces.iter().map(<[u32]>::to_vec).collect()
}

const SIZES: [(&str, usize); 6] = [
    ("char", 1),
    ("uchar", 1),
    ("short", 2),
    ("ushort", 2),
    ("int", 4),
    ("uint", 4),
];

fn strips(format: &str, types: [(&str, usize); 2], rows: &[&[i64]]) -> Vec<u8> {
    let [(count, _), (index, _)] = types;
    let list = format!("property list {count} {index} vertex_indices\nend_header\n");
    let mut bytes = format!("{PLY}element tristrips {}\n{list}", rows.len()).replace("ascii", format);
    if format == "ascii" {
        bytes += PLY_ROWS;
        for row in rows {
            let words: Vec<_> = row.iter().map(i64::to_string).collect();
            bytes += &format!("{} {}\n", row.len(), words.join(" "));
        }
        return bytes.into_bytes();
    }
    let is_big = format == "binary_big_endian";
    let mut bytes = bytes.into_bytes();
    let mut add = |number: i64, size: usize| match is_big {
        true => bytes.extend(&number.to_be_bytes()[8 - size..]),
        false => bytes.extend(&number.to_le_bytes()[..size]),
    };
    for corner in CORNERS.as_flattened() {
        add(corner.to_bits().into(), 4);
    }
    for row in rows {
        add(row.len() as i64, types[0].1);
        row.iter().for_each(|&index| add(index, types[1].1));
    }
    bytes
}

#[test]
fn triangle_strips_of_ply_files_are_faces() {
    let folder = Folder::new();
    let expected = [[0, 1, 2], [1, 3, 2], [2, 3, 0], [3, 2, 1], [2, 0, 1]];
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        for count in SIZES {
            for index in SIZES {
                // Only signed integers, and the largest unsigned one, have a -1.
                let ends_strips = !index.0.starts_with('u') || (index.0 == "uint" && format != "ascii");
                let rows: &[&[i64]] = match ends_strips {
                    true => &[&[0, 1, 2, 3, 0, -1, -1, 3, 2, 1, -1], &[-1, 2, 0, 1]],
                    false => &[&[0, 1, 2, 3, 0], &[], &[3, 2, 1], &[2, 0, 1]],
                };
                let path = folder.write("strips.ply", strips(format, [count, index], rows));
                assert_eq!(faces(&path), expected, "{format} {count:?} {index:?}");
            }
        }
    }

    let int = ("int", 4);
    let text = |rows: &[&[i64]]| strips("ascii", [int, int], rows);
    folder.write("strips.ply", text(&[&[0, 1, 2, 3, -1, 0, 1, 2, -1]]));
    folder.answers(&["pairs", "strips.ply"], "9,10\n9,11\n10,11\n", "");
    let joined = folder.write("joined.ply", text(&[&[0, 1, 2, 2, 3, 3, 1, 0]]));
    assert_eq!(faces(&joined), [[0, 1, 2], [3, 0, 1]]);
    folder.answers(&["pairs", "joined.ply"], "9,10\n", "");
    folder.write("short.ply", text(&[&[0, 1], &[0, 1, 2, -1, 3], &[0, 1, 3]]));
    folder.answers(
        &["pairs", "short.ply"],
        "9,10\n",
        "short.ply: skipped 2 strips of fewer than 3 vertices, the first in tristrips 0; skipped ones get no ids",
    );

    // Triangles of strips follow the faces.
    let list = |element: &str| format!("element {element}\nproperty list uchar int vertex_index\n");
    let vertices = PLY.strip_prefix("ply\nformat ascii 1.0\n").unwrap();
    let header = format!(
        "ply\nformat ascii 1.0\n{}{}{vertices}",
        list("tristrips 1"),
        list("face 3")
    );
    let mixed = |last: &str| format!("{header}end_header\n4 0 1 3 2\n3 0 1 2\n2 0 1\n{last}\n{PLY_ROWS}");
    let path = folder.write("mixed.ply", mixed("4 0 1 2 3"));
    assert_eq!(faces(&path), [&[0, 1, 2][..], &[0, 1, 2, 3], &[0, 1, 3], &[1, 2, 3]]);
    folder.write("far.ply", mixed("3 0 1 4"));
    folder.refuses(&["pairs", "far.ply"], &["far.ply: face 2: unknown vertex 4"]);
}

#[test]
fn elements_of_ply_files_that_are_skipped_are_named() {
    let folder = Folder::new();
    let with = |elements: &str, rows: &str| {
        let face = "element face 2\nproperty list uchar int vertex_indices\n";
        format!("{PLY}{face}{elements}end_header\n{PLY_ROWS}3 0 1 2\n3 0 1 3\n{rows}")
    };
    let grid = "element range_grid 3\nproperty list uchar int vertex_indices\n";
    let material = "element material 1\nproperty int red\nproperty list uchar float alpha\n";
    let points = "element point 1\nproperty float x\nproperty float y\nproperty float z\n";
    let hole = "element hole 1\nproperty int edge\n";
    for (name, elements, rows, warning, remark) in [
        (
            "material.ply",
            material.to_owned(),
            "1 1 0.5\n",
            "",
            "skipped elements: 1 \"material\"\n",
        ),
        (
            "grid.ply",
            format!("{grid}{material}"),
            "1 0\n0\n1 3\n1 0\n",
            "grid.ply: skipped elements: 3 \"range_grid\"\n",
            "skipped elements: 1 \"material\"\n",
        ),
        (
            "four.ply",
            format!("{grid}{points}{hole}{}", hole.replace("hole", "cell")),
            "1 0\n0\n1 3\n0 0 0\n1\n2\n",
            "four.ply: skipped elements: 3 \"range_grid\", 1 \"point\", 2 more kinds\n",
            "",
        ),
        ("none.ply", hole.replace("hole 1", "hole 0"), "", "", ""),
    ] {
        folder.write(name, with(&elements, rows));
        folder.answers(&["pairs", name], "9,10\n", warning);
        let ran = folder.run(&["pairs", name, "--backend", "cpu"]);
        assert!(ran.stderr.contains(remark), "{}", ran.stderr);
        assert_eq!(
            ran.stderr.matches("skipped").count(),
            [warning, remark].concat().matches("skipped").count(),
            "{name}: {}",
            ran.stderr
        );
    }
    // A range grid only lists vertices.
    folder.answers(&["pairs", "grid.ply", "--elements", "vertices"], "", "");
    folder.answers(&["neighbors", "grid.ply", "--radius", "1"], "0,1\n0,2\n", "");
    folder.answers(
        &["neighbors", "four.ply", "--radius", "1"],
        "0,1\n0,2\n",
        "four.ply: skipped elements: 1 \"point\"\n",
    );
    let scan = format!("{PLY}{grid}end_header\n{PLY_ROWS}1 0\n0\n1 3\n");
    folder.write("scan.ply", scan);
    folder.refuses(
        &["pairs", "scan.ply"],
        &["scan.ply: no faces; skipped elements: 3 \"range_grid\"; use --elements vertices\n"],
    );
    folder.answers(&["neighbors", "scan.ply", "--radius", "1"], "0,1\n0,2\n", "");
}

fn facet(face: [usize; 3], newline: &str) -> String {
    let vertices = face.map(|vertex| {
        let [x, y, z] = CORNERS[vertex];
        format!("vertex {x} {y} {z}{newline}")
    });
    let vertices = vertices.concat();
    format!("facet normal 0 0 1{newline}outer loop{newline}{vertices}endloop{newline}endfacet{newline}")
}

fn stl_text() -> String {
    let facets = FACES.map(|face| facet(face, "\n")).concat();
    format!("solid a part\n{facets}endsolid a part\n")
}

#[test]
fn text_stl_is_read_as_exporters_write_it() {
    let folder = Folder::new();
    let text = stl_text();
    let one_line = FACES.map(|face| facet(face, " ")).concat();
    let no_end = "1 solid without endsolid: the file may be truncated";
    for (name, text, warning) in [
        ("end_solid.stl", text.replace("endsolid", "end solid"), ""),
        (
            "end_loop.stl",
            text.replace("endloop", "end loop").replace("endfacet", "End Facet"),
            "",
        ),
        ("open.stl", text.replace("endsolid a part\n", "\n"), no_end),
        ("upper.stl", text.to_uppercase(), ""),
        ("nul.stl", text.clone() + &"\0".repeat(300), ""),
        ("nul_line.stl", text.trim_end().to_owned() + "\0", ""),
        (
            "colour.stl",
            text.replace("facet normal", "color 0.5 0.25 1\nfacet normal"),
            "",
        ),
        (
            "colour_facet.stl",
            text.replace("endfacet", "COLOR 255 0 0\nendfacet"),
            "",
        ),
        ("outer.stl", text.replace("\nouter", " outer"), ""),
        ("one_line.stl", format!("solid {one_line}endsolid"), ""),
        (
            "named_line.stl",
            format!("solid facet of a part {one_line}endsolid part"),
            "",
        ),
        (
            "name.stl",
            text.replace("a part", "a facet with  blanks; end solid"),
            "",
        ),
        ("no_name.stl", text.replace(" a part", ""), ""),
        ("blank.stl", format!("\n  {}", text.replace('\n', "\n\n\t")), ""),
        ("returns.stl", text.replace('\n', "\r"), ""),
        (
            "normal.stl",
            text.replace("0 0 1\nouter", "-nan(ind) 1.#QNAN\nouter"),
            "",
        ),
    ] {
        folder.write(name, text);
        folder.answers(&["pairs", name], "9,10\n", warning);
    }
    let twice = "9,10\n9,11\n9,12\n10,11\n10,12\n11,12\n";
    let open = text.replace("endsolid a part\n", "");
    for (name, text, warning) in [
        ("solids.stl", format!("{text}\n{text}"), ""),
        ("first_open.stl", format!("{open}{text}"), no_end),
        ("both_open.stl", format!("{open}{open}"), "2 solids without endsolid"),
    ] {
        folder.write(name, text);
        folder.answers(&["pairs", name], twice, warning);
    }
    for (name, text, needle) in [
        (
            "facet.stl",
            text.split_at(text.rfind("endfacet").unwrap()).0.to_owned(),
            "ends within a facet",
        ),
        (
            "comment.stl",
            text.replace("endsolid", "; no\nendsolid"),
            "line 16: unexpected \";\"",
        ),
        ("end.stl", text.replace("endloop", "end"), "line 7: unexpected \"end\""),
        (
            "loop.stl",
            text.replace("outer loop", "outer"),
            "line 3: unexpected \"outer\"",
        ),
        (
            "vertex.stl",
            text.replace("vertex 1 0 0", "vertex 1 0"),
            "a vertex needs 3 numbers",
        ),
        (
            "back.stl",
            text.replace("endsolid a part", "endsolid\nfacet"),
            "unexpected \"facet\"",
        ),
    ] {
        folder.write(name, text);
        folder.refuses(&["pairs", name], &[name, needle]);
    }
}

fn stl_bytes(start: &str, attributes: &[u8], counts: u16) -> Vec<u8> {
    let mut bytes = start.as_bytes().to_vec();
    bytes.resize(80, b' ');
    bytes.extend(2_u32.to_le_bytes());
    for face in FACES {
        bytes.extend([0; 12]);
        bytes.extend(
            face.iter()
                .flat_map(|&vertex| CORNERS[vertex])
                .flat_map(f32::to_le_bytes),
        );
        bytes.extend(counts.to_le_bytes());
        bytes.extend(attributes);
    }
    bytes
}

#[test]
fn binary_stl_may_have_bytes_behind_and_between() {
    let folder = Folder::new();
    for start in ["part", "solid part", "solid facets, endsolid"] {
        for (spare, warning) in [
            (0, ""),
            (1, "ignored 1 byte after the 2 triangles"),
            (2, "ignored 2 bytes after the 2 triangles"),
            (700, "ignored 700 bytes after"),
        ] {
            // A colour in the attribute field is not a number of bytes.
            for colour in [0, 0x8421] {
                let bytes = [stl_bytes(start, &[], colour), vec![0x7a; spare]].concat();
                folder.write("behind.stl", bytes);
                folder.answers(&["pairs", "behind.stl"], "9,10\n", warning);
            }
        }
        folder.write("between.stl", stl_bytes(start, &[1, 2, 3, 4], 4));
        folder.answers(&["pairs", "between.stl"], "9,10\n", "ignored 8 bytes of attributes");
        let bytes = stl_bytes(start, &[], 0);
        // Shorter prefixes are valid text: `endsolid`, then zeros.
        let lengths: &[usize] = if start.contains("endsolid") {
            &[183]
        } else {
            &[84, 100, 183]
        };
        for &length in lengths {
            folder.write("cut.stl", &bytes[..length]);
            let needle = format!("truncated or invalid: 2 triangles need 184 bytes, the file has {length}");
            folder.refuses(&["pairs", "cut.stl"], &["cut.stl", &needle]);
        }
    }
    folder.write("zeros.stl", [0; 500]);
    folder.refuses(
        &["pairs", "zeros.stl"],
        &["no vertices", "ignored 416 bytes after the 0 triangles"],
    );
}

fn gltf(primitives: &str, extra: &str) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"nodes":[{{"mesh":0}}],"meshes":[{{"primitives":[{primitives}]}}],
"accessors":[{{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"}},
{{"bufferView":1,"componentType":5123,"count":6,"type":"SCALAR"}},
{{"bufferView":0,"componentType":5126,"count":0,"type":"VEC3"}},
{{"componentType":5123,"count":0,"type":"SCALAR"}}],
"bufferViews":[{{"buffer":0,"byteLength":48}},{{"buffer":0,"byteOffset":48,"byteLength":12}}],
"buffers":[{{"byteLength":60}}]{extra}}}"#
    )
}

const GOOD: &str = r#"{"attributes":{"POSITION":0},"indices":1}"#;

/// `behind` is appended, but not counted in the header.
fn glb(json: &str, fill: u8, behind: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4) + 4, fill);
    let mut buffer: Vec<u8> = CORNERS
        .as_flattened()
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    buffer.extend(
        FACES
            .as_flattened()
            .iter()
            .flat_map(|&vertex| (vertex as u16).to_le_bytes()),
    );
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend((28 + json.len() as u32 + buffer.len() as u32).to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(json);
    bytes.extend((buffer.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(buffer);
    bytes.extend(behind);
    bytes
}

#[test]
fn glb_files_may_be_filled_up() {
    let folder = Folder::new();
    let json = gltf(GOOD, "");
    for (name, bytes, warning) in [
        ("blanks.glb", glb(&json, b' ', &[]), ""),
        ("zeros.glb", glb(&json, 0, &[]), ""),
        (
            "one.glb",
            glb(&json, b' ', &[0]),
            "one.glb: ignored 1 byte after the GLB's",
        ),
        (
            "many.glb",
            glb(&json, 0, &[7; 5000]),
            "many.glb: ignored 5000 bytes after",
        ),
    ] {
        folder.write(name, bytes);
        folder.answers(&["pairs", name], "9,10\n", warning);
    }
    let whole = glb(&json, 0, &[]);
    folder.write("cut.glb", &whole[..whole.len() - 1]);
    folder.refuses(&["pairs", "cut.glb"], &["cut.glb: truncated: the header states"]);
    // Zeros are allowed at the end of the JSON, but not inside.
    folder.write("inner.glb", glb(&json.replacen(',', "\0,", 1), 0, &[]));
    folder.refuses(&["pairs", "inner.glb"], &["inner.glb: invalid JSON"]);
}

#[test]
fn primitives_with_nothing_to_read_are_left_out() {
    let folder = Folder::new();
    for (name, primitives, count) in [
        ("none.glb", format!("{GOOD},{{\"attributes\":{{}}}}"), 1),
        (
            "normals.glb",
            format!("{{\"attributes\":{{\"NORMAL\":0}},\"indices\":1}},{GOOD}"),
            1,
        ),
        (
            "positions.glb",
            format!("{{\"attributes\":{{\"POSITION\":2}}}},{GOOD}"),
            1,
        ),
        (
            "indices.glb",
            format!("{GOOD},{{\"attributes\":{{\"POSITION\":0}},\"indices\":3}},{{\"attributes\":{{}},\"mode\":0}}"),
            2,
        ),
    ] {
        folder.write(name, glb(&gltf(&primitives, ""), b' ', &[]));
        let warning = format!("{name}: skipped {count} primitive");
        folder.answers(&["pairs", name], "9,10\n", &warning);
    }
    folder.write("all.glb", glb(&gltf("{\"attributes\":{}}", ""), b' ', &[]));
    folder.refuses(
        &["pairs", "all.glb"],
        &["all.glb: no vertices; skipped 1 primitive without positions"],
    );
    let json = gltf(GOOD, "").replace("\"count\":6", "\"count\":5");
    folder.write("five.glb", glb(&json, b' ', &[]));
    folder.refuses(&["pairs", "five.glb"], &["wrong number of corners: 5 for mode 4"]);
}

#[test]
fn extensions_that_move_no_vertex_may_be_required() {
    let folder = Folder::new();
    let required = |names: &str| glb(&gltf(GOOD, &format!(",\"extensionsRequired\":[{names}]")), b' ', &[]);
    for names in [
        "\"EXT_texture_webp\"",
        "\"EXT_texture_avif\",\"KHR_texture_basisu\",\"KHR_texture_transform\",\"MSFT_texture_dds\"",
        "\"KHR_materials_unlit\",\"KHR_materials_variants\",\"ADOBE_materials_clearcoat_specular\"",
        "\"KHR_lights_punctual\",\"EXT_lights_image_based\",\"KHR_animation_pointer\",\"KHR_xmp_json_ld\"",
        "\"EXT_structural_metadata\",\"EXT_mesh_features\",\"EXT_instance_features\",\"KHR_node_visibility\"",
        "\"KHR_mesh_quantization\",\"MSFT_packing_occlusionRoughnessMetallic\",\"MSFT_lod\"",
    ] {
        folder.write("a.glb", required(names));
        folder.answers(&["pairs", "a.glb"], "9,10\n", "");
    }
    folder.write(
        "a.glb",
        required("\"EXT_texture_webp\",\"ACME_anything\",\"ACME_more\""),
    );
    let unknown = "unknown required extension \"ACME_anything\" and 1 more: ignored";
    folder.answers(&["pairs", "a.glb"], "9,10\n", unknown);
    for name in [
        "KHR_draco_mesh_compression",
        "EXT_meshopt_compression",
        "KHR_meshopt_compression",
        "EXT_mesh_gpu_instancing",
        "EXT_mesh_primitive_restart",
        "KHR_gaussian_splatting_compression_spz",
        "CESIUM_RTC",
        "AGI_articulations",
        "MPEG_accessor_timed",
    ] {
        folder.write("a.glb", required(&format!("\"EXT_texture_webp\",\"{name}\"")));
        let needle = format!("a.glb: unsupported extension {name:?}: it packs or moves vertices");
        folder.refuses(&["pairs", "a.glb"], &[&needle]);
    }
}
