use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use gpu_broad_phase::{BroadPhaseDescriptor, Dimensions, LocalOrigin};
use measure::Gpu;
use measure::bench::{
    self, Bench, Block, COUNTS, Options, Rays, ReportOptions, Scene, scaling_text, write_csv, write_markdown,
};
use measure::generate::{Distribution, THIN};

use crate::Status;
use crate::args::{BenchArgs, ReadingArgs};
use crate::engine::{Engine, dimensions, scheme_from_args};
use crate::input;
use crate::mesh::Kind;
use crate::output::{OutputFile, is_device, print};
use crate::report::Reporter;

pub fn run(args: &BenchArgs, reporter: Reporter) -> Result<Status> {
    if let Some(path) = &args.report {
        return report(args, path, reporter);
    }
    let counts = if args.count.is_empty() {
        &COUNTS[..]
    } else {
        &args.count
    };
    let sources = Source::parse(&args.scene, counts)?;
    if sources.len() > 1 && args.rays.as_deref().is_some_and(input::is_standard_input) {
        bail!("rays from standard input need a single scene and --count");
    }
    let options = Options {
        engines: args.engines.clone(),
        runs: args.runs,
        sort: args.sort,
        order: args.engine.order.map(Into::into).unwrap_or_default(),
    };
    options.check()?;
    let mut files = Files::open(args)?;
    let engine = Engine::open_any(&args.engine, BroadPhaseDescriptor::default(), reporter)?;
    let gpu = Gpu::of(&engine.broad_phase);
    let bench = Bench::new(options, gpu, reporter)?;
    let mut blocks: Vec<Block> = Vec::new();
    let mut faults = Vec::new();
    for source in &sources {
        let (scene, origin) = source.load(args, reporter)?;
        let rays = rays(&scene, origin, args, reporter)?;
        let scheme = scheme_from_args(&args.scheme, &scene.boxes, scene.dimensions, reporter)?;
        let (block, wrong) = bench.scene(&scene, rays.as_ref(), scheme)?;
        faults.extend(wrong.into_iter().map(|fault| format!("{}: {fault}", block.title())));
        reporter.say(block.text());
        blocks.push(block);
        // Saves after each scene, so that an aborted run keeps its results.
        files.write(args, gpu, &blocks)?;
    }
    if let Some(text) = scaling_text(&blocks) {
        reporter.say(text);
    }
    if files.rows.is_none() {
        print(|out| write_csv(out, &blocks))?;
    }
    Ok(status(&faults, reporter))
}

fn report(args: &BenchArgs, path: &Path, reporter: Reporter) -> Result<Status> {
    let mut file = OutputFile::open(path)?;
    let engine = Engine::open_any(&args.engine, BroadPhaseDescriptor::default(), reporter)?;
    let gpu = Gpu::of(&engine.broad_phase).context("--report needs an adapter; see `broadphase info`")?;
    let options = ReportOptions {
        counts: args.count.clone(),
        rays: args.ray_count,
        runs: args.runs,
        seed: args.seed,
        budget: Duration::from_secs(args.budget.into()),
    };
    let faults = bench::report(&options, gpu, reporter, |report| file.save(|file| report.write(file)))?;
    Ok(status(&faults, reporter))
}

fn status(faults: &[String], reporter: Reporter) -> Status {
    for fault in faults {
        reporter.warn(fault);
    }
    if faults.is_empty() {
        Status::Done
    } else {
        Status::NotWhole
    }
}

struct Files {
    rows: Option<OutputFile>,
    report: Option<OutputFile>,
}

impl Files {
    fn open(args: &BenchArgs) -> Result<Self> {
        let is_printed = args.output == Path::new("-");
        ensure!(
            is_printed
                || is_device(&args.output)
                || args.output.extension().is_some_and(|extension| extension == "csv"),
            "{}: wrong ending; bench writes .csv",
            args.output.display()
        );
        Ok(Self {
            rows: (!is_printed).then(|| OutputFile::open(&args.output)).transpose()?,
            report: OutputFile::open_named(args.markdown.as_ref())?,
        })
    }

    fn write(&mut self, args: &BenchArgs, gpu: Option<Gpu<'_>>, blocks: &[Block]) -> Result<()> {
        if let Some(file) = &mut self.rows {
            file.save(|file| write_csv(file, blocks))?;
        }
        if let Some(file) = &mut self.report {
            let info = gpu.map(|gpu| gpu.info);
            file.save(|file| write_markdown(file, blocks, info, args.runs))?;
        }
        Ok(())
    }
}

const RANDOM: [Distribution; 5] = [
    Distribution::Uniform,
    Distribution::PowerLaw,
    Distribution::Clustered,
    Distribution::Planar,
    Distribution::OneCell,
];

enum Source {
    Random(Distribution, u32),
    File(PathBuf),
    Folder(PathBuf),
}

impl Source {
    fn parse(names: &str, counts: &[u32]) -> Result<Vec<Self>> {
        let of_path = |path: &Path| {
            if path.is_dir() {
                Self::Folder(path.to_owned())
            } else {
                Self::File(path.to_owned())
            }
        };
        if Path::new(names).exists() {
            return Ok(vec![of_path(Path::new(names))]);
        }
        let mut sources = Vec::new();
        for name in names.split(',') {
            let mut known = RANDOM.into_iter().chain(THIN);
            if let Some(distribution) = known.find(|distribution| distribution.name() == name) {
                sources.extend(counts.iter().map(|&count| Self::Random(distribution, count)));
                continue;
            }
            let names: Vec<_> = RANDOM.into_iter().chain(THIN).map(Distribution::name).collect();
            ensure!(
                input::exists(Path::new(name)),
                "{name}: unknown scene: neither a file nor one of {}",
                names.join(", ")
            );
            sources.push(of_path(Path::new(name)));
        }
        Ok(sources)
    }

    fn load(&self, args: &BenchArgs, reporter: Reporter) -> Result<(Scene, LocalOrigin)> {
        match self {
            &Self::Random(distribution, count) => {
                let dimensions = match args.reading.dimensions {
                    Some(2) => Dimensions::Two,
                    _ => Dimensions::Three,
                };
                let scene = Scene::random(distribution, count, dimensions, args.seed)?;
                Ok((scene, LocalOrigin::default()))
            }
            Self::Folder(path) => {
                let reading = ReadingArgs {
                    dimensions: args.reading.dimensions,
                    elements: vec![Kind::Vertices, Kind::Edges, Kind::Faces],
                    next: Some(path.join("frame1.ply")),
                    ..ReadingArgs::default()
                };
                read(&path.join("frame0.ply"), path, &reading, reporter)
            }
            Self::File(path) => read(path, path, &args.reading, reporter),
        }
    }
}

fn read(path: &Path, named: &Path, reading: &ReadingArgs, reporter: Reporter) -> Result<(Scene, LocalOrigin)> {
    let scene = input::scene(path, reading, reporter)?;
    let stem = named.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().replace(',', " ");
    let measured = Scene::of_boxes(name, &scene.boxes, dimensions(&scene));
    Ok((measured.with_context(|| named.display().to_string())?, scene.origin))
}

fn rays(scene: &Scene, origin: LocalOrigin, args: &BenchArgs, reporter: Reporter) -> Result<Option<Rays>> {
    if let Some(path) = &args.rays {
        let rays = input::rays(
            path,
            &args.columns.ray_columns,
            scene.dimensions.count() as u8,
            reporter,
        )?;
        return Rays::of_rays(rays.at(origin).into_plain())
            .with_context(|| path.display().to_string())
            .map(Some);
    }
    args.ray_count
        .map(|count| scene.random_rays(count, args.seed))
        .transpose()
}
