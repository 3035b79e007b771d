use std::io::{self, Write};
use std::path::Path;

use anyhow::{Error, Result, bail};
use gpu_broad_phase::{BroadPhaseDescriptor, BroadPhaseError, Counters, Growth, OutputOptions, StepResult};
use measure::title;
use measure::verify::{Truth, query_count};

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
        let truth = Truth::of(&whole, &scene)?;
        rows.push(Row::new("CPU engine".to_owned(), &truth.on_cpu));
        if let Some(reason) = truth.limit {
            reporter.say(format!("no brute force {reason}: compared only with the CPU engine"));
        }
        let differences = [Some(truth.of_adapter(&compared)), truth.of_cpu()];
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
