use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use gpu_broad_phase::ResultOrder;

use crate::mesh::{Between, Kind};

/// Find overlapping boxes and ray hits in files, on the GPU.
///
/// Results go to the file named by -o (.csv or .npy by its ending), or as CSV to standard output. Messages go to
/// standard error. Exit status: 0 success; 1 incomplete answer or failed check; 2 invalid usage or input, or a named
/// backend or adapter is missing.
#[derive(Parser)]
#[command(name = "broadphase", version, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Print only warnings and errors. Invalid or unsupported content that is skipped in a file always causes a
    /// warning.
    #[arg(long, global = true)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// List adapters, and whether each meets the requirements.
    Info(InfoArgs),
    /// Write all overlapping pairs: rows `a,b` with a < b, ascending.
    Pairs(PairsArgs),
    /// Write ray hits.
    Rays(RaysArgs),
    /// Write the objects that overlap each query box: rows `query,object`, ascending.
    Query(QueryArgs),
    /// Write the pairs of points within a radius: rows `a,b` with a < b, ascending; with periods, a row per image.
    Neighbors(NeighborsArgs),
    /// Compare the GPU with the CPU engine and brute force.
    Verify(VerifyArgs),
    /// Explain why two objects are a pair, a ray hits an object, or a query finds it, or why not.
    Why(WhyArgs),
    /// Repeat the step of a snapshot with its saved options, and count the results.
    Replay(ReplayArgs),
    /// Generate boxes, points, rays or a cloth mesh.
    Generate(GenerateArgs),
    /// Show statistics of a scheme for a scene: objects per level, entries per bucket, candidates per pair, bytes,
    /// time.
    Stats(StatsArgs),
    /// Draw the number of boxes over each cell of a plane.
    Heatmap(HeatmapArgs),
    /// Time a step, its stages and other engines, and compare their answers.
    Bench(BenchArgs),
}

#[derive(Args)]
pub struct InfoArgs {
    /// Backends whose adapters are listed.
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Write the WGSL code of the passes into this folder, one file per pass.
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
    /// Write only the first N pairs. If there are more, print the total number and exit with status 1.
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
    /// Rays, as a text table or array: origin, direction, t_max (7 columns, in 2D 5). Without t_max (6, in 2D 4), rays
    /// are infinite. A ray with a NaN or infinite direction is invalid. A negative t_max hits nothing; a zero direction
    /// hits the boxes at the origin. Begin rays near the scene: hits are exact up to 2^-21 of the distance.
    pub rays: PathBuf,
    #[command(flatten)]
    pub columns: RayColumnArgs,
    /// Hits to find for each ray.
    #[arg(long, value_enum, default_value_t = Mode::Closest)]
    pub mode: Mode,
    /// With --mode all: add a column t, the parameter at which the ray enters the box, 0 if it starts inside.
    #[arg(long)]
    pub with_t: bool,
    /// With --mode all: sort the hits of each ray by t, then by object.
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
    /// Query boxes (mins then maxes: 6 columns, in 2D 4) or points (3 columns, in 2D 2), as a text table or array. Or
    /// a mesh file with vertices only.
    pub boxes: PathBuf,
    #[command(flatten)]
    pub columns: QueryColumnArgs,
    /// Find the objects within this distance of the query box or point.
    #[arg(long, value_name = "R", value_parser = parse_distance)]
    pub radius: Option<f32>,
    /// Find only the K nearest objects of each query, nearest first, as rows `query,object,distance`. Without --radius,
    /// distances are unlimited. The search goes outward from the query and is fast without a radius.
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
    /// Points: 3 columns, in 2D 2, in any table format of boxes (.csv, .txt, .tsv, .dat, .xyz, .npy, .npz, `-`); see
    /// `pairs --help`. Or atoms: .xyz or .extxyz with the number of atoms, a comment line, then a row of symbol and
    /// position per atom. Only the first frame is read. Or a point cloud or mesh (.ply, .obj, .stl, .gltf, .glb), whose
    /// vertices are the points.
    ///
    /// Coordinates, radius and period are used in f64, as written.
    pub points: PathBuf,
    /// Columns of the positions. Names are read like a header with these names only, numbers from 0 in the order given.
    #[arg(long, value_name = "X,Y[,Z]", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Largest distance between neighbours. Required without --nearest.
    #[arg(long, value_name = "R", value_parser = parse_long_distance)]
    pub radius: Option<f64>,
    /// Period of each axis, 0 for none. One number sets all axes. Default: the Lattice of an extended XYZ file.
    ///
    /// A pair is listed once for each periodic image within the radius, also `a,a` for images of a point itself, of
    /// which one of each two opposite ones is listed without --full. Points 2^36 or more periods away are ignored.
    #[arg(long, value_name = "X,Y[,Z]", value_parser = parse_periods)]
    pub period: Option<Periods>,
    /// Write each pair twice, as `a,b` and as `b,a`.
    #[arg(long, conflicts_with = "nearest")]
    pub full: bool,
    /// Find only the K nearest neighbours of each point, sorted by distance in f64, then by index. The search goes
    /// outward from the point and is fast without a radius. Each other point counts once, at its nearest periodic
    /// image; the Lattice must be along the axes. Where K + 8 candidates in f32 do not settle the answer, and where most
    /// points are in few places, a k-d tree on the CPU finds it.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub nearest: Option<u32>,
    /// Add a column with the distance.
    #[arg(long)]
    pub distances: bool,
    /// Add a column per axis: the number of periods to add to point b to get the image. In a Lattice that is not along
    /// the axes, a column per vector.
    #[arg(long)]
    pub shifts: bool,
    /// Number of dimensions that the points must have: 2 or 3 columns, or as for `pairs`.
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
    /// Rays to verify, in a table with 7 columns, in 2D 5.
    pub rays: Option<PathBuf>,
    #[command(flatten)]
    pub columns: RayColumnArgs,
    /// Number of random scenes to verify, instead of reading one. They are those of the library's tests.
    #[arg(long, value_name = "N", conflicts_with_all = ["scene", "rays"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub random: Option<u64>,
    /// Number of the first random scene. Others follow it.
    #[arg(long, value_name = "S", default_value_t = 0, requires = "random")]
    pub seed: u64,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Cell size of the uniform scheme for a scene from a file. Default: the median of the boxes' longest sides.
    #[arg(long, value_name = "X", value_parser = parse_length, conflicts_with = "random")]
    pub cell_size: Option<f32>,
    /// Size of the finest cells of the adaptive scheme for a scene from a file. Default: the smallest of the boxes'
    /// longest sides.
    #[arg(long, value_name = "X", value_parser = parse_length, conflicts_with = "random")]
    pub min_scale: Option<f32>,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// A step saved by --snapshot, or by `Snapshot` of the library.
    pub snapshot: PathBuf,
    /// Compare the answer with the CPU engine and brute force; needs an adapter.
    #[arg(long)]
    pub verify: bool,
    /// Print the GPU time of each stage.
    #[arg(long)]
    pub timings: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
pub struct GenerateArgs {
    /// Kind of data.
    #[arg(value_enum)]
    pub kind: Make,
    /// Number of rows; for `cloth` the approximate number of vertices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    /// Equal seeds give equal files.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Number of dimensions.
    #[arg(long, value_name = "2|3", value_parser = clap::value_parser!(u8).range(2..=3), default_value_t = 3)]
    pub dimensions: u8,
    /// Side length of the world of `points` and `rays`. Default: that of `uniform` with the same count.
    #[arg(long, value_name = "X", value_parser = parse_length)]
    pub side: Option<f32>,
    /// t_max of the generated rays.
    #[arg(long, value_name = "T", value_parser = parse_t_max, default_value_t = f32::INFINITY)]
    pub t_max: f32,
    /// Result file, .csv or .npy; `-` is CSV on standard output. `cloth` needs `NAME.ply` and writes two frames,
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
    /// Axis to look along. Default: the axis of smallest extent.
    #[arg(long, value_enum)]
    pub axis: Option<Axis>,
    /// Picture file.
    #[arg(short, long, value_name = "FILE.png")]
    pub output: PathBuf,
}

#[derive(Args, Clone)]
pub struct BenchArgs {
    /// Scenes, separated by commas: uniform, power-law, clustered, planar, one-cell; of thin boxes rods, rods-2, rods-3
    /// (on one, two or three axes), pareto, plates, cubes-rods, bars (2D), hair, triangles; files of boxes or meshes;
    /// and folders with frame0.ply and frame1.ply, where vertices, edges and faces all get a box.
    #[arg(default_value = "uniform")]
    pub scene: String,
    /// Rays, as a text table or array: origin, direction, t_max (7 columns, in 2D 5).
    pub rays: Option<PathBuf>,
    #[command(flatten)]
    pub columns: RayColumnArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Numbers of boxes in random scenes, separated by commas [default: 10000,100000,1000000; --report adds 10000000].
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Vec<u32>,
    /// Number of rays to generate, with random origins and directions. For closest hits they are unlimited; for all
    /// hits they end at t = 16.
    #[arg(long = "rays", value_name = "N", conflicts_with = "rays", value_parser = clap::value_parser!(u32).range(1..))]
    pub ray_count: Option<u32>,
    /// Number of runs of every engine; medians are reported.
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Equal seeds give equal scenes and rays.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Engines, separated by commas. Default: all available ones that suit the scene. Names: gpu-broad-phase, grid,
    /// brute-force (a kernel), reference (the library on the CPU; only if named), and with the package's feature
    /// `peers` parry3d, obvhs, bvh, rstar, lampshade.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub engines: Vec<String>,
    /// Also measure the radix sort of keys and values alone.
    #[arg(long)]
    pub sort: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Result file, .csv, with a header line; `-` is standard output.
    #[arg(short, long, visible_alias = "csv", value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Write a Markdown report with results, adapter, driver, date and command.
    #[arg(long, value_name = "FILE.md")]
    pub markdown: Option<PathBuf>,
    /// Write a report on this GPU: correctness, copy bandwidth, then uniform and power-law scenes of several sizes with
    /// rays, stage times and the sort. Takes less than eight minutes by default.
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["scene", "rays", "dimensions", "elements", "next",
        "columns", "form", "engines", "sort", "order", "scheme", "cell_size", "min_scale", "output", "markdown"])]
    pub report: Option<PathBuf>,
    /// Approximate time limit of --report in seconds. The report names measurements that did not fit.
    #[arg(long, value_name = "SECONDS", default_value_t = 450, requires = "report",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
}

const SCENE: &str = "Boxes or a mesh; `-` is standard input, whose format is detected";
const SCENE_FORMATS: &str = "\
    Boxes or a mesh; `-` is standard input, whose format is detected from its start.\n\n\
    Boxes are rows of mins, then maxes: 6 columns, in 2D 4.\n\n\
    Text (.csv, .txt, .tsv, .dat, .xyz): columns separated by commas, semicolons, tabs or blanks, or by the character \
    in a first line `sep=;`. Numbers have a decimal point. `#` starts a comment, and so do `//`, `%` and `;` at the \
    start of a line. The first line may be a header. A first line that numbers three or more columns from 0 is a \
    header if the second line has a fraction, else a row; a warning says which.\n\n\
    Columns are found by names such as xmin or min_x, x0, left, cx, width and size_x, in any order and beside other \
    columns, which are left out; so are those of rays (ox or x, dx or dir_x, tmax) and points (x or lon). The first of \
    top and bottom is the min. Names in a comment above the rows count if they are clear. Unknown names are read in \
    order, without a first column that is unnamed or named id or index. Names that can mean several things, as \
    x,y,z,dx,dy,dz of boxes can, or that contradict the order are an error: use --form, or pick columns with \
    --columns.\n\n\
    Arrays (.npy, .npz): floats of 2 to 8 bytes or integers of 1 to 8, also of the shape (rows, 2, 3), in 2D (rows, \
    2, 2). FILE.npz:NAME selects one of several arrays. An archive may unpack to 100 times its size, or 64 MiB.\n\n\
    Invalid rows, with NaN or a min above its max, are ignored and keep their numbers. Ids are row numbers from 0, \
    without header and comments.\n\n\
    Coordinates are compared in f32. If f32 does not hold all numbers, they are measured from an origin near most \
    boxes, and rounded outward: nothing that overlaps or is hit is lost, but boxes apart by less than the rounding may \
    be added. A warning names the rounding where it is large beside the boxes.\n\n\
    Meshes are .ply, .obj, .stl, .gltf and .glb. Faces of fewer than three vertices, lines of fewer than two, and \
    edges from a vertex to itself are left out and get no numbers; invalid elements keep theirs. A point cloud needs \
    --elements vertices.\n\n\
    PLY: triangles of strips (tristrips) are numbered after the faces. Elements besides vertices, faces, edges and \
    strips are skipped and named.\n\n\
    STL: corners with equal positions are one vertex, numbered by first appearance. Bytes after the triangles are \
    ignored, and the last solid needs no endsolid.\n\n\
    glTF: triangles and lines of all meshes of the default scene, placed by their nodes, skins and morph targets in \
    the rest pose; animations cause a warning. Skin weights are divided by their sum. Vertices are numbered in file \
    order, primitive by primitive; primitives of a mesh with the same positions, joints and targets share them. Lines \
    are loose edges. Primitives without positions or corners are left out. Required extensions that pack or move \
    vertices cause an error, unknown ones a warning. Meshes may repeat to 100 times the file's size, or 64 MiB.\n\n\
    Unpack compressed files (gzip, bzip2, xz, zstd) first.";

#[derive(Args)]
pub struct SceneArgs {
    #[arg(help = SCENE, long_help = SCENE_FORMATS)]
    pub scene: PathBuf,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Args)]
pub struct OptionalSceneArgs {
    #[arg(help = SCENE, long_help = SCENE_FORMATS)]
    pub scene: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Args, Clone, Default)]
pub struct ReadingArgs {
    /// Number of dimensions that the scene must have. The columns of a table must match it. For a mesh, 2 uses x and y;
    /// z must be constant or missing.
    #[arg(long, value_name = "2|3", value_parser = clap::value_parser!(u8).range(2..=3))]
    pub dimensions: Option<u8>,
    /// Kinds of mesh elements that get a box: vertices, edges (of faces, and those listed in the file), faces. Default:
    /// faces.
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    pub elements: Vec<Kind>,
    /// Second frame of the mesh. Boxes then cover the motion between the frames.
    #[arg(long, value_name = "FILE")]
    pub next: Option<PathBuf>,
    /// Columns of a table of boxes, optionally with layers,group. Names are read like a header with these names only,
    /// numbers from 0 in the order given.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Meaning of the columns of boxes. Default: as their names say, else `min-max`.
    #[arg(long, value_enum)]
    pub form: Option<Form>,
}

#[derive(Args, Clone, Default)]
pub struct RayColumnArgs {
    /// Columns of the rays, by names or numbers like --columns.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', requires = "rays")]
    pub ray_columns: Vec<String>,
}

#[derive(Args, Clone, Default)]
pub struct QueryColumnArgs {
    /// Columns of the queries, by names or numbers like --columns.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', requires = "boxes")]
    pub query_columns: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Mins, then maxes.
    #[default]
    MinMax,
    /// Mins, then sizes.
    MinSize,
    /// Centers, then sizes.
    CenterSize,
    /// Centers, then half sizes.
    CenterHalf,
}

impl Form {
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[derive(Args, Clone)]
pub struct EngineArgs {
    /// Graphics API, or the CPU engine. `auto` uses a hardware GPU, else the CPU engine, which gives the same answer
    /// faster than a software adapter. `verify`, `bench`, `stats` and `replay --verify` also use a software adapter.
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Part of the adapter's name, or its index in the output of `info` with the same --backend.
    #[arg(long, value_name = "NAME|INDEX", value_parser = NonEmptyStringValueParser::new())]
    pub adapter: Option<String>,
    /// Order of pairs on the device. Written rows are always sorted. Default: `deterministic`; for `replay` the order
    /// saved in the snapshot.
    #[arg(long, value_enum)]
    pub order: Option<Order>,
    /// Folder that caches compiled pipelines, if the backend supports it, as Vulkan does; `off` disables it. Default:
    /// `broadphase` in the user's cache folder: XDG_CACHE_HOME, or the platform's equivalent.
    #[arg(long, value_name = "DIR|off")]
    pub pipeline_cache: Option<PathBuf>,
}

#[derive(Args)]
pub struct StepArgs {
    /// Write only the number of rows, or of hits for `rays`. Answers of any size fit, because rows are not stored. Only
    /// --free, several --between and `neighbors` need room for the rows.
    #[arg(long, conflicts_with = "output")]
    pub count_only: bool,
    /// Run a second step, without compilation, and print its time, the GPU time of each stage, and the CPU engine's
    /// time for the same step.
    #[arg(long)]
    pub timings: bool,
    /// Save the step's input to this file before it runs, for a bug report or `replay`.
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
}

#[derive(Args)]
pub struct PairArgs {
    /// Report only pairs between these two kinds of elements, as in `vertices,faces`; implies --elements. Repeat it for
    /// several files: -o NAME.csv writes NAME.vertices-faces.csv, NAME.edges-edges.csv and so on.
    #[arg(long, value_name = "KIND,KIND", value_parser = parse_between)]
    pub between: Vec<Between>,
    /// File with the body of each box, or of each vertex of a mesh, -1 for none. Boxes of the same body are not a pair.
    /// One column of integers up to 1073741822.
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// File with pairs to exclude: two columns of ids, as in results without --local-ids, in either order. Other ids
    /// and a text file without rows exclude nothing.
    #[arg(long, value_name = "FILE")]
    pub exclude: Option<PathBuf>,
    /// Drop incident pairs: elements that share a vertex of the mesh.
    #[arg(long)]
    pub free: bool,
}

impl PairArgs {
    pub fn checked(&self) -> Result<Vec<Between>> {
        let mut between = self.between.clone();
        between.sort();
        if let Some(twice) = between.windows(2).find(|window| window[0] == window[1]) {
            bail!("--between {}: repeated; pass it once", between_name(twice[0]));
        }
        Ok(between)
    }
}

#[derive(Args)]
pub struct IdArgs {
    #[command(flatten)]
    pub local: LocalIdArgs,
    /// Write the edges of the mesh to this file. Row i holds the smaller and the larger vertex of the edge with local
    /// id i. .csv or .npy (u4, rows × 2).
    #[arg(long, value_name = "FILE")]
    pub write_edges: Option<PathBuf>,
}

#[derive(Args)]
pub struct LocalIdArgs {
    /// Number the elements of each kind from 0. By default, ids number all vertices of the mesh, then all edges (by
    /// larger, then smaller vertex), then all faces, with or without boxes. Needs a single kind, or --between. The
    /// first column then holds the earlier kind in this order.
    #[arg(long)]
    pub local_ids: bool,
}

#[derive(Args)]
pub struct MarginArgs {
    /// Grow every box of the scene by this length on every side. Two boxes are a pair if their gap is at most twice the
    /// margin on every axis.
    #[arg(long, value_name = "X", value_parser = parse_distance, default_value_t = 0.0, hide_default_value = true)]
    pub margin: f32,
}

#[derive(Args, Clone)]
pub struct SchemeArgs {
    /// Scheme that places objects in cells. It does not change the answer. On meshes, `adaptive` takes five to six
    /// times as long as the others.
    #[arg(long, value_enum, default_value_t = SchemeName::Hierarchical)]
    pub scheme: SchemeName,
    /// Cell size of the uniform scheme. Default: the median of the boxes' longest sides.
    #[arg(long, value_name = "X", value_parser = parse_length)]
    pub cell_size: Option<f32>,
    /// Size of the finest cells of the adaptive scheme, rounded up to a power of two. Default: the smallest of the
    /// boxes' longest sides above zero.
    #[arg(long, value_name = "X", value_parser = parse_length)]
    pub min_scale: Option<f32>,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  broadphase why boxes.csv 3 7\n  broadphase why boxes.csv 3 --rays rays.csv --ray \
                        12\n  broadphase why boxes.csv 3 --boxes queries.csv --query 0"
)]
pub struct WhyArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Id of an object, as in results.
    #[arg(value_parser = parse_id)]
    pub a: u32,
    /// Id of a second object. Without it, use --ray or --query.
    #[arg(value_parser = parse_id)]
    pub b: Option<u32>,
    /// Row of the ray in the --rays file, from 0.
    #[arg(long, value_name = "R", value_parser = parse_id, requires = "rays", conflicts_with = "query")]
    pub ray: Option<u32>,
    /// File with rays, as for the command `rays`.
    #[arg(long, value_name = "FILE", requires = "ray")]
    pub rays: Option<PathBuf>,
    /// Hits to find for the ray.
    #[arg(long, value_enum, default_value_t = Mode::Closest, requires = "ray")]
    pub mode: Mode,
    /// Row of the query box in the --boxes file, from 0.
    #[arg(long, value_name = "Q", value_parser = parse_id, requires = "boxes")]
    pub query: Option<u32>,
    /// File with query boxes or points, as for the command `query`.
    #[arg(long, value_name = "FILE", requires = "query")]
    pub boxes: Option<PathBuf>,
    #[command(flatten)]
    pub ray_columns: RayColumnArgs,
    #[command(flatten)]
    pub query_columns: QueryColumnArgs,
    /// Largest distance between the object and the query box.
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
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Same order for the same input on the same device.
    // `unordered` accepts any order, so it selects the cheapest order: this one.
    #[value(alias = "unordered")]
    Deterministic,
    /// Ascending order, the same on every device.
    Sorted,
}

impl From<Order> for ResultOrder {
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
    /// Rows `ray,object,t`, one per ray. A miss has object -1 and t inf.
    Closest,
    /// Rows `ray,hit`, where hit is 0 or 1.
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
    /// Boxes with edges of 0.5 to 1.5 and about 6 overlaps per box.
    Uniform,
    /// Cubes with edges of 1 to 256 by a power law and about 6 overlaps per cube.
    PowerLaw,
    /// Boxes in clusters.
    Clustered,
    /// Boxes on a thin plane.
    Planar,
    /// Parallel rods in one cell, without overlaps.
    OneCell,
    /// Unit boxes that share faces. Each coordinate is moved by at most one ulp.
    Lattice,
    /// Points, 3 or 2 columns.
    Points,
    /// Rays with random origins and directions.
    Rays,
    /// Two frames of a cloth that falls over a ball.
    Cloth,
}

fn parse_length(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("use a finite number above zero".to_owned()),
    }
}

fn parse_distance(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("use a finite number of zero or more".to_owned()),
    }
}

fn parse_long_distance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("use a finite number of zero or more".to_owned()),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Periods(pub Vec<f64>);

fn parse_periods(text: &str) -> Result<Periods, String> {
    let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let periods = words.map(parse_long_distance).collect::<Result<Vec<_>, _>>()?;
    let fits = |&period: &f64| period == 0.0 || (f32::MIN_POSITIVE.into()..=f32::MAX.into()).contains(&period);
    match periods.is_empty() || !periods.iter().all(fits) {
        true => Err("use 0, or numbers between 1.2e-38 and 3.4e38, as in 8,8,8".to_owned()),
        false => Ok(Periods(periods)),
    }
}

fn parse_t_max(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value >= 0.0 => Ok(value),
        _ => Err("use a number of 0 or more, or inf".to_owned()),
    }
}

fn parse_id(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "use an integer from 0 to 4294967295".to_owned())
}

pub fn between_name((a, b): Between) -> String {
    format!("{}-{}", a.name(), b.name())
}

fn parse_between(text: &str) -> Result<Between, String> {
    let kind = |name: &str| {
        let found = Kind::from_str(name.trim(), false);
        found.map_err(|_| format!("unknown kind {:?}: use vertices, edges or faces", name.trim()))
    };
    match text.split(',').map(kind).collect::<Result<Vec<_>, _>>()?[..] {
        [a, b] => Ok((a.min(b), a.max(b))),
        _ => Err("use two kinds, as in edges,edges".to_owned()),
    }
}

impl Cli {
    /// Accepts negative numbers as values of options. Errors then name the value, not an unknown option `-1`.
    pub fn parse_from_arguments(arguments: impl IntoIterator<Item = OsString>) -> clap::error::Result<Self> {
        let take_negative = |arg: Arg| {
            let takes_values = arg.get_action().takes_values();
            // Options of these types also accept `-.5` and `-inf`.
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
