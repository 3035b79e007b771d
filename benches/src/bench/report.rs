use std::io::{self, Write};
use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use gpu_broad_phase::wgpu::DeviceType;
use gpu_broad_phase::{Aabb, Dimensions, ResultOrder, Scheme};

use super::copy::{self, DeviceCopy};
use super::measure::{Fault, Row};
use super::model;
use super::scenes::Scene;
use super::table::{self, Block, Table, short};
use super::{Bench, COUNTS, GRID, Options, gpu};
use crate::generate::Distribution;
use crate::verify::{COLUMNS, SCHEMES, Tally, Verified, compare_random};
use crate::{Gpu, Reporter, grouped};

const SCENES: [Distribution; 2] = [Distribution::Uniform, Distribution::PowerLaw];
const MANY: u32 = 10_000_000;
/// Most boxes for measuring the sort. The CPU reference that checks it takes too long for more.
const MOST_SORTED: u32 = 1_000_000;
const RAYS: u32 = 1_000_000;
const RAYS_ON_CPU: u32 = 100_000;
/// Random scenes to check per run, and the share of the budget for them.
const CHECKED: u64 = 8;
const CHECKS_SHARE: f64 = 0.2;
/// Approximate CPU memory per box: boxes, rows, uploads, several copies of the answers.
const HOST_BYTES: u64 = 400;

#[derive(Clone)]
pub struct ReportOptions {
    /// Scene sizes in boxes. If empty: [`COUNTS`], and 10,000,000 on a hardware GPU.
    pub counts: Vec<u32>,
    /// `None` selects it by the kind of adapter.
    pub rays: Option<u32>,
    pub runs: u32,
    pub seed: u64,
    /// Approximate. Scenes that do not fit are left out.
    pub budget: Duration,
}

/// Calls `save` after each part, so that an aborted run keeps its results.
pub fn report(
    options: &ReportOptions,
    gpu: Gpu<'_>,
    reporter: Reporter,
    mut save: impl FnMut(&Report<'_>) -> Result<()>,
) -> Result<Vec<String>> {
    let mut report = Report {
        gpu,
        options,
        copy: None,
        tallies: Default::default(),
        blocks: Vec::new(),
        left_out: Vec::new(),
        faults: Vec::new(),
        start: Instant::now(),
    };
    reporter.say("measuring a copy on the device");
    report.measure_copy();
    save(&report)?;
    report.check_answers(reporter)?;
    save(&report)?;
    let sizes = report.sizes();
    for (place, &(distribution, count)) in sizes.iter().enumerate() {
        let later: Vec<_> = sizes[place..].iter().map(|&(_, count)| count).collect();
        report.measure_scene(distribution, count, &later, reporter)?;
        save(&report)?;
    }
    Ok(report.faults)
}

pub struct Report<'a> {
    gpu: Gpu<'a>,
    options: &'a ReportOptions,
    copy: Option<DeviceCopy>,
    tallies: [Tally; SCHEMES.len()],
    blocks: Vec<Measured>,
    left_out: Vec<[String; 2]>,
    faults: Vec<String>,
    start: Instant,
}

struct Measured {
    block: Block,
    took: Duration,
}

impl Report<'_> {
    fn is_software(&self) -> bool {
        self.gpu.info.device_type == DeviceType::Cpu
    }

    fn left(&self) -> Duration {
        self.options.budget.saturating_sub(self.start.elapsed())
    }

    fn leave_out(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.left_out.push([what.into(), why.into()]);
    }

    fn measure_copy(&mut self) {
        match caught(|| copy::measure(self.gpu.info)) {
            Ok(copy) => self.copy = Some(copy),
            Err(error) => self.leave_out("copy bandwidth", format!("{error:#}")),
        }
    }

    fn check_answers(&mut self, reporter: Reporter) -> Result<()> {
        // Dropped at the end of this function, since larger scenes need the memory.
        let mut verified = Verified::of(self.gpu.info)?;
        let until = Instant::now() + self.options.budget.mul_f64(CHECKS_SHARE);
        let scenes = CHECKED * u64::from(self.options.runs);
        let bar = reporter.bar(scenes, "checking answers");
        for number in 0..scenes {
            if number > 0 && Instant::now() > until {
                self.leave_out(
                    format!("random scenes: {} of {scenes}", scenes - number),
                    "their share of the budget was used up",
                );
                break;
            }
            let number = self.options.seed.wrapping_add(number);
            match caught(|| compare_random(slice::from_mut(&mut verified), number)) {
                Ok(differences) => self.faults.extend(differences),
                Err(error) => {
                    self.faults.push(format!("cannot check answers: {error:#}"));
                    break;
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.tallies = verified.tallies;
        Ok(())
    }

    fn sizes(&mut self) -> Vec<(Distribution, u32)> {
        let mut counts = self.options.counts.clone();
        if counts.is_empty() {
            counts = COUNTS.to_vec();
            if self.is_software() {
                let what = format!("both scenes, {} boxes", grouped(MANY.into()));
                self.leave_out(what, "software adapter");
            } else {
                counts.push(MANY);
            }
        }
        counts.sort_unstable();
        counts.dedup();
        counts
            .into_iter()
            .flat_map(|count| SCENES.map(|distribution| (distribution, count)))
            .collect()
    }

    /// `later` holds the number of boxes of this scene and of each later one.
    fn measure_scene(
        &mut self,
        distribution: Distribution,
        count: u32,
        later: &[u32],
        reporter: Reporter,
    ) -> Result<()> {
        let title = format!("{}, {} boxes", distribution.name(), grouped(count.into()));
        let left = self.left();
        if let Some(why) = self.lack_of_memory(count).or_else(|| self.lack_of_time(count, left)) {
            self.leave_out(title, why);
            return Ok(());
        }
        reporter.say(format!("measuring {title}, {} s left", left.as_secs()));
        let rays = if self.is_software() { RAYS_ON_CPU } else { RAYS };
        let is_sorted = count <= MOST_SORTED;
        if !is_sorted {
            self.leave_out(format!("{title}: sort_keys"), "the CPU reference takes too long");
        }
        let options = Options {
            engines: vec![gpu::NAME.to_owned(), GRID.to_owned()],
            runs: self.options.runs,
            sort: is_sorted,
            order: ResultOrder::default(),
        };
        let begun = Instant::now();
        let mut bench = Bench::new(options, Some(self.gpu), reporter)?;
        // Keeps only the pool of all threads, since a single thread takes too long.
        bench.pools.drain(..bench.pools.len() - 1);
        bench.copy_rate = self.copy.map(|copy| copy.rate());
        bench.until = Some(begun + share(left, count, later));
        let scene = Scene::random(distribution, count, Dimensions::Three, self.options.seed)?;
        let rays = scene.random_rays(self.options.rays.unwrap_or(rays), self.options.seed)?;
        match caught(|| bench.scene(&scene, Some(&rays), Scheme::Hierarchical)) {
            Ok((block, faults)) => {
                self.file_faults(&title, count, faults);
                reporter.say(block.text());
                let took = begun.elapsed();
                self.blocks.push(Measured { block, took });
            }
            Err(error) => self.file_faults(&title, count, vec![Fault::Failed(format!("{error:#}"))]),
        }
        Ok(())
    }

    /// Leaves out a failed scene of more than [`MOST_SORTED`] boxes. Reports all other faults.
    fn file_faults(&mut self, title: &str, count: u32, faults: Vec<Fault>) {
        for fault in faults {
            match fault {
                Fault::Failed(why) if count > MOST_SORTED => self.leave_out(title, why),
                fault => self.faults.push(format!("{title}: {fault}")),
            }
        }
    }

    fn lack_of_memory(&self, count: u32) -> Option<String> {
        let limits = self.gpu.device.limits();
        let bytes = size_of::<Aabb>() as u64 * u64::from(count);
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if bytes > most {
            let most = grouped(most / size_of::<Aabb>() as u64);
            return Some(format!("too large: a binding of this device holds {most} boxes"));
        }
        let (available, needed) = (available_memory()?, HOST_BYTES * u64::from(count));
        let why = || {
            format!(
                "not enough memory: it needs about {} MB on the host",
                grouped(needed >> 20)
            )
        };
        (available < needed).then(why)
    }

    fn lack_of_time(&self, count: u32, left: Duration) -> Option<String> {
        if left.is_zero() {
            return Some(format!("the budget of {} s was used up", self.options.budget.as_secs()));
        }
        let samples: Vec<_> = self
            .blocks
            .iter()
            .map(|measured| (measured.block.objects as f64, measured.took.as_secs_f64()))
            .collect();
        let expected = expected_seconds(&samples, f64::from(count));
        let why = || {
            let left = left.as_secs();
            format!("not enough time: about {expected:.0} s needed, {left} s of the budget left")
        };
        (expected > left.as_secs_f64()).then(why)
    }

    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        table::write_head(out, Some(self.gpu.info), self.options.runs)?;
        writeln!(
            out,
            "- Kind of adapter: {:?}; gpu-broad-phase {} in {} on {}",
            self.gpu.info.device_type,
            library_version(),
            if cfg!(debug_assertions) { "debug" } else { "release" },
            std::env::consts::OS
        )?;
        let (took, budget) = (self.start.elapsed().as_secs(), self.options.budget.as_secs());
        writeln!(out, "- Time: {took} s of {budget} s")?;
        match &self.copy {
            Some(copy) => writeln!(
                out,
                "- Buffer copy of {} MiB by a shader, timed by the {}: {} ms, {} GB/s read plus write",
                copy.bytes >> 20,
                if copy.is_by_device { "device" } else { "host" },
                short(copy.median_ms),
                short(copy.rate())
            )?,
            None => writeln!(out, "- Buffer copy: not measured")?,
        }
        let compared: u64 = self.tallies.iter().map(|tally| tally[0]).sum();
        let verdict = if self.faults.is_empty() { "passed" } else { "failed" };
        writeln!(
            out,
            "- Answers: {verdict}; {compared} answers compared, faults: {}",
            self.faults.len()
        )?;
        for fault in &self.faults {
            writeln!(out, "- Fault: {fault}")?;
        }
        writeln!(
            out,
            "\n## Answers against the CPU engine and brute force\n\n{}",
            self.checks().markdown()
        )?;
        if !self.left_out.is_empty() {
            let mut table = Table::new(&["skipped", "why"]);
            for row in &self.left_out {
                table.push(row.clone().map(|cell| cell.replace(['\n', '|'], " ")));
            }
            writeln!(out, "## Skipped\n\n{}", table.markdown())?;
        }
        if !self.blocks.is_empty() {
            writeln!(out, "## Steps\n\n{}", self.summary().markdown())?;
        }
        let modelled = if self.is_software() { &[][..] } else { &self.blocks };
        for Measured { block, .. } in modelled {
            let measured = |stage: &str| own_row(block, stage).map(|row| row.median_ms);
            if let Some(table) = model::beside_measured(&block.scene, block.objects, measured) {
                writeln!(
                    out,
                    "## Beside a model of an H100: {}\n\n{}",
                    block.title(),
                    table.markdown()
                )?;
            }
        }
        for Measured { block, .. } in &self.blocks {
            table::write_blocks(out, slice::from_ref(block))?;
        }
        Ok(())
    }

    fn checks(&self) -> Table {
        let mut table = Table::new(&[&["scheme"], &COLUMNS[..]].concat());
        for (tally, scheme) in self.tallies.iter().zip(SCHEMES) {
            let counts = tally.map(grouped);
            table.rows.push([scheme.to_owned()].into_iter().chain(counts).collect());
        }
        table
    }

    fn summary(&self) -> Table {
        let header = [
            "scene",
            "pairs",
            "step ms",
            "resident boxes, ms",
            "dispatches",
            "bytes per box",
            "runs",
        ];
        let mut table = Table::new(&header);
        for Measured { block, .. } in &self.blocks {
            let time = |stage| {
                own_row(block, stage)
                    .map(|row| short(row.median_ms))
                    .unwrap_or_default()
            };
            let results = own_row(block, super::measure::TOTAL).map(|row| grouped(row.answer.results));
            let dispatches = block.exact.map(|exact| exact.dispatches.to_string());
            let runs = block.rows.iter().map(|row| row.runs).min();
            table.push([
                block.title(),
                results.unwrap_or_default(),
                time(super::measure::TOTAL),
                time("total_resident"),
                dispatches.unwrap_or_default(),
                block
                    .traffic
                    .as_ref()
                    .map(|traffic| format!("{:.0}", traffic.per_box()))
                    .unwrap_or_default(),
                runs.map(|runs| runs.to_string()).unwrap_or_default(),
            ]);
        }
        table
    }
}

fn own_row<'b>(block: &'b Block, stage: &str) -> Option<&'b Row> {
    let mut rows = block.rows.iter();
    rows.find(|row| row.engine == gpu::NAME && row.stage == stage)
}

/// wgpu panics if a driver is out of memory; other scenes should still be measured.
fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    wild::caught(work).unwrap_or_else(|panic| bail!("panicked: {panic}"))
}

/// Part of `left` for the next scene: its share of the later boxes, but at least an equal part per scene.
fn share(left: Duration, count: u32, later: &[u32]) -> Duration {
    let all: f64 = later.iter().copied().map(f64::from).sum();
    left.mul_f64((f64::from(count) / all).max(1.0 / later.len() as f64))
}

/// Extrapolates from `samples` of boxes and seconds. Small scenes spend most time on pipelines and rays, whose cost is
/// fixed.
fn expected_seconds(samples: &[(f64, f64)], count: f64) -> f64 {
    let Some(&(most, _)) = samples.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return 0.0;
    };
    let slowest = |is_wanted: &dyn Fn(f64) -> bool| {
        let wanted = samples.iter().filter(|(boxes, _)| is_wanted(*boxes));
        wanted.copied().max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let largest = slowest(&|boxes| boxes == most);
    let smaller = slowest(&|boxes| boxes < most);
    match (smaller, largest) {
        _ if count <= most => largest.map_or(0.0, |(_, time)| time),
        (Some((boxes, time)), Some((_, longest))) => {
            let slope = ((longest - time) / (most - boxes)).max(0.0);
            longest + slope * (count - most)
        }
        (_, largest) => 2.0 * largest.map_or(0.0, |(_, time)| time),
    }
}

fn library_version() -> &'static str {
    let manifest = include_str!("../../../Cargo.toml");
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = "));
    version.unwrap_or_default().trim_matches('"')
}

/// `None` except on Linux.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_scenes_are_expected_on_the_line_through_smaller_ones() {
        assert_eq!(expected_seconds(&[], 1e4), 0.0);
        assert_eq!(expected_seconds(&[(1e4, 3.0)], 1e5), 6.0);
        let samples = [(1e4, 2.0), (1e4, 1.0), (1e5, 2.5), (1e5, 3.0)];
        assert_eq!(expected_seconds(&samples, 1e5), 3.0);
        assert!((expected_seconds(&samples, 1e6) - 13.0).abs() < 1e-9);
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_words() {
        let error = caught::<()>(|| panic!("out of {}", "memory")).unwrap_err();
        assert_eq!(error.to_string(), "panicked: out of memory");
        assert_eq!(caught(|| Ok(3)).unwrap(), 3);
    }

    #[test]
    fn large_scenes_get_most_of_the_time_and_small_ones_enough() {
        let left = Duration::from_secs(100);
        assert_eq!(share(left, 10, &[10, 10]).as_secs(), 50);
        assert_eq!(share(left, 10, &[10, 90]).as_secs(), 50);
        assert_eq!(share(left, 90, &[90, 10]).as_secs(), 90);
    }
}
