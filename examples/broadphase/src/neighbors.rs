//! The command `neighbors`.

use anyhow::{Result, bail};
use gpu_broad_phase::{BroadPhaseDescriptor, Neighbors, Scene};

use crate::Status;
use crate::args::NeighborsArgs;
use crate::engine::{Engine, dimensions, scheme};
use crate::output::Target;
use crate::report::Reporter;
use crate::{input, query};

pub fn run(args: &NeighborsArgs, reporter: Reporter) -> Result<Status> {
    let target = Target::new(&args.output)?;
    let points = input::points(&args.points, args.dimensions, reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&points),
        scheme: scheme(&args.scheme, &points, reporter)?,
        periods: periods(&args.period, points.dimensions)?,
        pairs: false,
        timestamps: true,
        ..Default::default()
    };
    let mut engine = Engine::open(&args.engine, descriptor, reporter)?;
    let asked = Scene {
        objects: &points.boxes,
        queries: Neighbors {
            radius: args.radius,
            once: true,
        }
        .into(),
        ..Scene::default()
    };
    engine.keep(&asked, &args.snapshot)?;
    let result = reporter.timed("step", || engine.step_scene(&asked))?;
    reporter.queries(&result, points.boxes.len());

    let rows = query::rows(&result.query_offsets, &result.query_objects, |point| point);
    target.write(rows.len(), 2, rows.into_iter().flatten(), reporter)?;
    Ok(Status::of(&result.counters, reporter))
}

fn periods(given: &[f32], dimensions: u8) -> Result<[f32; 3]> {
    let mut periods = [0.0; 3];
    if given.is_empty() {
        return Ok(periods);
    }
    if given.len() != usize::from(dimensions) {
        bail!("--period has {} numbers, the points are {dimensions}D", given.len());
    }
    periods[..given.len()].copy_from_slice(given);
    Ok(periods)
}
