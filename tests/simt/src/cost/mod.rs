//! Modelled cost of a step on a GPU, by pass and by line.

mod gpu;
mod mesh;
mod steps;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use crate::code::{BufferKind, Class, K, Op, Program};
use crate::common::{Rng, power_law, uniform};
use crate::stats::Stats;
use crate::wgpu_backend::CostedDispatch;
pub use gpu::Gpu;
pub use steps::Work;
#[cfg(test)]
pub use steps::count;

#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// Instructions of warps of 32 lanes.
    pub instructions: f64,
    /// Active lanes, summed over instructions.
    lane_sum: f64,
    integers: f64,
    shared: f64,
    requests: f64,
    pub sectors: f64,
    pub l2_bytes: f64,
    pub dram_bytes: f64,
    pub bank_conflicts: f64,
    pub roofline_us: f64,
    pub latency_us: f64,
}

fn is_memory(op: &Op) -> bool {
    matches!(op.k, K::Load | K::Store) || op.k.is_atomic()
}

/// Instructions that warps issue for an operation, and their mean number of active lanes.
fn issued(program: &Program, stats: &Stats, pc: usize) -> (f64, f64) {
    let count = if is_memory(&program.ops[pc]) {
        stats.requests[pc] as f64
    } else {
        f64::from(program.weights[pc]) * stats.warps[pc] as f64
    };
    (count, stats.lanes[pc] as f64 / (stats.warps[pc] as f64).max(1.0))
}

impl Cost {
    fn of_dispatch(program: &Program, stats: &Stats, gpu: &Gpu) -> Self {
        let mut cost = Self::default();
        for (pc, op) in program.ops.iter().enumerate() {
            let (instructions, lanes) = issued(program, stats, pc);
            cost.instructions += instructions;
            cost.lane_sum += instructions * lanes;
            match op.k.class() {
                Class::Integer => cost.integers += instructions,
                Class::Slow => cost.integers += 2.0 * instructions,
                Class::Other => {}
            }
            if is_memory(op) {
                match program.buffers[op.a as usize].kind {
                    BufferKind::Workgroup => cost.shared += stats.requests[pc] as f64,
                    BufferKind::Uniform => {}
                    BufferKind::Read | BufferKind::Write => {
                        cost.requests += stats.requests[pc] as f64;
                        cost.sectors += stats.sectors[pc] as f64;
                        cost.l2_bytes += 32.0 * stats.misses[pc] as f64;
                    }
                }
                cost.bank_conflicts += stats.conflicts[pc] as f64;
            }
        }
        cost.dram_bytes = stats.touched_bytes() as f64;
        let clock = 1e6 * gpu.clock_mhz;
        let issue = cost.instructions / (gpu.sms * gpu.schedulers * clock);
        let integers = cost.integers / (gpu.sms * gpu.schedulers / 2.0 * clock);
        let shared = (cost.shared + cost.bank_conflicts) / (gpu.sms * clock);
        let l2 = cost.l2_bytes / (1e9 * gpu.l2_gb_s);
        let dram = cost.dram_bytes / (1e9 * gpu.dram_gb_s);
        // Threads and registers limit the resident workgroups per SM.
        let threads = f64::from(program.workgroup);
        let registers = f64::from(program.rows.clamp(32, 128));
        let resident = (gpu.threads / threads)
            .min(gpu.registers / (threads * registers))
            .max(1.0);
        let waiting = (stats.clocks as f64 / (gpu.sms * resident)).max(stats.longest as f64) / clock;
        let most = |times: &[f64]| times.iter().fold(0.0, |most: f64, &time| most.max(time));
        cost.roofline_us = 1e6 * most(&[issue, l2, dram]) + gpu.dispatch_us;
        cost.latency_us = 1e6 * most(&[issue, integers, shared, l2, dram, waiting]) + gpu.dispatch_us;
        cost
    }

    fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.lane_sum += other.lane_sum;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.l2_bytes += other.l2_bytes;
        self.dram_bytes += other.dram_bytes;
        self.bank_conflicts += other.bank_conflicts;
        self.roofline_us += other.roofline_us;
        self.latency_us += other.latency_us;
    }

    fn row(&self, name: &str, count: f64) -> String {
        format!(
            "{name},{:.2},{:.1},{:.2},{:.1},{:.1},{:.2},{:.1},{:.1}",
            self.instructions / count,
            self.lane_sum / self.instructions.max(1.0),
            self.sectors / self.requests.max(1.0),
            self.l2_bytes / count,
            self.dram_bytes / count,
            self.bank_conflicts / count,
            self.roofline_us,
            self.latency_us,
        )
    }
}

pub fn costs<'d>(
    dispatches: &'d [CostedDispatch],
    gpu: &Gpu,
    name: fn(&CostedDispatch) -> &str,
) -> Vec<(&'d str, Cost)> {
    let mut costs: Vec<(&str, Cost)> = Vec::new();
    for dispatch in dispatches {
        let cost = Cost::of_dispatch(&dispatch.program, &dispatch.stats, gpu);
        match costs.iter_mut().find(|(known, _)| *known == name(dispatch)) {
            Some((_, sum)) => sum.add(&cost),
            None => costs.push((name(dispatch), cost)),
        }
    }
    costs
}

impl CostedDispatch {
    pub fn pass(&self) -> &str {
        &self.pass
    }

    fn stage(&self) -> &str {
        &self.stage
    }
}

/// Prints share, active lanes and L2 bytes of the source lines with the most instructions.
fn print_lines(dispatches: &[CostedDispatch], pass: &str, most: usize) {
    let mut by_line: BTreeMap<String, [f64; 3]> = BTreeMap::new();
    for CostedDispatch { program, stats, .. } in dispatches.iter().filter(|dispatch| dispatch.pass == pass) {
        for pc in 0..program.ops.len() {
            let (instructions, lanes) = issued(program, stats, pc);
            let line = by_line.entry(program.place(program.lines[pc])).or_default();
            line[0] += instructions;
            line[1] += instructions * lanes;
            line[2] += 32.0 * stats.misses[pc] as f64;
        }
    }
    let all: f64 = by_line.values().map(|line| line[0]).sum();
    let mut list: Vec<_> = by_line.into_iter().collect();
    list.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
    for (place, [instructions, lane_sum, l2_bytes]) in list.into_iter().take(most) {
        let (part, lanes) = (100.0 * instructions / all, lane_sum / instructions.max(1.0));
        println!("  {place}: {part:.1} % of instructions, {lanes:.1} lanes, {l2_bytes:.0} bytes of L2");
    }
}

/// Instructions and bytes are per `count`.
fn pass_rows(by_pass: &[(&str, Cost)], count: f64) -> String {
    let header = "pass,instructions,lanes,sectors,l2_bytes,dram_bytes,bank_conflicts,roofline_us,latency_us\n";
    let sum = ("step", sum(by_pass));
    let rows = by_pass.iter().chain([&sum]);
    rows.fold(header.to_owned(), |text, (pass, cost)| {
        text + &cost.row(pass, count) + "\n"
    })
}

fn sum(costs: &[(&str, Cost)]) -> Cost {
    let mut sum = Cost::default();
    costs.iter().for_each(|(_, cost)| sum.add(cost));
    sum
}

/// CSV with a line per stage: scene, boxes, stage, and two estimates in microseconds: by roofline, and with latency.
pub fn stage_rows(scene: &str, boxes: usize, dispatches: &[CostedDispatch], gpu: &Gpu) -> String {
    let mut stages = costs(dispatches, gpu, CostedDispatch::stage);
    stages.push(("step", sum(&stages)));
    let row = |(stage, cost): &(&str, Cost)| {
        format!(
            "{scene},{boxes},{stage},{:.1},{:.1}\n",
            cost.roofline_us, cost.latency_us
        )
    };
    stages.iter().map(row).collect()
}

pub struct Wanted<'a> {
    /// `uniform`, `power-law`, or a folder with two frames of a mesh.
    pub scene: &'a str,
    pub count: usize,
    pub work: Work,
    pub gpu: &'a Gpu,
    pub csv: Option<&'a Path>,
    /// Prints [`stage_rows`] instead of a row per pass.
    pub by_stage: bool,
    pub lines: usize,
}

pub fn cost(wanted: &Wanted<'_>) {
    let mut rng = Rng(7);
    let objects = match wanted.scene {
        "uniform" => uniform(wanted.count, &mut rng),
        "power-law" => power_law(wanted.count, &mut rng),
        folder => mesh::boxes(Path::new(folder)).unwrap_or_else(|error| panic!("{folder}: {error}")),
    };
    let (dispatches, count) = steps::count(&objects, &wanted.work);
    let by_pass = costs(&dispatches, wanted.gpu, CostedDispatch::pass);
    let text = if wanted.by_stage {
        stage_rows(wanted.scene, objects.len(), &dispatches, wanted.gpu)
    } else {
        pass_rows(&by_pass, count as f64)
    };
    print!("{text}");
    if let Some(path) = wanted.csv {
        let mut file = std::fs::File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.write_all(text.as_bytes())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    if wanted.lines > 0 {
        for (pass, _) in by_pass {
            println!("{pass}");
            print_lines(&dispatches, pass, wanted.lines);
        }
    }
}
