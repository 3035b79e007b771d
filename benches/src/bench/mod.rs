//! Times a step, its stages and peers, whose answers must agree.

pub mod answer;
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

use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Result, bail};
use gpu_broad_phase::cpu::{self, CpuBroadPhase};
use gpu_broad_phase::wgpu::DeviceType;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, NONE, OutputOptions, Queries, Query, QueryInput, QueryMode, ResultOrder, Scheme,
};
use rayon::ThreadPool;

use crate::{Gpu, Reporter, grouped};
use gpu::{OnDevice, RayCast, Step, Variant};
use measure::{Contestant, OnCpu, Question, Runs, measure, pools};
use scenes::{NEAREST, Spheres};
use sort::{Keys, SortDevice, StageOfStep};

pub use measure::Fault;
pub use report::{Report, ReportOptions, report};
pub use scenes::{Rays, Scene, is_finite};
pub use table::{Block, scaling_text, write_csv, write_markdown};

pub const COUNTS: [u32; 3] = [10_000, 100_000, 1_000_000];
const GRID: &str = "grid";
const REFERENCE: &str = "reference";
const LAMPSHADE: &str = "lampshade";
const OURS: [&str; 4] = [gpu::NAME, GRID, brute_force::NAME, REFERENCE];
const PEERS: [&str; 4] = ["parry3d", "obvhs", "bvh", "rstar"];
/// Most tests per box for which the grid runs as a baseline.
const MOST_TESTS: u64 = 8192;
/// Most boxes for brute force by default, on the CPU and on a GPU. Either takes seconds.
const BRUTE_FORCE_ON_CPU: usize = 131_072;
const BRUTE_FORCE_ON_GPU: usize = 1 << 20;

#[derive(Clone)]
pub struct Options {
    /// If empty, all engines that suit the scene run.
    pub engines: Vec<String>,
    pub runs: u32,
    pub sort: bool,
    pub order: ResultOrder,
}

impl Options {
    pub fn check(&self) -> Result<()> {
        for name in self.engines.iter().map(String::as_str) {
            let is_peer = PEERS.contains(&name) || name == LAMPSHADE;
            if is_peer && !cfg!(feature = "peers") {
                bail!("--engines {name}: build with the feature `peers`");
            }
            if !is_peer && !OURS.contains(&name) {
                let all: Vec<_> = OURS.into_iter().chain(PEERS).chain([LAMPSHADE]).collect();
                bail!("--engines {name}: unknown engine; use one of {}", all.join(", "));
            }
        }
        Ok(())
    }

    fn are_engines_named(&self) -> bool {
        !self.engines.is_empty()
    }

    fn contains(&self, name: &str) -> bool {
        !self.are_engines_named() || self.engines.iter().any(|named| named == name)
    }
}

type Contestants<'a> = Vec<Box<dyn Contestant + 'a>>;

fn list_of(offsets: &[u32]) -> impl Fn(usize) -> u32 {
    |place| offsets.partition_point(|&first| first as usize <= place) as u32 - 1
}

pub struct Bench<'a> {
    options: Options,
    gpu: Option<Gpu<'a>>,
    pools: Vec<Arc<ThreadPool>>,
    /// Gigabytes per second of a copy on the device, printed beside stage times.
    copy_rate: Option<f64>,
    until: Option<Instant>,
    reporter: Reporter,
}

impl<'a> Bench<'a> {
    pub fn new(options: Options, gpu: Option<Gpu<'a>>, reporter: Reporter) -> Result<Self> {
        Ok(Self {
            options,
            gpu,
            pools: pools()?,
            copy_rate: None,
            until: None,
            reporter,
        })
    }

    fn runs(&self) -> Runs {
        Runs {
            most: self.options.runs,
            until: self.until,
        }
    }

    pub fn scene(&self, scene: &Scene, rays: Option<&Rays>, scheme: Scheme) -> Result<(Block, Vec<Fault>)> {
        let descriptor = BroadPhaseDescriptor {
            dimensions: scene.dimensions,
            scheme,
            outputs: OutputOptions {
                order: self.options.order,
                ..Default::default()
            },
            // Peers have no filters.
            filters: false,
            ..Default::default()
        };
        let mut block = Block {
            scene: scene.name.clone(),
            objects: scene.boxes.len(),
            rays: rays.map_or(0, |rays| rays.all.len()),
            rows: Vec::new(),
            exact: None,
            sorted: None,
            traffic: None,
            copy_rate: self.copy_rate,
            notes: Vec::new(),
        };
        let on_device = self.gpu.map(|gpu| OnDevice::new(gpu, &scene.boxes));

        let contestants = self.pairs(scene, on_device.as_ref(), &descriptor, &mut block.notes)?;
        let (rows, mut faults) = measure(contestants, self.runs(), self.reporter);
        block.rows.extend(rows);
        if let Some(on_device) = &on_device {
            block.exact = on_device.exact(&descriptor)?;
        }
        if let Some(rays) = rays {
            let spheres = Spheres::new(scene, rays);
            let contestants = self.rays(scene, rays, &spheres, on_device.as_ref(), &descriptor)?;
            let (rows, wrong) = measure(contestants, self.runs(), self.reporter);
            block.rows.extend(rows);
            faults.extend(wrong);
        }
        if self.options.sort {
            faults.extend(self.sort(scene, &descriptor, &mut block)?);
        }
        Ok((block, faults))
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
        if self.options.contains(gpu::NAME) {
            match on_device {
                Some(on_device) => {
                    for variant in [Variant::Total, Variant::Resident, Variant::Stages] {
                        contestants.push(Box::new(Step::new(on_device, descriptor, variant)?));
                    }
                }
                None => contestants.push(Box::new(self.reference(gpu::NAME, 0, scene, descriptor, None)?)),
            }
        }
        // Runs only if named: it is the library again, not another engine.
        if self.options.are_engines_named() && self.options.contains(REFERENCE) {
            for pool in 0..self.pools.len() {
                contestants.push(Box::new(self.reference(REFERENCE, pool, scene, descriptor, None)?));
            }
        }
        if let Some(on_device) = on_device
            && self.runs_brute_force(scene, on_device)
        {
            contestants.push(Box::new(brute_force::BruteForce::new(on_device)));
        }
        if self.options.contains(GRID) {
            contestants.extend(self.grid(boxes, notes));
        }
        #[cfg(feature = "peers")]
        for name in PEERS.into_iter().filter(|name| self.options.contains(name)) {
            for peer in peers::pairs(name, boxes, &self.pools) {
                contestants.push(Box::new(peer));
            }
        }
        Ok(contestants)
    }

    fn grid<'s>(&self, boxes: &'s [Aabb], notes: &mut Vec<String>) -> Contestants<'s> {
        let tests = grid::one_level(boxes).tests();
        if tests > MOST_TESTS * boxes.len() as u64 {
            notes.push(format!("{GRID} skipped: it would need {} box tests", grouped(tests)));
            return Vec::new();
        }
        let on_pool = |pool: &Arc<ThreadPool>| {
            let contestant: Box<dyn Contestant + 's> = Box::new(OnCpu {
                engine: GRID,
                pool: Arc::clone(pool),
                question: Question::Pairs,
                work: Box::new(move || Ok(grid::one_level(boxes).pairs())),
            });
            contestant
        };
        self.pools.iter().map(on_pool).collect()
    }

    /// By default, only on the scene one-cell, where cells separate no boxes, if it is not too large.
    fn runs_brute_force(&self, scene: &Scene, on_device: &OnDevice<'_>) -> bool {
        if self.options.are_engines_named() {
            return self.options.contains(brute_force::NAME);
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
        spheres: &'s Spheres,
        on_device: Option<&'s OnDevice<'s>>,
        descriptor: &BroadPhaseDescriptor<'static>,
    ) -> Result<Contestants<'s>> {
        let mut contestants: Contestants<'s> = Vec::new();
        let cast = |rays: &'s [gpu_broad_phase::Ray]| QueryInput {
            rays: rays.into(),
            ..Default::default()
        };
        let ask = |queries: &'s [Query], query_mode| QueryInput {
            queries: Queries::General(queries.into()),
            query_mode,
            ..Default::default()
        };
        if self.options.are_engines_named() && self.options.contains(REFERENCE) {
            for (question, input) in [
                (Question::ClosestHits, cast(&rays.closest)),
                (Question::AllHits, cast(&rays.all)),
                (Question::Within, ask(&spheres.within, QueryMode::All)),
                (Question::Nearest, ask(&spheres.nearest, QueryMode::Nearest(NEAREST))),
            ] {
                for pool in 0..self.pools.len() {
                    let input = Some((question, input));
                    contestants.push(Box::new(self.reference(REFERENCE, pool, scene, descriptor, input)?));
                }
            }
            #[cfg(feature = "peers")]
            for name in PEERS.into_iter().filter(|name| self.options.contains(name)) {
                for peer in peers::queries(name, &scene.boxes, spheres, &self.pools) {
                    contestants.push(Box::new(peer));
                }
            }
        }
        for (question, of_question) in [(Question::ClosestHits, &rays.closest), (Question::AllHits, &rays.all)] {
            if self.options.contains(gpu::NAME) {
                contestants.push(match on_device {
                    Some(on_device) => Box::new(RayCast::new(on_device, descriptor, question, of_question)?),
                    None => Box::new(self.reference(
                        gpu::NAME,
                        0,
                        scene,
                        descriptor,
                        Some((question, cast(of_question))),
                    )?),
                });
            }
        }
        #[cfg(feature = "peers")]
        for name in PEERS.into_iter().filter(|name| self.options.contains(name)) {
            for peer in peers::rays(name, &scene.boxes, rays, &self.pools) {
                contestants.push(Box::new(peer));
            }
        }
        Ok(contestants)
    }

    /// The CPU engine on a thread pool. As with peers, the table is there before rays are timed.
    fn reference<'s>(
        &self,
        engine: &'static str,
        pool: usize,
        scene: &'s Scene,
        descriptor: &BroadPhaseDescriptor<'static>,
        input: Option<(Question, QueryInput<'s>)>,
    ) -> Result<OnCpu<'s>> {
        let (question, input) = input.unwrap_or((Question::Pairs, QueryInput::default()));
        let descriptor = BroadPhaseDescriptor {
            pairs: question == Question::Pairs,
            outputs: OutputOptions {
                ray_mode: question.ray_mode(),
                ..descriptor.outputs
            },
            ..*descriptor
        };
        // Fails before any run if the descriptor is invalid.
        let mut broad_phase = CpuBroadPhase::new(&descriptor)?;
        if question != Question::Pairs {
            broad_phase.step_scene(&gpu_broad_phase::Scene {
                objects: scene.boxes.as_slice().into(),
                ..Default::default()
            })?;
        }
        let broad_phase = Mutex::new(broad_phase);
        Ok(OnCpu {
            engine,
            pool: Arc::clone(&self.pools[pool]),
            question,
            work: Box::new(move || {
                let result = if question == Question::Pairs {
                    cpu::step(&descriptor, &scene.boxes, &[])?
                } else {
                    broad_phase.lock().expect("an earlier run panicked").query(&input)?
                };
                let hits = result.ray_hits.iter();
                let rows = match question {
                    Question::AllHits => {
                        let ray_of = list_of(&result.ray_offsets);
                        let hits = hits.enumerate();
                        hits.map(|(place, hit)| [ray_of(place), hit.object]).collect()
                    }
                    Question::Within => {
                        let query_of = list_of(&result.query_offsets);
                        let objects = result.query_objects.iter().enumerate();
                        objects.map(|(place, &object)| [query_of(place), object]).collect()
                    }
                    Question::Nearest => {
                        let found = result.query_nearest.iter().zip(0..);
                        let found = found.filter(|(found, _)| found.object != NONE);
                        found
                            .map(|(found, place)| [place / NEAREST, found.squared_distance.to_bits()])
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

    fn sort(&self, scene: &Scene, descriptor: &BroadPhaseDescriptor<'static>, block: &mut Block) -> Result<Vec<Fault>> {
        let Some(gpu) = self.gpu else {
            block.notes.push("sort_keys skipped: no adapter".to_owned());
            return Ok(Vec::new());
        };
        let on = SortDevice::open(gpu.info)?;
        if !on.has_clock() {
            block
                .notes
                .push("sort_keys skipped: the device has no timestamps".to_owned());
            return Ok(Vec::new());
        }
        let keys = Keys::new(&scene.boxes, descriptor)?;
        let mut contestants: Contestants<'_> = Vec::new();
        if self.options.contains(gpu::NAME) {
            contestants.push(Box::new(StageOfStep::new(&on, &keys, descriptor)?));
        }
        #[cfg(feature = "peers")]
        if self.options.contains(LAMPSHADE) {
            contestants.push(Box::new(peers::lampshade::Lampshade::new(&on, &keys)));
        }
        let (rows, faults) = measure(contestants, self.runs(), self.reporter);
        block.rows.extend(rows);
        block.sorted = Some(keys.counts);
        block.traffic = keys.traffic;
        Ok(faults)
    }
}
