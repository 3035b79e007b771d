//! Skins and morph targets of glTF scenes, with known vertices.

use crate::support::Folder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use broadphase::args::ReadingArgs;
use broadphase::mesh::Kind;
use broadphase::report::Reporter;
use gpu_broad_phase::Aabb;

/// Accessors over one buffer, each with a view of its own.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    views: Vec<String>,
    accessors: Vec<String>,
}

impl Parts {
    fn view(&mut self, bytes: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 7);
        let (start, length) = (self.bytes.len(), bytes.len());
        self.bytes.extend(bytes);
        self.views
            .push(format!(r#"{{"buffer":0,"byteOffset":{start},"byteLength":{length}}}"#));
        self.views.len() - 1
    }

    fn accessor(&mut self, kind: &str, component: u32, count: usize, rest: &str) -> usize {
        self.accessors.push(format!(
            r#"{{"type":"{kind}","componentType":{component},"count":{count}{rest}}}"#
        ));
        self.accessors.len() - 1
    }

    fn add(&mut self, kind: &str, component: u32, count: usize, bytes: &[u8], rest: &str) -> usize {
        let view = self.view(bytes);
        self.accessor(kind, component, count, &format!(r#","bufferView":{view}{rest}"#))
    }

    fn floats(&mut self, kind: &str, values: &[f32]) -> usize {
        let width = match kind {
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        self.add(kind, FLOAT, values.len() / width, &bytes_of(values), "")
    }

    fn joints(&mut self, joints: &[[u8; 4]]) -> usize {
        self.add("VEC4", UNSIGNED_BYTE, joints.len(), joints.as_flattened(), "")
    }

    fn file(&self, rest: &str) -> String {
        format!(
            r#"{{"asset":{{"version":"2.0"}},{rest},"accessors":[{}],"bufferViews":[{}],
"buffers":[{{"byteLength":{},"uri":"data:;base64,{}"}}]}}"#,
            self.accessors.join(","),
            self.views.join(","),
            self.bytes.len(),
            STANDARD.encode(&self.bytes)
        )
    }
}

const UNSIGNED_BYTE: u32 = 5121;
const SHORT: u32 = 5122;
const UNSIGNED_SHORT: u32 = 5123;
const FLOAT: u32 = 5126;

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Vertices as the middles of their boxes.
fn vertices(folder: &Folder, json: &str) -> Vec<[f32; 3]> {
    let path = folder.write("scene.gltf", json);
    let reading = ReadingArgs {
        elements: vec![Kind::Vertices],
        ..Default::default()
    };
    let scene = broadphase::input::scene(&path, &reading, Reporter { quiet: true });
    let scene = scene.unwrap_or_else(|error| panic!("{error:#}\n{json}"));
    let middle = |of: &Aabb| std::array::from_fn(|axis| (of.min[axis] + of.max[axis]) / 2.0);
    let positions = scene.boxes.iter().map(|of| scene.origin.world(middle(of)));
    positions
        .map(|position| position.map(|coordinate| coordinate as f32))
        .collect()
}

fn assert_near(found: &[[f32; 3]], expected: &[[f32; 3]]) {
    let close = |(a, b): (&[f32; 3], &[f32; 3])| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "{found:?}, expected {expected:?}"
    );
}

const TRIANGLE: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];

/// Three joints at x = 10, 20 and 30 in a node that scales by a hundredth, and a mesh in it. `at` are its attributes
/// after the positions.
fn skinned(at: &str, skin: &str) -> String {
    format!(
        r#""nodes":[{{"scale":[0.01,0.01,0.01],"children":[1,2,3,4]}},{{"mesh":0,"skin":0}},
{{"scale":[100,100,100],"translation":[1000,0,0]}},{{"scale":[100,100,100],"translation":[2000,0,0]}},
{{"scale":[100,100,100],"translation":[3000,0,0]}}],
"meshes":[{{"primitives":[{{"mode":0,"attributes":{{"POSITION":0{at}}}}}]}}],"skins":[{{"joints":[2,3,4]{skin}}}]"#
    )
}

#[test]
fn skinned_vertices_follow_their_joints_and_not_their_node() {
    let folder = Folder::new();
    let mut parts = Parts::default();
    parts.floats("VEC3", &TRIANGLE);
    parts.joints(&[[0, 0, 0, 0], [0, 1, 0, 0], [2, 0, 0, 0]]);
    #[rustfmt::skip]
    parts.floats("VEC4", &[1.0, 0.0, 0.0, 0.0, 0.25, 0.75, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let at = ",\"JOINTS_0\":1,\"WEIGHTS_0\":2";
    let expected = [[10.0, 0.0, 0.0], [18.5, 0.0, 0.0], [30.0, 1.0, 0.0]];
    assert_near(&vertices(&folder, &parts.file(&skinned(at, ""))), &expected);

    // Columns of the matrices: x to y, y to −x, z to z, then the origin. A fourth matrix is not used.
    let turn = |x: f32| {
        [
            0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, 2.0, 0.0, 1.0,
        ]
    };
    parts.floats("MAT4", &[-10.0, -20.0, -30.0, f32::NAN].map(turn).concat());
    let json = parts.file(&skinned(at, ",\"inverseBindMatrices\":3"));
    assert_near(
        &vertices(&folder, &json),
        &[[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [-1.0, 2.0, 0.0]],
    );

    // Rays from a public report.
    folder.write("scene.gltf", parts.file(&skinned(at, "").replace("\"mode\":0,", "")));
    folder.write("rays.csv", "15,0.1,9,0,0,-1\n0.001,0.001,9,0,0,-1\n");
    folder.answers(&["rays", "scene.gltf", "rays.csv"], "0,6,9\n1,-1,inf\n", "");

    // Without a skin, joints have no effect.
    let json = parts.file(&skinned(at, "").replace(",\"skin\":0", ""));
    assert_near(
        &vertices(&folder, &json),
        &[[0.0; 3], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0]],
    );
}

#[test]
fn all_sets_of_weights_are_divided_by_their_sum() {
    let folder = Folder::new();
    let mut parts = Parts::default();
    parts.floats("VEC3", &TRIANGLE);
    parts.joints(&[[0, 1, 0, 0]; 3]);
    // (0.2, 0.4) of joints 0 and 1, and 0.4 of joint 2, whose set has 16 bits. Joints without weight are not looked at.
    #[rustfmt::skip]
    let bytes = [51, 102, 0, 0, 51, 102, 0, 0, 0, 0, 0, 0];
    parts.add("VEC4", UNSIGNED_BYTE, 3, &bytes, ",\"normalized\":true");
    let shorts = |values: [u16; 4]| {
        [values; 3]
            .concat()
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
    };
    parts.add("VEC4", UNSIGNED_SHORT, 3, &shorts([999, 2, 0, 0]), "");
    parts.add(
        "VEC4",
        UNSIGNED_SHORT,
        3,
        &shorts([0, 26214, 0, 0]),
        ",\"normalized\":true",
    );
    let at = ",\"WEIGHTS_1\":4,\"JOINTS_0\":1,\"WEIGHTS_0\":2,\"JOINTS_1\":3";
    let expected = [[22.0, 0.0, 0.0], [23.0, 0.0, 0.0], [30.0, 1.0, 0.0]];
    assert_near(&vertices(&folder, &parts.file(&skinned(at, ""))), &expected);

    // The last vertex has no weights at all.
    let at = ",\"JOINTS_0\":1,\"WEIGHTS_0\":2";
    let expected = [10.0 + 20.0 / 3.0, 11.0 + 20.0 / 3.0].map(|x| [x, 0.0, 0.0]);
    let json = parts.file(&skinned(at, ""));
    assert_near(&vertices(&folder, &json), &[expected[0], expected[1], [10.0, 1.0, 0.0]]);
    let pairs = ["pairs", "scene.gltf", "--elements", "vertices"];
    folder.answers(&pairs, "", "no skin weights at 1 vertex: placed by its first joint");
}

#[test]
fn morph_weights_are_those_of_the_node_else_of_the_mesh() {
    let folder = Folder::new();
    let mut parts = Parts::default();
    parts.floats("VEC3", &TRIANGLE);
    parts.floats("VEC3", &[0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
    // A sparse target over zeros, and one without data.
    let indices = parts.view(&[2]);
    let values = parts.view(&[0, 64, 0, 0, 0, 0]);
    let sparse = format!(
        r#","normalized":true,"sparse":{{"count":1,"indices":{{"bufferView":{indices},"componentType":5121}},
"values":{{"bufferView":{values}}}}}"#
    );
    parts.accessor("VEC3", SHORT, 3, &sparse);
    parts.accessor("VEC3", FLOAT, 3, "");
    parts.joints(&[[2, 0, 0, 0]; 3]);
    parts.floats("VEC4", &[[1.0, 0.0, 0.0, 0.0]; 3].concat());
    let targets = r#""targets":[{"POSITION":1},{"POSITION":2},{"NORMAL":0},{"POSITION":3}]"#;
    let scene = |node: &str, mesh: &str| {
        format!(
            r#""nodes":[{{"mesh":0,"scale":[10,10,10]{node}}}],
"meshes":[{{"primitives":[{{"mode":0,"attributes":{{"POSITION":0,"JOINTS_0":4,"WEIGHTS_0":5}},{targets}}}]{mesh}}}]"#
        )
    };
    let half = 16384.0 / 32767.0;
    let own = ",\"weights\":[0.5,2,3,4]";
    let bases = [[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0]];
    let moved = [[0.0, 0.0, 5.0], [10.0, 0.0, 10.0], [20.0 * half, 10.0, 15.0]];
    let back = [[0.0, 0.0, -10.0], [10.0, 0.0, -20.0], [0.0, 10.0, -30.0]];
    for (node, mesh, expected) in [
        ("", "", bases),
        ("", own, moved),
        (own, "", moved),
        (",\"weights\":[-1,0,0,0]", own, back),
        (",\"weights\":[0,0,0,0]", own, bases),
        (",\"weights\":[]", own, moved),
    ] {
        assert_near(&vertices(&folder, &parts.file(&scene(node, mesh))), &expected);
    }
    // Targets move vertices before joints do: the joint turns z to −x and moves by 5.
    let skinned = scene(",\"skin\":0", own).replace(
        "\"nodes\":[",
        "\"skins\":[{\"joints\":[1,2,3]}],\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[",
    );
    let turn = "0,0,1,0, 0,1,0,0, -1,0,0,0, 0,0,0,1";
    let joints = format!(r#"}},{{}},{{}},{{"matrix":[{turn}]}},{{"translation":[5,0,0],"children":[3]}}],"meshes""#);
    let skinned = skinned.replace("}],\n\"meshes\"", &joints);
    assert_near(
        &vertices(&folder, &parts.file(&skinned)),
        &[[4.5, 0.0, 0.0], [4.0, 0.0, 1.0], [3.5, 1.0, 2.0 * half]],
    );
}

#[test]
fn primitives_share_vertices_only_if_all_that_moves_them_is_equal() {
    let folder = Folder::new();
    let mut parts = Parts::default();
    parts.floats("VEC3", &TRIANGLE);
    for joint in 0..2 {
        parts.joints(&[[joint, 0, 0, 0]; 3]);
    }
    parts.floats("VEC4", &[[1.0, 0.0, 0.0, 0.0]; 3].concat());
    parts.floats("VEC3", &[1.0; 9]);
    let primitive = |joints: u32, target: u32| {
        format!(
            r#"{{"attributes":{{"POSITION":0,"JOINTS_0":{joints},"WEIGHTS_0":3}},"targets":[{{"POSITION":{target}}}]}}"#
        )
    };
    // Two nodes instance the mesh, with joints in opposite order.
    let scene = |primitives: &[String], weight: u32, skins: [&str; 2]| {
        format!(
            r#""nodes":[{{"mesh":0{}}},{{"mesh":0{}}},{{"translation":[5,0,0]}},{{"translation":[9,0,0]}}],
"skins":[{{"joints":[2,3]}},{{"joints":[3,2]}}],"meshes":[{{"primitives":[{}],"weights":[{weight}]}}]"#,
            skins[0],
            skins[1],
            primitives.join(",")
        )
    };
    let skins = [",\"skin\":0", ",\"skin\":1"];
    for (primitives, weight, skins, expected) in [
        (
            vec![primitive(1, 0), primitive(2, 0), primitive(1, 0)],
            0,
            skins,
            vec![5.0, 9.0, 9.0, 5.0],
        ),
        (vec![primitive(1, 0), primitive(2, 0)], 0, ["", ""], vec![0.0, 0.0]),
        (vec![primitive(1, 0), primitive(1, 4)], 0, skins, vec![5.0, 9.0]),
        (
            vec![primitive(1, 0), primitive(1, 4)],
            1,
            ["", ""],
            vec![0.0, 1.0, 0.0, 1.0],
        ),
    ] {
        let found = vertices(&folder, &parts.file(&scene(&primitives, weight, skins)));
        let first: Vec<_> = found
            .iter()
            .step_by(3)
            .map(|position| [position[0], 0.0, 0.0])
            .collect();
        let expected: Vec<_> = expected.into_iter().map(|x| [x, 0.0, 0.0]).collect();
        assert_near(&first, &expected);
    }
}

/// A triangle that follows a joint two nodes below the moved one, and a second triangle that stays.
pub fn chain(translation: &str) -> String {
    let mut parts = Parts::default();
    parts.floats("VEC3", &TRIANGLE);
    parts.joints(&[[1, 0, 0, 0]; 3]);
    parts.floats("VEC4", &[[1.0, 0.0, 0.0, 0.0]; 3].concat());
    parts.file(&format!(
        r#""scenes":[{{"nodes":[0,4,3]}}],"nodes":[{{"mesh":0,"skin":0}},{{"children":[2]}},{{"translation":[0,3,0]}},
{{"children":[1],"translation":[{translation}]}},{{"mesh":1,"translation":[5,3,0]}},{{"camera":0}}],
"skins":[{{"joints":[1,2]}}],
"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"JOINTS_0":1,"WEIGHTS_0":2}}}}]}},
{{"primitives":[{{"attributes":{{"POSITION":0}}}}],"weights":[]}}],"cameras":[{{}}]"#
    ))
}

#[test]
fn frames_may_differ_in_their_joints() {
    let folder = Folder::new();
    for (name, x) in [("near.gltf", 0), ("far.gltf", 10)] {
        folder.write(name, chain(&format!("{x},0,0")));
        folder.answers(&["pairs", name], "", "");
    }
    let both = ["pairs", "near.gltf", "--next", "far.gltf", "--local-ids"];
    folder.answers(&both, "0,1\n", "");
}

#[test]
fn animations_that_move_vertices_cause_a_warning() {
    let folder = Folder::new();
    let pointer =
        |to: &str| format!(r#"{{"path":"pointer","extensions":{{"KHR_animation_pointer":{{"pointer":"{to}"}}}}}}"#);
    let node = |node: u32, path: &str| format!(r#"{{"node":{node},"path":"{path}"}}"#);
    let warning = "a.gltf: ignored animations: vertices are in the rest pose";
    for (target, warning) in [
        (node(2, "rotation"), warning),
        (node(3, "translation"), warning),
        (node(4, "scale"), warning),
        (node(0, "weights"), warning),
        (pointer("/nodes/1/rotation"), warning),
        (pointer("/meshes/1/weights/0"), warning),
        // A skinned mesh ignores its node, and a camera has no vertices.
        (node(0, "translation"), ""),
        (node(5, "rotation"), ""),
        (node(5, "weights"), ""),
        (node(9, "rotation"), ""),
        (pointer("/materials/0/pbrMetallicRoughness/baseColorFactor"), ""),
        (pointer("/nodes/4/extensions/KHR_node_visibility/visible"), ""),
    ] {
        let animation = format!(r#""animations":[{{"channels":[{{"sampler":0,"target":{target}}}]}}],"asset""#);
        folder.write("a.gltf", chain("0,0,0").replace("\"asset\"", &animation));
        folder.answers(&["pairs", "a.gltf"], "", warning);
    }
}

#[test]
fn primitives_without_joints_stay_with_their_node() {
    let folder = Folder::new();
    let json = chain("0,0,0").replace("\"mesh\":1,", "\"mesh\":1,\"skin\":0,");
    folder.write("a.gltf", &json);
    let warning = "a.gltf: ignored the skin of 1 primitive without joints";
    folder.answers(&["pairs", "a.gltf"], "", warning);
    assert_near(&vertices(&folder, &json)[3..4], &[[5.0, 3.0, 0.0]]);
}

#[test]
fn sparse_accessors_replace_elements() {
    let folder = Folder::new();
    let mut parts = Parts::default();
    let base = parts.view(&bytes_of(&TRIANGLE));
    let indices = parts.view(&[9, 0, 2, 0]);
    let values = parts.view(&bytes_of(&[7.0, 7.0, 7.0, 5.0, 5.0, 5.0]));
    let sparse = format!(
        r#""sparse":{{"count":1,"indices":{{"bufferView":{indices},"byteOffset":2,"componentType":5123}},
"values":{{"bufferView":{values},"byteOffset":12}}}}"#
    );
    parts.accessor("VEC3", FLOAT, 3, &format!(",\"bufferView\":{base},{sparse}"));
    let scene = r#""nodes":[{"mesh":0}],"meshes":[{"primitives":[{"mode":0,"attributes":{"POSITION":0}}]}]"#;
    let json = parts.file(scene);
    assert_near(&vertices(&folder, &json), &[[0.0; 3], [1.0, 0.0, 0.0], [5.0; 3]]);
    let zeros = json.replace(&format!(",\"bufferView\":{base},\"sparse\""), ",\"sparse\"");
    assert_near(&vertices(&folder, &zeros), &[[0.0; 3], [0.0; 3], [5.0; 3]]);
    for (from, to, needle) in [
        (
            "\"byteOffset\":2",
            "\"byteOffset\":0",
            "accessor 0: sparse: index 0: unknown element 9: there are 3, from 0",
        ),
        ("5123", "5122", "accessor 0: sparse: unsupported component type 5122"),
        (
            "\"sparse\":{\"count\":1",
            "\"sparse\":{\"count\":2",
            "accessor 0: sparse: out of range: 2 elements from byte 2",
        ),
        (
            "\"count\":3",
            "\"count\":1000000000000",
            "accessor 0: too large: repeated meshes and sparse accessors take 12000000000012 bytes",
        ),
        (
            "\"sparse\":{\"count\":1",
            "\"sparse\":{\"count\":18446744073709551615",
            "accessor 0: sparse: too large: repeated meshes and sparse accessors",
        ),
    ] {
        assert!(zeros.contains(from), "{from}");
        folder.write("a.gltf", zeros.replace(from, to));
        folder.refuses(&["pairs", "a.gltf", "--elements", "vertices"], &["a.gltf", needle]);
    }
}

#[test]
fn hostile_skins_and_targets_are_refused() {
    let folder = Folder::new();
    let mut parts = Parts::default();
    parts.floats("VEC3", &TRIANGLE);
    parts.joints(&[[0, 0, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]);
    parts.floats("VEC4", &[[1.0, 0.0, 0.0, 0.0]; 3].concat());
    let mut matrix = [0.0; 16];
    (0..4).for_each(|place| matrix[5 * place] = 1.0);
    parts.floats("MAT4", &[matrix; 3].concat());
    let mut project = matrix;
    project[3] = 1.0;
    parts.floats("MAT4", &[matrix, project, matrix].concat());
    parts.floats("VEC4", &[[f32::NAN, 0.0, 0.0, 0.0]; 3].concat());
    parts.floats("VEC3", &[f32::MAX; 9]);
    parts.floats("VEC3", &TRIANGLE[..6]);
    let at = ",\"JOINTS_0\":1,\"WEIGHTS_0\":2";
    let good = parts.file(&skinned(at, ",\"inverseBindMatrices\":3"));
    let targets = |targets: &str, weights: &str| {
        let with = format!("{{\"targets\":[{targets}],\"mode\":0");
        let json = good.replace("{\"mode\":0", &with);
        json.replace("\"mesh\":0,", &format!("\"mesh\":0,\"weights\":[{weights}],"))
    };
    assert_eq!(vertices(&folder, &good).len(), 3);
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    for (number, (json, needle)) in [
        (with("\"skin\":0", "\"skin\":1"), "node 1: unknown skin 1: there are 1"),
        (
            with("\"joints\":[2,3,4]", "\"joints\":[2,3,9]"),
            "node 1: skin 0: joint 2: unknown node 9: there are 5",
        ),
        (
            with("\"joints\":[2,3,4]", "\"joints\":[2,3]"),
            "node 1: mesh 0: primitive 0: vertex 2: unknown joint 2: there are 2",
        ),
        (
            with("\"joints\":[2,3,4]", "\"joints\":[2,3,4,2]"),
            "skin 0: accessor 3: 3 inverse bind matrices for 4 joints",
        ),
        (
            with("\"inverseBindMatrices\":3", "\"inverseBindMatrices\":2"),
            "skin 0: accessor 2: type \"VEC4\", needs MAT4",
        ),
        (
            with("\"inverseBindMatrices\":3", "\"inverseBindMatrices\":4"),
            "skin 0: joint 1: inverse bind matrix: unsupported matrix: not affine",
        ),
        (
            with(
                "\"translation\":[3000,0,0]",
                "\"translation\":[3000,0,0],\"matrix\":[1]",
            ),
            "invalid JSON",
        ),
        (
            with("[1000,0,0]", "[0,1e308,0]").replace("0.01,0.01", "0.01,1e10"),
            "skin 0: joint 0: transform is not finite",
        ),
        // A joint outside the scene, in a cycle or with two parents.
        (
            with("\"children\":[1,2,3,4]", "\"children\":[1,2,3]")
                .replace("\"nodes\":[", "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[")
                .replace("\"translation\":[3000", "\"children\":[4],\"translation\":[3000"),
            "skin 0: joint 2: node 4 has two parents, or is its own descendant",
        ),
        (
            with("\"children\":[1,2,3,4]", "\"children\":[1,2,3]")
                .replace("\"nodes\":[", "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[")
                .replace(
                    "}],\n\"meshes\"",
                    "},{\"children\":[4]},{\"children\":[4]}],\n\"meshes\"",
                ),
            "skin 0: joint 2: node 4 has two parents, or is its own descendant",
        ),
        (
            with(",\"WEIGHTS_0\":2", ""),
            "primitive 0: JOINTS_0 and WEIGHTS_0 need each other",
        ),
        (
            with("\"WEIGHTS_0\":2", "\"WEIGHTS_0\":2,\"WEIGHTS_1\":2"),
            "primitive 0: JOINTS_1 and WEIGHTS_1 need each other",
        ),
        (
            with("\"JOINTS_0\":1", "\"JOINTS_0\":2"),
            "accessor 2: unsupported component type 5126",
        ),
        (
            with("\"WEIGHTS_0\":2", "\"WEIGHTS_0\":0"),
            "accessor 0: type \"VEC3\", needs VEC4",
        ),
        (
            with("\"WEIGHTS_0\":2", "\"WEIGHTS_0\":99"),
            "unknown accessor 99: there are 8",
        ),
        (
            with("5126,\"count\":3,\"bufferView\":2", "5126,\"count\":2,\"bufferView\":2"),
            "accessor 2: 2 elements for 3 positions",
        ),
        (
            with("\"WEIGHTS_0\":2", "\"WEIGHTS_0\":5"),
            "vertex 0: weights are not finite",
        ),
        (with("\"WEIGHTS_0\":2", "\"WEIGHTS_0\":-1"), "invalid JSON"),
        (
            targets("{\"POSITION\":0},{\"POSITION\":0}", "1"),
            "primitive 0: 1 weight for 2 morph targets",
        ),
        (
            targets("{},{\"POSITION\":7}", "1,1"),
            "primitive 0: morph target 1: accessor 7: 2 elements for 3 positions",
        ),
        (
            targets("{\"POSITION\":2}", "1"),
            "morph target 0: accessor 2: type \"VEC4\", needs VEC3",
        ),
        (
            targets("{\"POSITION\":6}", "1e300"),
            "vertex 0: not finite after skin and morph targets",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.gltf");
        folder.write(&name, json);
        folder.refuses(&["pairs", &name, "--elements", "vertices"], &[&name, needle]);
    }
    // Targets and sets of weights count towards the limit of bytes: 64 MiB for this file.
    let mut parts = Parts::default();
    parts.floats("VEC3", &[0.0; 3 * 10_000]);
    let many = vec!["{\"POSITION\":0}"; 600].join(",");
    let weights = vec!["1"; 600].join(",");
    let scene = format!(
        r#""nodes":[{{"mesh":0}}],"meshes":[{{"primitives":[{{"mode":0,"attributes":{{"POSITION":0}},
"targets":[{many}]}}],"weights":[{weights}]}}]"#
    );
    folder.write("many.gltf", parts.file(&scene));
    folder.refuses(
        &["pairs", "many.gltf", "--elements", "vertices"],
        &["morph target 558: too large: repeated meshes"],
    );
    // So do primitives, targets, weights and sets of joints of each instance, even without vertices.
    let mut parts = Parts::default();
    parts.floats("VEC3", &[0.0; 3]);
    parts.joints(&[[0; 4]]);
    parts.floats("VEC4", &[1.0, 0.0, 0.0, 0.0]);
    let list = |item: &str, count| vec![item; count].join(",");
    let targets = |count, weights: &str| {
        let targets = list("{}", count);
        format!(r#"{{"mode":0,"attributes":{{"POSITION":0}},"targets":[{targets}]}}],"weights":[{weights}"#)
    };
    let zeros = list("0", 29_999);
    let sets: String = (0..100)
        .map(|set| format!(r#","JOINTS_{set}":1,"WEIGHTS_{set}":2"#))
        .collect();
    let skinned = format!(r#"{{"mode":0,"attributes":{{"POSITION":0{sets}}}}}"#);
    let node = r#"{"mesh":0}"#;
    for (name, nodes, primitives, needle) in [
        (
            "targets.gltf",
            list(node, 30_000),
            targets(30_000, &format!("1,{zeros}")),
            "node 172: too large: repeated meshes",
        ),
        (
            "weights.gltf",
            list(node, 30_000),
            targets(0, &zeros),
            ": too large: repeated meshes",
        ),
        (
            "primitives.gltf",
            list(node, 30_000),
            list(r#"{"attributes":{}}"#, 30_000),
            ": too large: repeated meshes",
        ),
        (
            "sets.gltf",
            list(r#"{"mesh":0,"skin":0}"#, 600),
            list(&skinned, 100),
            ": too large: repeated meshes",
        ),
    ] {
        let scene =
            format!(r#""nodes":[{nodes}],"skins":[{{"joints":[0]}}],"meshes":[{{"primitives":[{primitives}]}}]"#);
        folder.write(name, parts.file(&scene));
        folder.refuses(&["pairs", name, "--elements", "vertices"], &[name, needle]);
    }
}

#[test]
fn a_hundred_faces_of_52_targets_are_read() {
    const VERTICES: usize = 300;
    const TARGETS: usize = 52;
    let mut parts = Parts::default();
    let primitives: Vec<_> = (0..4)
        .map(|_| {
            let position = parts.floats("VEC3", &[1.0; 3 * VERTICES]);
            let targets: Vec<_> = (0..TARGETS)
                .map(|_| parts.floats("VEC3", &[0.5; 3 * VERTICES]))
                .map(|target| format!(r#"{{"POSITION":{target}}}"#))
                .collect();
            let targets = targets.join(",");
            format!(r#"{{"mode":0,"attributes":{{"POSITION":{position}}},"targets":[{targets}]}}"#)
        })
        .collect();
    let json = parts.file(&format!(
        r#""nodes":[{}],"meshes":[{{"primitives":[{}],"weights":[{}]}}]"#,
        vec![r#"{"mesh":0}"#; 100].join(","),
        primitives.join(","),
        vec!["1"; TARGETS].join(",")
    ));
    let found = vertices(&Folder::new(), &json);
    assert_eq!(found, vec![[1.0 + 0.5 * TARGETS as f32; 3]; 100 * 4 * VERTICES]);
}
