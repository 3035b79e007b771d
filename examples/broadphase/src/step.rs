use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use gpu_broad_phase::{
    BroadPhaseDescriptor, Capacities, Growth, OutputOptions, Scene, Snapshot, Status as StepStatus, StepResult,
};

use crate::Status;
use crate::args::{EngineArgs, IdArgs, LocalIdArgs, StepArgs};
use crate::engine::Engine;
use crate::input;
use crate::mesh::{Between, Elements};
use crate::output::{OutputFile, Target, print};
use crate::report::{self, Reporter, counted};

pub struct Step<'a> {
    engine: &'a EngineArgs,
    args: &'a StepArgs,
    snapshot: Option<OutputFile>,
    reporter: Reporter,
}

pub struct Answer {
    pub result: StepResult,
    pub duration: Duration,
}

impl<'a> Step<'a> {
    pub fn new(engine: &'a EngineArgs, args: &'a StepArgs, reporter: Reporter) -> Result<Self> {
        Ok(Self {
            engine,
            args,
            snapshot: OutputFile::open_named(args.snapshot.as_ref())?,
            reporter,
        })
    }

    pub fn run(&mut self, descriptor: &BroadPhaseDescriptor<'static>, scene: &Scene<'_>) -> Result<Answer> {
        self.keep(descriptor, scene)?;
        let mut engine = Engine::open(self.engine, self.with_timings(descriptor), self.reporter)?;
        self.answer(&mut engine, scene)
    }

    pub fn is_needed(&self) -> bool {
        self.args.timings || self.snapshot.is_some()
    }

    fn keep(&mut self, descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Result<()> {
        match self.snapshot.take() {
            Some(mut file) => {
                let snapshot = Snapshot::of(descriptor, scene)?;
                file.save(|file| snapshot.write(file))
            }
            None => Ok(()),
        }
    }

    fn answer(&self, engine: &mut Engine, scene: &Scene<'_>) -> Result<Answer> {
        let mut answer = timed(|| engine.step_scene(scene))?;
        self.report_compiling(engine, scene, &mut answer)?;
        report::check_timings(self.reporter, self.args.timings, &answer.result);
        Ok(answer)
    }

    /// The first step on a device includes compilation, which can take far longer. With `--timings`, measures a second
    /// step, and the same step on the CPU engine.
    fn report_compiling(&self, engine: &mut Engine, scene: &Scene<'_>, answer: &mut Answer) -> Result<()> {
        let Some(shaders) = engine.shaders() else { return Ok(()) };
        let shaders = counted(shaders as u64, "shader");
        if !self.args.timings {
            self.reporter.say(format!(
                "first step: the time includes compiling {shaders}; use --timings for a second step"
            ));
            return Ok(());
        }
        let first = answer.duration;
        *answer = timed(|| engine.step_scene(scene))?;
        let on_cpu = timed(|| engine.step_on_cpu(scene))?.duration;
        let [first, on_cpu] = [first, on_cpu].map(|time| format!("{:.1} ms", time.as_secs_f64() * 1e3));
        self.reporter.say(format!(
            "first step, with {shaders} compiled: {first}; CPU engine: {on_cpu}; second step:"
        ));
        Ok(())
    }

    /// Limits the results to `rows`. The counters report the needed number.
    pub fn run_within(
        &mut self,
        descriptor: &BroadPhaseDescriptor<'static>,
        scene: &Scene<'_>,
        rows: u32,
    ) -> Result<Answer> {
        self.keep(descriptor, scene)?;
        let mut fixed = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities: Capacities {
                    pairs: Some(rows),
                    hits: Some(rows),
                    results: Some(rows),
                    ..descriptor.outputs.capacities
                },
                ..descriptor.outputs
            },
            ..*descriptor
        };
        let mut engine = Engine::open(self.engine, self.with_timings(&fixed), self.reporter)?;
        loop {
            let answer = self.answer(&mut engine, scene)?;
            let counters = &answer.result.counters;
            // Counters omit objects whose entries overflowed, so the step is repeated.
            if !counters.status.has(StepStatus::ENTRIES) {
                return Ok(answer);
            }
            let needed = counters.entries_needed.max(counters.static_entries_needed);
            fixed.outputs.capacities.entries = Some(u32::try_from(needed)?);
            engine.set_descriptor(self.engine, self.with_timings(&fixed))?;
        }
    }

    pub fn run_or_count(&mut self, descriptor: &BroadPhaseDescriptor<'static>, scene: &Scene<'_>) -> Result<Answer> {
        if self.args.count_only {
            return self.run_within(descriptor, scene, 1);
        }
        self.run(descriptor, scene)
    }

    fn with_timings(&self, descriptor: &BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
        BroadPhaseDescriptor {
            outputs: OutputOptions {
                timestamps: self.args.timings,
                ..descriptor.outputs
            },
            ..*descriptor
        }
    }

    /// With `--count-only`, rows beyond the capacity do not make the answer incomplete.
    pub fn status(&self, result: &StepResult) -> Status {
        let mut counters = result.counters;
        if self.args.count_only {
            let rows = StepStatus::PAIRS.union(StepStatus::HITS).union(StepStatus::RESULTS);
            counters.status = StepStatus::from_bits(counters.status.bits() & !rows.bits());
        }
        Status::of(&counters, self.reporter)
    }

    pub fn write_count(&self, rows: u64) -> Result<()> {
        print(|out| writeln!(out, "{rows}"))
    }
}

pub fn timed(step: impl FnOnce() -> Result<StepResult>) -> Result<Answer> {
    let start = Instant::now();
    let result = step()?;
    Ok(Answer {
        result,
        duration: start.elapsed(),
    })
}

pub struct Ids<'a> {
    elements: Option<&'a Elements>,
    are_local: bool,
}

impl<'a> Ids<'a> {
    /// Local ids of several kinds are ambiguous, unless `between` names the kinds.
    pub fn new(args: &LocalIdArgs, scene: &'a input::Scene, between: &[Between]) -> Result<Self> {
        let elements = scene.elements.as_ref();
        if args.local_ids && elements.is_none() {
            bail!("--local-ids needs a mesh");
        }
        let kinds = elements.map_or(0, |elements| elements.kinds().count());
        if args.local_ids && kinds > 1 && between.is_empty() {
            bail!("--local-ids is ambiguous for {kinds} kinds: select one, or use --between");
        }
        Ok(Self {
            elements,
            are_local: args.local_ids,
        })
    }

    pub fn of(&self, index: u32) -> u32 {
        match self.elements {
            None => index,
            Some(elements) if self.are_local => elements.local_id(index),
            Some(elements) => elements.id(index),
        }
    }
}

pub struct EdgeList(Option<Target>);

impl EdgeList {
    pub fn open(args: &IdArgs) -> Result<Self> {
        let open = |path: &PathBuf| {
            if path == Path::new("-") {
                bail!("--write-edges needs a file: standard output is for the result");
            }
            Target::new(path)
        };
        Ok(Self(args.write_edges.as_ref().map(open).transpose()?))
    }

    pub fn write(&mut self, scene: &input::Scene, reporter: Reporter) -> Result<()> {
        let Some(target) = &mut self.0 else { return Ok(()) };
        let Some(elements) = &scene.elements else {
            bail!("--write-edges needs a mesh");
        };
        let edges = &elements.edges;
        target.write(edges.len(), 2, edges.iter().flatten().copied(), reporter)
    }
}
