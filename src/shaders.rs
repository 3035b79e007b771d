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

/// Passes share most of their files: what is compiled in has each of them once, which joined texts would not.
pub(crate) type Fragments = &'static [(&'static str, &'static str)];

/// All of it as one text.
pub(crate) fn join(fragments: Fragments) -> String {
    let parts = fragments.iter().map(|(path, text)| format!("// ---- {path}\n{text}\n"));
    parts.collect()
}

/// One compute pass: a WGSL module with the entry point `main`.
#[derive(Debug)]
pub struct Pass {
    /// Name of the pass; without the suffix of its kind of scheme that of its last WGSL file, and without that of its kind of
    /// sort that of its twin in [`reference`](crate::reference).
    pub name: &'static str,
    /// Paths and texts of the WGSL files that it is joined from.
    fragments: Fragments,
    /// `(binding number in group 0, kind, name of the buffer)`.
    pub bindings: &'static [(u32, Binding, &'static str)],
}

impl Pass {
    /// The WGSL that runs, as one text. Where [`features`](Self::features) has `SUBGROUP`, WGSL wants `enable subgroups;` before
    /// it; wgpu's own front end knows no such line and does without.
    pub fn source(&self) -> String {
        join(self.fragments)
    }

    /// Whether it has an override of this name.
    pub(crate) fn declares(&self, constant: &str) -> bool {
        let declaration = format!("override {constant}:");
        self.fragments.iter().any(|(_, text)| text.contains(&declaration))
    }

    /// What a device needs to have for this pass.
    pub fn features(&self) -> wgpu::Features {
        if self.name.ends_with("_subgroups") {
            wgpu::Features::SUBGROUP
        } else {
            wgpu::Features::empty()
        }
    }
}

macro_rules! fragments {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../shaders/", $path)))),+]
    };
}

macro_rules! passes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal [$($path:literal),+ $(,)?] { $($number:literal: $kind:ident $buffer:literal),* $(,)? })+) => {
        $(
            $(#[$doc])*
            pub static $constant: Pass = Pass {
                name: $name,
                fragments: fragments!($($path),+),
                bindings: &[$(($number, Binding::$kind, $buffer)),*],
            };
        )+
        static ALL: &[&Pass] = &[$(&$constant),+];
    };
}

/// What a caller's shader joins to walk a table: schemes of one entry an object, and that of covered cells.
pub(crate) static TABLE_ONE_CELL: Fragments = fragments!(
    "common/workgroup.wgsl",
    "common/prelude.wgsl",
    "common/box.wgsl",
    "common/grid.wgsl",
    "common/cells.wgsl",
    "common/rows.wgsl",
    "common/query.wgsl",
    "common/entry_one_cell.wgsl",
    "common/query_entry_one_cell.wgsl",
    "common/query_cells.wgsl",
    "common/query_image_own.wgsl",
    "common/query_again_one_cell.wgsl",
    "common/table.wgsl",
);
pub(crate) static TABLE_COVERED: Fragments = fragments!(
    "common/workgroup.wgsl",
    "common/prelude.wgsl",
    "common/box.wgsl",
    "common/grid.wgsl",
    "common/cells.wgsl",
    "common/rows.wgsl",
    "common/query.wgsl",
    "common/entry_covered.wgsl",
    "common/query_entry_covered.wgsl",
    "common/query_cells.wgsl",
    "common/query_image_own.wgsl",
    "common/query_again_covered.wgsl",
    "common/table.wgsl",
);

/// All passes, in the order in which a step may run them.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    ALL.iter().copied()
}

passes! {
    /// Changed boxes to the slots of an [`ObjectSet`](crate::ObjectSet).
    SCATTER = "scatter"
    ["common/workgroup.wgsl", "scatter.wgsl"]
    { 0: Uniform "scatter", 1: Read "changed_slots", 2: Read "changed_boxes", 3: Write "objects" }

    /// Objects as the other passes read them.
    PREPARE = "prepare"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/worlds.wgsl", "prepare.wgsl"]
    { 0: Uniform "params", 1: Read "given_objects", 2: Write "objects", 3: Read "object_limits", 9: Read "worlds" }

    /// Histogram of sizes.
    SIZE_STATISTICS = "size_statistics"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/size.wgsl", "size_statistics.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Write "size_statistics" }

    /// How crowded the cells of each octave would be.
    DENSITY = "density"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/size.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/octave.wgsl", "common/worlds.wgsl", "density.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "size_statistics", 3: Write "density_slots", 4: Write "density", 9: Read "worlds" }

    /// The choice of the finest cell.
    BASE_CELL = "base_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/octave.wgsl", "base_cell.wgsl"]
    { 0: Uniform "params", 1: Read "size_statistics", 2: Read "density", 3: Write "grid" }

    /// Objects and bounds of every level.
    LEVEL_STATISTICS = "level_statistics"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/place.wgsl", "level_statistics.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "level_statistics", 4: Write "counters" }

    /// The levels' parts of the cell table.
    LAYOUT = "layout"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/place.wgsl", "common/wide.wgsl", "layout.wgsl"]
    { 0: Uniform "params", 1: Read "level_statistics", 2: Write "grid", 3: Write "counters" }

    /// Keys of the schemes of one entry an object.
    KEYS = "keys"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/place.wgsl", "common/worlds.wgsl", "keys.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "keys", 4: Write "values", 9: Read "worlds" }

    /// Entries of the cover table, for each choice of its cells.
    COVER_COUNT = "cover_count"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/cover.wgsl", "cover_count.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Read "keys", 4: Write "cover_sums" }

    /// The choice of the cover table's cells, and the places of its entries.
    COVER_LAYOUT = "cover_layout"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/wide.wgsl", "common/cover.wgsl", "cover_layout.wgsl"]
    { 0: Uniform "params", 1: Write "cover_sums", 2: Write "grid" }

    /// Entries of larger boxes in the cover table.
    COVER_EMIT = "cover_emit"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/worlds.wgsl", "common/cover.wgsl", "cover_emit.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "keys", 4: Write "values", 5: Read "cover_sums", 9: Read "worlds" }

    /// Cells covered by each object of the uniform scheme.
    ENTRY_COUNT = "entry_count"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/place.wgsl", "entry_count.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "grid", 3: Write "entry_offsets" }

    /// Entries of the uniform scheme.
    ENTRY_EMIT = "entry_emit"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/place.wgsl", "common/worlds.wgsl", "common/entry_groups.wgsl", "entry_emit.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Write "grid", 3: Read "entry_offsets", 4: Read "counters", 5: Write "keys", 6: Write "values", 9: Read "worlds" }

    /// Sums of the tiles of an exclusive scan.
    SCAN_REDUCE = "scan_reduce"
    ["common/wide.wgsl", "common/workgroup.wgsl", "common/scan.wgsl", "scan_reduce.wgsl"]
    { 0: Uniform "scan", 1: Read "data", 2: Write "tile_sums" }

    /// Offsets of the tiles of an exclusive scan.
    SCAN_SPINE = "scan_spine"
    ["common/counters.wgsl", "common/wide.wgsl", "common/workgroup.wgsl", "common/scan.wgsl", "scan_spine.wgsl"]
    { 0: Uniform "scan", 1: Write "tile_sums", 2: Write "counters" }

    /// The exclusive scan itself.
    SCAN_APPLY = "scan_apply"
    ["common/wide.wgsl", "common/workgroup.wgsl", "common/scan.wgsl", "scan_apply.wgsl"]
    { 0: Uniform "scan", 1: Write "data", 2: Read "tile_sums" }

    /// Digit counts of a radix sort pass, tile by tile.
    SORT_HISTOGRAM = "sort_histogram"
    ["common/grid.wgsl", "common/sort.wgsl", "sort_histogram.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Write "digit_counts" }

    /// Digit counts of a radix sort pass, strip by strip.
    SORT_HISTOGRAM_STRIPS = "sort_histogram_strips"
    ["common/grid.wgsl", "common/sort.wgsl", "common/sort_strips.wgsl", "sort_histogram_strips.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Write "digit_counts" }

    /// Digit counts of a radix sort pass as offsets.
    SORT_SCAN = "sort_scan"
    ["common/sort.wgsl", "sort_scan.wgsl"]
    { 0: Uniform "sort", 1: Write "digit_counts" }

    /// Digit counts of strips as offsets.
    SORT_SCAN_STRIPS = "sort_scan_strips"
    ["common/sort.wgsl", "common/sort_strips.wgsl", "sort_scan_strips.wgsl"]
    { 0: Uniform "sort", 1: Write "digit_counts" }

    /// The move of a radix sort pass.
    SORT_SCATTER = "sort_scatter"
    ["common/grid.wgsl", "common/sort.wgsl", "sort_scatter.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Read "values", 4: Read "digit_counts", 5: Write "sorted_keys", 6: Write "sorted_values" }

    /// The move of a radix sort pass, by ballots.
    SORT_SCATTER_SUBGROUPS = "sort_scatter_subgroups"
    ["common/grid.wgsl", "common/sort.wgsl", "sort_scatter_subgroups.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Read "values", 4: Read "digit_counts", 5: Write "sorted_keys", 6: Write "sorted_values" }

    /// The move of a radix sort pass, strip by strip.
    SORT_SCATTER_STRIPS = "sort_scatter_strips"
    ["common/grid.wgsl", "common/sort.wgsl", "common/sort_strips.wgsl", "sort_scatter_strips.wgsl"]
    { 0: Uniform "sort", 1: Read "grid", 2: Read "keys", 3: Read "values", 4: Write "digit_counts", 5: Write "sorted_keys", 6: Write "sorted_values" }

    /// The cell table.
    CELL_STARTS = "cell_starts"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "cell_starts.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "keys", 3: Write "starts" }

    /// Boxes in the order of the walks.
    GATHER = "gather"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/worlds.wgsl", "gather.wgsl"]
    { 0: Uniform "params", 1: Read "objects", 2: Read "values", 3: Write "records", 4: Read "grid", 9: Read "worlds" }

    /// Pairs an entry, schemes of one entry an object.
    PAIR_COUNT_ONE_CELL = "pair_count_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/cover.wgsl", "common/pair_walk_one_cell.wgsl", "common/pair_boxes.wgsl", "common/pair_test.wgsl", "common/pair_slots_write.wgsl", "pair_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Write "pair_slots", 7: Write "pair_offsets", 8: Write "counters", 10: Uniform "round" }

    /// The same where boxes crowd: a bit for each box test is kept.
    PAIR_COUNT_CROWDED = "pair_count_crowded"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/cover.wgsl", "common/pair_walk_one_cell.wgsl", "common/pair_boxes.wgsl", "common/pair_test_strips.wgsl", "common/pair_slots_write.wgsl", "pair_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Write "pair_slots", 6: Write "pair_bits", 7: Write "pair_offsets", 8: Write "counters", 10: Uniform "round" }

    /// Pairs an entry, scheme of covered cells.
    PAIR_COUNT_COVERED = "pair_count_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/entry_groups.wgsl", "common/pair_walk_covered.wgsl", "common/pair_slots_none.wgsl", "pair_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Read "keys", 6: Read "values", 7: Write "pair_offsets", 8: Write "counters", 10: Uniform "round" }

    /// Pairs a world.
    WORLD_PAIRS = "world_pairs"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "world_pairs.wgsl"]
    { 0: Uniform "params", 1: Read "records", 2: Read "values", 3: Read "pair_offsets", 4: Write "world_pairs" }

    /// Pairs whose partners were kept, one entry an object.
    PAIR_EMIT_KEPT = "pair_emit_kept"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/pair_slots_read.wgsl", "common/pair_write.wgsl", "common/pair_write_kept.wgsl", "common/indirect.wgsl", "pair_emit_kept.wgsl"]
    { 0: Uniform "params", 2: Read "records", 5: Read "pair_slots", 6: Write "pair_walk_groups", 7: Write "pair_offsets", 8: Write "pairs", 9: Write "pair_walks" }

    /// Pairs of crowded boxes by the bits that counting kept, one entry an object.
    PAIR_REPLAY = "pair_replay"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/cover.wgsl", "common/pair_walk_one_cell.wgsl", "common/indirect.wgsl", "common/pair_walks_listed.wgsl", "common/pair_write.wgsl", "pair_replay.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 6: Read "pair_bits", 7: Write "pair_offsets", 8: Write "pairs", 9: Read "pair_walks" }

    /// The rest of the pairs, schemes of one entry an object.
    PAIR_EMIT_ONE_CELL = "pair_emit_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/cover.wgsl", "common/pair_walk_one_cell.wgsl", "common/pair_boxes.wgsl", "common/pair_test.wgsl", "common/indirect.wgsl", "common/pair_walks_listed.wgsl", "common/pair_write.wgsl", "pair_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 7: Write "pair_offsets", 8: Write "pairs", 9: Read "pair_walks", 10: Uniform "round" }

    /// The pairs, scheme of covered cells.
    PAIR_EMIT_COVERED = "pair_emit_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_filter.wgsl", "common/entry_groups.wgsl", "common/pair_walk_covered.wgsl", "common/pair_walks_all.wgsl", "common/pair_write.wgsl", "pair_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Read "keys", 6: Read "values", 7: Write "pair_offsets", 8: Write "pairs", 10: Uniform "round" }

    /// Pairs with static objects a moving object, schemes of one entry an object.
    PAIR_STATIC_COUNT_ONE_CELL = "pair_static_count_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_static.wgsl", "common/entry_one_cell.wgsl", "common/query_entry_one_cell.wgsl", "common/query_cells.wgsl", "common/query_image_own.wgsl", "common/query_again_one_cell.wgsl", "common/query_walk.wgsl", "common/pair_slots_static_write.wgsl", "pair_static_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Write "pair_slots", 7: Write "pair_offsets", 8: Write "counters", 9: Read "own_records", 10: Uniform "round" }

    /// Pairs with static objects a moving object, scheme of covered cells.
    PAIR_STATIC_COUNT_COVERED = "pair_static_count_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_static.wgsl", "common/entry_covered.wgsl", "common/query_entry_covered.wgsl", "common/query_cells.wgsl", "common/query_image_own.wgsl", "common/query_again_covered.wgsl", "common/query_walk.wgsl", "common/pair_slots_static_none.wgsl", "pair_static_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 6: Read "values", 7: Write "pair_offsets", 8: Write "counters", 9: Read "own_records", 10: Uniform "round" }

    /// Pairs with static objects a world.
    WORLD_PAIRS_STATIC = "world_pairs_static"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "world_pairs_static.wgsl"]
    { 0: Uniform "params", 1: Read "records", 3: Read "pair_offsets", 4: Write "world_pairs" }

    /// The pairs with static objects, schemes of one entry an object.
    PAIR_STATIC_EMIT_ONE_CELL = "pair_static_emit_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_static.wgsl", "common/entry_one_cell.wgsl", "common/query_entry_one_cell.wgsl", "common/query_cells.wgsl", "common/query_image_own.wgsl", "common/query_again_one_cell.wgsl", "common/query_walk.wgsl", "common/pair_slots_static_read.wgsl", "common/pair_write.wgsl", "common/pair_write_kept.wgsl", "pair_static_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 5: Read "pair_slots", 7: Write "pair_offsets", 8: Write "pairs", 9: Read "own_records", 10: Uniform "round" }

    /// The pairs with static objects, scheme of covered cells.
    PAIR_STATIC_EMIT_COVERED = "pair_static_emit_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/overlap.wgsl", "common/pair_static.wgsl", "common/entry_covered.wgsl", "common/query_entry_covered.wgsl", "common/query_cells.wgsl", "common/query_image_own.wgsl", "common/query_again_covered.wgsl", "common/query_walk.wgsl", "common/pair_slots_static_none.wgsl", "common/pair_write.wgsl", "common/pair_write_kept.wgsl", "pair_static_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 6: Read "values", 7: Write "pair_offsets", 8: Write "pairs", 9: Read "own_records", 10: Uniform "round" }

    /// Rays or queries of which the device says how many are asked.
    LIMIT_ASKED = "limit_asked"
    ["common/workgroup.wgsl", "limit_asked.wgsl"]
    { 0: Uniform "limit", 1: Read "limits", 2: Read "given", 3: Write "asked" }

    /// Keys by which rays are put in the order of where they start.
    RAY_KEYS = "ray_keys"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "ray_keys.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Write "keys", 3: Write "values", 4: Read "rays", 5: Write "sort_grid" }

    /// Hits a ray, schemes of one entry an object.
    RAY_COUNT_ONE_CELL = "ray_count_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_read.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/entry_one_cell.wgsl", "common/ray_entry_one_cell.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "common/ray_kept.wgsl", "ray_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 7: Write "ray_offsets", 8: Write "counters", 9: Read "walk_order", 10: Uniform "round" }

    /// Hits a ray, scheme of covered cells.
    RAY_COUNT_COVERED = "ray_count_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_none.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/entry_covered.wgsl", "common/ray_entry_covered.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "common/ray_kept.wgsl", "ray_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 6: Read "values", 7: Write "ray_offsets", 8: Write "counters", 10: Uniform "round" }

    /// The hits, schemes of one entry an object.
    RAY_EMIT_ONE_CELL = "ray_emit_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_read.wgsl", "common/ray_candidates.wgsl", "common/entry_one_cell.wgsl", "common/ray_entry_one_cell.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "common/ray_kept.wgsl", "ray_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 7: Write "ray_offsets", 8: Write "ray_hits", 9: Read "walk_order", 10: Uniform "round" }

    /// The hits, scheme of covered cells.
    RAY_EMIT_COVERED = "ray_emit_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_none.wgsl", "common/ray_candidates.wgsl", "common/entry_covered.wgsl", "common/ray_entry_covered.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "common/ray_kept.wgsl", "ray_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 6: Read "values", 7: Write "ray_offsets", 8: Write "ray_hits", 10: Uniform "round" }

    /// The closest hits, schemes of one entry an object.
    RAY_CLOSEST_ONE_CELL = "ray_closest_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_read.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/entry_one_cell.wgsl", "common/ray_entry_one_cell.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "ray_closest.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 7: Write "ray_hits", 8: Write "counters", 9: Read "walk_order", 10: Uniform "round" }

    /// The closest hits, scheme of covered cells.
    RAY_CLOSEST_COVERED = "ray_closest_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_none.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/entry_covered.wgsl", "common/ray_entry_covered.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "ray_closest.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 6: Read "values", 7: Write "ray_hits", 8: Write "counters", 10: Uniform "round" }

    /// Whether rays meet anything, schemes of one entry an object.
    RAY_ANY_ONE_CELL = "ray_any_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_read.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/entry_one_cell.wgsl", "common/ray_entry_one_cell.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "ray_any.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 7: Write "ray_any", 8: Write "counters", 9: Read "walk_order", 10: Uniform "round" }

    /// Whether rays meet anything, scheme of covered cells.
    RAY_ANY_COVERED = "ray_any_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_order_none.wgsl", "common/ray_candidates.wgsl", "common/ray_counters.wgsl", "common/entry_covered.wgsl", "common/ray_entry_covered.wgsl", "common/ray_walk.wgsl", "common/ray_hits.wgsl", "ray_any.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "rays", 5: Read "objects", 6: Read "values", 7: Write "ray_any", 8: Write "counters", 10: Uniform "round" }

    /// Cells a ray.
    RAY_CELLS_COUNT = "ray_cells_count"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_cells.wgsl", "common/ray_walk.wgsl", "ray_cells_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 4: Read "rays", 7: Write "ray_cell_offsets", 8: Write "counters", 10: Uniform "round" }

    /// The cells of rays.
    RAY_CELLS_EMIT = "ray_cells_emit"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grow.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/ray.wgsl", "common/ray_closely.wgsl", "common/ray_cells.wgsl", "common/ray_walk.wgsl", "ray_cells_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 4: Read "rays", 7: Write "ray_cell_offsets", 8: Write "counters", 9: Write "ray_cells", 10: Uniform "round" }

    /// Results a query, schemes of one entry an object.
    QUERY_COUNT_ONE_CELL = "query_count_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/query.wgsl", "common/query_input.wgsl", "common/entry_one_cell.wgsl", "common/query_entry_one_cell.wgsl", "common/query_cells.wgsl", "common/query_images.wgsl", "common/query_again_one_cell.wgsl", "common/query_walk.wgsl", "common/query_counters.wgsl", "query_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "queries", 5: Read "objects", 7: Write "query_offsets", 8: Write "counters", 10: Uniform "round" }

    /// Results a query, scheme of covered cells.
    QUERY_COUNT_COVERED = "query_count_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/query.wgsl", "common/query_input.wgsl", "common/entry_covered.wgsl", "common/query_entry_covered.wgsl", "common/query_cells.wgsl", "common/query_images.wgsl", "common/query_again_covered.wgsl", "common/query_walk.wgsl", "common/query_counters.wgsl", "query_count.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "queries", 5: Read "objects", 6: Read "values", 7: Write "query_offsets", 8: Write "counters", 10: Uniform "round" }

    /// The results, schemes of one entry an object.
    QUERY_EMIT_ONE_CELL = "query_emit_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/query.wgsl", "common/query_input.wgsl", "common/entry_one_cell.wgsl", "common/query_entry_one_cell.wgsl", "common/query_cells.wgsl", "common/query_images.wgsl", "common/query_again_one_cell.wgsl", "common/query_walk.wgsl", "query_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "queries", 5: Read "objects", 7: Write "query_offsets", 8: Write "query_objects", 10: Uniform "round" }

    /// The results, scheme of covered cells.
    QUERY_EMIT_COVERED = "query_emit_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/round.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/query.wgsl", "common/query_input.wgsl", "common/entry_covered.wgsl", "common/query_entry_covered.wgsl", "common/query_cells.wgsl", "common/query_images.wgsl", "common/query_again_covered.wgsl", "common/query_walk.wgsl", "query_emit.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "queries", 5: Read "objects", 6: Read "values", 7: Write "query_offsets", 8: Write "query_objects", 10: Uniform "round" }

    /// The nearest objects of each query, schemes of one entry an object.
    QUERY_NEAREST_ONE_CELL = "query_nearest_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/query.wgsl", "common/query_input.wgsl", "common/entry_one_cell.wgsl", "common/query_entry_one_cell.wgsl", "common/query_cells.wgsl", "common/query_images.wgsl", "common/query_again_one_cell.wgsl", "common/query_walk.wgsl", "common/query_counters.wgsl", "query_nearest.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "queries", 5: Read "objects", 7: Write "query_nearest", 8: Write "counters", 10: Uniform "round" }

    /// The nearest objects of each query, scheme of covered cells.
    QUERY_NEAREST_COVERED = "query_nearest_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/round.wgsl", "common/round_counters.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/rows.wgsl", "common/query.wgsl", "common/query_input.wgsl", "common/entry_covered.wgsl", "common/query_entry_covered.wgsl", "common/query_cells.wgsl", "common/query_images.wgsl", "common/query_again_covered.wgsl", "common/query_walk.wgsl", "common/query_counters.wgsl", "query_nearest.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "queries", 5: Read "objects", 6: Read "values", 7: Write "query_nearest", 8: Write "counters", 10: Uniform "round" }

    /// Indirect dispatches over an output's rows.
    DISPATCH_ARGS = "dispatch_args"
    ["common/wide.wgsl", "common/indirect.wgsl", "dispatch_args.wgsl"]
    { 0: Uniform "dispatch", 1: Read "step_counters", 2: Write "args" }

    /// Lines of the objects' boxes.
    DRAW_BOXES = "draw_boxes"
    ["common/workgroup.wgsl", "common/box.wgsl", "common/draw.wgsl", "common/draw_args.wgsl", "draw_boxes.wgsl"]
    { 1: Read "objects", 8: Write "lines", 9: Write "draw_args", 10: Uniform "draw" }

    /// Lines of occupied cells, schemes of one entry an object.
    DRAW_CELLS_ONE_CELL = "draw_cells_one_cell"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/place.wgsl", "common/draw.wgsl", "common/draw_cells.wgsl", "common/draw_entry_one_cell.wgsl", "draw_cells.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 8: Write "lines", 9: Write "draw_args", 10: Uniform "draw" }

    /// Lines of occupied cells, scheme of covered cells.
    DRAW_CELLS_COVERED = "draw_cells_covered"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/draw.wgsl", "common/draw_cells.wgsl", "common/draw_entry_covered.wgsl", "draw_cells.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "records", 3: Read "starts", 4: Read "objects", 6: Read "values", 8: Write "lines", 9: Write "draw_args", 10: Uniform "draw" }

    /// Lines between the boxes of pairs.
    DRAW_PAIRS = "draw_pairs"
    ["common/workgroup.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/box.wgsl", "common/draw.wgsl", "common/draw_args.wgsl", "draw_pairs.wgsl"]
    { 1: Read "objects", 2: Read "pairs", 7: Read "step_counters", 8: Write "lines", 9: Write "draw_args", 10: Uniform "draw" }

    /// Lines of the cells that rays visit.
    DRAW_RAY_CELLS = "draw_ray_cells"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/box.wgsl", "common/grid.wgsl", "common/cells.wgsl", "common/draw.wgsl", "common/draw_args.wgsl", "common/draw_cells.wgsl", "draw_ray_cells.wgsl"]
    { 0: Uniform "params", 1: Read "grid", 2: Read "static_grid", 3: Read "ray_cells", 7: Read "step_counters", 8: Write "lines", 9: Write "draw_args", 10: Uniform "draw" }

    /// Which pairs of a step the step before had as well.
    EVENT_MATCH = "event_match"
    ["common/counters.wgsl", "common/wide.wgsl", "common/workgroup.wgsl", "common/indirect.wgsl", "common/event.wgsl", "common/event_rows.wgsl", "event_match.wgsl"]
    { 0: Uniform "event", 1: Read "pairs", 2: Read "static_generations", 3: Read "generations", 4: Read "step_counters", 5: Read "previous_rows", 6: Read "previous_table", 7: Write "marks", 8: Write "matched" }

    /// Pairs that persist and pairs that begin.
    EVENT_EMIT = "event_emit"
    ["common/counters.wgsl", "common/wide.wgsl", "common/workgroup.wgsl", "common/indirect.wgsl", "common/event.wgsl", "common/event_rows.wgsl", "event_emit.wgsl"]
    { 0: Uniform "event", 1: Read "pairs", 2: Read "static_generations", 3: Read "generations", 4: Read "step_counters", 7: Read "marks", 8: Write "rows", 9: Write "counters" }

    /// Pairs that end.
    EVENT_END = "event_end"
    ["common/workgroup.wgsl", "common/indirect.wgsl", "common/event.wgsl", "event_end.wgsl"]
    { 0: Uniform "event", 5: Read "previous_rows", 6: Read "previous_counters", 7: Read "matched", 8: Write "ended", 9: Write "counters" }

    /// The hash table of a step's pairs.
    EVENT_INSERT = "event_insert"
    ["common/workgroup.wgsl", "common/indirect.wgsl", "common/event.wgsl", "event_insert.wgsl"]
    { 0: Uniform "event", 5: Read "rows", 6: Read "counters", 7: Write "table" }

    /// Pairs to sort: their second keys.
    ORDER_SECONDS_PAIRS = "order_seconds_pairs"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_pairs.wgsl", "order_seconds.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 3: Write "keys", 4: Write "values", 5: Write "grid", 6: Read "offsets" }

    /// Pairs to sort: their first keys.
    ORDER_FIRSTS_PAIRS = "order_firsts_pairs"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_pairs.wgsl", "order_firsts.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 3: Write "keys", 4: Read "values", 6: Read "offsets" }

    /// Pairs in ascending order.
    ORDER_ROWS_PAIRS = "order_rows_pairs"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_pairs.wgsl", "order_rows.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 4: Read "values", 5: Write "ordered_rows", 6: Read "offsets" }

    /// Hits to sort: their second keys.
    ORDER_SECONDS_HITS = "order_seconds_hits"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_hits.wgsl", "order_seconds.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 3: Write "keys", 4: Write "values", 5: Write "grid", 6: Read "offsets" }

    /// Hits to sort: their first keys.
    ORDER_FIRSTS_HITS = "order_firsts_hits"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_hits.wgsl", "order_firsts.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 3: Write "keys", 4: Read "values", 6: Read "offsets" }

    /// Hits in ascending order.
    ORDER_ROWS_HITS = "order_rows_hits"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_hits.wgsl", "order_rows.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 4: Read "values", 5: Write "ordered_rows", 6: Read "offsets" }

    /// Results to sort: their second keys.
    ORDER_SECONDS_RESULTS = "order_seconds_results"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_results.wgsl", "order_seconds.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 3: Write "keys", 4: Write "values", 5: Write "grid", 6: Read "offsets" }

    /// Results to sort: their first keys.
    ORDER_FIRSTS_RESULTS = "order_firsts_results"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_results.wgsl", "order_firsts.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 3: Write "keys", 4: Read "values", 6: Read "offsets" }

    /// Results in ascending order.
    ORDER_ROWS_RESULTS = "order_rows_results"
    ["common/workgroup.wgsl", "common/prelude.wgsl", "common/counters.wgsl", "common/wide.wgsl", "common/grid.wgsl", "common/order.wgsl", "common/order_results.wgsl", "order_rows.wgsl"]
    { 0: Uniform "params", 1: Read "rows", 2: Read "counters", 4: Read "values", 5: Write "ordered_rows", 6: Read "offsets" }
}

#[cfg(test)]
mod tests;
