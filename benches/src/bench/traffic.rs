use gpu_broad_phase::internals::blocks::{MAX_CACHED_PARTNERS, OCTAVES, SortParams};
use gpu_broad_phase::internals::reference::Trace;

const BOX: u64 = 32;
const WORD: u64 = 4;
const PAIR: u64 = 8;

/// Approximate minimum memory traffic of a step without rays, in bytes. Keys are sorted by tiles, as on a GPU.
///
/// A byte counts once per pass that reads it and once per pass that writes it, as if caches served repeated reads.
/// Clears are writes. Pair walks read every bucket. Accesses by a few workgroups are left out.
#[derive(Clone)]
pub struct Traffic {
    stages: Vec<(&'static str, u64)>,
    boxes: u64,
}

impl Traffic {
    /// `None` except for a hierarchical step with pairs.
    pub fn of(trace: &Trace) -> Option<Self> {
        if trace.sample_statistics.is_empty() || trace.pair_counts.is_empty() {
            return None;
        }
        let params = &trace.params;
        let boxes = u64::from(params.object_count);
        let entries = u64::from(trace.grid.entry_count);
        let covered = entries - boxes.min(entries);
        let cells = trace.starts.len() as u64;
        let clusters = trace.clusters.len() as u64;
        let samples = u64::from(params.sample_count);
        let octaves = u64::from(OCTAVES);
        let is_crowded = trace.grid.is_crowded != 0;

        // One hash table per octave is cleared. Each sampled box then updates a bucket of each table.
        let slots = WORD * octaves * u64::from(params.octave_buckets());
        let statistics = slots + samples * (BOX + 2 * WORD * octaves);
        let entered = boxes * (BOX + WORD);
        // Reads the keys of all boxes. Per further entry, reads a box and writes key and value.
        let large_table = if covered > 0 {
            boxes * WORD + covered * (BOX + 2 * WORD)
        } else {
            0
        };
        let sort = trace.digits.iter().map(|digit| of_digit(&digit.sort, entries)).sum();
        // Keys, values, boxes and records of all entries, and the cell starts.
        let gather = entries * (WORD + WORD + BOX + BOX) + cells * WORD;
        // Sorts records and values within cells, by keys. Writes the boxes of clusters.
        let ordered = if is_crowded {
            entries * (2 * BOX + 2 * WORD + WORD) + clusters * BOX
        } else {
            0
        };
        // Reads records, writes pair counts and cached partners. The bits cached in crowded scenes are left out.
        let kept = if is_crowded { 0 } else { MAX_CACHED_PARTNERS.into() };
        let rows = || trace.pair_counts.iter().map(|&count| u64::from(count));
        let slots_of = |count: u64| WORD * count.min(kept);
        let pair_count = entries * (BOX + WORD) + clusters * BOX + cells * WORD + rows().map(slots_of).sum::<u64>();
        // Counts become offsets. Pairs of objects with cached partners are written from the cache.
        let written = |count: u64| if count > 0 { WORD + (WORD + PAIR) * count } else { 0 };
        let emitted: u64 = rows().filter(|&count| count <= kept).map(written).sum();
        let pair_emit_cached = entries * 2 * WORD + emitted;
        let walked = rows().filter(|&count| count > kept);
        let pair_emit = walked.map(|count| BOX + 2 * WORD + PAIR * count).sum();
        Some(Self {
            stages: vec![
                ("statistics", statistics),
                ("levels", boxes * BOX),
                ("entries", entered),
                ("large_table", large_table),
                ("sort", sort),
                ("gather", gather),
                ("clusters", ordered),
                ("pair_count", pair_count),
                ("pair_emit_cached", pair_emit_cached),
                ("pair_emit", pair_emit),
            ],
            boxes,
        })
    }

    pub fn of_stage(&self, stage: &str) -> Option<u64> {
        let found = self.stages.iter().find(|(name, _)| *name == stage);
        found.map(|&(_, bytes)| bytes).filter(|&bytes| bytes > 0)
    }

    pub fn parts(&self) -> String {
        let part = |(name, bytes): &(&str, u64)| format!("{name} {:.1}", self.each(*bytes));
        let parts: Vec<_> = self.stages.iter().map(part).collect();
        parts.join(", ")
    }

    fn each(&self, bytes: u64) -> f64 {
        bytes as f64 / self.boxes.max(1) as f64
    }

    pub fn per_box(&self) -> f64 {
        self.each(self.stages.iter().map(|(_, bytes)| bytes).sum())
    }
}

/// Bytes of a sort pass. Keys are read twice, values once, unless no pass has stored them yet; both are written. Counts
/// are cleared, written and read once.
fn of_digit(digit: &SortParams, entries: u64) -> u64 {
    let counts = 3 * u64::from(digit.count_words());
    let unwritten = entries.min(digit.unwritten.into());
    entries * 5 * WORD - unwritten * WORD + WORD * counts
}
