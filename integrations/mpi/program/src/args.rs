//! Arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gpu_broad_phase::Scheme;
use gpu_broad_phase_mpi::Device;
use wgpu::Backends;

/// Overlapping boxes, rays and queries from files, across the ranks of MPI.
///
/// Start it by mpirun. Each rank reads a slice of the files and takes a GPU of its machine, or the CPU. Results go to
/// one NPY file. Its rows are those of the undivided world, in the same order.
#[derive(Parser)]
#[command(version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Subcommand)]
pub enum Command {
    /// All overlapping pairs of boxes: rows `a,b`, a < b, ascending.
    Pairs(PairsArgs),
    /// What rays meet.
    Rays(RaysArgs),
    /// What lies in query boxes, or near them.
    Query(QueryArgs),
    /// Points within a distance of each other: rows `a,b`, ascending.
    Neighbors(NeighborsArgs),
}

#[derive(Args)]
pub struct PairsArgs {
    /// Boxes: mins, then maxes, as 6 columns or in 2D 4; <f4 or <f8, which rounds outward.
    pub boxes: PathBuf,
    /// Every box is grown by this on every side.
    #[arg(long, default_value_t = 0.0)]
    pub margin: f32,
    /// Where rows go.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct RaysArgs {
    /// Boxes, as for pairs.
    pub boxes: PathBuf,
    /// Rays: origin, direction, largest t, as 7 columns or in 2D 5.
    pub rays: PathBuf,
    /// closest: rows `ray,object,t`, −1 and inf where there is none. any: rows `ray,hit`. all: rows `ray,object,t`
    /// along each ray.
    #[arg(long, value_enum, default_value_t = Mode::Closest)]
    pub mode: Mode,
    /// Where rows go.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Mode {
    Closest,
    Any,
    All,
}

#[derive(Args)]
pub struct QueryArgs {
    /// Boxes, as for pairs.
    pub boxes: PathBuf,
    /// Query boxes, likewise.
    pub queries: PathBuf,
    /// What lies within this distance of the query box.
    #[arg(long, allow_negative_numbers = true)]
    pub radius: Option<f32>,
    /// So many of the nearest: rows `query,object,distance`.
    #[arg(long)]
    pub nearest: Option<u32>,
    /// Where rows go.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct NeighborsArgs {
    /// Points: 3 columns, or in 2D 2.
    pub points: PathBuf,
    /// The largest distance.
    #[arg(long, allow_negative_numbers = true)]
    pub radius: f32,
    /// The period of all axes, or one per axis.
    #[arg(long, value_delimiter = ',')]
    pub period: Vec<f32>,
    /// Each pair from both sides.
    #[arg(long)]
    pub full: bool,
    /// Where rows go.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct EngineArgs {
    /// What finds things on a rank. auto: a hardware GPU, or the CPU where there is none.
    #[arg(long, value_enum, default_value_t = Backend::Auto, global = true)]
    pub backend: Backend,
    /// How boxes are put into cells.
    #[arg(long, value_enum, default_value_t = SchemeName::Hierarchical, global = true)]
    pub scheme: SchemeName,
    /// The edge of the cells of the uniform scheme, or the smallest of the adaptive one.
    #[arg(long, default_value_t = 1.0, global = true)]
    pub cell_size: f32,
    /// Nothing on standard error but what is wrong.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Backend {
    Auto,
    Vulkan,
    Gl,
    Metal,
    Cpu,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SchemeName {
    Hierarchical,
    Uniform,
    Adaptive,
}

impl EngineArgs {
    pub const fn device(&self) -> Device {
        match self.backend {
            Backend::Auto => Device::Auto,
            Backend::Vulkan => Device::Adapter(Backends::VULKAN),
            Backend::Gl => Device::Adapter(Backends::GL),
            Backend::Metal => Device::Adapter(Backends::METAL),
            Backend::Cpu => Device::Cpu,
        }
    }

    pub const fn scheme(&self) -> Scheme {
        match self.scheme {
            SchemeName::Hierarchical => Scheme::Hierarchical,
            SchemeName::Uniform => Scheme::Uniform {
                cell_size: self.cell_size,
            },
            SchemeName::Adaptive => Scheme::Adaptive {
                min_scale: self.cell_size,
            },
        }
    }
}
