//! The command line as clap sees it.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use gpu_broad_phase::PairOrder;
use measure::verify::LARGEST;

use crate::mesh::{Between, Kind};

/// Overlapping boxes and ray hits from files, on the GPU.
///
/// Results go to the file after -o (.csv or .npy by its ending) or as CSV to standard output; everything said to a
/// person goes to standard error. Exit status: 0 done; 1 the answer is not whole or a check failed; 2 bad usage or
/// input, or a backend or adapter asked for by name that is not there.
#[derive(Parser)]
#[command(name = "broadphase", version, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Say nothing but warnings and errors. What is left out of a file, as invalid or as none of its format, is always
    /// a warning.
    #[arg(long, global = true)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// List adapters and whether each meets the requirements.
    Info(InfoArgs),
    /// Write all overlapping pairs: rows `a,b` with a < b, ascending.
    Pairs(PairsArgs),
    /// Write ray hits.
    Rays(RaysArgs),
    /// Write which objects overlap each query box: rows `query,object`, ascending.
    Query(QueryArgs),
    /// Write the pairs of points within a radius: rows `a,b` with a < b, ascending.
    Neighbors(NeighborsArgs),
    /// Compare the GPU with the CPU engine and brute force.
    Verify(VerifyArgs),
    /// Say which rule decides whether two objects are a pair, a ray hits an object, or a query finds one.
    Why(WhyArgs),
    /// Run the step of a snapshot once more, with its own descriptor, and count what it finds.
    Replay(ReplayArgs),
    /// Make boxes, points, rays or a cloth mesh.
    Generate(GenerateArgs),
    /// Tell how a scheme sees a scene: objects per cell and level, candidates per pair, bytes, time.
    Stats(StatsArgs),
    /// Draw how many boxes lie over each cell of a plane.
    Heatmap(HeatmapArgs),
    /// Time a step and its stages, beside other ways to the same answer, which are held to it.
    Bench(BenchArgs),
}

#[derive(Args)]
pub struct InfoArgs {
    /// Which backends to list.
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Write the WGSL that runs, one file a pass, into this folder.
    #[arg(long, value_name = "DIR")]
    pub dump_shaders: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  broadphase pairs boxes.csv -o pairs.csv\n  broadphase pairs cloth0.ply --next cloth1.ply \
                        --between vertices,faces --between edges,edges --local-ids --free -o candidates.npy"
)]
pub struct PairsArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub step: StepArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    #[command(flatten)]
    pub ids: IdArgs,
    #[command(flatten)]
    pub margin: MarginArgs,
    #[command(flatten)]
    pub which: PairArgs,
    /// Write only the first N pairs; where there are more: status 1, and the needed count on standard error.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_pairs: Option<u32>,
    /// Result file, .csv or .npy (u4, rows × 2), or a device such as /dev/null; `-` is CSV on standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  broadphase rays boxes.csv rays.csv -o closest.csv\n  broadphase rays mesh.ply rays.npy \
                        --mode all --along --with-t -o hits.npy"
)]
pub struct RaysArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Rays, a table as that of boxes: origin, direction, t_max (7 columns, in 2D 5), or without t_max (6, in 2D 4),
    /// which is infinite then. A ray with a NaN or an infinite direction is invalid. With a negative t_max it hits nothing, with a direction of zero what is at its
    /// origin.
    pub rays: PathBuf,
    /// Which hits.
    #[arg(long, value_enum, default_value_t = Mode::Closest)]
    pub mode: Mode,
    /// With --mode all: a third column, the parameter t at which the ray enters the box, 0 where it starts inside.
    #[arg(long)]
    pub with_t: bool,
    /// With --mode all: the hits of each ray by ascending t, then by object.
    #[arg(long)]
    pub along: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub step: StepArgs,
    #[command(flatten)]
    pub ids: IdArgs,
    #[command(flatten)]
    pub margin: MarginArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Result file, .csv or .npy (closest and --with-t: f8, rows × 3; else u4, rows × 2); `-` is CSV on standard
    /// output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  broadphase query boxes.csv queries.csv -o found.csv\n  broadphase query mesh.ply \
                        points.csv --nearest 4 -o nearest.csv"
)]
pub struct QueryArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Query boxes or points, a table as that of the scene: mins then maxes (6 columns, in 2D 4), or positions (3
    /// columns, in 2D 2).
    pub boxes: PathBuf,
    /// Find what comes within this distance of the box: a sphere where the box is a point.
    #[arg(long, value_name = "R", value_parser = parse_distance)]
    pub radius: Option<f32>,
    /// Only the K nearest objects of each query, nearest first, as rows `query,object,distance`; at any distance,
    /// unless --radius bounds it. The search goes outward from the query, and needs no radius to be fast.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub nearest: Option<u32>,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub step: StepArgs,
    #[command(flatten)]
    pub ids: IdArgs,
    #[command(flatten)]
    pub margin: MarginArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Result file, .csv or .npy (u4, rows × 2; --nearest: f8, rows × 3); `-` is CSV on standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  broadphase neighbors points.csv --radius 0.5 -o pairs.csv\n  broadphase neighbors \
                        atoms.xyz --radius 8 --period 60,60,60 --full --distances --shifts -o list.npy"
)]
pub struct NeighborsArgs {
    /// Points: 3 columns, in 2D 2, in any table that is read as boxes (.csv, .txt, .tsv, .dat, .xyz, .npy, .npz, `-`);
    /// `pairs --help` tells more. Or atoms: .xyz and .extxyz with their number, a comment, then rows of a symbol and a
    /// position, of which the first frame is read.
    ///
    /// Numbers of the file, radius and period count in f64, as they are written.
    pub points: PathBuf,
    /// The largest distance. Needed unless --nearest is given.
    #[arg(long, value_name = "R", value_parser = parse_long_distance)]
    pub radius: Option<f64>,
    /// Period of each axis, 0 where an axis has none: distances are those to the nearest image. One number is the
    /// period of all axes. Without it that of an extended XYZ file, if its Lattice is a box along the axes.
    #[arg(long, value_name = "X,Y[,Z]", value_parser = parse_periods)]
    pub period: Option<Periods>,
    /// Write each pair from both sides, as `a,b` and as `b,a`: the full list.
    #[arg(long, conflicts_with = "nearest")]
    pub full: bool,
    /// Only the K nearest neighbours of each point, nearest first and then by number, from both sides. The search goes
    /// outward from the point, and needs no radius to be fast. Who they are is decided in f64 among the K + 8 that are
    /// nearest in f32.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub nearest: Option<u32>,
    /// A further column: the distance.
    #[arg(long)]
    pub distances: bool,
    /// Further columns, one per axis: how many periods to add to b, so that it is the image that is near a.
    #[arg(long)]
    pub shifts: bool,
    /// What the points have to be; the number of columns decides.
    #[arg(long, value_name = "2|3", value_parser = clap::value_parser!(u8).range(2..=3))]
    pub dimensions: Option<u8>,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub step: StepArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Result file, .csv or .npy (u4, rows × 2; with distances or shifts f8); `-` is CSV on standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub scene: OptionalSceneArgs,
    /// Rays to verify with, a table of 7 columns, in 2D 5.
    pub rays: Option<PathBuf>,
    /// Make this many random scenes instead of reading one.
    #[arg(long, value_name = "N", conflicts_with_all = ["scene", "rays"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub random: Option<u64>,
    /// Seed of the first random scene; each further scene takes the next number.
    #[arg(long, value_name = "S", default_value_t = 0, requires = "random")]
    pub seed: u64,
    /// Most objects and rays of a random scene.
    #[arg(long, value_name = "N", default_value_t = LARGEST, value_parser = clap::value_parser!(u32).range(1..), requires = "random")]
    pub largest: u32,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Cell size of the uniform scheme for a scene from a file; without it the median longest side.
    #[arg(long, value_name = "X", value_parser = parse_length, conflicts_with = "random")]
    pub cell_size: Option<f32>,
    /// Finest cells of the adaptive scheme for a scene from a file; without it the smallest longest side.
    #[arg(long, value_name = "X", value_parser = parse_length, conflicts_with = "random")]
    pub min_scale: Option<f32>,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// A step as --snapshot keeps it, or `Snapshot` of the library.
    pub snapshot: PathBuf,
    /// Compare the answer with the CPU engine and brute force; needs an adapter.
    #[arg(long)]
    pub verify: bool,
    /// Tell the GPU time of each stage.
    #[arg(long)]
    pub timings: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
pub struct GenerateArgs {
    /// What to make.
    #[arg(value_enum)]
    pub kind: Make,
    /// How many rows; for `cloth` about how many vertices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    /// Equal seeds give equal files.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// 3D or 2D rows.
    #[arg(long, value_name = "2|3", value_parser = clap::value_parser!(u8).range(2..=3), default_value_t = 3)]
    pub dimensions: u8,
    /// Side of the world for `points` and `rays`; without it that of `uniform` with as many boxes.
    #[arg(long, value_name = "X", value_parser = parse_length)]
    pub side: Option<f32>,
    /// Largest parameter of `rays`.
    #[arg(long, value_name = "T", value_parser = parse_t_max, default_value_t = f32::INFINITY)]
    pub t_max: f32,
    /// .csv or .npy; `-` is CSV on standard output. For `cloth` a name as in `NAME.ply`: the two frames go to
    /// `NAME0.ply` and `NAME1.ply`.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct StatsArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    #[command(flatten)]
    pub margin: MarginArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
}

#[derive(Args)]
pub struct HeatmapArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Axis to look along; without it the one of smallest extent.
    #[arg(long, value_enum)]
    pub axis: Option<Axis>,
    /// The picture.
    #[arg(short, long, value_name = "FILE.png")]
    pub output: PathBuf,
}

#[derive(Args, Clone)]
pub struct BenchArgs {
    /// What to measure, apart by commas: uniform, power-law, clustered, planar, one-cell; files of boxes or meshes;
    /// and folders with frame0.ply and frame1.ply, of which all elements get a box.
    #[arg(default_value = "uniform")]
    pub scene: String,
    /// Rays, a table as that of boxes: origin, direction, t_max (7 columns, in 2D 5).
    pub rays: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Boxes of scenes that are made, apart by commas [default: 10000,100000,1000000; --report takes 10000000, too].
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Vec<u32>,
    /// Make this many rays from uniform origins in uniform directions: the closest hit without bound, all hits up to t
    /// = 16.
    #[arg(long = "rays", value_name = "N", conflicts_with = "rays", value_parser = clap::value_parser!(u32).range(1..))]
    pub ray_count: Option<u32>,
    /// Runs, in each of which everything is run once: medians are told.
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Equal seeds make equal scenes and rays.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Who runs, apart by commas; without it all that are there and that suit the scene. The names: gpu-broad-phase,
    /// grid, brute-force (a kernel), reference (the library on the CPU; only by name), and with the package's feature
    /// `peers` parry3d, obvhs, bvh, rstar, lampshade.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub engines: Vec<String>,
    /// Measure the sort of keys and values alone, too.
    #[arg(long)]
    pub sort: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Result file, .csv, with a header line; `-` is standard output.
    #[arg(short, long, visible_alias = "csv", value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// The table as a report: with adapter, driver, date and command.
    #[arg(long, value_name = "FILE.md")]
    pub markdown: Option<PathBuf>,
    /// Measure a fixed set of things for a report on this GPU, and write it here: whether answers are right, the copy
    /// bandwidth, then uniform and power-law in several sizes with rays, stages and the sort. Takes under eight
    /// minutes.
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["scene", "rays", "dimensions", "elements", "next",
        "engines", "sort", "order", "scheme", "cell_size", "min_scale", "output", "markdown"])]
    pub report: Option<PathBuf>,
    /// With --report: the seconds that it may take, about. What does not fit is left out, and the report says so.
    #[arg(long, value_name = "SECONDS", default_value_t = 450, requires = "report",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
}

/// What is said of a scene by itself and of one that may be left out.
const SCENE: &str = "Boxes or a mesh; `-` is standard input, which tells its format by how it starts";
const SCENE_FORMATS: &str = "\
    Boxes or a mesh; `-` is standard input, which tells its format by how it starts.\n\n\
    Boxes are rows of mins, then maxes: 6 columns, in 2D 4.\n\n\
    Text (.csv, .txt, .tsv, .dat, .xyz): columns parted by commas, semicolons, tabs or blanks, with a decimal point; \
    `#` starts a comment; the first line may be a header. A first line of three or more columns that counts them from \
    0 is a header if the second has a fraction, else a row, and a warning says which.\n\n\
    Arrays (.npy, .npz): floats of 2 to 8 bytes or integers of 1 to 8, also of the shape (rows, 2, 3), in 2D (rows, \
    2, 2). FILE.npz:NAME names one array of several. An archive may unpack to 100 times its size, or 64 MiB.\n\n\
    Invalid rows, with NaN or a min above its max, take no part and keep their numbers.\n\n\
    Meshes are .ply, .obj, .stl, .gltf and .glb. Faces of fewer than three vertices and lines of fewer than two are \
    left out and get no numbers, as edges from a vertex to itself are; invalid elements keep theirs.\n\n\
    STL: corners with equal positions are one vertex, numbered in the order in which they first appear. Bytes behind \
    the triangles are left out, and a last solid needs no endsolid.\n\n\
    glTF: triangles and lines of all meshes of the default scene, placed by their nodes, without skins and morph \
    targets. Vertices are numbered in the order of the file, primitive by primitive; primitives of a mesh that name \
    the same positions share them. Lines are loose edges. Primitives without positions or corners are left out. \
    Required extensions that pack or move vertices are refused; names that are not known are read past with a \
    warning. Meshes may repeat to 100 times the file's size, or 64 MiB.\n\n\
    Packed files (gzip, bzip2, xz, zstd) have to be unpacked first.";

/// A scene file and how to read it.
#[derive(Args)]
pub struct SceneArgs {
    #[arg(help = SCENE, long_help = SCENE_FORMATS)]
    pub scene: PathBuf,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// A scene file for the one command that can do without.
#[derive(Args)]
pub struct OptionalSceneArgs {
    #[arg(help = SCENE, long_help = SCENE_FORMATS)]
    pub scene: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Args, Clone)]
pub struct ReadingArgs {
    /// What the scene has to be; the number of columns decides. 2 takes x and y of a mesh, whose z has to be the same
    /// everywhere, or may be missing.
    #[arg(long, value_name = "2|3", value_parser = clap::value_parser!(u8).range(2..=3))]
    pub dimensions: Option<u8>,
    /// Mesh elements that get a box: any of vertices, edges (of faces, and those that the file names by themselves),
    /// faces (without it faces).
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    pub elements: Vec<Kind>,
    /// Second frame of the mesh: boxes cover the motion from one frame to the other.
    #[arg(long, value_name = "FILE")]
    pub next: Option<PathBuf>,
}

/// What answers.
#[derive(Args, Clone)]
pub struct EngineArgs {
    /// Graphics API, or the CPU engine. `auto` takes a hardware GPU, else the CPU engine, which is faster than a
    /// software adapter and finds the same; `verify`, `bench`, `stats` and `replay --verify` take a software adapter.
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Part of the adapter's name, or its index as `info` lists it for the same --backend.
    #[arg(long, value_name = "NAME|INDEX", value_parser = NonEmptyStringValueParser::new())]
    pub adapter: Option<String>,
    /// In which order the answer comes off the device; rows are sorted before they are written, whatever it is. Without
    /// it `deterministic`, and for `replay` that of the snapshot.
    #[arg(long, value_enum)]
    pub order: Option<Order>,
    /// Folder that keeps compiled pipelines from run to run, where the backend hands them out, as Vulkan does; `off`
    /// for none. Without it `broadphase` in the user's cache folder: XDG_CACHE_HOME, or what the platform has for it.
    #[arg(long, value_name = "DIR|off")]
    pub pipeline_cache: Option<PathBuf>,
}

/// What to tell and to keep of a step.
#[derive(Args)]
pub struct StepArgs {
    /// Write the number of rows in place of the rows; for `rays` that of hits. They are counted where they are found,
    /// so that no answer is too large; only --free, several --between and `neighbors` need room for the rows.
    #[arg(long, conflicts_with = "output")]
    pub count_only: bool,
    /// Make a second step, in which nothing is compiled, and print its time, the GPU time of each of its stages, and
    /// the time that the CPU takes for the same.
    #[arg(long)]
    pub timings: bool,
    /// Keep what the step is given in this file, before it runs: for a report of a fault, and for `replay`.
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
}

/// Which pairs there are.
#[derive(Args)]
pub struct PairArgs {
    /// Report only pairs of one element of each kind, as in `vertices,faces`; implies --elements. Given several times,
    /// each goes to a file of its own: -o NAME.csv makes NAME.vertices-faces.csv, NAME.edges-edges.csv and so on.
    #[arg(long, value_name = "KIND,KIND", value_parser = parse_between)]
    pub between: Vec<Between>,
    /// The body of each box, -1 for none: boxes of one body make no pair. For a mesh the body of each vertex. A table
    /// of one column of integers up to 1073741822.
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// Leave these pairs out: a table of two columns of ids, as results have them without --local-ids. Either box may
    /// come first.
    #[arg(long, value_name = "FILE")]
    pub exclude: Option<PathBuf>,
    /// Drop incident pairs: elements that share a vertex of the mesh.
    #[arg(long)]
    pub free: bool,
}

impl PairArgs {
    /// The kinds of each `--between`, sorted; refuses what does not go together.
    pub fn checked(&self) -> Result<Vec<Between>> {
        let mut between = self.between.clone();
        between.sort();
        if let Some(twice) = between.windows(2).find(|window| window[0] == window[1]) {
            bail!("--between {} is given twice", between_name(twice[0]));
        }
        Ok(between)
    }
}

/// How elements of a mesh are called.
#[derive(Args)]
pub struct IdArgs {
    #[command(flatten)]
    pub local: LocalIdArgs,
    /// Write the edges of the mesh: row i is the edge with local id i, as its smaller and its larger vertex. .csv or
    /// .npy (u4, rows × 2).
    #[arg(long, value_name = "FILE")]
    pub write_edges: Option<PathBuf>,
}

#[derive(Args)]
pub struct LocalIdArgs {
    /// Count the elements of each kind from 0. Without it ids count all vertices of the mesh, then all its edges (by
    /// larger, then smaller vertex), then all its faces, with boxes or without. Needs elements of one kind, or
    /// --between: the first column of a pair is then of the kind that comes first in this order.
    #[arg(long)]
    pub local_ids: bool,
}

#[derive(Args)]
pub struct MarginArgs {
    /// Grow every box of the scene by this on every side: two boxes pair where they are within twice the margin on
    /// every axis.
    #[arg(long, value_name = "X", value_parser = parse_distance, default_value_t = 0.0, hide_default_value = true)]
    pub margin: f32,
}

#[derive(Args, Clone)]
pub struct SchemeArgs {
    /// How objects are put into cells; the answer is the same. On meshes `adaptive` takes five to six times as long as
    /// the others.
    #[arg(long, value_enum, default_value_t = SchemeName::Hierarchical)]
    pub scheme: SchemeName,
    /// Cell size of the uniform scheme; without it the median longest side of the boxes.
    #[arg(long, value_name = "X", value_parser = parse_length)]
    pub cell_size: Option<f32>,
    /// Finest cells of the adaptive scheme, rounded up to a power of two; without it the smallest longest side above
    /// zero.
    #[arg(long, value_name = "X", value_parser = parse_length)]
    pub min_scale: Option<f32>,
}

/// Two objects, an object and a ray, or an object and a query.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  broadphase why boxes.csv 3 7\n  broadphase why boxes.csv 3 --rays rays.csv --ray \
                        12\n  broadphase why boxes.csv 3 --boxes queries.csv --query 0"
)]
pub struct WhyArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// An object, by the id that results name it with.
    #[arg(value_parser = parse_id)]
    pub a: u32,
    /// A second object; without it --ray or --query says what the first one meets or not.
    #[arg(value_parser = parse_id)]
    pub b: Option<u32>,
    /// The row of a ray in the file after --rays, the first of which is 0.
    #[arg(long, value_name = "R", value_parser = parse_id, requires = "rays", conflicts_with = "query")]
    pub ray: Option<u32>,
    /// Rays, as `rays` takes them.
    #[arg(long, value_name = "FILE", requires = "ray")]
    pub rays: Option<PathBuf>,
    /// Which hits of the ray are asked for.
    #[arg(long, value_enum, default_value_t = Mode::Closest, requires = "ray")]
    pub mode: Mode,
    /// The row of a query box in the file after --boxes, the first of which is 0.
    #[arg(long, value_name = "Q", value_parser = parse_id, requires = "boxes")]
    pub query: Option<u32>,
    /// Query boxes or points, as `query` takes them.
    #[arg(long, value_name = "FILE", requires = "query")]
    pub boxes: Option<PathBuf>,
    /// How far from the query box objects may be.
    #[arg(long, value_name = "R", value_parser = parse_distance, default_value_t = 0.0, requires = "query")]
    pub radius: f32,
    #[command(flatten)]
    pub local: LocalIdArgs,
    #[command(flatten)]
    pub margin: MarginArgs,
    #[command(flatten)]
    pub which: PairArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    Auto,
    Vulkan,
    Gl,
    Metal,
    Dx12,
    Cpu,
}

impl Backend {
    /// As it is asked for.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The same for the same input on the same device.
    // Whoever says that any order will do gets the cheapest, which is this.
    #[value(alias = "unordered")]
    Deterministic,
    /// Ascending: the same on every device.
    Sorted,
}

impl From<Order> for PairOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Deterministic => Self::Deterministic,
            Order::Sorted => Self::Sorted,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemeName {
    Hierarchical,
    Uniform,
    Adaptive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Rows `ray,object,t`, one per ray; -1 and inf where none.
    Closest,
    /// Rows `ray,hit`, hit 0 or 1.
    Any,
    /// Rows `ray,object`, ascending.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Axis {
    X,
    Y,
    Z,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Make {
    /// Boxes of edges 0.5 to 1.5, about 6 overlaps a box.
    Uniform,
    /// Cubes of edges 1 to 256 by a power law, about 6 overlaps a box.
    PowerLaw,
    /// Boxes in clusters.
    Clustered,
    /// Boxes on a thin plane.
    Planar,
    /// Rods side by side in one cell, none of which meets another.
    OneCell,
    /// Unit boxes that share faces, each coordinate moved by at most one step of f32.
    Lattice,
    /// Points, 3 or 2 columns.
    Points,
    /// Rays from uniform origins in uniform directions.
    Rays,
    /// Two frames of a cloth that falls over a ball.
    Cloth,
}

fn parse_length(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("a finite number above zero is needed".to_owned()),
    }
}

fn parse_distance(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("a finite number, zero or above, is needed".to_owned()),
    }
}

fn parse_long_distance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("a finite number, zero or above, is needed".to_owned()),
    }
}

/// Lengths of the axes, or of all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Periods(pub Vec<f64>);

/// Numbers apart by commas or blanks.
fn parse_periods(text: &str) -> Result<Periods, String> {
    let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let periods = words.map(parse_long_distance).collect::<Result<Vec<_>, _>>()?;
    let fits = |&period: &f64| period == 0.0 || (f32::MIN_POSITIVE.into()..=f32::MAX.into()).contains(&period);
    match periods.is_empty() || !periods.iter().all(fits) {
        true => Err("numbers of 0, or between 1.2e-38 and 3.4e38, are needed, as in 8,8,8".to_owned()),
        false => Ok(Periods(periods)),
    }
}

fn parse_t_max(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value >= 0.0 => Ok(value),
        _ => Err("a number of 0 or more is needed, or inf".to_owned()),
    }
}

fn parse_id(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "an id is an integer from 0 to 4294967295".to_owned())
}

/// `vertices-faces`.
pub fn between_name((a, b): Between) -> String {
    format!("{}-{}", a.name(), b.name())
}

/// The kinds in the order of their ids, however they are named.
fn parse_between(text: &str) -> Result<Between, String> {
    let kind = |name: &str| {
        let found = Kind::from_str(name.trim(), false);
        found.map_err(|_| format!("{:?} is no kind: vertices, edges and faces are", name.trim()))
    };
    match text.split(',').map(kind).collect::<Result<Vec<_>, _>>()?[..] {
        [a, b] => Ok((a.min(b), a.max(b))),
        _ => Err("two kinds are needed, as in edges,edges".to_owned()),
    }
}

impl Cli {
    /// Takes negative numbers for values, so that what is wrong with one is told of the value and not of an option
    /// `-1`.
    pub fn parse_from_arguments(arguments: impl IntoIterator<Item = OsString>) -> clap::error::Result<Self> {
        let take_negative = |arg: Arg| {
            let takes_values = arg.get_action().takes_values();
            // As `-.5` and `-inf`, which clap knows as no numbers.
            let reals = [TypeId::of::<f32>(), TypeId::of::<f64>(), TypeId::of::<Periods>()];
            let takes_reals = takes_values && reals.iter().any(|&real| arg.get_value_parser().type_id() == real);
            arg.allow_negative_numbers(takes_values)
                .allow_hyphen_values(takes_reals)
        };
        let command = Self::command().mut_subcommands(|command| command.mut_args(take_negative));
        Self::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn periods_are_apart_by_commas_or_blanks() {
        for text in ["8,8.5,0", "8 8.5 0", " 8, 8.5 ,0 ", "8,8.5,0,"] {
            assert_eq!(parse_periods(text), Ok(Periods(vec![8.0, 8.5, 0.0])), "{text}");
        }
        for text in ["", ",", "8;8", "-1", "nan", "1e39", "1e-39", "8 x"] {
            assert!(parse_periods(text).is_err(), "{text}");
        }
    }

    #[test]
    fn between_takes_two_kinds() {
        assert_eq!(parse_between("vertices,faces"), Ok((Kind::Vertices, Kind::Faces)));
        assert!(parse_between("edges").is_err());
        assert!(parse_between("edges,cells").is_err());
        assert!(parse_between("edges,edges,edges").is_err());
    }
}
