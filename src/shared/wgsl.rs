/// A file: its path under `shaders/` without extension, and its text.
pub(crate) type File = (&'static str, &'static str);

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../shaders/", $path, ".wgsl")))),+]
    };
}

pub(crate) static FILES: &[File] = files![
    "common/box",
    "common/candidates",
    "common/cells",
    "common/clusters",
    "common/counters",
    "common/entry",
    "common/filtered",
    "common/grid",
    "common/large_table",
    "common/murmur",
    "common/page",
    "common/prelude",
    "common/round",
    "common/round_counters",
    "common/rows",
    "common/source",
    "common/wide",
    "common/workgroup",
    "common/worlds",
    "cull/cull_args",
    "cull/cull_count",
    "cull/cull_emit",
    "cull/cull_objects",
    "cull/cull_views",
    "cull/view",
    "dispatch/dispatch_args",
    "draw/cell_lines",
    "draw/draw_boxes",
    "draw/draw_cells",
    "draw/draw_pairs",
    "draw/draw_ray_cells",
    "draw/lines",
    "events/event",
    "events/event_begun",
    "events/event_emit",
    "events/event_end",
    "events/event_insert",
    "events/event_match",
    "events/event_rows",
    "input/device_count",
    "input/gather_input",
    "order/order_firsts",
    "order/order_rows",
    "order/order_seconds",
    "order/order_worlds",
    "order/shown",
    "order/world_offsets",
    "pairs/admits_pair",
    "pairs/exclusions",
    "pairs/pair_boxes",
    "pairs/pair_cache",
    "pairs/pair_count",
    "pairs/pair_count_crowded",
    "pairs/pair_count_multi_cell",
    "pairs/pair_count_sparse",
    "pairs/pair_emit",
    "pairs/pair_emit_cached",
    "pairs/pair_emit_multi_cell",
    "pairs/pair_emit_single_cell",
    "pairs/pair_exclude",
    "pairs/pair_excludes",
    "pairs/pair_filter",
    "pairs/pair_own",
    "pairs/pair_params",
    "pairs/pair_replay",
    "pairs/pair_static",
    "pairs/pair_static_count",
    "pairs/pair_static_emit",
    "pairs/pair_static_multi_cell",
    "pairs/pair_static_single_cell",
    "pairs/pair_sums",
    "pairs/pair_sums_multi_cell",
    "pairs/pair_sums_single_cell",
    "pairs/pair_test_clusters",
    "pairs/pair_walk_multi_cell",
    "pairs/pair_walk_single_cell",
    "pairs/pair_write",
    "pairs/world_pairs",
    "pairs/world_pairs_static",
    "queries/query",
    "queries/query_cells",
    "queries/query_count",
    "queries/query_emit",
    "queries/query_image_own",
    "queries/query_input",
    "queries/query_nearest",
    "queries/query_params",
    "queries/query_walk",
    "rays/ray",
    "rays/ray_any",
    "rays/ray_cells",
    "rays/ray_cells_count",
    "rays/ray_cells_emit",
    "rays/ray_closely",
    "rays/ray_closest",
    "rays/ray_count",
    "rays/ray_emit",
    "rays/ray_entry",
    "rays/ray_hits",
    "rays/ray_keys",
    "rays/ray_params",
    "rays/ray_passage",
    "rays/ray_pays",
    "rays/ray_walk",
    "scan/scan",
    "scan/scan_apply",
    "scan/scan_reduce",
    "scan/scan_spine",
    "sort/sort",
    "sort/sort_before",
    "sort/sort_histogram",
    "sort/sort_histogram_serial",
    "sort/sort_next",
    "sort/sort_scan_serial",
    "sort/sort_scatter",
    "sort/sort_scatter_serial",
    "sort/sort_scatter_subgroups",
    "sort/sort_serial",
    "sort/sort_tiles",
    "table/base_cell",
    "table/cell_order",
    "table/clusters",
    "table/entry_count",
    "table/entry_emit",
    "table/gather",
    "table/keys",
    "table/large_table_emit",
    "table/layout",
    "table/level_statistics",
    "table/levels",
    "table/octave",
    "table/prepare",
    "table/sample_statistics",
    "table/scatter",
    "table/source_strided",
    "table/source_tight",
    "table/worlds",
    "table_shader/cast",
    "table_shader/shape_queries",
    "table_shader/shape_rays",
    "table_shader/walk",
];

/// Reads the number declared as `const NAME: u32 = 12u;` or similar. Runs at compile time, so that only WGSL has the
/// number.
///
/// # Panics
/// If the file or line is missing; in constants, this is a compile error.
pub(crate) const fn number(path: &str, name: &str) -> u32 {
    let mut index = 0;
    while index < FILES.len() {
        let (known, text) = FILES[index];
        if is_equal(known.as_bytes(), path.as_bytes()) {
            return number_in(text.as_bytes(), name.as_bytes());
        }
        index += 1;
    }
    panic!("no WGSL file of this path");
}

const fn number_in(text: &[u8], name: &[u8]) -> u32 {
    let mut line = 0;
    while line < text.len() {
        if let Some(at) = after(text, line, b"const ")
            && let Some(mut at) = after(text, at, name)
            && (text[at] == b':' || text[at] == b' ')
        {
            while text[at] != b'=' {
                at += 1;
            }
            return parsed(text, at + 2);
        }
        while line < text.len() && text[line] != b'\n' {
            line += 1;
        }
        line += 1;
    }
    panic!("the file declares no such number");
}

const fn parsed(text: &[u8], at: usize) -> u32 {
    let (mut at, base) = match after(text, at, b"0x") {
        Some(at) => (at, 16),
        None => (at, 10),
    };
    let mut value: u32 = 0;
    while let Some(digit) = (text[at] as char).to_digit(base) {
        value = value * base + digit;
        at += 1;
    }
    if text[at] == b'u' || text[at] == b'i' {
        at += 1;
    }
    assert!(text[at] == b';', "more than a plain number");
    value
}

const fn after(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    let mut index = 0;
    while index < word.len() {
        if at + index >= text.len() || text[at + index] != word[index] {
            return None;
        }
        index += 1;
    }
    Some(at + word.len())
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && after(a, 0, b).is_some()
}
