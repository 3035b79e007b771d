//! The pass table: every compute pass, and the WGSL that it is joined from.
//!
//! A pass is a plain concatenation of files under `shaders/`. Nothing is preprocessed, so what [`Pass::source`] returns
//! is what a profiler shows. Tests validate each pass.

mod link;

use std::sync::OnceLock;

use link::{File, Slots};

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
    /// Name of the pass; without the suffix of its kind of scheme that of its last WGSL file, and without that of its
    /// kind of sort that of its twin in [`reference`](crate::reference).
    pub name: &'static str,
    /// The WGSL file that has the entry point.
    root: &'static str,
    slots: Slots,
    linked: OnceLock<Linked>,
}

#[derive(Debug)]
struct Linked {
    files: Vec<File>,
    bindings: Vec<(u32, Binding, &'static str)>,
}

impl Pass {
    const fn new(name: &'static str, root: &'static str, slots: Slots) -> Self {
        Self {
            name,
            root,
            slots,
            linked: OnceLock::new(),
        }
    }

    fn linked(&self) -> &Linked {
        self.linked.get_or_init(|| {
            let files = link::link(self.root, self.slots);
            let bindings = link::bindings(&files);
            Linked { files, bindings }
        })
    }

    /// The WGSL that runs, as one text. Where [`features`](Self::features) has `SUBGROUP`, WGSL wants `enable
    /// subgroups;` before it; wgpu's own front end knows no such line and does without.
    pub fn source(&self) -> String {
        link::join(&self.linked().files)
    }

    /// What the pass binds in group 0, in ascending order: number, kind, and the name of the variable, which is that of
    /// the buffer.
    pub fn bindings(&self) -> &[(u32, Binding, &'static str)] {
        &self.linked().bindings
    }

    /// Whether it has an override of this name.
    pub(crate) fn declares(&self, constant: &str) -> bool {
        let declaration = format!("override {constant}:");
        self.linked().files.iter().any(|(_, text)| text.contains(&declaration))
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

/// What a caller's shader joins to walk a table: schemes of one entry an object, or that of covered cells.
pub(crate) fn table(is_covered: bool) -> String {
    let slots: Slots = if is_covered {
        &[("entry", "covered")]
    } else {
        &[("entry", "one_cell")]
    };
    link::join(&link::link("queries/table", slots))
}

/// All passes, in the order in which a step may run them.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    ALL.iter().copied()
}

/// The passes of each stage. A pass is joined from the file of its own name in the stage's folder, or `from` another
/// file there with these choices for slots.
macro_rules! passes {
    ($($stage:literal { $(
        $(#[$doc:meta])* $constant:ident = $name:literal $(from $root:literal { $($slot:ident: $choice:literal),+ })?;
    )+ })+) => {
        $($(
            $(#[$doc])*
            pub static $constant: Pass = Pass::new(
                $name,
                root!($stage $name $($root)?),
                &[$($((stringify!($slot), $choice)),+)?],
            );
        )+)+
        static ALL: &[&Pass] = &[$($(&$constant),+),+];
    };
}

macro_rules! root {
    ($stage:literal $name:literal) => {
        concat!($stage, "/", $name)
    };
    ($stage:literal $name:literal $root:literal) => {
        concat!($stage, "/", $root)
    };
}

passes! {
    "table" {
        /// Changed boxes to the slots of an [`ObjectSet`](crate::ObjectSet).
        SCATTER = "scatter";

        /// Objects as the other passes read them.
        PREPARE = "prepare";

        /// Histogram of sizes.
        SIZE_STATISTICS = "size_statistics";

        /// How crowded the cells of each octave would be.
        DENSITY = "density";

        /// The choice of the finest cell.
        BASE_CELL = "base_cell";

        /// Objects and bounds of every level.
        LEVEL_STATISTICS = "level_statistics";

        /// The levels' parts of the cell table.
        LAYOUT = "layout";

        /// Keys of the schemes of one entry an object.
        KEYS = "keys";

        /// Entries of the cover table, for each choice of its cells.
        COVER_COUNT = "cover_count";

        /// The choice of the cover table's cells, and the places of its entries.
        COVER_LAYOUT = "cover_layout";

        /// Entries of larger boxes in the cover table.
        COVER_EMIT = "cover_emit";

        /// Cells covered by each object of the uniform scheme.
        ENTRY_COUNT = "entry_count";

        /// Entries of the uniform scheme.
        ENTRY_EMIT = "entry_emit";

        /// The cell table.
        CELL_STARTS = "cell_starts";

        /// Boxes in the order of the walks.
        GATHER = "gather";
    }

    "scan" {
        /// Sums of the tiles of an exclusive scan.
        SCAN_REDUCE = "scan_reduce";

        /// Offsets of the tiles of an exclusive scan.
        SCAN_SPINE = "scan_spine";

        /// The exclusive scan itself.
        SCAN_APPLY = "scan_apply";
    }

    "sort" {
        /// Digit counts of a radix sort pass, tile by tile.
        SORT_HISTOGRAM = "sort_histogram";

        /// Digit counts of a radix sort pass, strip by strip.
        SORT_HISTOGRAM_STRIPS = "sort_histogram_strips";

        /// Digit counts of a radix sort pass as offsets.
        SORT_SCAN = "sort_scan";

        /// Digit counts of strips as offsets.
        SORT_SCAN_STRIPS = "sort_scan_strips";

        /// The move of a radix sort pass.
        SORT_SCATTER = "sort_scatter";

        /// The move of a radix sort pass, by ballots.
        SORT_SCATTER_SUBGROUPS = "sort_scatter_subgroups";

        /// The move of a radix sort pass, strip by strip.
        SORT_SCATTER_STRIPS = "sort_scatter_strips";
    }

    "pairs" {
        /// Pairs an entry, schemes of one entry an object.
        PAIR_COUNT_ONE_CELL = "pair_count_one_cell" from "pair_count" {
            entry: "one_cell", kept: "write", visit: "pairs/pair_test"
        };

        /// The same where boxes crowd: a bit for each box test is kept.
        PAIR_COUNT_CROWDED = "pair_count_crowded" from "pair_count" {
            entry: "one_cell", kept: "write", visit: "pairs/pair_test_strips"
        };

        /// Pairs an entry, scheme of covered cells.
        PAIR_COUNT_COVERED = "pair_count_covered" from "pair_count" { entry: "covered", kept: "none" };

        /// Pairs a world.
        WORLD_PAIRS = "world_pairs";

        /// Pairs whose partners were kept, one entry an object.
        PAIR_EMIT_KEPT = "pair_emit_kept";

        /// Pairs of crowded boxes by the bits that counting kept, one entry an object.
        PAIR_REPLAY = "pair_replay" from "pair_replay" {
            entry: "one_cell", visit: "pairs/pair_replay", walks: "listed"
        };

        /// The rest of the pairs, schemes of one entry an object.
        PAIR_EMIT_ONE_CELL = "pair_emit_one_cell" from "pair_emit" {
            entry: "one_cell", visit: "pairs/pair_test", walks: "listed"
        };

        /// The pairs, scheme of covered cells.
        PAIR_EMIT_COVERED = "pair_emit_covered" from "pair_emit" { entry: "covered", walks: "all" };

        /// Pairs with static objects a moving object, schemes of one entry an object.
        PAIR_STATIC_COUNT_ONE_CELL = "pair_static_count_one_cell" from "pair_static_count" {
            entry: "one_cell", kept: "write"
        };

        /// Pairs with static objects a moving object, scheme of covered cells.
        PAIR_STATIC_COUNT_COVERED = "pair_static_count_covered" from "pair_static_count" {
            entry: "covered", kept: "none"
        };

        /// Pairs with static objects a world.
        WORLD_PAIRS_STATIC = "world_pairs_static";

        /// The pairs with static objects, schemes of one entry an object.
        PAIR_STATIC_EMIT_ONE_CELL = "pair_static_emit_one_cell" from "pair_static_emit" {
            entry: "one_cell", kept: "read"
        };

        /// The pairs with static objects, scheme of covered cells.
        PAIR_STATIC_EMIT_COVERED = "pair_static_emit_covered" from "pair_static_emit" {
            entry: "covered", kept: "none"
        };
    }

    "rays" {
        /// Keys by which rays are put in the order of where they start.
        RAY_KEYS = "ray_keys";

        /// Hits a ray, schemes of one entry an object.
        RAY_COUNT_ONE_CELL = "ray_count_one_cell" from "ray_count" { entry: "one_cell", order: "read" };

        /// Hits a ray, scheme of covered cells.
        RAY_COUNT_COVERED = "ray_count_covered" from "ray_count" { entry: "covered", order: "none" };

        /// The hits, schemes of one entry an object.
        RAY_EMIT_ONE_CELL = "ray_emit_one_cell" from "ray_emit" { entry: "one_cell", order: "read" };

        /// The hits, scheme of covered cells.
        RAY_EMIT_COVERED = "ray_emit_covered" from "ray_emit" { entry: "covered", order: "none" };

        /// The closest hits, schemes of one entry an object.
        RAY_CLOSEST_ONE_CELL = "ray_closest_one_cell" from "ray_closest" { entry: "one_cell", order: "read" };

        /// The closest hits, scheme of covered cells.
        RAY_CLOSEST_COVERED = "ray_closest_covered" from "ray_closest" { entry: "covered", order: "none" };

        /// Whether rays meet anything, schemes of one entry an object.
        RAY_ANY_ONE_CELL = "ray_any_one_cell" from "ray_any" { entry: "one_cell", order: "read" };

        /// Whether rays meet anything, scheme of covered cells.
        RAY_ANY_COVERED = "ray_any_covered" from "ray_any" { entry: "covered", order: "none" };

        /// Cells a ray.
        RAY_CELLS_COUNT = "ray_cells_count";

        /// The cells of rays.
        RAY_CELLS_EMIT = "ray_cells_emit";
    }

    "queries" {
        /// Rays or queries of which the device says how many are asked.
        LIMIT_ASKED = "limit_asked";

        /// Results a query, schemes of one entry an object.
        QUERY_COUNT_ONE_CELL = "query_count_one_cell" from "query_count" { entry: "one_cell" };

        /// Results a query, scheme of covered cells.
        QUERY_COUNT_COVERED = "query_count_covered" from "query_count" { entry: "covered" };

        /// The results, schemes of one entry an object.
        QUERY_EMIT_ONE_CELL = "query_emit_one_cell" from "query_emit" { entry: "one_cell" };

        /// The results, scheme of covered cells.
        QUERY_EMIT_COVERED = "query_emit_covered" from "query_emit" { entry: "covered" };

        /// The nearest objects of each query, schemes of one entry an object.
        QUERY_NEAREST_ONE_CELL = "query_nearest_one_cell" from "query_nearest" { entry: "one_cell" };

        /// The nearest objects of each query, scheme of covered cells.
        QUERY_NEAREST_COVERED = "query_nearest_covered" from "query_nearest" { entry: "covered" };
    }

    "order" {
        /// Pairs to sort: their second keys.
        ORDER_SECONDS_PAIRS = "order_seconds_pairs" from "order_seconds" { rows: "pairs" };

        /// Pairs to sort: their first keys.
        ORDER_FIRSTS_PAIRS = "order_firsts_pairs" from "order_firsts" { rows: "pairs" };

        /// Pairs in ascending order.
        ORDER_ROWS_PAIRS = "order_rows_pairs" from "order_rows" { rows: "pairs" };

        /// Hits to sort: their second keys.
        ORDER_SECONDS_HITS = "order_seconds_hits" from "order_seconds" { rows: "hits" };

        /// Hits to sort: their first keys.
        ORDER_FIRSTS_HITS = "order_firsts_hits" from "order_firsts" { rows: "hits" };

        /// Hits in ascending order.
        ORDER_ROWS_HITS = "order_rows_hits" from "order_rows" { rows: "hits" };

        /// Results to sort: their second keys.
        ORDER_SECONDS_RESULTS = "order_seconds_results" from "order_seconds" { rows: "results" };

        /// Results to sort: their first keys.
        ORDER_FIRSTS_RESULTS = "order_firsts_results" from "order_firsts" { rows: "results" };

        /// Results in ascending order.
        ORDER_ROWS_RESULTS = "order_rows_results" from "order_rows" { rows: "results" };
    }

    "events" {
        /// Which pairs of a step the step before had as well.
        EVENT_MATCH = "event_match";

        /// Pairs that persist and pairs that begin.
        EVENT_EMIT = "event_emit";

        /// Pairs that end.
        EVENT_END = "event_end";

        /// The hash table of a step's pairs.
        EVENT_INSERT = "event_insert";
    }

    "draw" {
        /// Lines of the objects' boxes.
        DRAW_BOXES = "draw_boxes";

        /// Lines of occupied cells, schemes of one entry an object.
        DRAW_CELLS_ONE_CELL = "draw_cells_one_cell" from "draw_cells" { entry: "one_cell" };

        /// Lines of occupied cells, scheme of covered cells.
        DRAW_CELLS_COVERED = "draw_cells_covered" from "draw_cells" { entry: "covered" };

        /// Lines between the boxes of pairs.
        DRAW_PAIRS = "draw_pairs";

        /// Lines of the cells that rays visit.
        DRAW_RAY_CELLS = "draw_ray_cells";
    }

    "dispatch" {
        /// Indirect dispatches over an output's rows.
        DISPATCH_ARGS = "dispatch_args";
    }
}

#[cfg(test)]
mod tests;
