//! The pass table: every compute pass, the WGSL fragments it is joined from and what it binds.
//!
//! Passes are plain concatenations of files under `shaders/`; nothing is preprocessed, so what
//! [`Pass::source`] returns is what a profiler shows. Tests validate each pass against this table.

/// How a pass sees one of its bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A uniform block.
    Uniform,
    /// A storage buffer that the pass only reads.
    Read,
    /// A storage buffer that the pass writes.
    Write,
}

/// One compute pass: a WGSL module with the entry point `main`.
#[derive(Debug)]
pub struct Pass {
    /// Name of the pass; without the suffix of its scheme that of its last WGSL file and of its twin in
    /// [`reference`](crate::reference).
    pub name: &'static str,
    /// The WGSL that runs.
    source: &'static str,
    /// `(binding number in group 0, kind, name of the buffer)`.
    pub bindings: &'static [(u32, Binding, &'static str)],
}

impl Pass {
    /// The WGSL that runs, as one text.
    pub fn source(&self) -> &'static str {
        self.source
    }
}

macro_rules! fragments {
    ($($path:literal),+ $(,)?) => {
        concat!($("// ---- ", $path, "\n", include_str!(concat!("../shaders/", $path)), "\n"),+)
    };
}

macro_rules! passes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal [$($path:literal),+ $(,)?] { $($number:literal: $kind:ident $buffer:literal),* $(,)? })+) => {
        $(
            $(#[$doc])*
            pub static $constant: Pass = Pass {
                name: $name,
                source: fragments!($($path),+),
                bindings: &[$(($number, Binding::$kind, $buffer)),*],
            };
        )+
        static ALL: &[&Pass] = &[$(&$constant),+];
    };
}

/// All passes, in the order in which a step may run them.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    ALL.iter().copied()
}

passes! {
    /// Changed boxes to the slots of an [`ObjectSet`](crate::ObjectSet).
    SCATTER = "scatter"
    ["scatter.wgsl"]
    { 0: Uniform "scatter", 1: Read "changed_slots", 2: Read "changed_boxes", 3: Write "objects" }

    /// Histogram of sizes.
    SIZE_STATISTICS = "size_statistics"
    ["common/prelude.wgsl", "common/box.wgsl", "common/size.wgsl", "size_statistics.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Write "size_statistics" }

    /// How crowded the cells of each octave would be.
    DENSITY = "density"
    ["common/prelude.wgsl", "common/box.wgsl", "common/size.wgsl", "common/grid.wgsl", "common/octave.wgsl", "density.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "size_statistics", 3: Write "density_slots", 4: Write "density" }

    /// The choice of the finest cell.
    BASE_CELL = "base_cell"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/octave.wgsl", "base_cell.wgsl"]
    { 0: Uniform "params", 1: Read "size_statistics", 2: Read "density", 3: Write "grid" }

    /// Objects and bounds of every level.
    LEVEL_STATISTICS = "level_statistics"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/place.wgsl", "level_statistics.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "level_statistics", 4: Write "counters" }

    /// The levels' parts of the cell table.
    LAYOUT = "layout"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "layout.wgsl"]
    { 0: Uniform "params", 1: Read "level_statistics", 2: Write "grid", 3: Write "counters" }

    /// Keys of the hierarchical scheme.
    KEYS = "keys"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/place.wgsl", "keys.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "keys", 4: Write "values" }

    /// Cells covered by each object of the uniform scheme.
    ENTRY_COUNT = "entry_count"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/place.wgsl", "entry_count.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "entry_offsets" }

    /// Entries of the uniform scheme.
    ENTRY_EMIT = "entry_emit"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/place.wgsl", "entry_emit.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Write "grid", 3: Read "entry_offsets", 4: Read "counters", 5: Write "keys", 6: Write "values" }

    /// Sums of the tiles of an exclusive scan.
    SCAN_REDUCE = "scan_reduce"
    ["common/wide.wgsl", "common/scan.wgsl", "scan_reduce.wgsl"]
    { 0: Uniform "scan", 1: Read "data", 2: Write "tile_sums" }

    /// Offsets of the tiles of an exclusive scan.
    SCAN_SPINE = "scan_spine"
    ["common/counters.wgsl", "common/wide.wgsl", "common/scan.wgsl", "scan_spine.wgsl"]
    { 0: Uniform "scan", 1: Write "tile_sums", 2: Write "counters" }

    /// The exclusive scan itself.
    SCAN_APPLY = "scan_apply"
    ["common/wide.wgsl", "common/scan.wgsl", "scan_apply.wgsl"]
    { 0: Uniform "scan", 1: Write "data", 2: Read "tile_sums" }

    /// Digit counts of a radix sort pass.
    SORT_HISTOGRAM = "sort_histogram"
    ["common/grid.wgsl", "common/box.wgsl", "common/sort.wgsl", "sort_histogram.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Write "digit_counts" }

    /// The move of a radix sort pass.
    SORT_SCATTER = "sort_scatter"
    ["common/grid.wgsl", "common/box.wgsl", "common/sort.wgsl", "sort_scatter.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Read "values", 4: Read "digit_counts", 5: Write "sorted_keys", 6: Write "sorted_values" }

    /// The cell table.
    CELL_STARTS = "cell_starts"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "cell_starts.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "keys", 3: Write "starts" }

    /// Boxes in the order of the walks.
    GATHER = "gather"
    ["common/prelude.wgsl", "common/box.wgsl", "gather.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "values", 3: Write "records" }

    /// Pairs an entry, hierarchical scheme.
    PAIR_COUNT_HIERARCHICAL = "pair_count_hierarchical"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/canary.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/pair_walk_hierarchical.wgsl", "common/pair_slots_write.wgsl", "pair_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Write "pair_slots", 7: Write "pair_offsets", 8: Write "counters" }

    /// Pairs an entry, uniform scheme.
    PAIR_COUNT_UNIFORM = "pair_count_uniform"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/canary.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/pair_walk_uniform.wgsl", "common/pair_slots_none.wgsl", "pair_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Read "keys", 6: Read "values", 7: Write "pair_offsets", 8: Write "counters" }

    /// The pairs, hierarchical scheme.
    PAIR_EMIT_HIERARCHICAL = "pair_emit_hierarchical"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/pair_walk_hierarchical.wgsl", "common/pair_slots_read.wgsl", "pair_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Read "pair_slots", 7: Read "pair_offsets", 8: Write "pairs" }

    /// The pairs, uniform scheme.
    PAIR_EMIT_UNIFORM = "pair_emit_uniform"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/pair_walk_uniform.wgsl", "common/pair_slots_none.wgsl", "pair_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Read "keys", 6: Read "values", 7: Read "pair_offsets", 8: Write "pairs" }

    /// Hits a ray, hierarchical scheme.
    RAY_COUNT_HIERARCHICAL = "ray_count_hierarchical"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/canary.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/ray_entry_hierarchical.wgsl", "common/ray_walk.wgsl", "ray_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 7: Write "ray_offsets", 8: Write "counters" }

    /// Hits a ray, uniform scheme.
    RAY_COUNT_UNIFORM = "ray_count_uniform"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/canary.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/ray_entry_uniform.wgsl", "common/ray_walk.wgsl", "ray_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "keys", 6: Read "values", 7: Write "ray_offsets", 8: Write "counters" }

    /// The hits, hierarchical scheme.
    RAY_EMIT_HIERARCHICAL = "ray_emit_hierarchical"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_candidates.wgsl", "common/ray_entry_hierarchical.wgsl", "common/ray_walk.wgsl", "ray_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 7: Read "ray_offsets", 8: Write "ray_hits" }

    /// The hits, uniform scheme.
    RAY_EMIT_UNIFORM = "ray_emit_uniform"
    ["common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_candidates.wgsl", "common/ray_entry_uniform.wgsl", "common/ray_walk.wgsl", "ray_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "keys", 6: Read "values", 7: Read "ray_offsets", 8: Write "ray_hits" }

    /// The closest hits, hierarchical scheme.
    RAY_CLOSEST_HIERARCHICAL = "ray_closest_hierarchical"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/canary.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/ray_entry_hierarchical.wgsl", "common/ray_walk.wgsl", "ray_closest.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 7: Write "ray_hits", 8: Write "counters" }

    /// The closest hits, uniform scheme.
    RAY_CLOSEST_UNIFORM = "ray_closest_uniform"
    ["common/prelude.wgsl", "common/counters.wgsl", "common/canary.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/ray_entry_uniform.wgsl", "common/ray_walk.wgsl", "ray_closest.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "keys", 6: Read "values", 7: Write "ray_hits", 8: Write "counters" }
}

#[cfg(test)]
mod tests;
