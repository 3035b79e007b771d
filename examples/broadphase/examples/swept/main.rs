//! For cloth and contact solvers: candidates of continuous collision detection of a triangle mesh between two frames,
//! in one step. They are edge-edge and vertex-face pairs, for a solver's exact motion test.
//!
//! ```sh
//! cargo run --release -p broadphase --example swept -- [FROM.ply TO.ply] [--output DIR [--up y]]
//! ```
//!
//! Without files, two frames of a simulated cloth are used. With `--output`, `DIR/swept.png` colours edges and faces by
//! their number of candidates.

mod picture;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::iter::zip;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use broadphase::input;
use broadphase::mesh::Mesh;
use broadphase::picture::write_png;
use broadphase::report::Reporter;
use clap::Parser;
use gpu_broad_phase::{Aabb, BroadPhase, BroadPhaseDescriptor, Pair};
use pollster::block_on;

#[derive(Parser)]
struct Args {
    /// Two frames of one triangle mesh.
    #[arg(num_args = 2, value_names = ["FROM", "TO"])]
    frames: Vec<PathBuf>,
    /// Folder for swept.png.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Axis of the mesh that points up in the picture.
    #[arg(long, value_name = "AXIS", default_value = "z", value_parser = ["y", "z"])]
    up: String,
}

/// [a, a, a] is a vertex, [a, b, b] an edge.
type Element = [u32; 3];

/// All vertices, then edges, then faces.
struct Elements {
    list: Vec<Element>,
    vertices: usize,
    edges: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let own = ["cloth0.ply", "cloth1.ply"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes").join(name));
    let [from, to] = match &args.frames[..] {
        [from, to] => [from, to],
        _ => [&own[0], &own[1]],
    };
    let [from, to] = input::frames([from, to], Reporter { quiet: true })?;
    let mut values = from.positions.iter().chain(&to.positions).flatten();
    ensure!(values.all(|value| value.is_finite()), "a position that is not finite");
    let elements = elements(&from)?;
    let boxes = boxes(&elements, &from.positions, &to.positions);

    let mut broad_phase = block_on(BroadPhase::new(&BroadPhaseDescriptor::default()))?;
    // A solver keeps `broad_phase` for all later frames.
    let result = block_on(broad_phase.step(&boxes, &[]))?;
    let overlaps = result.pairs.len();
    let share_a_vertex = |pair: &Pair| {
        let [a, b] = [pair.a, pair.b].map(|index| elements.list[index as usize]);
        a.iter().any(|vertex| b.contains(vertex))
    };
    let candidates = result.pairs.into_iter().filter(|pair| !share_a_vertex(pair));
    // Layers allow only edge-edge and vertex-face pairs. Vertices have the lowest indices, so `a` is the vertex.
    let (vertex_face, edge_edge): (Vec<_>, Vec<_>) = candidates.partition(|pair| (pair.a as usize) < elements.vertices);

    println!("{}", broad_phase.adapter_info().map_or("CPU", |info| &info.name));
    let faces = elements.list.len() - elements.vertices - elements.edges;
    println!(
        "{} vertices, {} edges, {faces} faces",
        elements.vertices, elements.edges
    );
    println!("{overlaps} pairs of boxes; of those that share no vertex");
    println!("{:>9} edge-edge", edge_edge.len());
    println!("{:>9} vertex-face", vertex_face.len());

    if let Some(directory) = args.output {
        fs::create_dir_all(&directory)?;
        let path = directory.join("swept.png");
        let canvas = picture::draw(&elements, &to.positions, args.up == "y", &edge_edge, &vertex_face);
        write_png(&mut File::create(&path)?, &canvas)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn elements(mesh: &Mesh) -> Result<Elements> {
    let faces: Vec<[u32; 3]> = mesh
        .faces
        .iter()
        .map(|face| face.try_into().context("a face that is no triangle"))
        .collect::<Result<_>>()?;
    let edges: BTreeSet<[u32; 2]> = faces
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .chain(mesh.edges.iter().copied())
        .filter(|[a, b]| a != b)
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    let vertices = mesh.positions.len();
    Ok(Elements {
        vertices,
        edges: edges.len(),
        list: (0..vertices as u32)
            .map(|vertex| [vertex; 3])
            .chain(edges.into_iter().map(|[a, b]| [a, b, b]))
            .chain(faces)
            .collect(),
    })
}

/// The box around both positions of a vertex contains its straight motion.
fn boxes(elements: &Elements, from: &[[f64; 3]], to: &[[f64; 3]]) -> Vec<Aabb> {
    let swept: Vec<_> = zip(from, to).map(|ends| swept(ends.into())).collect();
    let boxes = elements.list.iter().enumerate().map(|(index, element)| {
        let [a, b, c] = element.map(|vertex| swept[vertex as usize]);
        let union = union(union(a, b), c);
        let (membership, mask) = match index {
            _ if index < elements.vertices => (1, 2),
            _ if index < elements.vertices + elements.edges => (4, 4),
            _ => (2, 1),
        };
        union.with_layers(membership, mask)
    });
    boxes.collect()
}

/// Each bound is rounded to f32, then moved outward by one float to contain the exact value.
fn swept(ends: [&[f64; 3]; 2]) -> Aabb {
    let [from, to] = ends.map(|end| {
        let [low, high] = [f32::next_down, f32::next_up].map(|outward| end.map(|value| outward(value as f32)));
        Aabb::new(low, high)
    });
    union(from, to)
}

fn union(a: Aabb, b: Aabb) -> Aabb {
    let [low, high] = [
        (a.min, b.min, f32::min as fn(f32, f32) -> f32),
        (a.max, b.max, f32::max),
    ]
    .map(|(a, b, choose)| [0, 1, 2].map(|axis| choose(a[axis], b[axis])));
    Aabb::new(low, high)
}
