//! The command `pairs`.

use anyhow::Result;
use gpu_broad_phase::{BroadPhaseDescriptor, Growth, Pair};

use crate::Status;
use crate::args::PairsArgs;
use crate::engine::{Engine, dimensions, scheme};
use crate::input;
use crate::output::Target;
use crate::report::Reporter;

pub fn run(args: &PairsArgs, reporter: Reporter) -> Result<Status> {
    let target = Target::new(&args.output)?;
    let scene = input::scene(
        &args.scene.scene,
        &args.scene.reading,
        args.between,
        args.free,
        reporter,
    )?;
    let mut descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        timestamps: true,
        ..Default::default()
    };
    if args.max_pairs.is_some() {
        descriptor.growth = Growth::Fixed;
        descriptor.capacities.pairs = args.max_pairs;
    }
    let mut engine = Engine::open(&args.engine, descriptor, reporter)?;
    let mut result = reporter.timed("step", || engine.step(&scene.boxes, &[]))?;
    // Fixed is asked for pairs alone: cell entries get the room they need.
    if result.counters.entries_needed > result.counters.entries_capacity.into() {
        descriptor.capacities.entries = u32::try_from(result.counters.entries_needed).ok();
        engine = Engine::open(&args.engine, descriptor, reporter)?;
        result = reporter.timed("step", || engine.step(&scene.boxes, &[]))?;
    }
    reporter.step(&result, 0);

    let needed = result.counters.pairs_needed;
    let mut pairs = result.pairs;
    let is_whole = pairs.len() as u64 == needed;
    if args.free
        && let Some(elements) = &scene.elements
    {
        pairs.retain(|pair| !elements.are_incident(pair.a, pair.b));
        reporter.say(format!("{} free pairs", pairs.len()));
    }
    let spinner = reporter.spinner("sorting");
    sort(&mut pairs);
    spinner.finish_and_clear();
    let rows = pairs.len();
    let id = |index: u32| scene.elements.as_ref().map_or(index, |elements| elements.id(index));
    let values = pairs.into_iter().flat_map(|pair| [id(pair.a), id(pair.b)]);
    target.write(rows, 2, values, reporter)?;

    if !is_whole {
        reporter.warn(format!(
            "not whole: {needed} pairs are needed, {} fit",
            args.max_pairs.unwrap_or_default()
        ));
        return Ok(Status::NotWhole);
    }
    Ok(Status::Done)
}

/// Ascending by (a, b): as one number a pair, which sorts several times faster than field by field.
pub fn sort(pairs: &mut [Pair]) {
    pairs.sort_unstable_by_key(|pair| u64::from(pair.a) << 32 | u64::from(pair.b));
}
