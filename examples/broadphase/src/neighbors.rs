//! The command `neighbors`.

use anyhow::{Result, bail};
use gpu_broad_phase::{BroadPhaseDescriptor, Neighbors, Scene, Source};

use crate::Status;
use crate::args::NeighborsArgs;
use crate::distance::to_nearest_image;
use crate::engine::{dimensions, scheme};
use crate::output::Target;
use crate::report::{Reporter, results};
use crate::step::Step;
use crate::{input, query};

pub fn run(args: &NeighborsArgs, reporter: Reporter) -> Result<Status> {
    if args.radius.is_none() && args.nearest.is_none() {
        bail!("neighbors needs --radius R, or --nearest K");
    }
    let mut target = Target::unless(args.step.count_only, &args.output)?;
    let mut step = Step::new(&args.engine, &args.step, reporter)?;
    let points = input::points(&args.points, args.dimensions, reporter)?;
    let axes = usize::from(points.dimensions);
    let periods = periods(&args.period, axes)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&points),
        scheme: scheme(&args.scheme, &points, reporter)?,
        periods,
        pairs: false,
        ..Default::default()
    };
    let asked = Scene {
        objects: Source::Host(&points.boxes),
        queries: Neighbors {
            // Without one as far as there is anything.
            radius: args.radius.unwrap_or(f32::MAX),
            half: !args.full && args.nearest.is_none(),
        }
        .into(),
        query_mode: query::mode(args.nearest),
        ..Scene::default()
    };
    let answer = step.run_or_count(&descriptor, &asked)?;
    let result = answer.result;
    reporter.queries(&result, ["point", "points"], points.boxes.len(), answer.duration);
    let status = step.status(&result);

    let Some(target) = &mut target else {
        step.write_count(results(&result))?;
        return Ok(status);
    };
    let rows = match args.nearest {
        Some(count) => query::nearest(&result.query_nearest, count),
        None => query::rows(&result.query_offsets, &result.query_objects, |point| point),
    };
    if !args.distances && !args.shifts {
        target.write(rows.len(), 2, rows.into_iter().flatten(), reporter)?;
        return Ok(status);
    }
    let columns = 2 + usize::from(args.distances) + if args.shifts { axes } else { 0 };
    let values = rows.iter().flat_map(|&[a, b]| {
        let (distance, shifts) = to_nearest_image(&points.boxes[a as usize], &points.boxes[b as usize], periods);
        let distance = args.distances.then_some(distance);
        let shifts = shifts.into_iter().take(if args.shifts { axes } else { 0 });
        [f64::from(a), f64::from(b)].into_iter().chain(distance).chain(shifts)
    });
    target.write(rows.len(), columns, values, reporter)?;
    Ok(status)
}

fn periods(given: &[f32], axes: usize) -> Result<[f32; 3]> {
    let mut periods = [0.0; 3];
    match *given {
        [] => {}
        [of_all] => periods[..axes].fill(of_all),
        _ if given.len() == axes => periods[..axes].copy_from_slice(given),
        _ => bail!("--period has {} numbers, the points are {axes}D", given.len()),
    }
    Ok(periods)
}
