use std::io::{self, Write};

use gpu_broad_phase::grid::{Level, MAX_LEVELS};
use gpu_broad_phase::internals::reference::Trace;
use gpu_broad_phase::{Counters, Dimensions, MemoryUse, Scheme};

pub struct Stats {
    pub scheme: Scheme,
    pub dimensions: Dimensions,
    /// Counters of a step with `count_candidates`.
    pub counters: Counters,
    pub trace: Trace,
    pub milliseconds: f64,
    /// `None` on the CPU engine.
    pub memory: Option<MemoryUse>,
}

impl Stats {
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let counters = &self.counters;
        write_totals(out, self.scheme, self.dimensions, counters)?;
        writeln!(out, "{:<24}  {:>14.3}", "second step, ms", self.milliseconds)?;
        if let Some(memory) = self.memory {
            writeln!(out, "{:<24}  {:>14}", "bytes on the device", memory.total())?;
            let each = ratio(memory.objects, counters.objects.into());
            writeln!(out, "{:<24}  {each:>14}", "bytes per object")?;
            let each = ratio(memory.pairs, counters.pairs_needed);
            writeln!(out, "{:<24}  {each:>14}", "bytes per pair")?;
        }
        write_levels(out, self.scheme, &self.trace)?;
        write_histogram(out, &self.trace)
    }
}

fn write_totals(out: &mut impl Write, scheme: Scheme, dimensions: Dimensions, counters: &Counters) -> io::Result<()> {
    let active = u64::from(counters.objects - counters.invalid - counters.excluded);
    let name = match scheme {
        Scheme::Hierarchical => "hierarchical".to_owned(),
        Scheme::Uniform { cell_size } => format!("uniform, {cell_size:?}"),
        Scheme::Adaptive { min_scale } => format!("adaptive, {min_scale:?}"),
        other => format!("{other:?}"),
    };
    writeln!(out, "{:<24}  {name:>14}", "scheme")?;
    for (what, count) in [
        ("dimensions", dimensions.count().into()),
        ("objects", counters.objects.into()),
        ("invalid", counters.invalid.into()),
        ("excluded", counters.excluded.into()),
        ("large list", counters.large.into()),
        ("levels", counters.levels.into()),
        ("table cells", counters.table_cells.into()),
        ("entries", counters.entries_needed),
        ("pairs", counters.pairs_needed),
        ("candidates", counters.pair_candidates),
    ] {
        writeln!(out, "{what:<24}  {count:>14}")?;
    }
    for (what, count, per) in [
        (
            "entries per object",
            counters.entries_needed,
            u64::from(counters.objects),
        ),
        ("candidates per object", counters.pair_candidates, active),
        ("candidates per pair", counters.pair_candidates, counters.pairs_needed),
    ] {
        writeln!(out, "{what:<24}  {:>14}", ratio(count, per))?;
    }
    Ok(())
}

fn ratio(count: u64, per: u64) -> String {
    if per == 0 {
        "-".to_owned()
    } else {
        format!("{:.3}", count as f64 / per as f64)
    }
}

fn buckets<'a>(trace: &'a Trace, level: &Level) -> impl Iterator<Item = u32> + 'a {
    let first = level.table_base as usize;
    let starts = &trace.starts[first..=first + level.table_size as usize];
    starts.windows(2).map(|ends| ends[1] - ends[0])
}

fn occupied(trace: &Trace) -> impl Iterator<Item = (u32, &Level)> {
    (0..MAX_LEVELS)
        .zip(&trace.grid.levels)
        .filter(|(_, level)| level.count > 0)
}

fn write_levels(out: &mut impl Write, scheme: Scheme, trace: &Trace) -> io::Result<()> {
    writeln!(
        out,
        "\n{:>5}  {:>12}  {:>10}  {:>10}  {:>10}  {:>10}  {:>8}  {:>8}  {:>6}",
        "level", "cell", "objects", "entries", "buckets", "occupied", "mean", "most", "table"
    )?;
    for (number, level) in occupied(trace) {
        // Adaptive levels store 1 / (half the cell size).
        let halves = if matches!(scheme, Scheme::Adaptive { .. }) {
            2.0
        } else {
            1.0
        };
        let cell = halves / level.inverse;
        let entries: u64 = buckets(trace, level).map(u64::from).sum();
        let occupied = buckets(trace, level).filter(|&count| count > 0).count() as u64;
        let most = buckets(trace, level).max().unwrap_or_default();
        let table = if level.table_mask == u32::MAX {
            "dense"
        } else {
            "hashed"
        };
        writeln!(
            out,
            "{number:>5}  {cell:>12?}  {:>10}  {entries:>10}  {:>10}  {occupied:>10}  {:>8}  {most:>8}  {table:>6}",
            level.count,
            level.table_size,
            ratio(entries, occupied)
        )?;
    }
    Ok(())
}

fn write_histogram(out: &mut impl Write, trace: &Trace) -> io::Result<()> {
    let mut octaves: Vec<[u64; 2]> = Vec::new();
    for count in occupied(trace)
        .flat_map(|(_, level)| buckets(trace, level))
        .filter(|&count| count > 0)
    {
        let octave = count.ilog2() as usize;
        octaves.resize(octaves.len().max(octave + 1), [0; 2]);
        octaves[octave][0] += 1;
        octaves[octave][1] += u64::from(count);
    }
    writeln!(
        out,
        "\n{:>19}  {:>10}  {:>10}",
        "entries per bucket", "buckets", "entries"
    )?;
    for (octave, [buckets, entries]) in octaves.into_iter().enumerate() {
        let first = 1_u64 << octave;
        let range = if octave == 0 {
            "1".to_owned()
        } else {
            format!("{first}-{}", 2 * first - 1)
        };
        writeln!(out, "{range:>19}  {buckets:>10}  {entries:>10}")?;
    }
    Ok(())
}
