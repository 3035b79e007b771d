//! Compares published scenes with known answers, and our own scene with brute force.

use std::path::{Path, PathBuf};

use crate::support::{Folder, pairs};
use broadphase::args::ReadingArgs;
use broadphase::mesh::Kind;
use broadphase::report::Reporter;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, GpuBroadPhase, Growth, OutputOptions, Page, Pair, Scene, Source, adapters,
    reference::brute_force, wgpu,
};
use pollster::block_on;

/// Pairs between two kinds, without (`free`) and with incident ones.
struct Known {
    between: &'static str,
    must_contain: &'static str,
    free: usize,
    all: usize,
}

#[test]
fn cloth_funnel() {
    real_scene(
        "cloth-funnel",
        "9450 vertices, 27930 edges, 18484 faces",
        [(33_770, 172_385), (7_319, 62_771)],
        [&engines(); 2],
    );
}

#[test]
fn armadillo_rollers() {
    let engines = one_engine_per_scheme();
    real_scene(
        "armadillo-rollers",
        "12135 vertices, 36363 edges, 24242 faces",
        [(5_068_572, 5_262_655), (2_032_089, 2_104_815)],
        [&engines[..1], &engines[1..2]],
    );
}

#[test]
fn cloth_ball() {
    let engines = one_engine_per_scheme();
    real_scene(
        "cloth-ball",
        "46598 vertices, 138825 edges, 92230 faces",
        [(5_197_332, 5_901_866), (1_655_541, 1_932_231)],
        [&engines[1..2], &engines[2..]],
    );
}

/// Pairs in pages of one binding, under WebGPU's default limits; then 1,000 of them. Only on one adapter, since a
/// software adapter takes a minute.
#[test]
fn cloth_ball_comes_whole_on_the_baseline_limits() {
    const ALL: u64 = 25_057_379;
    let Some(folder) = scenes().map(|scenes| scenes.join("cloth-ball")) else {
        println!("skipped: set GPU_BROAD_PHASE_SCENES to the folder of the scenes");
        return;
    };
    let reading = ReadingArgs {
        dimensions: None,
        elements: vec![Kind::Vertices, Kind::Edges, Kind::Faces],
        next: Some(folder.join("frame1.ply")),
        ..ReadingArgs::default()
    };
    let reporter = Reporter { quiet: true };
    let scene = broadphase::input::scene(&folder.join("frame0.ply"), &reading, reporter).unwrap();
    let descriptor = BroadPhaseDescriptor::default();
    let on_cpu = gpu_broad_phase::cpu::step(&descriptor, &scene.boxes, &[]).unwrap();
    let mut expected = on_cpu.pairs;
    expected.sort_unstable();
    assert_eq!(expected.len() as u64, ALL);
    for backends in named_backends().into_iter().take(1) {
        let adapter = block_on(adapters(backends)).into_iter().next().expect("an adapter");
        let request = wgpu::DeviceDescriptor {
            required_limits: GpuBroadPhase::required_limits(),
            ..Default::default()
        };
        let (device, queue) = block_on(adapter.request_device(&request)).unwrap();
        let step = |descriptor: &BroadPhaseDescriptor<'_>, windows: bool| {
            let mut gpu = GpuBroadPhase::new(&device, &queue, descriptor).unwrap();
            let mut all: Vec<Pair> = Vec::new();
            loop {
                let mut encoder = device.create_command_encoder(&Default::default());
                if all.is_empty() {
                    let input = Scene {
                        objects: Source::Host(&scene.boxes),
                        ..Default::default()
                    };
                    gpu.step(&mut encoder, input).unwrap();
                } else {
                    let first = Page {
                        pairs: all.len() as u32,
                        ..Default::default()
                    };
                    gpu.page(&mut encoder, first).unwrap();
                }
                queue.submit([encoder.finish()]);
                let result = block_on(gpu.read_back()).unwrap();
                assert_eq!(result.counters.pairs_needed, ALL, "{backends:?}");
                assert!(!result.pairs.is_empty(), "{backends:?}");
                all.extend(result.pairs);
                if !windows || all.len() as u64 >= ALL {
                    return all;
                }
            }
        };
        let mut all = step(&descriptor, true);
        all.sort_unstable();
        assert!(all == expected, "{backends:?}");

        let few = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    pairs: Some(1000),
                    ..Default::default()
                },
                ..descriptor.outputs
            },
            ..descriptor
        };
        let mut some = step(&few, false);
        some.sort_unstable();
        assert!(some.len() == 1000 && some.is_sorted_by(|a, b| a < b), "{backends:?}");
        assert!(
            some.iter().all(|pair| expected.binary_search(pair).is_ok()),
            "{backends:?}"
        );
    }
}

fn named_backends() -> Vec<wgpu::Backends> {
    let named = engines().into_iter().map(|engine| engine[1]);
    let mut names: Vec<_> = named.filter(|&name| name != "cpu").collect();
    names.dedup();
    let backend = |name| match name {
        "vulkan" => wgpu::Backends::VULKAN,
        "gl" => wgpu::Backends::GL,
        "metal" => wgpu::Backends::METAL,
        _ => wgpu::Backends::DX12,
    };
    names.into_iter().map(backend).collect()
}

/// Runs `engines` for pairs of edges, then of vertices and faces.
fn real_scene(name: &str, totals: &str, [edge_edge, vertex_face]: [(usize, usize); 2], engines: [&[[&str; 4]]; 2]) {
    let Some(folder) = scenes().map(|scenes| scenes.join(name)) else {
        println!("skipped: set GPU_BROAD_PHASE_SCENES to the folder of the scenes");
        return;
    };
    let kinds = [
        Known {
            between: "edges,edges",
            must_contain: "must_contain_edge_edge.json",
            free: edge_edge.0,
            all: edge_edge.1,
        },
        Known {
            between: "vertices,faces",
            must_contain: "must_contain_vertex_face.json",
            free: vertex_face.0,
            all: vertex_face.1,
        },
    ];
    for (known, engines) in kinds.into_iter().zip(engines) {
        let all = mesh_pairs(&folder, &["--between", known.between, "--backend", "cpu"], totals);
        assert_eq!(all.len(), known.all, "{name} {}", known.between);
        for engine in engines {
            let options = [&["--between", known.between, "--free"][..], engine].concat();
            let free = mesh_pairs(&folder, &options, totals);
            assert_eq!(free.len(), known.free, "{name} {} {engine:?}", known.between);
        }
        let text = std::fs::read_to_string(folder.join(known.must_contain)).unwrap();
        let wanted = json_pairs(&text);
        assert!(!wanted.is_empty());
        for pair in wanted {
            assert!(
                all.binary_search(&pair).is_ok(),
                "{name} {}: {pair:?} is missing",
                known.between
            );
        }
    }
}

/// The CPU engine and every required adapter, each with every scheme.
fn engines() -> Vec<[&'static str; 4]> {
    let adapters = std::env::var("GPU_BROAD_PHASE_ADAPTERS").unwrap_or_default();
    let backends = ["vulkan", "gl", "metal", "dx12"];
    let named = backends
        .into_iter()
        .filter(|&backend| adapters.split(',').any(|name| name.trim() == backend));
    std::iter::once("cpu")
        .chain(named)
        .flat_map(|backend| {
            ["hierarchical", "uniform", "adaptive"].map(|scheme| ["--backend", backend, "--scheme", scheme])
        })
        .collect()
}

/// A software adapter is slow for millions of pairs. The CPU engine gets the slowest scheme.
fn one_engine_per_scheme() -> Vec<[&'static str; 4]> {
    let all = engines();
    (0..3).map(|scheme| all[(4 * scheme + 3) % all.len()]).collect()
}

fn mesh_pairs(scene: &Path, options: &[&str], totals: &str) -> Vec<[u32; 2]> {
    let folder = Folder::new();
    let [first, next] = ["frame0.ply", "frame1.ply"].map(|frame| scene.join(frame).display().to_string());
    let ran = folder.run(&[&["pairs", &first, "--next", &next], options].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(totals), "{}", ran.stderr);
    let pairs = pairs(&ran.stdout);
    assert!(pairs.is_sorted_by(|a, b| a < b));
    pairs
}

/// A folder from the environment or beside the repository.
fn scenes() -> Option<PathBuf> {
    match std::env::var_os("GPU_BROAD_PHASE_SCENES") {
        Some(folder) => Some(folder.into()),
        None => {
            let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/scenes");
            beside.is_dir().then_some(beside)
        }
    }
}

fn json_pairs(text: &str) -> Vec<[u32; 2]> {
    let numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    let numbers: Vec<u32> = numbers.map(|digits| digits.parse().unwrap()).collect();
    numbers
        .chunks_exact(2)
        .map(|pair| [pair[0].min(pair[1]), pair[0].max(pair[1])])
        .collect()
}

const CLOTH: [&str; 7] = ["generate", "cloth", "--count", "2500", "--seed", "1", "-o"];

#[test]
fn our_cloth_is_made_again_byte_for_byte() {
    let folder = Folder::new();
    let ran = folder.run(&[&CLOTH[..], &["cloth.ply"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for frame in ["cloth0.ply", "cloth1.ply"] {
        assert!(
            folder.read(frame) == std::fs::read(our_scene(frame)).unwrap(),
            "{frame} differs"
        );
    }
}

#[test]
fn our_cloth_agrees_with_brute_force() {
    let folder = Folder::new();
    let [first, next] = ["cloth0.ply", "cloth1.ply"].map(|frame| our_scene(frame).display().to_string());
    let frames = [&first, &next].map(|path| Frame::read(Path::new(path)));
    let boxes = element_boxes(&frames);
    let expected: Vec<_> = brute_force::pairs(&boxes).iter().map(|pair| [pair.a, pair.b]).collect();
    assert!(expected.len() > 100_000);
    let text = folder.cpu(&[
        "pairs",
        &first,
        "--next",
        &next,
        "--elements",
        "vertices,edges,faces",
        "--scheme",
        "uniform",
    ]);
    assert!(pairs(&text) == expected);

    let vertices = frames[0].positions.len() as u32;
    let edges = boxes.len() as u32 - frames[0].faces.len() as u32 - vertices;
    let edge = vertices..vertices + edges;
    let edge_edge: Vec<_> = expected
        .iter()
        .filter(|pair| pair.iter().all(|id| edge.contains(id)))
        .copied()
        .collect();
    let text = folder.cpu(&["pairs", &first, "--next", &next, "--between", "edges,edges"]);
    assert!(pairs(&text) == edge_edge);
}

fn our_scene(frame: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes").join(frame)
}

/// A generated mesh, read without the code under test.
struct Frame {
    positions: Vec<[f32; 3]>,
    faces: Vec<[u32; 3]>,
    edges: Vec<[u32; 2]>,
}

impl Frame {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let end = b"end_header\n";
        let start = bytes.windows(end.len()).position(|window| window == end).unwrap() + end.len();
        let header = std::str::from_utf8(&bytes[..start]).unwrap();
        let count = |element: &str| -> usize {
            let line = header.lines().find(|line| line.starts_with(element)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let word = |at: usize| -> [u8; 4] { bytes[at..at + 4].try_into().unwrap() };
        let vertices = count("element vertex");
        let faces = start + vertices * 12;
        Self {
            positions: (0..vertices)
                .map(|vertex| std::array::from_fn(|axis| f32::from_le_bytes(word(start + vertex * 12 + axis * 4))))
                .collect(),
            faces: (0..count("element face"))
                .map(|face| std::array::from_fn(|corner| u32::from_le_bytes(word(faces + face * 13 + 1 + corner * 4))))
                .collect(),
            edges: Vec::new(),
        }
    }
}

/// A strip of triangles and a wire through it. Some loose edges are also edges of faces, duplicated or reversed, or
/// join a vertex to itself.
fn wired_strip() -> [Frame; 2] {
    let at = |vertex: u32, shift: f32| {
        let along = vertex as f32 * 0.5;
        match vertex < 8 {
            true => [along, (vertex % 2) as f32, shift],
            false => [along - 4.0, 0.5 + shift, along - 5.0],
        }
    };
    [0.0, 0.25].map(|shift| Frame {
        positions: (0..14).map(|vertex| at(vertex, shift)).collect(),
        faces: (0..6).map(|first| [first, first + 1, first + 2]).collect(),
        edges: vec![
            [8, 9],
            [9, 10],
            [10, 11],
            [1, 0],
            [11, 10],
            [12, 12],
            [13, 2],
            [2, 13],
            [7, 8],
        ],
    })
}

/// The first three edges are one `l` statement; vertex references take every form.
fn obj_text(frame: &Frame) -> String {
    let mut text = String::from("l 9/1 10/2 -4/3 -3/1\n").repeat(0);
    for [x, y, z] in &frame.positions {
        text += &format!("v {x} {y} {z}\n");
    }
    for [a, b, c] in &frame.faces {
        text += &format!("f {} {}//1 {}/1\n", a + 1, b + 1, c + 1);
    }
    let count = frame.positions.len() as u32;
    text += "l 9/1 10/2 -4/3 \\\n -3/1\n";
    for [a, b] in &frame.edges[3..] {
        text += &format!("l {} -{}\n", a + 1, count - b);
    }
    text
}

/// Edges precede their vertices.
fn ply_bytes(frame: &Frame, is_text: bool) -> Vec<u8> {
    let format = if is_text { "ascii" } else { "binary_big_endian" };
    let mut bytes = format!(
        "ply\nformat {format} 1.0\nelement edge {}\nproperty ushort vertex2\nproperty uchar weight\nproperty int \
         vertex1\n\
         element vertex {}\nproperty float x\nproperty float y\nproperty float z\n\
         element face {}\nproperty list uchar int vertex_indices\nend_header\n",
        frame.edges.len(),
        frame.positions.len(),
        frame.faces.len()
    )
    .into_bytes();
    for &[a, b] in &frame.edges {
        match is_text {
            true => bytes.extend(format!("{b} 7 {a}\n").bytes()),
            false => {
                bytes.extend((b as u16).to_be_bytes());
                bytes.push(7);
                bytes.extend(a.to_be_bytes());
            }
        }
    }
    for [x, y, z] in &frame.positions {
        match is_text {
            true => bytes.extend(format!("{x} {y} {z}\n").bytes()),
            false => bytes.extend([x, y, z].into_iter().flat_map(|value| value.to_be_bytes())),
        }
    }
    for &[a, b, c] in &frame.faces {
        match is_text {
            true => bytes.extend(format!("3 {a} {b} {c}\n").bytes()),
            false => {
                bytes.push(3);
                bytes.extend([a, b, c].into_iter().flat_map(u32::to_be_bytes));
            }
        }
    }
    bytes
}

#[test]
fn loose_edges_are_edges() {
    let folder = Folder::new();
    let frames = wired_strip();
    let boxes = element_boxes(&frames);
    let all: Vec<_> = brute_force::pairs(&boxes).iter().map(|pair| [pair.a, pair.b]).collect();
    let edges = boxes.len() - 14 - 6;
    // 13 edges of the strip, and 5 others of the wire.
    assert_eq!(edges, 13 + 5);
    let edge = 14..14 + edges as u32;
    let edge_edge = all.iter().filter(|pair| pair.iter().all(|id| edge.contains(id)));
    let edge_edge: Vec<_> = edge_edge.copied().collect();
    let vertices_of = element_vertices(&frames[0]);
    let is_free = |pair: &[u32; 2]| {
        let [a, b] = pair.map(|id| &vertices_of[id as usize]);
        !a.iter().any(|vertex| b.contains(vertex))
    };
    let free: Vec<_> = edge_edge.iter().copied().filter(is_free).collect();
    assert!(free.len() > 10 && free.len() < edge_edge.len());

    for (name, write) in [
        ("obj", (|frame| obj_text(frame).into_bytes()) as fn(&Frame) -> Vec<u8>),
        ("ply", |frame| ply_bytes(frame, true)),
        ("PLY", |frame| ply_bytes(frame, false)),
    ] {
        let [first, next] = [0, 1].map(|frame| format!("{frame}.{name}"));
        folder.write(&first, write(&frames[0]));
        folder.write(&next, write(&frames[1]));
        let ran = |options: &[&str]| {
            let given = [&["pairs", &first, "--next", &next, "--backend", "cpu"], options].concat();
            let ran = folder.run(&given);
            assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
            assert!(
                ran.stderr.contains("14 vertices, 18 edges, 6 faces"),
                "{name}: {}",
                ran.stderr
            );
            let warning = "skipped 1 edge from a vertex to itself";
            assert!(ran.stderr.contains(warning), "{name}: {}", ran.stderr);
            pairs(&ran.stdout)
        };
        assert_eq!(ran(&["--elements", "vertices,edges,faces"]), all, "{name}");
        assert_eq!(ran(&["--between", "edges,edges"]), edge_edge, "{name}");
        assert_eq!(ran(&["--between", "edges,edges", "--free"]), free, "{name}");
    }
}

#[test]
fn edges_need_no_faces() {
    let folder = Folder::new();
    folder.write("wire.obj", "v 0 0 0\nv 2 0 0\nv 1 -1 0\nv 1 1 0\nl 1 2\nl 3 4\n");
    assert_eq!(folder.cpu(&["pairs", "wire.obj", "--elements", "edges"]), "4,5\n");
    assert_eq!(
        folder.cpu(&["pairs", "wire.obj", "--between", "edges,edges", "--free"]),
        "4,5\n"
    );
    folder.refuses(
        &["pairs", "wire.obj"],
        &["wire.obj", "no faces, 2 edges; use --elements edges"],
    );
}

fn element_vertices(frame: &Frame) -> Vec<Vec<u32>> {
    let mut edges: Vec<_> = frame
        .faces
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .chain(frame.edges.iter().copied())
        .filter(|[a, b]| a != b)
        .map(|[a, b]| [a.max(b), a.min(b)])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let vertices = (0..frame.positions.len() as u32).map(|vertex| vec![vertex]);
    vertices
        .chain(edges.into_iter().map(Vec::from))
        .chain(frame.faces.iter().map(|face| face.to_vec()))
        .collect()
}

fn element_boxes(frames: &[Frame; 2]) -> Vec<Aabb> {
    let union = |vertices: &[u32]| {
        let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for frame in frames {
            for &vertex in vertices {
                for axis in 0..3 {
                    let value = frame.positions[vertex as usize][axis];
                    min[axis] = min[axis].min(value.next_down());
                    max[axis] = max[axis].max(value.next_up());
                }
            }
        }
        Aabb::new(min, max)
    };
    let elements = element_vertices(&frames[0]);
    elements.iter().map(|vertices| union(vertices)).collect()
}
