//! The command `bench`: a step and its stages, beside other ways to the same answer.

mod answer;
mod brute_force;
mod copy;
#[cfg(any(feature = "peers", test))]
mod exact;
mod gpu;
mod grid;
mod measure;
mod model;
#[cfg(feature = "peers")]
mod peers;
mod report;
mod scenes;
mod sort;
mod table;
mod traffic;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use gpu_broad_phase::wgpu::DeviceType;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, NONE, OutputOptions, cpu};
use rayon::ThreadPool;

use crate::Status;
use crate::args::BenchArgs;
use crate::engine::{Engine, Gpu, dimensions, scheme};
use crate::input;
use crate::output::{OutputFile, is_device, print};
use crate::report::{Reporter, grouped};
use answer::Rows;
use gpu::{OnDevice, RayCast, Step, Variant};
use measure::{Contestant, Fault, OnCpu, Question, Runs, measure, pools};
use scenes::{Rays, Scene, Source};
use sort::{Keys, SortDevice, StageOfStep};
use table::Block;

/// Boxes of made scenes, where nothing else is asked for.
const COUNTS: [u32; 3] = [10_000, 100_000, 1_000_000];
const GRID: &str = "grid";
/// The library on the CPU.
const REFERENCE: &str = "reference";
const LAMPSHADE: &str = "lampshade";
const OURS: [&str; 4] = [gpu::NAME, GRID, brute_force::NAME, REFERENCE];
/// Peers for boxes.
const PEERS: [&str; 4] = ["parry3d", "obvhs", "bvh", "rstar"];
/// Box tests a box beyond which a plain grid is no yardstick for a scene.
const MOST_TESTS: u64 = 8192;
/// Boxes up to which the kernel of brute force runs unasked on one cell: seconds of a software adapter, and of a GPU.
const BRUTE_FORCE_ON_CPU: usize = 131_072;
const BRUTE_FORCE_ON_GPU: usize = 1 << 20;

pub fn run(args: &BenchArgs, reporter: Reporter) -> Result<Status> {
    if let Some(path) = &args.report {
        return report::run(args, path, reporter);
    }
    let mut args = args.clone();
    if args.count.is_empty() {
        args.count = COUNTS.to_vec();
    }
    let args = &args;
    let engines = Engines::new(&args.engines)?;
    let sources = Source::parse(&args.scene)?;
    let runs: usize = sources.iter().map(|source| source.counts(args).len()).sum();
    if runs > 1 && args.rays.as_deref().is_some_and(input::is_standard_input) {
        bail!("rays on standard input are for one scene of one --count");
    }
    let mut files = Files::open(args)?;
    let engine = Engine::open_any(&args.engine, BroadPhaseDescriptor::default(), reporter)?;
    let bench = Bench {
        args,
        engines,
        gpu: Gpu::of(&engine.broad_phase),
        pools: pools()?,
        copy_rate: None,
        until: None,
        reporter,
    };
    let mut blocks: Vec<Block> = Vec::new();
    let mut faults = Vec::new();
    for source in &sources {
        for count in source.counts(args) {
            let (block, wrong) = bench.scene(source.load(count, args, reporter)?)?;
            let title = format!("{}, {} boxes", block.scene, grouped(block.objects as u64));
            faults.extend(wrong.into_iter().map(|fault| format!("{title}: {fault}")));
            reporter.say(block.text());
            blocks.push(block);
            // What ends early leaves what it had.
            files.write(args, Gpu::of(&engine.broad_phase), &blocks)?;
        }
    }
    if let Some(text) = table::scaling_text(&blocks) {
        reporter.say(text);
    }
    if files.rows.is_none() {
        print(|out| table::write_csv(out, &blocks))?;
    }
    for fault in &faults {
        reporter.warn(fault);
    }
    Ok(if faults.is_empty() {
        Status::Done
    } else {
        Status::NotWhole
    })
}

/// What the results go to, opened before hours of work.
struct Files {
    /// None for standard output, which gets them at the end.
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
            "{}: a result file of bench ends in .csv",
            args.output.display()
        );
        Ok(Self {
            rows: (!is_printed).then(|| OutputFile::open(&args.output)).transpose()?,
            report: OutputFile::open_named(args.markdown.as_ref())?,
        })
    }

    fn write(&mut self, args: &BenchArgs, gpu: Option<Gpu<'_>>, blocks: &[Block]) -> Result<()> {
        if let Some(file) = &mut self.rows {
            file.save(|file| table::write_csv(file, blocks))?;
        }
        if let Some(file) = &mut self.report {
            let info = gpu.map(|gpu| gpu.info);
            file.save(|file| table::write_markdown(file, blocks, info, args.runs))?;
        }
        Ok(())
    }
}

/// Who is to run.
struct Engines<'a> {
    named: &'a [String],
}

impl<'a> Engines<'a> {
    fn new(named: &'a [String]) -> Result<Self> {
        for name in named.iter().map(String::as_str) {
            let is_peer = PEERS.contains(&name) || name == LAMPSHADE;
            if is_peer && !cfg!(feature = "peers") {
                bail!("--engines {name}: only with the package's feature peers");
            }
            if !is_peer && !OURS.contains(&name) {
                let all: Vec<_> = OURS.into_iter().chain(PEERS).chain([LAMPSHADE]).collect();
                bail!("--engines {name}: not one of {}", all.join(", "));
            }
        }
        Ok(Self { named })
    }

    fn are_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// Named, or nobody is.
    fn contains(&self, name: &str) -> bool {
        !self.are_named() || self.named.iter().any(|named| named == name)
    }
}

type Contestants<'a> = Vec<Box<dyn Contestant + 'a>>;

struct Bench<'a> {
    args: &'a BenchArgs,
    engines: Engines<'a>,
    gpu: Option<Gpu<'a>>,
    pools: Vec<Arc<ThreadPool>>,
    /// What stage times are held to, where that was measured: gigabytes per second of a copy on the device.
    copy_rate: Option<f64>,
    /// When runs have to come to an end.
    until: Option<Instant>,
    reporter: Reporter,
}

impl Bench<'_> {
    fn runs(&self) -> Runs {
        Runs {
            most: self.args.runs,
            until: self.until,
        }
    }

    /// Measures a scene, and tells where answers differ.
    fn scene(&self, scene: Scene) -> Result<(Block, Vec<Fault>)> {
        let rays = scene.rays(self.args, self.reporter)?;
        let descriptor = self.descriptor(&scene.boxes, scene.dimensions)?;
        let mut block = Block {
            scene: scene.name.clone(),
            objects: scene.boxes.len(),
            rays: rays.as_ref().map_or(0, |rays| rays.all.len()),
            rows: Vec::new(),
            exact: None,
            sorted: None,
            traffic: None,
            copy_rate: self.copy_rate,
            notes: Vec::new(),
        };
        let on_device = self.gpu.map(|gpu| OnDevice::new(gpu, &scene.boxes));

        let contestants = self.pairs(&scene, on_device.as_ref(), &descriptor, &mut block.notes)?;
        let (rows, mut faults) = measure(contestants, self.runs(), self.reporter);
        block.rows.extend(rows);
        if let Some(on_device) = &on_device {
            block.exact = on_device.exact(&descriptor)?;
        }
        if let Some(rays) = &rays {
            let contestants = self.rays(&scene, rays, on_device.as_ref(), &descriptor)?;
            let (rows, wrong) = measure(contestants, self.runs(), self.reporter);
            block.rows.extend(rows);
            faults.extend(wrong);
        }
        if self.args.sort {
            faults.extend(self.sort(&scene, &descriptor, &mut block)?);
        }
        Ok((block, faults))
    }

    fn descriptor(&self, boxes: &[Aabb], of_dimensions: u8) -> Result<BroadPhaseDescriptor<'static>> {
        let read = input::Scene {
            boxes: boxes.to_vec(),
            dimensions: of_dimensions,
            elements: None,
        };
        Ok(BroadPhaseDescriptor {
            dimensions: dimensions(&read),
            scheme: scheme(&self.args.scheme, &read, self.reporter)?,
            outputs: OutputOptions {
                pair_order: self.args.engine.order.map(Into::into).unwrap_or_default(),
                ..Default::default()
            },
            // Nobody else has any.
            filters: false,
            ..Default::default()
        })
    }

    fn pairs<'s>(
        &self,
        scene: &'s Scene,
        on_device: Option<&'s OnDevice<'s>>,
        descriptor: &BroadPhaseDescriptor<'static>,
        notes: &mut Vec<String>,
    ) -> Result<Contestants<'s>> {
        let boxes = scene.boxes.as_slice();
        let mut contestants: Contestants<'s> = Vec::new();
        if self.engines.contains(gpu::NAME) {
            match on_device {
                Some(on_device) => {
                    for variant in [Variant::Total, Variant::Resident, Variant::Stages] {
                        contestants.push(Box::new(Step::new(on_device, descriptor, variant)?));
                    }
                }
                None => contestants.push(Box::new(self.reference(gpu::NAME, 0, scene, descriptor, None)?)),
            }
        }
        // Nobody needs it unasked: it is no way of its own, but that of the library once more.
        if self.engines.are_named() && self.engines.contains(REFERENCE) {
            for pool in 0..self.pools.len() {
                contestants.push(Box::new(self.reference(REFERENCE, pool, scene, descriptor, None)?));
            }
        }
        if let Some(on_device) = on_device
            && self.runs_brute_force(scene, on_device)
        {
            contestants.push(Box::new(brute_force::BruteForce::new(on_device)));
        }
        if self.engines.contains(GRID) {
            let tests = grid::one_level(boxes).tests();
            let work = move || Ok(grid::one_level(boxes).pairs());
            contestants.extend(self.grids(GRID, tests, boxes, work, notes));
        }
        #[cfg(feature = "peers")]
        for name in PEERS.into_iter().filter(|name| self.engines.contains(name)) {
            for peer in peers::pairs(name, boxes, &self.pools) {
                contestants.push(Box::new(peer));
            }
        }
        Ok(contestants)
    }

    /// A grid on each pool, unless it would make too many box tests.
    fn grids<'s>(
        &self,
        engine: &'static str,
        tests: u64,
        boxes: &[Aabb],
        work: impl Fn() -> Result<Rows> + Copy + Send + Sync + 's,
        notes: &mut Vec<String>,
    ) -> Contestants<'s> {
        if tests > MOST_TESTS * boxes.len() as u64 {
            notes.push(format!("{engine} is left out: {} box tests", grouped(tests)));
            return Vec::new();
        }
        let on_pool = |pool: &Arc<ThreadPool>| {
            let contestant: Box<dyn Contestant + 's> = Box::new(OnCpu {
                engine,
                pool: Arc::clone(pool),
                question: Question::Pairs,
                work: Box::new(work),
            });
            contestant
        };
        self.pools.iter().map(on_pool).collect()
    }

    /// Asked for by name it always runs; else where it is the measure and takes seconds at most.
    fn runs_brute_force(&self, scene: &Scene, on_device: &OnDevice<'_>) -> bool {
        if self.engines.are_named() {
            return self.engines.contains(brute_force::NAME);
        }
        let is_software = on_device.gpu.info.device_type == DeviceType::Cpu;
        let most = if is_software {
            BRUTE_FORCE_ON_CPU
        } else {
            BRUTE_FORCE_ON_GPU
        };
        scene.is_one_cell && scene.boxes.len() <= most
    }

    fn rays<'s>(
        &self,
        scene: &'s Scene,
        rays: &'s Rays,
        on_device: Option<&'s OnDevice<'s>>,
        descriptor: &BroadPhaseDescriptor<'static>,
    ) -> Result<Contestants<'s>> {
        let mut contestants: Contestants<'s> = Vec::new();
        for (question, of_question) in [(Question::ClosestHits, &rays.closest), (Question::AllHits, &rays.all)] {
            if self.engines.contains(gpu::NAME) {
                contestants.push(match on_device {
                    Some(on_device) => Box::new(RayCast::new(on_device, descriptor, question, of_question)?),
                    None => Box::new(self.reference(gpu::NAME, 0, scene, descriptor, Some((question, of_question)))?),
                });
            }
        }
        #[cfg(feature = "peers")]
        for name in PEERS.into_iter().filter(|name| self.engines.contains(name)) {
            for peer in peers::rays(name, &scene.boxes, rays, &self.pools) {
                contestants.push(Box::new(peer));
            }
        }
        Ok(contestants)
    }

    /// The library without a device, on one of the pools. It builds a table for rays anew, and says nothing of speed.
    fn reference<'s>(
        &self,
        engine: &'static str,
        pool: usize,
        scene: &'s Scene,
        descriptor: &BroadPhaseDescriptor<'static>,
        rays: Option<(Question, &'s [gpu_broad_phase::Ray])>,
    ) -> Result<OnCpu<'s>> {
        let (question, rays) = rays.unwrap_or((Question::Pairs, &[]));
        let descriptor = BroadPhaseDescriptor {
            pairs: question == Question::Pairs,
            outputs: OutputOptions {
                ray_mode: question.ray_mode(),
                ..descriptor.outputs
            },
            ..*descriptor
        };
        // What is wrong with a descriptor is the caller's.
        cpu::step(&descriptor, &[], &[])?;
        Ok(OnCpu {
            engine,
            pool: Arc::clone(&self.pools[pool]),
            question,
            work: Box::new(move || {
                let result = cpu::step(&descriptor, &scene.boxes, rays)?;
                let hits = result.ray_hits.iter();
                let rows = match question {
                    Question::AllHits => {
                        let ray_of =
                            |hit: usize| result.ray_offsets.partition_point(|&first| first as usize <= hit) - 1;
                        hits.enumerate()
                            .map(|(place, hit)| [ray_of(place) as u32, hit.object])
                            .collect()
                    }
                    Question::ClosestHits => {
                        let hits = hits.zip(0..).filter(|(hit, _)| hit.object != NONE);
                        hits.map(|(hit, ray)| [ray, hit.t.to_bits()]).collect()
                    }
                    Question::Pairs | Question::Sort => result.pairs.into_iter().map(|pair| [pair.a, pair.b]).collect(),
                };
                Ok(vec![rows])
            }),
        })
    }

    /// The sort alone, by those who are wanted.
    fn sort(&self, scene: &Scene, descriptor: &BroadPhaseDescriptor<'static>, block: &mut Block) -> Result<Vec<Fault>> {
        let Some(gpu) = self.gpu else {
            block
                .notes
                .push("sort_keys is left out: there is no adapter".to_owned());
            return Ok(Vec::new());
        };
        let on = SortDevice::open(gpu.info)?;
        if !on.has_clock() {
            block
                .notes
                .push("sort_keys is left out: the device has no clock".to_owned());
            return Ok(Vec::new());
        }
        let keys = Keys::new(&scene.boxes, descriptor)?;
        let mut contestants: Contestants<'_> = Vec::new();
        if self.engines.contains(gpu::NAME) {
            contestants.push(Box::new(StageOfStep::new(&on, &keys, descriptor)?));
        }
        #[cfg(feature = "peers")]
        if self.engines.contains(LAMPSHADE) {
            contestants.push(Box::new(peers::lampshade::Lampshade::new(&on, &keys)));
        }
        let (rows, faults) = measure(contestants, self.runs(), self.reporter);
        block.rows.extend(rows);
        block.sorted = Some(keys.counts);
        block.traffic = keys.traffic;
        Ok(faults)
    }
}
