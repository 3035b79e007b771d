//! The command `pairs`.

use anyhow::Result;
use gpu_broad_phase::{BroadPhaseDescriptor, Capacities, Growth, Pair, Scene};

use crate::Status;
use crate::args::PairsArgs;
use crate::engine::{Engine, dimensions, has_too_many_pairs, scheme};
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
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        timestamps: true,
        ..Default::default()
    };
    let asked = Scene {
        objects: &scene.boxes,
        ..Scene::default()
    };
    let mut engine = Engine::open(&args.engine, descriptor, reporter)?;
    engine.keep(&asked, &args.snapshot)?;
    let mut answer = reporter.timed("step", || engine.step_scene(&asked));
    // More than any answer holds: some of them, and how many there are.
    if let (Err(error), Some(most)) = (&answer, args.max_pairs)
        && has_too_many_pairs(error)
    {
        let descriptor = BroadPhaseDescriptor {
            growth: Growth::Fixed,
            capacities: Capacities {
                pairs: Some(most),
                ..Default::default()
            },
            ..descriptor
        };
        let mut engine = Engine::open(&args.engine, descriptor, reporter)?;
        answer = reporter.timed("step", || engine.step_scene(&asked));
    }
    let result = answer?;
    reporter.step(&result, 0);
    let mut status = Status::of(&result.counters, reporter);

    let mut pairs = result.pairs;
    let all = pairs.len();
    if args.free
        && let Some(elements) = &scene.elements
    {
        pairs.retain(|pair| !elements.are_incident(pair.a, pair.b));
        reporter.say(format!("{} free pairs", pairs.len()));
    }
    let spinner = reporter.spinner("sorting");
    sort(&mut pairs);
    spinner.finish_and_clear();
    // Cut on the host, so that the rows that are left are the first ones whatever the scheme and the device.
    let cut = result.counters.pairs_needed.saturating_sub(all as u64);
    let (needed, most) = (
        pairs.len() as u64 + cut,
        args.max_pairs.map_or(usize::MAX, |most| most as usize),
    );
    pairs.truncate(most);
    if needed > most as u64 {
        reporter.warn(format!("not whole: {needed} pairs are needed, {most} fit"));
        status = Status::NotWhole;
    }
    let rows = pairs.len();
    let id = |index: u32| scene.elements.as_ref().map_or(index, |elements| elements.id(index));
    let values = pairs.into_iter().flat_map(|pair| [id(pair.a), id(pair.b)]);
    target.write(rows, 2, values, reporter)?;
    Ok(status)
}

/// Ascending by (a, b): as one number a pair, which sorts several times faster than field by field.
pub fn sort(pairs: &mut [Pair]) {
    pairs.sort_unstable_by_key(|pair| u64::from(pair.a) << 32 | u64::from(pair.b));
}
