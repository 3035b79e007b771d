use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Folder, Ran, npy, npy_header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use broadphase::args::ReadingArgs;
use broadphase::input::{self, Scene};
use broadphase::mesh::Kind;
use broadphase::report::Reporter;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use gpu_broad_phase::Aabb;
use rawzip::{CompressionMethod, ZipArchiveWriter};

const QUIET: Reporter = Reporter { quiet: true };

fn read(path: &Path, elements: &[Kind], dimensions: Option<u8>, next: Option<PathBuf>) -> Result<Scene, String> {
    let reading = ReadingArgs {
        dimensions,
        elements: elements.to_vec(),
        next,
        ..ReadingArgs::default()
    };
    input::scene(path, &reading, QUIET).map_err(|error| format!("{error:#}"))
}

fn boxes(path: &Path) -> Vec<Aabb> {
    read(path, &[], None, None).unwrap().boxes
}

#[test]
fn tables_as_text_come_in_every_form() {
    let folder = Folder::new();
    let expected = [
        Aabb::new([0.0, 0.5, -1.0], [1.0, 1.5, 1e3]),
        Aabb::new([2.0, 0.0, 0.25], [3.0, 1.0, f32::INFINITY]),
    ];
    for (name, text) in [
        ("a.csv", "0,0.5,-1,1,1.5,1e3\n2,0,.25,3,1,inf\n"),
        ("b.CSV", "\u{feff}0, 0.5, -1, 1, 1.5, 1e3\r\n2,0,.25,3,1,inf"),
        (
            "c.csv",
            "\"x, m\";y;z;a;b;c\n\n0;0.5;-1;1;1.5;1e3\n  # none\n2;0;.25;3;1;inf\n\n",
        ),
        (
            "d.tsv",
            "x from\ty from\tz\tx to\ty to\tz to\n0\t0.5\t-1\t1\t1.5\t1e3\n2\t0\t.25\t3\t1\tinf\n",
        ),
        (
            "e.txt",
            "# made by hand\n# x y z\n  0 0.5  -1 1\t1.5 1e3  \n2 0 .25 3 1 inf # the last\n#",
        ),
        ("f.dat", "x y z a b c\r\r0 0.5 -1 1 1.5 1e3\r2 0 .25 3 1 inf\r"),
        // Blanks separate the rows, commas only the names.
        ("g.xyz", "x, y, z, a, b, c\n0 0.5 -1 1 1.5 1e3\n2 0 .25 3 1 inf"),
        ("i.csv", "0, 0.5, -1, 1, 1.5, 1e3\n2, 0, .25, 3, 1, inf\n"),
        ("h.csv", "\"0\",\"0.5\",-1,+1,\" 1.5 \",1e3\n2,0,.25,3,1,inf\n"),
    ] {
        assert_eq!(boxes(&folder.write(name, text)), expected, "{name}");
    }
    assert_eq!(
        boxes(&folder.write("zeros.csv", "0, 0, 0, 1, 1, 1\n")),
        [Aabb::new([0.0; 3], [1.0; 3])]
    );
    let path = folder.write(
        "filters.txt",
        "a b c d e f Layers GROUP # both of 32 bits\n0 0 0 1 1 1 3 7\n",
    );
    let [filtered] = boxes(&path)[..] else { panic!() };
    assert_eq!((filtered.layers, filtered.group), (3, 7));
    assert_eq!(boxes(&folder.write("none.csv", "a,b,c,d,e,f\n# none\n")), []);
}

const SMALL: [[f32; 6]; 2] = [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]];

fn small_boxes() -> Vec<Aabb> {
    SMALL.map(|[a, b, c, d, e, f]| Aabb::new([a, b, c], [d, e, f])).to_vec()
}

fn half(value: f32) -> [u8; 2] {
    half::f16::from_f32(value).to_le_bytes()
}

#[test]
fn arrays_come_in_every_type_and_order() {
    let folder = Folder::new();
    type Bytes = fn(f32) -> Vec<u8>;
    let types: [(&str, Bytes); 14] = [
        ("<f2", |value| half(value).to_vec()),
        ("<f4", |value| value.to_le_bytes().to_vec()),
        (">f4", |value| value.to_be_bytes().to_vec()),
        ("<f8", |value| f64::from(value).to_le_bytes().to_vec()),
        (">f8", |value| f64::from(value).to_be_bytes().to_vec()),
        ("|i1", |value| (value as i8).to_le_bytes().to_vec()),
        ("|u1", |value| vec![value as u8]),
        ("<i2", |value| (value as i16).to_le_bytes().to_vec()),
        (">u2", |value| (value as u16).to_be_bytes().to_vec()),
        ("<i4", |value| (value as i32).to_le_bytes().to_vec()),
        (">i4", |value| (value as i32).to_be_bytes().to_vec()),
        ("<u4", |value| (value as u32).to_le_bytes().to_vec()),
        (">i8", |value| (value as i64).to_be_bytes().to_vec()),
        ("<u8", |value| (value as u64).to_le_bytes().to_vec()),
    ];
    for (dtype, bytes) in types {
        let rows: Vec<u8> = SMALL.as_flattened().iter().flat_map(|&value| bytes(value)).collect();
        for shape in ["(2, 6)", "(2, 2, 3)"] {
            let path = folder.write("a.npy", npy(&npy_header(dtype, false, shape), &rows));
            assert_eq!(boxes(&path), small_boxes(), "{dtype} {shape}");
        }
        let columns: Vec<u8> = (0..6)
            .flat_map(|column| SMALL.map(|row| row[column]))
            .flat_map(bytes)
            .collect();
        let path = folder.write("a.npy", npy(&npy_header(dtype, true, "(2, 6)"), &columns));
        assert_eq!(boxes(&path), small_boxes(), "{dtype}, Fortran order");
    }
    let flat: Vec<u8> = [0_u8, 1, 2, 3].to_vec();
    let path = folder.write("flat.npy", npy(&npy_header("|u1", false, "(1, 2, 2)"), &flat));
    let scene = read(&path, &[], None, None).unwrap();
    assert_eq!(
        (scene.dimensions, scene.boxes),
        (2, vec![Aabb::new([0.0, 1.0, 0.0], [2.0, 3.0, 0.0])])
    );
}

#[test]
fn integers_that_no_float_holds_round_outward() {
    let folder = Folder::new();
    let path = folder.write(
        "wide.npy",
        npy(&npy_header("<i8", false, "(1, 4)"), &{
            let values: [i64; 4] = [(1 << 24) + 1, -(1 << 60) - 1, (1 << 24) + 1, (1 << 60) + 1];
            values.map(i64::to_le_bytes).concat()
        }),
    );
    let scene = read(&path, &[], None, None).unwrap();
    let [wide] = scene.boxes[..] else { panic!() };
    let step = 2_f32.powi(60);
    // The origin makes x exact, and cannot help y.
    assert_eq!(
        (scene.origin.position, wide.min[0], wide.max[0]),
        ([16_777_217.0, 0.0, 0.0], 0.0, 0.0)
    );
    assert_eq!((wide.min[1], wide.max[1]), ((-step).next_down(), step.next_up()));
}

fn npz(arrays: &[(&str, &[u8])], is_deflated: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (name, array) in arrays {
        let method = match is_deflated {
            true => CompressionMethod::DEFLATE,
            false => CompressionMethod::STORE,
        };
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
        let descriptor = if is_deflated {
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
            writer.write_all(array).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(array).unwrap();
            writer.finish().unwrap().1
        };
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

fn small_array() -> Vec<u8> {
    let data: Vec<u8> = SMALL
        .as_flattened()
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    npy(&npy_header("<f4", false, "(2, 6)"), &data)
}

/// An array with a header as Python 2 wrote it.
fn old_array() -> Vec<u8> {
    let array = small_array();
    let data = &array[array.len() - 48..];
    npy(&npy_header("f4", false, "(2L, 6L)"), data)
}

#[test]
fn archives_hold_arrays() {
    let folder = Folder::new();
    let array = small_array();
    let points = npy(&npy_header("<f4", false, "(0, 3)"), &[]);
    for is_deflated in [false, true] {
        let one = folder.write(
            "one.npz",
            npz(&[("readme.txt", b"text"), ("boxes.npy", &array)], is_deflated),
        );
        assert_eq!(boxes(&one), small_boxes());
        folder.write(
            "two.npz",
            npz(&[("points.npy", &points), ("boxes.npy", &array)], is_deflated),
        );
        for name in ["two.npz:boxes", "two.npz:boxes.npy"] {
            assert_eq!(boxes(&folder.path(name)), small_boxes());
        }
    }
    folder.refuses(
        &["pairs", "two.npz"],
        &["two.npz", "2 arrays: points, boxes; choose one as FILE.npz:NAME"],
    );
    folder.refuses(
        &["pairs", "two.npz:faces"],
        &["no array \"faces\"", "use one of points, boxes"],
    );
    folder.refuses(
        &["pairs", "two.npz:points"],
        &["two.npz:points: 3 columns; boxes need 6"],
    );
    folder.refuses(&["pairs", "three.npz:boxes"], &["three.npz", "No such file"]);
    folder.write("empty.npz", npz(&[], false));
    folder.refuses(&["pairs", "empty.npz"], &["no arrays"]);
    folder.write("none.npz", "PK, but not quite");
    folder.refuses(&["pairs", "none.npz"], &["none.npz", "invalid archive"]);

    // 80 MB of zeros, packed into about 80 kB.
    let rows = 3_400_000_usize;
    let header = npy_header("<f4", false, &format!("({rows}, 6)"));
    let bomb = npz(&[("boxes.npy", &npy(&header, &vec![0; rows * 24]))], true);
    assert!(bomb.len() < 100_000);
    folder.write("bomb.npz", &bomb);
    folder.refuses(
        &["pairs", "bomb.npz"],
        &["bomb.npz", "too large: unpacks to 816000", "the limit is 67108864"],
    );
    // The archive claims a smaller size than it unpacks to.
    let claim = (npy(&header, &[]).len() + rows * 24) as u32;
    let mut lying = bomb.clone();
    replace(&mut lying, &claim.to_le_bytes(), &10_000_000_u32.to_le_bytes());
    folder.write("lying.npz", lying);
    folder.refuses(&["pairs", "lying.npz"], &["lying.npz", "exceeds the file's size"]);
    let one_row = npy(&npy_header("<f4", false, "(1, 6)"), &[0; 24]);
    let mut more = npz(&[("boxes.npy", &[&one_row[..], &[0; 1000]].concat())], true);
    let (claim, less) = (one_row.len() as u32 + 1000, one_row.len() as u32);
    replace(&mut more, &claim.to_le_bytes(), &less.to_le_bytes());
    folder.write("more.npz", more);
    let said = folder.refuses(&["pairs", "more.npz"], &["more.npz"]);
    assert!(
        said.contains("unpacks to more than") || said.contains("checksum"),
        "{said}"
    );
    let small = small_array();
    let length = small.len() as u32;
    for is_deflated in [true, false] {
        let mut less = npz(&[("boxes.npy", &small)], is_deflated);
        replace(&mut less, &length.to_le_bytes(), &(length - 24).to_le_bytes());
        folder.write("less.npz", less);
        folder.refuses(&["pairs", "less.npz"], &["less.npz", "row 1: truncated"]);
    }
    // A flipped bit that only the checksum detects.
    let mut flipped = npz(&[("boxes.npy", &small)], false);
    let place = flipped.windows(small.len()).position(|window| window == small).unwrap();
    flipped[place + small.len() - 1] ^= 1;
    folder.write("flipped.npz", flipped);
    folder.refuses(&["pairs", "flipped.npz"], &["flipped.npz", "checksum"]);
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let places: Vec<_> = (0..=bytes.len() - from.len())
        .filter(|&place| &bytes[place..place + from.len()] == from)
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to);
    }
}

/// Two triangles that share an edge, and a third one apart.
const CORNERS: [[[f32; 3]; 3]; 3] = [
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, 1.0, 0.0]],
    [[1.0, 0.0, 0.5], [1.0, 1.0, 0.0], [-0.0, 1.0, 0.0]],
    [[0.25, 0.25, -1.0], [0.25, 0.5, 1.0], [0.5, 0.25, 1.0]],
];
const POSITIONS: [[f32; 3]; 7] = [
    CORNERS[0][0],
    CORNERS[0][1],
    CORNERS[0][2],
    CORNERS[1][1],
    CORNERS[2][0],
    CORNERS[2][1],
    CORNERS[2][2],
];
const FACES: [[u32; 3]; 3] = [[0, 1, 2], [1, 3, 2], [4, 5, 6]];
const ALL: [Kind; 3] = [Kind::Vertices, Kind::Edges, Kind::Faces];

fn obj() -> String {
    let vertices = POSITIONS.map(|[x, y, z]| format!("v {x} {y} {z}\n")).concat();
    vertices
        + &FACES
            .map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1))
            .concat()
}

fn stl_bytes() -> Vec<u8> {
    let mut bytes = b"solid as some programs start a binary file".to_vec();
    bytes.resize(80, b' ');
    bytes.extend(3_u32.to_le_bytes());
    for triangle in CORNERS {
        bytes.extend([0; 12]);
        bytes.extend(triangle.as_flattened().iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend([1, 2]);
    }
    bytes
}

fn stl_attributes() -> Vec<u8> {
    let bytes = stl_bytes();
    let mut parts = bytes[..84].to_vec();
    for triangle in bytes[84..].chunks(50) {
        parts.extend(&triangle[..48]);
        parts.extend([4, 0, 1, 2, 3, 4]);
    }
    parts
}

fn stl_text() -> String {
    let mut text = String::from("solid of three\r\n");
    for triangle in CORNERS {
        text += "  facet normal 0 0 0\r\n    OUTER loop\r\n";
        for [x, y, z] in triangle {
            text += &format!("      vertex {x:e} {y} {z:?}\r\n");
        }
        text += "    endloop\r\n  endfacet\r\n";
    }
    text + "endsolid of three\n"
}

fn elements(path: &Path) -> (Vec<Aabb>, [usize; 3]) {
    let scene = read(path, &ALL, None, None).unwrap_or_else(|error| panic!("{error}"));
    (scene.boxes, scene.elements.unwrap().totals)
}

#[test]
fn corners_of_stl_files_are_vertices_once() {
    let folder = Folder::new();
    let expected = elements(&folder.write("a.obj", obj()));
    assert_eq!(expected.1, [7, 8, 3]);
    for (name, bytes) in [("binary.stl", stl_bytes()), ("text.STL", stl_text().into_bytes())] {
        assert_eq!(elements(&folder.write(name, bytes)), expected, "{name}");
    }
    let text = stl_text();
    let binary = stl_bytes();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let returns = text.replace("\r\n", "\r").replace('\n', "\r");
    for (name, bytes) in [("marked.stl", marked), ("returns.stl", returns.into_bytes())] {
        assert_eq!(elements(&folder.write(name, bytes)), expected, "{name}");
    }
    for (name, bytes, needle) in [
        (
            "cut.stl",
            binary[..binary.len() - 1].to_vec(),
            "3 triangles need 234 bytes, the file has 233",
        ),
        (
            "count.stl",
            [vec![0; 80], vec![255; 4], vec![0; 50]].concat(),
            "4294967295 triangles need 214748364834 bytes, the file has 134",
        ),
        ("short.stl", b"solidity".to_vec(), "too short"),
        (
            "word.stl",
            text.replacen("vertex 1e0", "vertex half", 1).into(),
            "\"half\"",
        ),
        (
            "four.stl",
            text.replacen("    endloop", "vertex 0 0 0\nendloop", 1).into(),
            "line 7: a loop of more",
        ),
        (
            "two.stl",
            text.replacen("      vertex 0e0 0 0.0\r\n", "", 1).into(),
            "line 6: a loop of 2",
        ),
        (
            "end.stl",
            text.replacen("  endfacet\r\n  facet", "  facet", 1).into(),
            "line 8: unexpected \"facet\"",
        ),
        ("nothing.stl", b"solid\nendsolid\n".to_vec(), "no vertices"),
    ] {
        folder.write(name, bytes);
        folder.refuses(&["pairs", name], &[name, needle]);
    }
}

/// A triangle strip, triangles and lines over the same positions. The outer node translates the mesh; the inner node
/// rotates it.
fn gltf(uri: &str, extra: &str) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":1,"scenes":[{{}},{{"nodes":[2]}}],
"nodes":[{{"mesh":0,"rotation":[0,0,0.7071067811865476,0.7071067811865476]}},
{{"mesh":0}},{{"children":[0],"translation":[1,0,0],"name":"outer"}}],
"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1,"mode":5,"material":3}},
{{"attributes":{{"POSITION":0}},"indices":2}},{{"attributes":{{"POSITION":0}},"indices":3,"mode":1}}{extra}]}}],
"accessors":[{{"bufferView":0,"componentType":5126,"count":7,"type":"VEC3"}},
{{"bufferView":1,"componentType":5121,"count":4,"type":"SCALAR"}},
{{"bufferView":1,"byteOffset":4,"componentType":5123,"count":3,"type":"SCALAR"}},
{{"bufferView":1,"byteOffset":12,"componentType":5125,"count":2,"type":"SCALAR"}}],
"bufferViews":[{{"buffer":0,"byteOffset":4,"byteLength":108,"byteStride":16}},
{{"buffer":0,"byteOffset":112,"byteLength":20}}],
"buffers":[{{"byteLength":132{uri}}}]}}"#
    )
}

fn gltf_buffer() -> Vec<u8> {
    // (x, y) is stored as (y, −x), which the node rotates back.
    let mut bytes = vec![9; 4];
    for [x, y, z] in POSITIONS {
        bytes.extend([y, -x, z].iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend([7; 4]);
    }
    bytes.truncate(112);
    bytes.extend([0, 1, 2, 3]);
    bytes.extend([4_u16, 5, 6, 0].iter().flat_map(|index| index.to_le_bytes()));
    bytes.extend([0_u32, 4].iter().flat_map(|index| index.to_le_bytes()));
    bytes
}

fn glb(json: &str, buffer: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend((28 + json.len() as u32 + buffer.len() as u32).to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(json);
    bytes.extend((buffer.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(buffer);
    bytes
}

#[test]
fn scenes_of_gltf_are_placed_by_their_nodes() {
    let folder = Folder::new();
    let buffer = gltf_buffer();
    assert_eq!(buffer.len(), 132);
    folder.write("a buffer.bin", &buffer);
    let inlined = format!(
        ",\"uri\":\"data:application/octet-stream;base64,{}\"",
        STANDARD.encode(&buffer)
    );
    // A strip of four corners is two triangles, the second reversed.
    let vertices = POSITIONS.map(|[x, y, z]| format!("v {} {y} {z}\n", x + 1.0)).concat();
    let expected = elements(&folder.write("a.obj", vertices + "f 1 2 3\nf 2 4 3\nf 5 6 7\nl 1 5\n"));
    assert_eq!(expected.1, [7, 9, 3]);
    for (name, bytes) in [
        ("file.gltf", gltf(",\"uri\":\"a%20buffer.bin\"", "").into_bytes()),
        ("data.gltf", gltf(&inlined, "").into_bytes()),
        ("one.glb", glb(&gltf("", ""), &buffer)),
        ("inlined.glb", glb(&gltf(&inlined, ""), &[])),
    ] {
        let (boxes, totals) = elements(&folder.write(name, bytes));
        assert_eq!(totals, expected.1, "{name}");
        for (a, b) in boxes.iter().zip(&expected.0) {
            let close = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(close(a.min, b.min) && close(a.max, b.max), "{name}: {a:?} {b:?}");
        }
    }
    // Points over the same positions add nothing.
    let points = ",{\"attributes\":{\"POSITION\":0},\"mode\":0}";
    let (_, totals) = elements(&folder.write("points.glb", glb(&gltf("", points), &buffer)));
    assert_eq!(totals, [7, 9, 3]);
}

#[test]
fn hostile_gltf_is_refused() {
    let folder = Folder::new();
    let buffer = gltf_buffer();
    let good = gltf("", "");
    folder.write("out.bin", &buffer[..100]);
    folder.write("empty.bin", "");
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    let uri = |uri: &str| gltf(&format!(",\"uri\":\"{uri}\""), "");
    for (number, (json, needle)) in [
        (with("\"2.0\"", "\"1.0\""), "version \"1.0\""),
        (
            with("\"scene\":1", "\"scene\":2"),
            "unknown scene 2: there are 2, from 0",
        ),
        (with("\"nodes\":[2]", "\"nodes\":[3]"), "unknown node 3: there are 3"),
        (with("\"nodes\":[2]", "\"nodes\":[2,2]"), "node 2 has two parents"),
        (
            with("\"children\":[0]", "\"children\":[2]"),
            "node 2 has two parents, or is its own descendant",
        ),
        (
            with("\"mesh\":0,\"rotation\"", "\"mesh\":1,\"rotation\""),
            "node 0: unknown mesh 1: there are 1",
        ),
        (
            with(
                "\"translation\":[1,0,0]",
                "\"matrix\":[1,0,0,1,0,1,0,0,0,0,1,0,0,0,0,1]",
            ),
            "node 2: unsupported matrix",
        ),
        (
            with("\"translation\":[1,0,0]", "\"translation\":[1,0]"),
            "invalid JSON: invalid length 2",
        ),
        (
            with("\"translation\":[1,0,0]", "\"translation\":[1,0,1e999]"),
            "invalid JSON: number out of range",
        ),
        (with("\"mode\":5", "\"mode\":7"), "primitive 0: unknown mode 7"),
        (
            with("\"mode\":5", "\"mode\":4"),
            "wrong number of corners: 4 for mode 4",
        ),
        (
            with("\"indices\":3", "\"indices\":4"),
            "unknown accessor 4: there are 4",
        ),
        (
            with("\"indices\":3", "\"indices\":0"),
            "accessor 0: type \"VEC3\", needs SCALAR",
        ),
        (
            with("5121,\"count\":4", "5120,\"count\":4"),
            "unsupported component type 5120",
        ),
        (
            with("5121,\"count\":4", "5121,\"count\":21"),
            "out of range: 21 elements from byte 0, the buffer view has 20",
        ),
        (
            with("\"count\":7", "\"count\":18446744073709551615"),
            "18446744073709551615 elements",
        ),
        (
            with("\"count\":7", "\"count\":0"),
            "no vertices; skipped 3 primitives without positions",
        ),
        (
            with("\"count\":7", "\"count\":6"),
            "unknown vertex 6: there are 6, from 0",
        ),
        (
            with("\"count\":7,", "\"count\":7,\"sparse\":{\"count\":1},"),
            "invalid JSON: missing field `indices`",
        ),
        (with("{\"bufferView\":0,", "{"), "accessor 0: no buffer view"),
        (
            with("\"byteStride\":16", "\"byteStride\":4"),
            "invalid stride: 12-byte elements every 4",
        ),
        (with("\"byteLength\":20", "\"byteLength\":21"), "buffer 0 has 132"),
        (
            with("\"byteOffset\":112", "\"byteOffset\":18446744073709551615"),
            "buffer 0 has 132",
        ),
        (
            with("\"byteLength\":132", "\"byteLength\":133"),
            "133 bytes stated, 132 found",
        ),
        (
            with(
                "\"asset\"",
                "\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],\"asset\"",
            ),
            "KHR_draco",
        ),
        (
            with(
                "\"name\":\"outer\"",
                "\"mesh\":0,\"extensions\":{\"EXT_mesh_gpu_instancing\":{}}",
            ),
            "EXT_mesh_gpu",
        ),
        (uri("out.bin"), "out.bin: truncated: 132 bytes stated, 100 found"),
        (uri("empty.bin"), "empty.bin: the file is empty"),
        (uri("none.bin"), "none.bin: No such file"),
        (uri(&"n".repeat(5000)), "buffer 0: nnnnnnnn"),
        (uri("../out.bin"), "must be in the file's folder"),
        (uri("%2e%2e/out.bin"), "must be in the file's folder"),
        (uri("/etc/passwd"), "must be in the file's folder"),
        (uri("https://example.org/a.bin"), "must be in the file's folder"),
        (uri("data:,text"), "data URI is not base64"),
        (uri("data:;base64,!!"), "invalid base64"),
        ("[".repeat(10_000), "invalid JSON"),
        ("{\"asset\":{\"version\":\"2.0\"}}".to_owned(), "no vertices"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.glb");
        folder.write(&name, glb(&json, &buffer));
        let said = folder.refuses(&["pairs", &name], &[&name, needle]);
        assert!(said.len() < 400, "{said}");
    }
    let whole = glb(&good, &buffer);
    for (name, bytes, needle) in [
        ("cut.glb", whole[..whole.len() - 1].to_vec(), "the header states"),
        ("head.glb", b"glTF\x02\0\0\0".to_vec(), "no header"),
        (
            "old.glb",
            b"glTF\x01\0\0\0\x0c\0\0\0".to_vec(),
            "unsupported GLB version 1",
        ),
        ("none.glb", b"glTF\x02\0\0\0\x0c\0\0\0".to_vec(), "no chunk"),
        ("text.gltf", b"not JSON".to_vec(), "invalid JSON"),
    ] {
        folder.write(name, bytes);
        folder.refuses(&["pairs", name], &[name, needle]);
    }
    // 7,000 vertices in 3,000 nodes: about 250 MB from a small file.
    let (vertices, places) = (7_000, 3_000);
    let nodes = vec!["{\"mesh\":0}"; places].join(",");
    let roots = (0..places).map(|node| node.to_string()).collect::<Vec<_>>().join(",");
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[{roots}]}}],"nodes":[{nodes}],
"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"mode":0}}]}}],
"accessors":[{{"bufferView":0,"componentType":5126,"count":{vertices},"type":"VEC3"}}],
"bufferViews":[{{"buffer":0,"byteLength":{length}}}],"buffers":[{{"byteLength":{length}}}]}}"#,
        length = vertices * 12
    );
    folder.write("many.glb", glb(&json, &vec![0; vertices * 12]));
    folder.refuses(
        &["pairs", "many.glb", "--elements", "vertices"],
        &["many.glb", "too large: repeated meshes", "the limit is 67108864"],
    );
}

#[test]
fn broken_files_of_every_format_are_refused() {
    let folder = Folder::new();
    let array = small_array();
    for (name, bytes) in [
        ("a.txt", b"\xef\xbb\xbfx y # z\r\n\"0\"\t1;,\n#\n".to_vec()),
        ("a.npy", array.clone()),
        ("a.npz", npz(&[("a.npy", &array)], true)),
        ("b.npz", npz(&[("a.npy", &array), ("b.npy", b"")], false)),
        ("a.stl", stl_bytes()),
        ("b.stl", stl_text().into_bytes()),
        ("a.glb", glb(&gltf("", ""), &gltf_buffer())),
        (
            "b.glb",
            [&glb(&(gltf("", "") + "\0\0\0\0"), &gltf_buffer())[..], &[0; 5]].concat(),
        ),
        ("skin.gltf", crate::skins::chain("0,0,0").into_bytes()),
        ("b.npy", [&old_array()[..], &[0; 5]].concat()),
        ("c.stl", [&stl_bytes()[..], &[0; 5]].concat()),
        ("d.stl", stl_attributes()),
        (
            "e.stl",
            stl_text()
                .replace("endloop", "end loop")
                .replace("\r\n", " ")
                .into_bytes(),
        ),
        (
            "a.ply",
            b"ply\rformat ascii 1.0\rcomment \xff\relement vertex 3\rproperty float x\rproperty float y\r\
              property float z\relement face 2\rproperty list uchar int vertex_index\rend_header\r\
              0 0 0 1 0\r0 0 1 1.#INF 1 2\r3 0 1 2"
                .to_vec(),
        ),
        (
            "a.obj",
            b"v 0 0 0\rv 1 0 0\rv 0 1 1.#IND # x\rf 1\rl 2\rf 1 2 3\r".to_vec(),
        ),
    ] {
        // Formats of which a prefix may be a valid file.
        let may_end_early = matches!(
            name,
            "a.txt" | "b.glb" | "b.npy" | "b.stl" | "c.stl" | "d.stl" | "e.stl" | "a.ply" | "a.obj"
        );
        assert!(read(&folder.write(name, &bytes), &[], None, None).is_ok() || may_end_early || name == "b.npz");
        for length in 0..bytes.len() {
            let result = read(&folder.write(name, &bytes[..length]), &[], None, None);
            let is_complete = bytes[length..].trim_ascii().is_empty();
            match result {
                Ok(_) => assert!(may_end_early || is_complete, "{name}: {length}"),
                Err(said) => assert!(said.lines().count() == 1 && said.len() < 600, "{said}"),
            }
        }
        for place in 0..bytes.len() {
            for bits in [1, 0xff] {
                let mut flipped = bytes.clone();
                flipped[place] ^= bits;
                if let Err(said) = read(&folder.write(name, &flipped), &[], None, None) {
                    assert!(!said.contains('\n') && said.len() < 600, "{said}");
                }
            }
        }
    }
}

#[test]
fn broken_files_of_atoms_are_refused() {
    let folder = Folder::new();
    let cell = "Lattice=\"3 0 0 0 3 0 0 0 3\" Properties=species:S:1:pos:R:3 pbc=\"T T F\"";
    let text = format!("2\n{cell}\nO 0 0 0\nH 1 0 0.5\n");
    let read = |bytes: &[u8]| {
        let points = input::points(&folder.write("a.xyz", bytes), &[], None, QUIET);
        points.map_err(|error| format!("{error:#}"))
    };
    let whole = read(text.as_bytes()).unwrap();
    let cell = [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0; 3]];
    assert_eq!((whole.positions.len(), whole.cell), (2, Some(cell)));
    for length in 0..text.len() {
        if let Err(said) = read(&text.as_bytes()[..length]) {
            assert!(!said.contains('\n') && said.len() < 600, "{said}");
        }
        for bits in [1, 0x40, 0xff] {
            let mut flipped = text.as_bytes().to_vec();
            flipped[length] ^= bits;
            if let Err(said) = read(&flipped) {
                assert!(!said.contains('\n') && said.len() < 600, "{said}");
            }
        }
    }
}

fn piped(folder: &Folder, arguments: &[&str], bytes: &[u8]) -> Ran {
    let mut command = folder.command(&[arguments, &["--backend", "cpu", "--quiet"]].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap().into()
}

#[test]
fn standard_input_tells_its_format_by_how_it_starts() {
    let folder = Folder::new();
    let overlapping = "0 0 0 1 1 1\n0.5 0 0 2 1 1\n";
    let floats = [0.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 2.0, 1.0, 1.0];
    let data: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
    let array = npy(&npy_header("<f4", false, "(2, 6)"), &data);
    for (what, bytes) in [
        ("text", overlapping.as_bytes().to_vec()),
        ("comments", format!("# v 1 2 3\n{overlapping}").into_bytes()),
        ("npy", array.clone()),
        ("npz", npz(&[("a.npy", &array)], true)),
    ] {
        let ran = piped(&folder, &["pairs", "-"], &bytes);
        assert_eq!(
            (ran.status, ran.stdout.as_str()),
            (0, "0,1\n"),
            "{what}: {}",
            ran.stderr
        );
    }
    folder.write("a.obj", obj());
    let expected = folder.cpu(&["pairs", "a.obj", "--elements", "faces"]);
    assert!(!expected.is_empty());
    let ply = format!(
        "ply\nformat ascii 1.0\nelement vertex 7\nproperty float x\nproperty float y\nproperty float z\nelement face 3\n\
         property list uchar int vertex_indices\nend_header\n{}{}",
        POSITIONS.map(|[x, y, z]| format!("{x} {y} {z}\n")).concat(),
        FACES.map(|[a, b, c]| format!("3 {a} {b} {c}\n")).concat()
    );
    let (json, buffer) = (gltf("", ""), gltf_buffer());
    let gltf_ids = {
        folder.write("a.glb", glb(&json, &buffer));
        folder.cpu(&["pairs", "a.glb"])
    };
    for (what, bytes, expected) in [
        ("obj", format!("# a mesh\no thing\n{}", obj()).into_bytes(), &expected),
        ("ply", ply.clone().into_bytes(), &expected),
        ("marked ply", format!("\u{feff}{ply}").into_bytes(), &expected),
        ("stl", stl_bytes(), &expected),
        ("stl as text", stl_text().into_bytes(), &expected),
        ("glb", glb(&json, &buffer), &gltf_ids),
    ] {
        let ran = piped(&folder, &["pairs", "-"], &bytes);
        assert_eq!((ran.status, &ran.stdout), (0, expected), "{what}: {}", ran.stderr);
    }
    folder.write("boxes.txt", overlapping);
    let ran = piped(
        &folder,
        &["rays", "boxes.txt", "-", "--mode", "any"],
        b"-1 0.5 0.5 1 0 0 9\n",
    );
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "0,1\n"), "{}", ran.stderr);
    let ran = piped(&folder, &["neighbors", "-", "--radius", "1"], b"0,0\n0,1\n");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "0,1\n"), "{}", ran.stderr);

    for (arguments, bytes, needle) in [
        (vec!["pairs", "-"], &b""[..], "standard input: empty"),
        (
            vec!["pairs", "-"],
            b"0 0 0 1 1 1\n0 0",
            "standard input: line 2: 2 columns",
        ),
        (
            vec!["rays", "-", "-"],
            overlapping.as_bytes(),
            "standard input: only one argument can read standard input",
        ),
        (
            vec!["rays", "boxes.txt", "-"],
            b"ply\n",
            "standard input: a PLY mesh; use a table",
        ),
        (
            vec!["pairs", "-"],
            gltf(",\"uri\":\"a.bin\"", "").as_bytes(),
            "buffer files need a scene file",
        ),
    ] {
        let ran = piped(&folder, &arguments, bytes);
        assert_eq!(
            (ran.status, ran.stderr.lines().count()),
            (2, 1),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(needle), "{arguments:?}: {}", ran.stderr);
    }
}

/// Equal points in f32.
const FAR: [[f64; 3]; 4] = [
    [5e6, 4e5, 100.0],
    [5e6 + 0.0625, 4e5, 100.0],
    [5e6, 4e5 + 0.09375, 100.0],
    [5e6 + 0.0625, 4e5 + 0.09375, 100.0],
];

fn cloud(format: &str, axes: usize) -> Vec<u8> {
    let mut bytes = format!(
        "ply\nformat {format} 1.0\nelement vertex {}\nproperty uchar red\n",
        FAR.len()
    );
    for axis in &["x", "y", "z"][..axes] {
        bytes += &format!("property double {axis}\n");
    }
    bytes += "property float intensity\nproperty list uchar short marks\nend_header\n";
    let is_text = format == "ascii";
    if is_text {
        for point in &FAR {
            let point = point[..axes]
                .iter()
                .map(|value| format!("{value} "))
                .collect::<String>();
            bytes += &format!("255 {point}0.5 2 -7 9\n");
        }
        return bytes.into_bytes();
    }
    let mut bytes = bytes.into_bytes();
    for point in &FAR {
        bytes.push(255);
        for value in &point[..axes] {
            bytes.extend(if format == "binary_big_endian" {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            });
        }
        // The intensity, and an empty list.
        bytes.extend([0; 5]);
    }
    bytes
}

#[test]
fn vertices_of_meshes_and_point_clouds_are_points() {
    let folder = Folder::new();
    let expected = "0,1,0.0625\n2,3,0.0625\n";
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        for (axes, shifts) in [(3, "0,0,0"), (2, "0,0")] {
            let bytes = cloud(format, axes);
            folder.write("cloud.ply", &bytes);
            let neighbors = ["neighbors", "cloud.ply", "--radius", "0.07", "--distances"];
            folder.answers(&neighbors, expected, "");
            let piped = piped(&folder, &["neighbors", "-", "--radius", "0.07", "--distances"], &bytes);
            assert_eq!((piped.status, piped.stdout.as_str()), (0, expected), "{}", piped.stderr);
            // The number of shifts shows the dimensions.
            let row = folder.cpu(&[
                "neighbors",
                "cloud.ply",
                "--nearest",
                "1",
                "--shifts",
                "--period",
                "1e7",
            ]);
            assert_eq!(row.lines().next(), Some(&*format!("0,1,{shifts}")), "{format} {axes}");
            let flat = [&neighbors[..], &["--dimensions", "2"]].concat();
            folder.answers(&flat, expected, "");
        }
    }
    folder.refuses(
        &["neighbors", "cloud.ply", "--radius", "1", "--dimensions", "3"],
        &["cloud.ply: the points are 2D, --dimensions requires 3"],
    );

    let near = folder.cpu(&[
        "neighbors",
        &folder.write("a.obj", obj()).display().to_string(),
        "--radius",
        "1.01",
    ]);
    assert!(near.lines().count() > 3, "{near}");
    folder.write("cloud.obj", obj().replace("\nf", "\n# f"));
    folder.write("mesh.obj", obj());
    folder.write("mesh.stl", stl_bytes());
    let corners = POSITIONS.map(|[x, y, z]| format!("{x} {y} {z}\n")).concat();
    let vertices = "element vertex 7\nproperty float x\nproperty float y\nproperty float z\n";
    let edge = "element edge 1\nproperty int vertex1\nproperty int vertex2\n";
    folder.write(
        "wire.ply",
        format!("ply\nformat ascii 1.0\n{vertices}{edge}end_header\n{corners}0 1\n"),
    );
    folder.write("points.glb", glb(&gltf("", ""), &gltf_buffer()));
    for (name, ignored) in [
        ("cloud.obj", false),
        ("mesh.obj", true),
        ("mesh.stl", true),
        ("wire.ply", true),
        ("points.glb", true),
    ] {
        let arguments = ["neighbors", name, "--radius", "1.01"];
        folder.answers(&arguments, &near, "");
        let ran = folder.run(&[&arguments[..], &["--backend", "cpu"]].concat());
        let says = format!("{name}: the points are its 7 vertices; faces and edges are ignored\n");
        assert_eq!(ran.stderr.contains(&says), ignored, "{name}: {}", ran.stderr);
    }

    let vertices = format!("ply\nformat ascii 1.0\n{}", vertices.replace("vertex 7", "vertex 3"));
    folder.write("nan.ply", format!("{vertices}end_header\n0 0 0\nnan 0 0\n0 0 1\n"));
    folder.answers(
        &["neighbors", "nan.ply", "--radius", "1"],
        "0,2\n",
        "nan.ply: ignored 1 of 3 points as invalid, the first in vertex 1: its x is NaN",
    );
    folder.refuses(
        &["neighbors", "nan.ply", "--radius", "1", "--dimensions", "2"],
        &["nan.ply: vertex 2 has z 1, others 0"],
    );
    folder.write("empty.ply", vertices.replace("vertex 3", "vertex 0") + "end_header\n");
    folder.refuses(
        &["neighbors", "empty.ply", "--radius", "1"],
        &["empty.ply: no vertices\n"],
    );
}

#[test]
fn point_clouds_are_queries() {
    let folder = Folder::new();
    folder.write("boxes.csv", "0,0,0,1,1,1\n2,0,0,3,1,1\n");
    folder.write("flat.csv", "0,0,1,1\n2,0,3,1\n");
    let ply = |axes: &[&str], rows: &str| {
        let properties: String = axes.iter().map(|axis| format!("property float {axis}\n")).collect();
        let count = rows.lines().count();
        format!("ply\nformat ascii 1.0\nelement vertex {count}\n{properties}end_header\n{rows}")
    };
    folder.write("cloud.ply", ply(&["x", "y", "z"], "2.5 0.5 0.5\n0.5 0.5 0.5\n"));
    folder.write("flat.ply", ply(&["x", "y"], "2.5 0.5\n0.5 0.5\n"));
    folder.write("nan.ply", ply(&["x", "y", "z"], "0 0 0\nnan 0 0\n"));
    folder.write("cloud.obj", "v 2.5 0.5 0.5\nv 0.5 0.5 0.5\n");
    for (scene, queries) in [
        ("boxes.csv", "cloud.ply"),
        ("boxes.csv", "cloud.obj"),
        ("flat.csv", "cloud.ply"),
        ("flat.csv", "flat.ply"),
    ] {
        folder.answers(&["query", scene, queries], "0,1\n1,0\n", "");
    }
    let why = folder.run(&["why", "boxes.csv", "1", "--boxes", "cloud.ply", "--query", "0"]);
    assert!(
        why.stdout.contains("Query 0 finds object 1"),
        "{}{}",
        why.stdout,
        why.stderr
    );
    folder.answers(
        &["query", "boxes.csv", "nan.ply"],
        "0,0\n",
        "the first in vertex 1: x from NaN",
    );
    folder.refuses(
        &["query", "boxes.csv", "flat.ply"],
        &["flat.ply: the queries are 2D and the scene is 3D"],
    );
    folder.write("mesh.obj", obj());
    folder.write("wire.obj", "v 0 0 0\nv 1 0 0\nl 1 2\n");
    for (name, needle) in [("mesh.obj", "a mesh with 3 faces"), ("wire.obj", "a mesh with 1 edge;")] {
        folder.refuses(&["query", "boxes.csv", name], &[name, needle, "vertices only"]);
    }
}

#[test]
fn meshes_lie_in_a_plane_in_two_dimensions() {
    let folder = Folder::new();
    // A square, a triangle with a corner in it, and a wire across both.
    let faces = "f 1 2 3 4\nf 5 6 7\nl 8 9\n";
    let flat = |z: &str| {
        let corners = ["0 0", "2 0", "2 2", "0 2", "1 1", "5 1", "5 3", "-1 1.5", "9 1.5"];
        corners.map(|corner| format!("v {corner} {z}\n")).concat() + faces
    };
    let path = folder.write("flat.obj", flat("7"));
    let scene = read(&path, &ALL, Some(2), None).unwrap();
    assert_eq!(scene.dimensions, 2);
    assert!(
        scene
            .boxes
            .iter()
            .all(|boxed| boxed.min[2] <= 0.0 && boxed.max[2] >= 0.0 && boxed.max[2] < 1e-30)
    );
    assert_eq!(folder.cpu(&["pairs", "flat.obj", "--dimensions", "2"]), "17,18\n");
    let edges = folder.cpu(&[
        "pairs",
        "flat.obj",
        "--dimensions",
        "2",
        "--between",
        "edges,vertices",
        "--free",
    ]);
    assert_eq!(
        edges,
        folder.cpu(&["pairs", "flat.obj", "--between", "edges,vertices", "--free"])
    );
    assert!(!edges.is_empty());
    folder.write("none.obj", flat(""));
    assert_eq!(folder.cpu(&["pairs", "none.obj", "--dimensions", "2"]), "17,18\n");
    folder.refuses(
        &["pairs", "none.obj"],
        &["none.obj", "line 1: a vertex needs 3 numbers"],
    );
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nelement face 1\n\
               property list uchar int vertex_indices\nend_header\n0 0\n1 0\n0 1\n3 0 1 2\n";
    folder.write("none.ply", ply);
    folder.cpu(&["pairs", "none.ply", "--dimensions", "2"]);

    folder.write("bent.obj", flat("7").replace("v 5 3 7", "v 5 3 8"));
    let needle = "bent.obj: vertex 6 has z 8, others 7: --dimensions 2 needs a constant z";
    folder.refuses(&["pairs", "bent.obj", "--dimensions", "2"], &[needle]);
    folder.write("nan.obj", flat("nan"));
    folder.refuses(&["pairs", "nan.obj", "--dimensions", "2"], &["vertex 0 has z NaN"]);
    folder.cpu(&["pairs", "flat.obj", "--next", "flat.obj", "--dimensions", "2"]);
    folder.write("lifted.obj", flat("8"));
    folder.refuses(
        &["pairs", "flat.obj", "--next", "lifted.obj", "--dimensions", "2"],
        &["lifted.obj: vertex 0 has z 8, others 7"],
    );
}
