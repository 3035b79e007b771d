//! Files as other programs write them: what most tools read is read, and what is left out of it is always told.

mod support;

use support::{Folder, Ran, npy, npy_header};

/// The answer of a command that succeeds, and what it says under `--quiet`: warnings alone.
fn ran(folder: &Folder, arguments: &[&str]) -> Ran {
    let ran = folder.run(&[arguments, &["--backend", "cpu", "--quiet"]].concat());
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// Rows of a file, and the one warning that is to have this in it, or none.
fn answers(folder: &Folder, arguments: &[&str], rows: &str, warning: &str) {
    let ran = ran(folder, arguments);
    assert_eq!(ran.stdout, rows, "{arguments:?}: {}", ran.stderr);
    let lines = usize::from(!warning.is_empty());
    assert_eq!(ran.stderr.lines().count(), lines, "{arguments:?}: {}", ran.stderr);
    assert!(ran.stderr.contains(warning), "{arguments:?}: {}", ran.stderr);
}

/// Two triangles over one edge. Their edges are 4 to 8, and their faces 9 and 10.
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
            "last.obj: 1 face of fewer than 3 vertices left out, the first in line 7",
        ),
        (
            "first.obj",
            format!("f 1\nf\nf 1/1 2/2\n{OBJ}f 1 2 3\nf 1 2 4\n").replace("f 1\n", "# f\n"),
            "first.obj: 2 faces of fewer than 3 vertices left out, the first in line 2",
        ),
        (
            "lines.obj",
            format!("{OBJ}l 1\nl\nf 1 2 3\nl 3\nf 1 2 4\nl 1 2\n"),
            "lines.obj: 3 lines of fewer than 2 vertices left out, the first in line 5",
        ),
        (
            "none.ply",
            ply(&["3 0 1 2", "0", "3 0 1 3"]),
            "none.ply: 1 face of fewer than 3 vertices left out, the first in face 1",
        ),
        (
            "two.ply",
            ply(&["2 0 1", "1 3", "3 0 1 2", "3 0 1 3", "0"]),
            "two.ply: 3 faces of fewer than 3 vertices left out, the first in face 0",
        ),
    ] {
        folder.write(name, text);
        answers(&folder, &["pairs", name], "9,10\n", warning);
    }
    let header = ply(&[""; 3]).replace("ascii", "binary_little_endian");
    let mut binary = header[..header.find(PLY_ROWS).unwrap()].as_bytes().to_vec();
    binary.extend(CORNERS.as_flattened().iter().flat_map(|value| value.to_le_bytes()));
    for face in [&[0_i32, 1, 2][..], &[1, 2], &[0, 1, 3]] {
        binary.push(face.len() as u8);
        binary.extend(face.iter().flat_map(|vertex| vertex.to_le_bytes()));
    }
    folder.write("binary.ply", binary);
    answers(
        &folder,
        &["pairs", "binary.ply"],
        "9,10\n",
        "left out, the first in face 1",
    );

    // Where no box of them is asked for, too.
    folder.write("points.obj", format!("{OBJ}l 1 2 3 4\nf 1\nf 2\nf 3\nf 4\n"));
    let edges = ["pairs", "points.obj", "--elements", "edges"];
    answers(&folder, &edges, "4,5\n5,6\n", "4 faces of fewer");
    folder.write("loop.obj", format!("{OBJ}l 1 2 2 3\n"));
    let edges = ["pairs", "loop.obj", "--elements", "edges"];
    answers(&folder, &edges, "4,5\n", "1 edge from a vertex to itself left out");

    // All else about them is held to the file.
    for (name, text, needle) in [
        (
            "far.obj",
            format!("{OBJ}f 1 2 3\nf 1 9\n"),
            "line 6: vertex 9, there are 4",
        ),
        (
            "far_line.obj",
            format!("{OBJ}f 1 2 3\nl 9\n"),
            "line 6: vertex 9, there are 4",
        ),
        (
            "word.obj",
            format!("{OBJ}f 1 2 3\nf 1 x\n"),
            "line 6: \"x\" names no vertex",
        ),
        ("zero.obj", format!("{OBJ}f 1 2 3\nl 0\n"), "line 6: vertex 0"),
        (
            "far.ply",
            ply(&["3 0 1 2", "2 0 4"]),
            "face 1: vertex 4, there are 4 from 0",
        ),
        (
            "after.ply",
            ply(&["0", "3 0 1 2", "1 0", "3 0 1 4"]),
            "face 3: vertex 4, there are 4 from 0",
        ),
        (
            "only.obj",
            format!("{OBJ}f 1 2\n"),
            "no faces; 1 face of fewer than 3 vertices left out, the first in line 5",
        ),
        ("only.ply", ply(&["0", "0"]), "no faces; 2 faces of fewer than 3"),
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
        answers(&folder, &["pairs", name], "9,10\n", "");
    }
    // The first byte of the data is a line feed.
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
        answers(
            &folder,
            &["pairs", name, "--elements", "vertices", "--count-only"],
            "6\n",
            "",
        );
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
        answers(&folder, &["pairs", name, "--elements", "vertices"], "", "");
    }
    let lines = |rows: &str| format!("{header}{rows}");
    for (name, text, needle) in [
        (
            "missing.ply",
            lines("0 0 0\n1 0\n0 1 0\n0 0 5\n3 0 1 2\n3 0 1 3\n"),
            "vertex 1: fewer numbers than properties in its line: face",
        ),
        (
            "extra.ply",
            lines("0 0 0\n1 0 0 7\n0 1 0\n0 0 5\n3 0 1 2\n3 0 1 3\n"),
            "vertex 1: more numbers than properties in its line",
        ),
        (
            "rest.ply",
            lines(&format!("{} 1", words.join(" "))),
            "numbers are left behind the last element",
        ),
        (
            "cut.ply",
            lines(&words[..words.len() - 1].join(" ")),
            "face 1: truncated",
        ),
        (
            "list.ply",
            good.replace("vertex_indices", "corners"),
            "faces without a list vertex_indices or vertex_index",
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
    let no_end = "1 solid without endsolid: the file may have been cut";
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
        answers(&folder, &["pairs", name], "9,10\n", warning);
    }
    // The same two facets in each solid.
    let twice = "9,10\n9,11\n9,12\n10,11\n10,12\n11,12\n";
    let open = text.replace("endsolid a part\n", "");
    for (name, text, warning) in [
        ("solids.stl", format!("{text}\n{text}"), ""),
        ("first_open.stl", format!("{open}{text}"), no_end),
        ("both_open.stl", format!("{open}{open}"), "2 solids without endsolid"),
    ] {
        folder.write(name, text);
        answers(&folder, &["pairs", name], twice, warning);
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
            "line 16: \";\" is not expected here",
        ),
        (
            "end.stl",
            text.replace("endloop", "end"),
            "line 7: \"end\" is not expected",
        ),
        (
            "loop.stl",
            text.replace("outer loop", "outer"),
            "line 3: \"outer\" is not expected",
        ),
        (
            "vertex.stl",
            text.replace("vertex 1 0 0", "vertex 1 0"),
            "a vertex needs 3 numbers",
        ),
        (
            "back.stl",
            text.replace("endsolid a part", "endsolid\nfacet"),
            "\"facet\" is not expected",
        ),
    ] {
        folder.write(name, text);
        folder.refuses(&["pairs", name], &[name, needle]);
    }
}

/// A binary file of the two facets, with an attribute count and bytes of attributes behind each.
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
    for start in ["part", "solid part"] {
        for (spare, warning) in [
            (0, ""),
            (1, "1 byte behind the 2 triangles left out"),
            (2, "2 bytes behind the 2 triangles"),
            (700, "700 bytes behind"),
        ] {
            // Attributes that are colours name no bytes.
            for colour in [0, 0x8421] {
                let bytes = [stl_bytes(start, &[], colour), vec![0x7a; spare]].concat();
                folder.write("behind.stl", bytes);
                answers(&folder, &["pairs", "behind.stl"], "9,10\n", warning);
            }
        }
        folder.write("between.stl", stl_bytes(start, &[1, 2, 3, 4], 4));
        answers(
            &folder,
            &["pairs", "between.stl"],
            "9,10\n",
            "8 bytes of attributes between the triangles",
        );
        let bytes = stl_bytes(start, &[], 0);
        for length in [84, 100, 183] {
            folder.write("cut.stl", &bytes[..length]);
            let needle = format!("truncated or broken: 2 triangles take 184 bytes, the file has {length}");
            folder.refuses(&["pairs", "cut.stl"], &["cut.stl", &needle]);
        }
    }
    // None of it is a mesh.
    folder.write("zeros.stl", [0; 500]);
    folder.refuses(
        &["pairs", "zeros.stl"],
        &["no vertices", "416 bytes behind the 0 triangles"],
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

/// The length that the header has, the JSON filled up with a byte, and bytes behind all of it.
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
        ("one.glb", glb(&json, b' ', &[0]), "one.glb: 1 byte behind the GLB's"),
        ("many.glb", glb(&json, 0, &[7; 5000]), "many.glb: 5000 bytes behind"),
    ] {
        folder.write(name, bytes);
        answers(&folder, &["pairs", name], "9,10\n", warning);
    }
    let whole = glb(&json, 0, &[]);
    folder.write("cut.glb", &whole[..whole.len() - 1]);
    folder.refuses(&["pairs", "cut.glb"], &["cut.glb: truncated: the header tells"]);
    // The zeros end the text, and do not part it.
    folder.write("inner.glb", glb(&json.replacen(',', "\0,", 1), 0, &[]));
    folder.refuses(&["pairs", "inner.glb"], &["inner.glb: broken JSON"]);
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
        let warning = format!("{name}: {count} primitive");
        answers(&folder, &["pairs", name], "9,10\n", &warning);
    }
    folder.write("all.glb", glb(&gltf("{\"attributes\":{}}", ""), b' ', &[]));
    folder.refuses(
        &["pairs", "all.glb"],
        &["all.glb: no vertices; 1 primitive without positions"],
    );
    // Three corners are a triangle, and two are none.
    let json = gltf(GOOD, "").replace("\"count\":6", "\"count\":5");
    folder.write("five.glb", glb(&json, b' ', &[]));
    folder.refuses(&["pairs", "five.glb"], &["5 corners for mode 4"]);
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
        answers(&folder, &["pairs", "a.glb"], "9,10\n", "");
    }
    folder.write(
        "a.glb",
        required("\"EXT_texture_webp\",\"ACME_anything\",\"ACME_more\""),
    );
    let unknown = "needs the extension \"ACME_anything\" and 1 more, which is not known here";
    answers(&folder, &["pairs", "a.glb"], "9,10\n", unknown);
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
        let needle = format!("a.glb: the file needs the extension {name:?}, which packs or moves vertices");
        folder.refuses(&["pairs", "a.glb"], &[&needle]);
    }
}

#[test]
fn arrays_have_headers_of_every_python_and_bytes_behind() {
    let folder = Folder::new();
    let values = [0.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0];
    let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let double: Vec<u8> = values
        .iter()
        .flat_map(|&value| f64::from(value).to_le_bytes())
        .collect();
    let big: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    let words: Vec<u8> = values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect();
    for (kind, data) in [
        ("f4", &little),
        ("=f4", &little),
        ("|f4", &little),
        ("float32", &little),
        ("<float32", &little),
        ("f", &little),
        ("single", &little),
        (">f4", &big),
        (">float32", &big),
        ("f8", &double),
        ("float64", &double),
        ("d", &double),
        ("float", &double),
        ("i4", &words),
        ("int32", &words),
        ("uint32", &words),
    ] {
        folder.write("a.npy", npy(&npy_header(kind, false, "(2, 6)"), data));
        answers(&folder, &["pairs", "a.npy"], "0,1\n", "");
    }
    let header = npy_header("<f4", false, "(2, 6)");
    let long = format!("{}{}\n", header.trim_end(), " ".repeat(20_000));
    let mut second = b"\x93NUMPY\x02\x00".to_vec();
    second.extend((long.len() as u32).to_le_bytes());
    second.extend(long.as_bytes());
    second.extend(&little);
    let third = [&b"\x93NUMPY\x03\x00"[..], &second[8..]].concat();
    for (name, bytes, warning) in [
        ("long.npy", npy(&header.replace("(2, 6)", "(2L, 6L)"), &little), ""),
        ("unicode.npy", npy(&header.replace("'descr'", "u'descr'"), &little), ""),
        ("wide.npy", npy(&long, &little), ""),
        ("second.npy", second, ""),
        ("third.npy", third, ""),
        (
            "behind.npy",
            npy(&header, &[&little[..], &[1; 7]].concat()),
            "behind.npy: 7 bytes behind the array's 2 rows left out",
        ),
    ] {
        folder.write(name, bytes);
        answers(&folder, &["pairs", name], "0,1\n", warning);
    }
}

const WATER: &str = "3\nwater\nO 0.0 0.0 0.1\nH 0.0 0.75 -0.5\nH 0 -0.75 -0.5\n";

#[test]
fn atoms_are_points() {
    let folder = Folder::new();
    let near = |name: &str, rows: &str, warning: &str| {
        answers(&folder, &["neighbors", name, "--radius", "1.2"], rows, warning);
    };
    let both = "0,1\n0,2\n";
    for (name, text) in [
        ("plain.xyz", WATER.to_owned()),
        ("blank.XYZ", WATER.replace("water", "")),
        (
            "numbers.xyz",
            WATER.replace("water", "1 2 3").replace("O ", "8 ").replace("H ", "1 "),
        ),
        ("rest.xyz", WATER.replace("0.1\n", "0.1 -0.8 # charge\n") + "\n\n"),
        ("comment.xyz", WATER.replace("water", "# water, Lattices")),
        ("windows.xyz", format!("  {}", WATER.replace('\n', "\r\n"))),
        ("returns.xyz", WATER.replace('\n', "\r")),
        ("tabs.extxyz", WATER.replace("O ", "  O\t")),
    ] {
        folder.write(name, text);
        near(name, both, "");
    }
    let columns = "Properties=forces:R:2:species:S:1:pos:R:3:tag:I:1 energy=-1";
    let rows = "9 9 O 0 0 0.1 1\n9 9 H 0 0.75 -0.5 1\n9 9 H 0 -0.75 -0.5 1\n";
    folder.write("columns.xyz", format!("3\n{columns}\n{rows}"));
    near("columns.xyz", both, "");
    // Points without atoms are still read.
    folder.write("points.xyz", "0 0 0.1\n0 .75 -.5\n0 -.75 -.5\n");
    near("points.xyz", both, "");
    folder.write("empty.xyz", "0\nnothing\n");
    near("empty.xyz", "", "");

    // Of a box of three the middle two sides are left to be looked across.
    let cell = |lattice: &str| format!("2\n{lattice} Properties=species:S:1:pos:R:3\nO 0 0.5 0\nO 0 2.5 0\n");
    for (name, lattice, rows, warning) in [
        ("cell.xyz", "Lattice=\"9 0 0 0 3 0 0 0 9\"", "0,1\n", ""),
        ("slab.xyz", "Lattice=\"9 0 0 0 3 0 0 0 9\" pbc=\"F T F\"", "0,1\n", ""),
        ("open.xyz", "Lattice=\"9 0 0 0 3 0 0 0 9\" pbc=\"T F T\"", "", ""),
        (
            "skew.xyz",
            "Lattice=\"9 0 0 1 3 0 0 0 9\"",
            "",
            "skew.xyz: the sides of Lattice do not lie along the axes: no period",
        ),
    ] {
        folder.write(name, cell(lattice));
        near(name, rows, warning);
    }
    let shifts = ["neighbors", "cell.xyz", "--radius", "1.2", "--shifts", "--distances"];
    answers(&folder, &shifts, "0,1,1,0,-1,0\n", "");
    let without = ["neighbors", "cell.xyz", "--radius", "1.2", "--period", "0"];
    answers(&folder, &without, "", "");

    folder.write("frames.xyz", format!("{WATER}{WATER}"));
    near(
        "frames.xyz",
        both,
        "frames.xyz: only the first frame is read; another one starts in line 6",
    );
    for (name, text, needle) in [
        (
            "cut.xyz",
            WATER.replace('3', "4"),
            "truncated: 4 atoms are announced, 3 are there",
        ),
        (
            "many.xyz",
            WATER.replace('3', "18446744073709551615"),
            "truncated: 18446744073709551615",
        ),
        (
            "more.xyz",
            WATER.replace('3', "2"),
            "line 5: \"H 0 -0.75 -0.5\" behind the 2 atoms",
        ),
        (
            "word.xyz",
            WATER.replace("0.75 -0.5\nH", "x -0.5\nH"),
            "line 4: column 3: \"x\" is not a number",
        ),
        (
            "short.xyz",
            WATER.replace(" -0.75", ""),
            "line 5: 3 columns; an atom needs",
        ),
        (
            "pos.xyz",
            cell("").replace("pos:", "x:"),
            "line 2: Properties without pos:R:3",
        ),
        (
            "kinds.xyz",
            cell("").replace("pos:R:3", "pos:R:2"),
            "line 2: Properties: pos:R:3",
        ),
        (
            "wide.xyz",
            cell("").replace("O 0 0", "O 0 0 0"),
            "line 3: 5 columns, Properties has 4",
        ),
        (
            "lattice.xyz",
            cell("Lattice=\"1 2\""),
            "line 2: Lattice \"1 2\" is not 9 numbers",
        ),
    ] {
        folder.write(name, text);
        folder.refuses(&["neighbors", name, "--radius", "1"], &[name, needle]);
    }
    folder.refuses(&["pairs", "plain.xyz"], &["plain.xyz: 3 columns; boxes need 6"]);
}

#[test]
fn small_differences_of_tables_do_not_matter() {
    let folder = Folder::new();
    let rows = "0,0,0,1,1,1\n0.5,0,0,2,1,1\n";
    for (name, text, warning) in [
        ("comma.csv", rows.replace('\n', ",\n"), ""),
        ("names.csv", format!("a,b,c,d,e,f,\n{}", rows.replace('\n', ",\n")), ""),
        ("semicolon.csv", rows.replace(',', "; ").replace('\n', ";\n"), ""),
        ("tab.tsv", rows.replace(',', "\t").replace('\n', "\t\n"), ""),
        ("returns.csv", rows.replace('\n', "\r"), ""),
        (
            "numbers.csv",
            format!("0,1,2,3,4,5\n{rows}").replace("0,0,0,1,1,1", "0.0,0.0,0.0,1.0,1.0,1.0"),
            "numbers.csv: line 1 numbers the columns from 0: taken as a header",
        ),
    ] {
        folder.write(name, text);
        answers(&folder, &["pairs", name], "0,1\n", warning);
    }
    // Boxes of integers say nothing of what the line is.
    folder.write("integers.csv", "0,1,2,3,4,5\n3,3,3,4,4,5\n");
    answers(
        &folder,
        &["pairs", "integers.csv"],
        "0,1\n",
        "line 1 numbers the columns from 0: taken as a row",
    );
    // A list of pairs often starts so.
    folder.write("three.csv", "0,0,0,1,1,1\n0,0,0,1,1,1\n0,0,0,1,1,1\n");
    folder.write("exclude.csv", "0,1\n0,2\n");
    answers(
        &folder,
        &["pairs", "three.csv", "--exclude", "exclude.csv"],
        "1,2\n",
        "",
    );
    folder.write("two.csv", "0,0,0,1,1,1,,\n");
    folder.refuses(
        &["pairs", "two.csv"],
        &["two.csv: line 1: column 7: \"\" is not a number"],
    );

    folder.write(
        "infinite.txt",
        "0 0 0 1.#INF 1.#INF00 1\n-1.#INF 0 0 2 1 1 # all\n-1.#IND 0 0 1 1 1\n",
    );
    let left_out = "1 of 3 boxes left out as invalid, the first in row 2: x from NaN to 1";
    answers(&folder, &["pairs", "infinite.txt"], "0,1\n", left_out);
    folder.write(
        "infinite.obj",
        "v 0 0 0\rv 1.#INF 0 0\rv 0 1 0\rv 0 0 5\rf 1 2 3\rf 1 2 4\r",
    );
    answers(&folder, &["pairs", "infinite.obj"], "9,10\n", "");
    let returns = format!("{OBJ}# none\nf 1 \\\n2 3\nf 1 2 4\n").replace('\n', "\r");
    folder.write("returns.obj", &returns);
    answers(&folder, &["pairs", "returns.obj"], "9,10\n", "");
    folder.write("returns_word.obj", returns.replace("2 4", "2 x"));
    folder.refuses(&["pairs", "returns_word.obj"], &["line 8: \"x\" names no vertex"]);

    folder.write("boxes.csv", rows);
    folder.write("rays.csv", "-1,0.5,0.5,1,0,0\n");
    answers(&folder, &["rays", "boxes.csv", "rays.csv"], "0,0,1\n", "");
    folder.write("flat.csv", "0,0,1,1\n");
    folder.write("flat_rays.csv", "-1,0.5,1,0\n");
    answers(&folder, &["rays", "flat.csv", "flat_rays.csv"], "0,0,1\n", "");

    for (name, start, kind) in [
        ("boxes.csv.gz", &b"\x1f\x8b\x08\x00"[..], "gzip"),
        ("packed.csv", b"\x1f\x8b\x08\x00", "gzip"),
        ("packed.obj", b"BZh91AY", "bzip2"),
        ("packed.ply", b"\xfd7zXZ\0", "xz"),
        ("packed.npy.zst", b"\x28\xb5\x2f\xfd", "zstd"),
    ] {
        folder.write(name, start);
        folder.refuses(&["pairs", name], &[name, &format!("packed by {kind}; unpack it first")]);
    }
}

#[test]
fn rows_that_are_left_out_are_always_told() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n");
    folder.write("inverted.csv", "1,1,1,0,0,0\n2,2,2,0,0,0\n");
    folder.write("colours.xyz", "0.1 0.2 0.3 255 0 0\n0.4 0.5 0.6 255 10 0\n");
    folder.write("points.csv", "0,0,0\nnan,0,0\n1,0,0\n2,inf,0\n");
    folder.write("rays.csv", "0,0,0,1,0,0,9\n0,0,0,inf,0,0,9\n0,0,nan,1,0,0,9\n");
    folder.write("nan.obj", format!("{OBJ}v nan 0 0\nf 1 2 3\nf 1 2 5\n"));
    for (arguments, rows, warning) in [
        (
            vec!["pairs", "inverted.csv"],
            "",
            "inverted.csv: 2 of 2 boxes left out as invalid, the first in row 0: its min x 1 is above its max x 0",
        ),
        (
            vec!["pairs", "colours.xyz"],
            "",
            "2 of 2 boxes left out as invalid, the first in row 0: its min y",
        ),
        (
            vec!["pairs", "nan.obj"],
            "",
            "nan.obj: 1 of 2 elements left out as invalid, the first in element 11",
        ),
        (
            vec!["neighbors", "points.csv", "--radius", "2"],
            "0,2\n",
            "points.csv: 2 of 4 points left out as invalid, the first in row 1: its x is NaN",
        ),
        (
            vec!["rays", "boxes.csv", "rays.csv", "--mode", "any"],
            "0,1\n1,0\n2,0\n",
            "rays.csv: 2 of 3 rays left out as invalid, the first in row 1: its direction x is inf",
        ),
        (
            vec!["query", "boxes.csv", "inverted.csv"],
            "",
            "inverted.csv: 2 of 2 queries left out as invalid, the first in row 0",
        ),
    ] {
        answers(&folder, &arguments, rows, warning);
        // One count, and the same.
        let told = folder.run(&[&arguments[..], &["--backend", "cpu"]].concat()).stderr;
        let count = warning.split(" of ").next().unwrap().rsplit(' ').next().unwrap();
        let counted = told.lines().last().unwrap();
        assert!(counted.contains(&format!("{count} invalid")), "{told}");
        let is_of_points = arguments[0] == "neighbors";
        assert!(!is_of_points || counted.matches("invalid").count() == 1, "{told}");
    }
}

#[test]
fn neighbours_are_exact_in_double_precision() {
    let folder = Folder::new();
    folder.write("two.csv", "0,0,0\n100,0,0\n");
    let period = [
        "neighbors",
        "two.csv",
        "--radius",
        "1e-5",
        "--period",
        "0.1",
        "--distances",
    ];
    let near = ran(&folder, &period).stdout;
    let distance: f64 = near.trim_end().strip_prefix("0,1,").unwrap().parse().unwrap();
    assert!(distance < 1e-14, "{near}");

    // Apart by 0.1 as f64 has it, for which f32 has another number.
    let lattice: Vec<[f64; 3]> = (0..6 * 6 * 6)
        .map(|place| [place % 6, place / 6 % 6, place / 36].map(|step| f64::from(step) * 0.1 + 1000.0))
        .collect();
    let text: String = lattice.iter().map(|[x, y, z]| format!("{x},{y},{z}\n")).collect();
    folder.write("lattice.csv", text);
    for (period, radius) in [
        (0.0, 0.1),
        (0.6, 0.1),
        (0.6, 0.17),
        (0.0, 0.141_421_356_237_309_5),
        (0.0, 0.0),
    ] {
        let distance = |a: &[f64; 3], b: &[f64; 3]| {
            let squares = (0..3).map(|axis| {
                let apart = b[axis] - a[axis];
                let turns = if period > 0.0 { (apart / period).round() } else { 0.0 };
                (apart - turns * period).powi(2)
            });
            squares.sum::<f64>().sqrt()
        };
        let mut expected = String::new();
        for (row, a) in lattice.iter().enumerate() {
            for (other, b) in lattice.iter().enumerate().skip(row + 1) {
                if distance(a, b) <= radius {
                    expected += &format!("{row},{other},{}\n", distance(a, b));
                }
            }
        }
        let (period, radius) = (period.to_string(), radius.to_string());
        let mut arguments = vec![
            "neighbors",
            "lattice.csv",
            "--radius",
            &radius,
            "--period",
            &period,
            "--distances",
        ];
        assert_eq!(ran(&folder, &arguments).stdout, expected, "{arguments:?}");
        arguments.pop();
        arguments.push("--count-only");
        assert_eq!(
            ran(&folder, &arguments).stdout.trim(),
            expected.lines().count().to_string()
        );
    }
    // The nearest, of which all six are as near but for rounding.
    let nearest = [
        "neighbors",
        "lattice.csv",
        "--nearest",
        "3",
        "--distances",
        "--radius",
        "0.1",
    ];
    let rows = ran(&folder, &nearest).stdout;
    let distances: Vec<f64> = rows
        .lines()
        .map(|row| row.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        distances.iter().all(|&distance| distance <= 0.1) && !distances.is_empty(),
        "{rows}"
    );

    // Numbers that f32 does not tell apart, and such as it has not.
    folder.write("far.csv", "1e9,0\n1000000001,0\n1000000002.5,0\n");
    answers(&folder, &["neighbors", "far.csv", "--radius", "1.25"], "0,1\n", "");
    answers(
        &folder,
        &["neighbors", "far.csv", "--nearest", "1", "--distances"],
        "0,1,1\n1,0,1\n2,1,1.5\n",
        "",
    );
    folder.write("small.csv", "0,0\n3e-42,4e-42\n1e-41,0\n");
    answers(&folder, &["neighbors", "small.csv", "--radius", "5e-42"], "0,1\n", "");
    folder.write("huge.csv", "0,0\n1e300,0\n");
    folder.refuses(
        &["neighbors", "huge.csv", "--radius", "1"],
        &["points from 0e0 to 1e300 are too far apart"],
    );
    folder.write("large.csv", "0,0\n3e38,0\n");
    answers(&folder, &["neighbors", "large.csv", "--radius", "1e300"], "0,1\n", "");

    for period in ["8 8 8", "8, 8, 8", "8"] {
        folder.write("apart.csv", "0.5,4,4\n7.5,4,4\n");
        answers(
            &folder,
            &["neighbors", "apart.csv", "--radius", "1", "--period", period],
            "0,1\n",
            "",
        );
    }
}

/// Outputs in the place of an input, by its name and by links of both kinds.
#[test]
#[cfg(unix)]
fn no_output_replaces_an_input() {
    let folder = Folder::new();
    let texts = [
        ("boxes.csv", "0,0,0,1,1,1\n0.5,0,0,2,1,1\n"),
        ("points.csv", "0,0,0\n1,0,0\n"),
        ("rays.csv", "-1,0.5,0.5,1,0,0,9\n"),
        ("pairs.csv", "0,1\n"),
        ("groups.csv", "0\n1\n"),
        ("mesh.ply", &ply(&["3 0 1 2", "3 0 1 3"])),
        ("next.ply", &ply(&["3 0 1 2", "3 0 1 3"])),
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
        ("bench boxes.csv --runs 1 --engines reference", "--plot", "soft.png"),
        (
            "bench boxes.csv --runs 1 --engines reference",
            "--markdown",
            "boxes.csv",
        ),
    ] {
        let words: Vec<_> = command.split(' ').collect();
        let outputs = match input {
            // A picture has a name of its own.
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
                ran.stderr.contains("the result would replace this input"),
                "{arguments:?}: {}",
                ran.stderr
            );
            for (name, text) in texts {
                assert_eq!(folder.read(name), text.as_bytes(), "{arguments:?}: {name}");
            }
        }
    }
    // Two outputs are not to meet either, and a file that is not there is neither.
    folder.refuses(
        &["pairs", "boxes.csv", "-o", "hard_pairs.csv", "--snapshot", "pairs.csv"],
        &["two results would go to this file"],
    );
    folder.refuses(
        &["pairs", "none.csv", "-o", "none.csv"],
        &["none.csv: there is no such file"],
    );
    assert!(!folder.path("none.csv").exists());
}

#[test]
#[cfg(unix)]
fn devices_take_results() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n0.5,0,0,2,1,1\n");
    folder.write("mesh.ply", ply(&["3 0 1 2", "3 0 1 3"]));
    folder.write("points.csv", "0,0,0\n1,0,0\n");
    for command in [
        "pairs boxes.csv -o /dev/null",
        "pairs boxes.csv -o /dev/null --snapshot /dev/null",
        "pairs mesh.ply -o /dev/null --between vertices,faces --between edges,edges --write-edges /dev/null",
        "neighbors points.csv --radius 1 -o /dev/null",
    ] {
        answers(&folder, &command.split(' ').collect::<Vec<_>>(), "", "");
    }
    for command in [
        "heatmap mesh.ply -o /dev/null --quiet",
        "generate cloth --count 50 -o /dev/null --quiet",
        "generate uniform --count 5 -o /dev/null --quiet",
    ] {
        let ran = folder.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command}");
    }
    answers(&folder, &["pairs", "boxes.csv", "-o", "/dev/stdout"], "0,1\n", "");
    folder.refuses(
        &["pairs", "boxes.csv", "-o", "pairs"],
        &["pairs: a result file ends in .csv or .npy"],
    );
}
