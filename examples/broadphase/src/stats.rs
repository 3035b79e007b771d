use std::time::Instant;

use anyhow::Result;
use gpu_broad_phase::internals::reference;
use gpu_broad_phase::{BroadPhaseDescriptor, Scene, Source};
use measure::stats::Stats;

use crate::Status;
use crate::args::StatsArgs;
use crate::engine::{Engine, cell, dimensions, scheme};
use crate::input;
use crate::output::print;
use crate::report::Reporter;

pub fn run(args: &StatsArgs, reporter: Reporter) -> Result<Status> {
    let wide = input::wide_scene(&args.scene.scene, &args.scene.reading, reporter)?;
    let scene = wide.alone(cell(&args.scheme), reporter)?;
    let descriptor = BroadPhaseDescriptor {
        dimensions: dimensions(&scene),
        scheme: scheme(&args.scheme, &scene, reporter)?,
        margin: args.margin.margin,
        ..Default::default()
    };
    // Counting candidates slows a step, so the timed step does not.
    let counting = BroadPhaseDescriptor {
        count_candidates: true,
        ..descriptor
    };
    let spinner = reporter.spinner("counting");
    let counters = Engine::open_any(&args.engine, counting, Reporter { quiet: true })?
        .step(&scene.boxes)?
        .counters;
    let trace = reference::trace(
        &descriptor,
        &Scene {
            objects: Source::Host(&scene.boxes),
            ..Scene::default()
        },
    )?;
    spinner.finish_and_clear();

    let mut engine = Engine::open_any(&args.engine, descriptor, reporter)?;
    engine.step(&scene.boxes)?;
    let start = Instant::now();
    engine.step(&scene.boxes)?;
    let stats = Stats {
        scheme: descriptor.scheme,
        dimensions: descriptor.dimensions,
        counters,
        trace,
        milliseconds: start.elapsed().as_secs_f64() * 1e3,
        memory: engine.memory(),
    };
    print(|out| stats.write(out))?;
    Ok(Status::of(&counters, reporter))
}
