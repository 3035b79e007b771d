use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gpu_broad_phase::Scheme;
use gpu_broad_phase_mpi::Device;
use wgpu::Backends;

/// Overlapping boxes, rays and queries from files, across MPI ranks.
///
/// Start it with mpirun. Each rank reads a slice of the files and uses a GPU of its machine, or the CPU. Results go to
/// one NPY file, with the same rows on any number of ranks.
///
/// Files have type <f4 or <f8. Coordinates that f32 does not hold are measured from a point near the boxes and rounded
/// outward: no pair, hit or result is lost, and those that miss by less than the rounding may be added. A warning states
/// the rounding if it is coarse beside the boxes.
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
    /// All overlapping pairs of boxes, as rows `a,b` with a < b, ascending.
    Pairs(PairsArgs),
    /// Boxes that rays hit.
    Rays(RaysArgs),
    /// Boxes in or near query boxes.
    Query(QueryArgs),
    /// Points within a distance of each other, as rows `a,b`, ascending.
    Neighbors(NeighborsArgs),
}

#[derive(Args)]
pub struct PairsArgs {
    /// File of boxes: mins, then maxes, in 6 columns, or 4 in 2D.
    pub boxes: PathBuf,
    /// Distance by which every box grows on each side.
    #[arg(long, default_value_t = 0.0)]
    pub margin: f64,
    /// Output file.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct RaysArgs {
    /// File of boxes, as for pairs.
    pub boxes: PathBuf,
    /// File of rays: origin, direction, largest t, in 7 columns, or 5 in 2D.
    pub rays: PathBuf,
    /// closest: rows `ray,object,t`, with −1 and inf for a miss. any: rows `ray,hit`. all: rows `ray,object,t` along
    /// each ray.
    #[arg(long, value_enum, default_value_t = Mode::Closest)]
    pub mode: Mode,
    /// Output file.
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
    /// File of boxes, as for pairs.
    pub boxes: PathBuf,
    /// File of query boxes, in the same format.
    pub queries: PathBuf,
    /// Largest distance from the query box. Default: 0, or unlimited with --nearest.
    #[arg(long, allow_negative_numbers = true)]
    pub radius: Option<f64>,
    /// Finds this number of nearest boxes per query, as rows `query,object,distance`.
    #[arg(long)]
    pub nearest: Option<u32>,
    /// Output file.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct NeighborsArgs {
    /// File of points, in 3 columns, or 2 in 2D.
    ///
    /// If f32 does not hold all coordinates, distances are compared in f64. Otherwise, radius and period are rounded
    /// to f32, too.
    pub points: PathBuf,
    /// Largest distance between two points, at most half of each period.
    #[arg(long, allow_negative_numbers = true)]
    pub radius: f64,
    /// Period of all axes, or one period per axis, 0 for none.
    #[arg(long, value_delimiter = ',')]
    pub period: Vec<f64>,
    /// Lists each pair twice, in both directions.
    #[arg(long)]
    pub full: bool,
    /// Output file.
    #[arg(short, long)]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct EngineArgs {
    /// Device of each rank. auto: a hardware GPU, or the CPU if there is none.
    #[arg(long, value_enum, default_value_t = Backend::Auto, global = true)]
    pub backend: Backend,
    /// Scheme that assigns boxes to grid cells.
    #[arg(long, value_enum, default_value_t = SchemeName::Hierarchical, global = true)]
    pub scheme: SchemeName,
    /// Cell edge of the uniform scheme, or smallest cell edge of the adaptive scheme.
    #[arg(long, default_value_t = 1.0, global = true)]
    pub cell_size: f32,
    /// Prints only errors.
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

    /// Cell of which an origin is a multiple.
    pub fn cell(&self) -> Option<f64> {
        let size = f64::from(self.cell_size);
        match self.scheme {
            SchemeName::Hierarchical => None,
            SchemeName::Uniform => Some(size),
            SchemeName::Adaptive => Some(size.log2().ceil().exp2()),
        }
    }
}
