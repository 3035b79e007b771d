mod cloth;
mod ply;

use std::path::Path;

use anyhow::{Result, bail};
use measure::generate::{Distribution, Random, boxes, check_room};

use crate::Status;
use crate::args::{GenerateArgs, Make};
use crate::output::{OutputFile, Target, is_device};
use crate::report::Reporter;

pub fn run(args: &GenerateArgs, reporter: Reporter) -> Result<Status> {
    let places_points = matches!(args.kind, Make::Points | Make::Rays);
    if args.side.is_some() && !places_points {
        bail!("--side applies only to points and rays");
    }
    if args.t_max != f32::INFINITY && args.kind != Make::Rays {
        bail!("--t-max applies only to rays");
    }
    if args.kind == Make::Cloth {
        return cloth(args, reporter);
    }

    let mut target = Target::new(&args.output)?;
    let axes = usize::from(args.dimensions);
    check_room(args.count, 2 * axes + 1)?;
    let random = &mut Random::new(args.seed);
    let side = || {
        args.side
            .map_or_else(|| boxes::uniform_side(args.count, axes), f64::from)
    };
    let (columns, values) = match args.kind {
        Make::Points => (axes, boxes::points(args.count, axes, side(), random)),
        Make::Rays => {
            let world = [[0.0; 3], [side(); 3]];
            (2 * axes + 1, boxes::rays(args.count, axes, world, args.t_max, random))
        }
        kind => match distribution(kind) {
            Some(distribution) => (2 * axes, distribution.rows(args.count, axes, random)),
            None => bail!("cloth is a mesh"),
        },
    };
    target.write(args.count as usize, columns, values.into_iter(), reporter)?;
    Ok(Status::Done)
}

fn distribution(kind: Make) -> Option<Distribution> {
    Some(match kind {
        Make::Uniform => Distribution::Uniform,
        Make::PowerLaw => Distribution::PowerLaw,
        Make::Clustered => Distribution::Clustered,
        Make::Planar => Distribution::Planar,
        Make::Lattice => Distribution::Lattice,
        Make::OneCell => Distribution::OneCell,
        Make::Points | Make::Rays | Make::Cloth => return None,
    })
}

/// Most vertices of a cloth. In a larger one, the boxes of all elements would exceed a binding of 128 MiB.
const LARGEST_CLOTH: u32 = 1_000_000;

fn cloth(args: &GenerateArgs, reporter: Reporter) -> Result<Status> {
    if args.dimensions != 3 {
        bail!("cloth is 3D: remove --dimensions 2");
    }
    if args.count > LARGEST_CLOTH {
        bail!("--count {}: cloth has at most {LARGEST_CLOTH} vertices", args.count);
    }
    if !is_device(&args.output) && args.output.extension().is_none_or(|extension| extension != "ply") {
        bail!("cloth needs -o NAME.ply; the frames go to NAME0.ply and NAME1.ply");
    }
    let paths = [0, 1].map(|number| frame_path(&args.output, number));
    let files = [OutputFile::open(&paths[0])?, OutputFile::open(&paths[1])?];
    let (frames, faces) = cloth::simulate(args.count, args.seed, reporter);
    for ((positions, path), mut file) in frames.iter().zip(&paths).zip(files) {
        file.save(|file| ply::write(file, positions, &faces))?;
        reporter.say(format!(
            "{}: {} vertices, {} faces",
            path.display(),
            positions.len(),
            faces.len()
        ));
    }
    Ok(Status::Done)
}

fn frame_path(path: &Path, number: usize) -> std::path::PathBuf {
    if is_device(path) {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("{number}.ply"));
    path.with_file_name(name)
}
