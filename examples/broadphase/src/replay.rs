use std::io::{self, Write};
use std::path::Path;

use anyhow::{Error, Result, bail};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    BroadPhaseDescriptor, BroadPhaseError, Counters, Growth, OutputOptions, Queries, Scene, SelfQuery, StepResult,
};
use measure::title;
use measure::verify::answer::{self, Answer, first_difference};
use measure::verify::{BRUTE_FORCE_OBJECTS, found};

use crate::Status;
use crate::args::{Backend, ReplayArgs};
use crate::engine::Engine;
use crate::input;
use crate::output::print;
use crate::report::{self, Reporter, hits, results};
use crate::step::{Answer as StepAnswer, timed};

pub fn run(args: &ReplayArgs, reporter: Reporter) -> Result<Status> {
    if args.verify && args.engine.backend == Backend::Cpu {
        bail!("--backend cpu: the CPU cannot verify itself; choose another backend");
    }
    let snapshot = input::snapshot(&args.snapshot, reporter)?;
    let scene = snapshot.scene();
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            timestamps: args.timings,
            ..snapshot.descriptor.outputs
        },
        ..snapshot.descriptor
    };
    reporter.say(format!(
        "{:?}, {}D, margin {}, worlds {}",
        descriptor.scheme,
        descriptor.dimensions.count(),
        descriptor.margin,
        descriptor.worlds
    ));
    let of_file = |error| about(&args.snapshot, error);
    let open = if args.verify { Engine::open_any } else { Engine::open };
    let mut engine = open(&args.engine, descriptor, reporter).map_err(of_file)?;
    let StepAnswer { result, duration } = timed(|| engine.step_scene(&scene)).map_err(of_file)?;
    match query_count(&scene) {
        0 if scene.query.rays.is_empty() => report::pairs(reporter, &result, duration),
        0 => report::rays(reporter, &result, scene.query.rays.len(), duration),
        queries => report::queries(reporter, &result, queries, duration),
    }
    report::check_timings(reporter, args.timings, &result);
    let mut status = Status::of(&result.counters, reporter);
    let mut rows = vec![Row::new(answerer(&engine), &result)];

    if args.verify {
        if engine.gpu().is_none() {
            bail!("no adapter: the CPU cannot verify itself");
        }
        let whole = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Grow,
                ..descriptor.outputs
            },
            ..descriptor
        };
        let compared = if result.counters.is_complete() {
            result
        } else {
            reporter.say("compared with outputs that grow");
            Engine::open_any(&args.engine, whole, reporter)?
                .step_scene(&scene)
                .map_err(of_file)?
        };
        let spinner = reporter.spinner("verifying");
        let on_cpu = cpu::step_scene(&whole, &scene)?;
        rows.push(Row::new("CPU engine".to_owned(), &on_cpu));
        let differences = differences(&whole, &scene, compared, on_cpu, reporter);
        spinner.finish_and_clear();
        for (row, differences) in rows.iter_mut().zip(differences) {
            for difference in differences.iter().flatten() {
                reporter.warn(format!("{}: {difference}", row.answerer));
                status = Status::NotWhole;
            }
            row.differences = differences.map(|differences| differences.len());
        }
    }
    print(|out| table(out, &rows))?;
    Ok(status)
}

/// Adds the file's name, unless an adapter is missing.
fn about(path: &Path, error: Error) -> Error {
    match error.downcast_ref() {
        Some(BroadPhaseError::NoAdapter { .. } | BroadPhaseError::NoDevice(_)) => error,
        _ => error.context(path.display().to_string()),
    }
}

fn answerer(engine: &Engine) -> String {
    let info = engine.broad_phase.adapter_info();
    info.map_or("CPU engine".to_owned(), title)
}

/// A self-query counts once per object.
fn query_count(scene: &Scene<'_>) -> usize {
    match scene.query.queries {
        Queries::Boxes(boxes) => boxes.len(),
        Queries::General(queries) => queries.len(),
        Queries::Objects(_) => object_count(scene),
        _ => 0,
    }
}

fn object_count(scene: &Scene<'_>) -> usize {
    scene.objects.len() + scene.statics.objects.len()
}

/// Differences of adapter and CPU engine from brute force, if that supports the step and is fast enough. Otherwise
/// compares the adapter with the CPU engine, which then stays unverified.
fn differences(
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    on_gpu: StepResult,
    on_cpu: StepResult,
    reporter: Reporter,
) -> [Option<Vec<String>>; 2] {
    let asking_pairs = if descriptor.pairs { object_count(scene) } else { 0 };
    let asking = asking_pairs.max(scene.query.rays.len()).max(query_count(scene));
    let is_small = object_count(scene).saturating_mul(asking) <= BRUTE_FORCE_OBJECTS * BRUTE_FORCE_OBJECTS;
    // With periods, which wrap positions, brute force supports only neighbours.
    let is_periodic = descriptor.periods != [0.0; 3];
    let of_neighbors = matches!(scene.query.queries, Queries::Objects(SelfQuery::Within { .. }));
    let (by_definition, queries_by_definition) = (is_small && !is_periodic, is_small && (!is_periodic || of_neighbors));
    if !(by_definition && queries_by_definition) {
        let reason = if is_small {
            "with periods"
        } else {
            "above the size limit"
        };
        reporter.say(format!("no brute force {reason}: compared only with the CPU engine"));
    }

    let mut faults = [
        counted(&on_gpu.counters, &on_cpu.counters)
            .into_iter()
            .chain(first_difference(
                "pairs of worlds",
                &on_gpu.world_pairs,
                &on_cpu.world_pairs,
            ))
            .collect(),
        Vec::new(),
    ];
    if queries_by_definition {
        let expected = brute_force::scene_queries(descriptor, scene).expect("file scenes are on the host");
        for (faults, result) in faults.iter_mut().zip([&on_gpu, &on_cpu]) {
            faults.extend(found::difference(descriptor, scene, result, &expected));
        }
    } else {
        faults[0].extend(found::difference_from(&on_cpu, &on_gpu));
    }
    let [of_gpu, of_cpu] = [on_gpu, on_cpu].map(|result| Answer::of_step(descriptor, result));
    if by_definition {
        let expected = answer::brute_force(descriptor, scene).self_query_of(descriptor);
        for (faults, answer) in faults.iter_mut().zip([of_gpu, of_cpu]) {
            faults.extend(answer.difference(&expected));
        }
    } else {
        faults[0].extend(of_gpu.difference(&of_cpu));
    }
    let [of_gpu, of_cpu] = faults;
    [Some(of_gpu), (by_definition || queries_by_definition).then_some(of_cpu)]
}

fn counted(found: &Counters, expected: &Counters) -> Vec<String> {
    let counts = |counters: &Counters| {
        [
            ("invalid objects", counters.invalid),
            ("excluded objects", counters.excluded),
            ("invalid rays", counters.rays_invalid),
            ("invalid queries", counters.queries_invalid),
        ]
    };
    let both = counts(found).into_iter().zip(counts(expected));
    both.filter(|(found, expected)| found != expected)
        .map(|((what, found), (_, expected))| format!("{found} {what}, {expected} expected"))
        .collect()
}

struct Row {
    answerer: String,
    counters: Counters,
    hits: u64,
    results: u64,
    differences: Option<usize>,
}

impl Row {
    fn new(answerer: String, result: &StepResult) -> Self {
        let counters = result.counters;
        Self {
            answerer,
            counters,
            // Includes hits beyond the capacity.
            hits: counters.hits_needed.max(hits(result) as u64),
            results: results(result),
            differences: None,
        }
    }
}

fn table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let width = rows
        .iter()
        .map(|row| row.answerer.len())
        .max()
        .unwrap_or_default()
        .max(6);
    writeln!(
        out,
        "{:<width$}  {:>10}  {:>8}  {:>8}  {:>11}  {:>11}  {:>11}  {:>11}  status",
        "answer", "objects", "invalid", "excluded", "pairs", "hits", "results", "differences"
    )?;
    for row in rows {
        let counters = &row.counters;
        let differences = row.differences.map_or("-".to_owned(), |count| count.to_string());
        writeln!(
            out,
            "{:<width$}  {:>10}  {:>8}  {:>8}  {:>11}  {:>11}  {:>11}  {differences:>11}  {}",
            row.answerer,
            counters.objects,
            counters.invalid,
            counters.excluded,
            counters.pairs_needed,
            row.hits,
            row.results,
            row.counters.status
        )?;
    }
    Ok(())
}
