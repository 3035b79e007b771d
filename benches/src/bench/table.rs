use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::is_separator;

use gpu_broad_phase::wgpu::AdapterInfo;

use super::PEERS;
use super::gpu::{self, Exact};
use super::measure::{Question, Row, TOTAL};
use super::sort::KeyCounts;
use super::traffic::Traffic;
use crate::grouped;

pub struct Block {
    pub scene: String,
    pub objects: usize,
    pub rays: usize,
    pub rows: Vec<Row>,
    pub exact: Option<Exact>,
    pub sorted: Option<KeyCounts>,
    pub traffic: Option<Traffic>,
    /// Gigabytes per second of a copy on the device.
    pub copy_rate: Option<f64>,
    pub notes: Vec<String>,
}

impl Block {
    fn whole(&self, question: Question) -> impl Iterator<Item = &Row> {
        let is_complete =
            move |row: &&Row| row.question == question && row.stage == question.stage() && row.is_complete;
        self.rows.iter().filter(is_complete)
    }

    fn ours(&self, question: Question) -> Option<&Row> {
        self.whole(question).find(|row| row.engine == gpu::NAME)
    }

    fn fastest(&self, question: Question, is_wanted: impl Fn(&str) -> bool) -> Option<&Row> {
        self.whole(question)
            .filter(|row| is_wanted(row.engine))
            .min_by(|a, b| a.median_ms.total_cmp(&b.median_ms))
    }

    pub fn title(&self) -> String {
        format!("{}, {} boxes", self.scene, grouped(self.objects as u64))
    }

    fn ratio(&self, row: &Row) -> String {
        let ours = self.ours(row.question).map(|ours| row.median_ms / ours.median_ms);
        ours.map_or_else(|| "-".to_owned(), short)
    }

    fn pairs_table(&self) -> Table {
        let mut table = Table::new(&["engine", "stage", "median ms", "min ms", "× ours", "pairs"]);
        for row in self.rows.iter().filter(|row| row.question == Question::Pairs) {
            let is_stage = !row.stage.starts_with(TOTAL);
            if is_stage && self.copy_rate.is_some() {
                continue;
            }
            table.push([
                row.title(),
                row.stage.to_owned(),
                short(row.median_ms),
                short(row.min_ms),
                if is_stage { String::new() } else { self.ratio(row) },
                if is_stage {
                    String::new()
                } else {
                    grouped(row.answer.results)
                },
            ]);
        }
        table
    }

    fn stages_table(&self) -> Table {
        let mut table = Table::new(&[
            "stage",
            "median ms",
            "approximate bytes",
            "GB/s",
            "share of the copy's rate",
        ]);
        let Some(copy_rate) = self.copy_rate else { return table };
        let is_stage = |row: &&Row| row.question == Question::Pairs && !row.stage.starts_with(TOTAL);
        for row in self.rows.iter().filter(is_stage) {
            let bytes = self.traffic.as_ref().and_then(|traffic| traffic.of_stage(row.stage));
            let rate = bytes.map(|bytes| bytes as f64 / row.median_ms / 1e6);
            table.push([
                row.stage.to_owned(),
                short(row.median_ms),
                bytes.map(grouped).unwrap_or_default(),
                rate.map(short).unwrap_or_default(),
                rate.map(|rate| format!("{:.1} %", 100.0 * rate / copy_rate))
                    .unwrap_or_default(),
            ]);
        }
        table
    }

    fn rays_table(&self) -> Table {
        let mut table = Table::new(&["engine", "hits", "µs per ray", "median ms", "× ours", "hits found"]);
        for (question, name) in [
            (Question::ClosestHits, "closest"),
            (Question::AllHits, "all"),
            (Question::Within, "within a radius"),
            (Question::Nearest, "nearest boxes"),
        ] {
            for row in self.whole(question) {
                table.push([
                    row.title(),
                    name.to_owned(),
                    short(row.median_ms * 1e3 / self.rays as f64),
                    short(row.median_ms),
                    self.ratio(row),
                    grouped(row.answer.results),
                ]);
            }
        }
        table
    }

    fn sort_table(&self) -> Table {
        let mut table = Table::new(&["engine", "median ms", "min ms", "× ours"]);
        for row in self.whole(Question::Sort) {
            let (median, min) = (short(row.median_ms), short(row.min_ms));
            table.push([row.title(), median, min, self.ratio(row)]);
        }
        table
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for question in [Question::Pairs, Question::ClosestHits, Question::AllHits] {
            let Some(ours) = self.ours(question) else { continue };
            let mut against = |what: &str, other: Option<&Row>| {
                if let Some(other) = other {
                    findings.push(format!(
                        "{}: {what}, {}, takes {} times as long as {}",
                        question.stage(),
                        other.title(),
                        short(other.median_ms / ours.median_ms),
                        gpu::NAME
                    ));
                }
            };
            against("the fastest peer", self.fastest(question, |name| PEERS.contains(&name)));
            against(
                "the fastest plain grid",
                self.fastest(question, |name| name.ends_with("grid")),
            );
        }
        let brute_force = self.fastest(Question::Pairs, |name| name == super::brute_force::NAME);
        if let Some((ours, brute_force)) = self.ours(Question::Pairs).zip(brute_force) {
            let ratio = short(ours.median_ms / brute_force.median_ms);
            findings.push(format!(
                "{} takes {ratio} times as long as the brute force kernel",
                gpu::NAME
            ));
        }
        if let Some(exact) = self.exact {
            findings.push(format!(
                "memory with exact capacities: {} bytes, 8 per pair and {:.1} per box",
                grouped(exact.bytes),
                exact.bytes.saturating_sub(8 * exact.pairs) as f64 / self.objects as f64
            ));
            findings.push(format!("dispatches of a step: {}", exact.dispatches));
        }
        if let Some(traffic) = &self.traffic {
            findings.push(format!(
                "bytes of a step, sorted by tiles: about {:.1} per box ({})",
                traffic.per_box(),
                traffic.parts()
            ));
        }
        if let Some(KeyCounts {
            keys, bits, digit_bits, ..
        }) = self.sorted
        {
            findings.push(format!(
                "sort_keys: {} keys of {bits} bits with values; {} sorts {digit_bits} bits",
                grouped(keys as u64),
                gpu::NAME
            ));
        }
        findings.extend(self.notes.iter().cloned());
        findings
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let title = self.title();
        let rays = grouped(self.rays as u64);
        [
            (format!("{title}: build and all pairs"), self.pairs_table()),
            (format!("{title}: stages"), self.stages_table()),
            (format!("{title}: {rays} rays"), self.rays_table()),
            (format!("{title}: sort of keys and values"), self.sort_table()),
        ]
        .into_iter()
        .filter(|(_, table)| !table.rows.is_empty())
        .collect()
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for (title, table) in self.tables() {
            let _ = write!(text, "\n{title}\n{}", table.text());
        }
        for finding in self.findings() {
            let _ = writeln!(text, "  {finding}");
        }
        text
    }
}

/// Nanoseconds per box, for each scene's smallest and largest size.
fn scaling(blocks: &[Block]) -> Table {
    let mut table = Table::new(&[
        "scene",
        "engine",
        "boxes",
        "ns per box",
        "boxes ",
        "ns per box ",
        "ratio",
    ]);
    let mut scenes: Vec<_> = blocks.iter().map(|block| &block.scene).collect();
    scenes.dedup();
    for scene in scenes {
        let of_scene = || blocks.iter().filter(|block| block.scene == *scene);
        let small = of_scene().min_by_key(|block| block.objects);
        let large = of_scene().max_by_key(|block| block.objects);
        let Some((small, large)) = small.zip(large).filter(|(small, large)| small.objects < large.objects) else {
            continue;
        };
        for row in small.whole(Question::Pairs) {
            let same = |other: &&Row| other.engine == row.engine && other.threads == row.threads;
            let Some(other) = large.whole(Question::Pairs).find(same) else {
                continue;
            };
            let cost = |row: &Row, block: &Block| row.median_ms * 1e6 / block.objects as f64;
            let (before, after) = (cost(row, small), cost(other, large));
            table.push([
                scene.clone(),
                row.title(),
                grouped(small.objects as u64),
                format!("{before:.1}"),
                grouped(large.objects as u64),
                format!("{after:.1}"),
                short(after / before),
            ]);
        }
    }
    table
}

pub fn scaling_text(blocks: &[Block]) -> Option<String> {
    let table = scaling(blocks);
    (!table.rows.is_empty()).then(|| format!("cost per box in the smallest and largest scene\n{}", table.text()))
}

pub const HEADER: &str = "scene,objects,engine,threads,stage,median_ms,min_ms,results,hash";

/// Hashes have 16 hexadecimal digits; an engine that only counts has none.
pub fn write_csv(out: &mut impl Write, blocks: &[Block]) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for block in blocks {
        for row in &block.rows {
            let hash = row.answer.hash.map(|hash| format!("{hash:016x}")).unwrap_or_default();
            writeln!(
                out,
                "{},{},{},{},{},{:.6},{:.6},{},{hash}",
                block.scene,
                block.objects,
                row.engine,
                row.threads,
                row.stage,
                row.median_ms,
                row.min_ms,
                row.answer.results
            )?;
        }
    }
    Ok(())
}

pub fn write_markdown(
    out: &mut impl Write,
    blocks: &[Block],
    adapter: Option<&AdapterInfo>,
    runs: u32,
) -> io::Result<()> {
    write_head(out, adapter, runs)?;
    write_blocks(out, blocks)
}

pub fn write_head(out: &mut impl Write, adapter: Option<&AdapterInfo>, runs: u32) -> io::Result<()> {
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    writeln!(out, "# Results of {date}\n")?;
    match adapter {
        Some(info) => writeln!(
            out,
            "- Adapter: {} ({:?}), driver {} {}",
            info.name, info.backend, info.driver, info.driver_info
        )?,
        None => writeln!(out, "- Adapter: none, the CPU engine")?,
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = cpu_name().map(|name| format!(" ({name})")).unwrap_or_default();
    writeln!(out, "- CPU: {threads} threads{cpu}")?;
    writeln!(
        out,
        "- Medians of {runs} alternating runs after a warm-up, milliseconds of wall time; stages by the device's clock. \
         Idle hardware is warmed up for 300 ms before a run, since an idle GPU lowers its clocks"
    )?;
    writeln!(out, "- Command: `{}`", command(std::env::args()))
}

pub fn write_blocks(out: &mut impl Write, blocks: &[Block]) -> io::Result<()> {
    for block in blocks {
        for (title, table) in block.tables() {
            writeln!(out, "\n## {title}\n\n{}", table.markdown())?;
        }
        let findings = block.findings();
        for finding in &findings {
            writeln!(out, "- {finding}")?;
        }
    }
    let scaling = scaling(blocks);
    if !scaling.rows.is_empty() {
        writeln!(
            out,
            "\n## Cost per box in the smallest and largest scene\n\n{}",
            scaling.markdown()
        )?;
    }
    Ok(())
}

fn command(arguments: impl Iterator<Item = String>) -> String {
    let shortened = |argument: String| {
        let parts = argument.split(',').map(|part| {
            let trimmed = part.trim_end_matches(is_separator);
            trimmed.rsplit(is_separator).next().unwrap_or(trimmed).to_owned()
        });
        parts.collect::<Vec<_>>().join(",")
    };
    arguments.map(shortened).collect::<Vec<_>>().join(" ")
}

fn cpu_name() -> Option<String> {
    if cfg!(target_os = "macos") {
        let ran = std::process::Command::new("sysctl")
            .args(["-n", "machdep.cpu.brand_string"])
            .output();
        return Some(String::from_utf8(ran.ok()?.stdout).ok()?.trim().to_owned());
    }
    if cfg!(windows) {
        return std::env::var("PROCESSOR_IDENTIFIER").ok();
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

pub fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value if value >= 0.1 => format!("{value:.3}"),
        value => format!("{value:.4}"),
    }
}

pub struct Table {
    header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub fn push<const COLUMNS: usize>(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row.into());
    }

    fn all(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.header).chain(&self.rows)
    }

    /// Columns of numbers are aligned right, text left.
    fn is_number(&self, column: usize) -> bool {
        self.rows
            .iter()
            .any(|row| row[column].starts_with(|c: char| c.is_ascii_digit()))
    }

    pub fn text(&self) -> String {
        let width = |column: usize| self.all().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..self.header.len()).map(width).collect();
        let mut text = String::new();
        for row in self.all() {
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                let _ = match self.is_number(column) {
                    true => write!(text, "  {cell:>width$}"),
                    false => write!(text, "  {cell:<width$}"),
                };
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (number, row) in self.all().enumerate() {
            let _ = writeln!(text, "| {} |", row.join(" | "));
            if number == 0 {
                let edges = (0..row.len()).map(|column| if self.is_number(column) { "--:" } else { "---" });
                let _ = writeln!(text, "|{}|", edges.collect::<Vec<_>>().join("|"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::answer::Answer;

    fn row(engine: &'static str, threads: usize, median_ms: f64) -> Row {
        Row {
            engine,
            threads,
            question: Question::Pairs,
            stage: TOTAL,
            is_complete: true,
            runs: 1,
            median_ms,
            min_ms: median_ms,
            answer: Answer {
                results: 7,
                hash: Some(255),
            },
        }
    }

    fn block(objects: usize, times: [f64; 4]) -> Block {
        let [ours, one, two, kernel] = times;
        Block {
            scene: "uniform".to_owned(),
            objects,
            rays: 0,
            rows: vec![
                row(gpu::NAME, 0, ours),
                row("grid", 1, one),
                row("grid", 2, two),
                row("brute-force", 0, kernel),
            ],
            exact: Some(Exact {
                bytes: 1000 + 8 * 7,
                pairs: 7,
                dispatches: 40,
            }),
            sorted: None,
            traffic: None,
            copy_rate: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_those_of_the_times() {
        let block = block(10, [4.0, 8.0, 6.0, 1.0]);
        let text = block.text();
        for needle in [
            "the fastest plain grid, grid (2 threads), takes 1.50 times as long",
            "takes 4.00 times as long as the brute force kernel",
            "1,056 bytes, 8 per pair and 100.0 per box",
        ] {
            assert!(text.contains(needle), "{needle} in {text}");
        }
        let mut csv = Vec::new();
        write_csv(&mut csv, &[block]).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(
            csv.lines().nth(2),
            Some("uniform,10,grid,1,total,8.000000,8.000000,7,00000000000000ff")
        );
    }

    #[test]
    fn the_cost_of_a_box_is_compared_between_sizes() {
        let table = scaling(&[block(100, [4.0, 8.0, 6.0, 1.0]), block(1000, [80.0, 80.0, 60.0, 100.0])]);
        assert_eq!(table.rows.len(), 4);
        let row = [
            "uniform",
            "gpu-broad-phase",
            "100",
            "40000.0",
            "1,000",
            "80000.0",
            "2.00",
        ];
        assert_eq!(table.rows[0], row);
        assert_eq!(scaling_text(&[block(100, [1.0; 4])]), None);
    }

    #[test]
    fn paths_are_cut_to_names() {
        let given = ["/usr/bin/broadphase", "bench", "/data/cloth/,uniform", "--seed", "1"];
        assert_eq!(
            command(given.into_iter().map(str::to_owned)),
            "broadphase bench cloth,uniform --seed 1"
        );
    }
}
