//! Joins the WGSL of a pass: its root, and every file that is used there or by what is used there, each once.
//!
//! A file names what it uses in lines at its top:
//!
//! ```wgsl
//! // uses: common/box, common/entry_{entry}
//! // needs: accept_hit
//! ```
//!
//! `{entry}` is a slot. Each pass fills it with a word of its own, so that one file is joined in several ways. What a
//! file *needs* is declared by those who use it.

use super::Binding;

/// A WGSL file: its path under `shaders/` without the ending, and its text.
pub(crate) type File = (&'static str, &'static str);

/// What the slots of a module are filled with.
pub(crate) type Slots = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../shaders/", $path, ".wgsl")))),+]
    };
}

/// All files, in the order of their paths. Each is compiled in once.
pub(crate) static FILES: &[File] = files![
    "common/box",
    "common/cells",
    "common/counters",
    "common/cover",
    "common/entry_covered",
    "common/entry_groups",
    "common/entry_one_cell",
    "common/grid",
    "common/grow",
    "common/indirect",
    "common/place",
    "common/prelude",
    "common/round",
    "common/round_counters",
    "common/rows",
    "common/wide",
    "common/workgroup",
    "dispatch/dispatch_args",
    "draw/cell_lines",
    "draw/draw_args",
    "draw/draw_boxes",
    "draw/draw_cells",
    "draw/draw_entry_covered",
    "draw/draw_entry_one_cell",
    "draw/draw_pairs",
    "draw/draw_ray_cells",
    "draw/lines",
    "events/event",
    "events/event_emit",
    "events/event_end",
    "events/event_insert",
    "events/event_match",
    "events/event_rows",
    "order/order_firsts",
    "order/order_hits",
    "order/order_pairs",
    "order/order_results",
    "order/order_rows",
    "order/order_seconds",
    "order/shown",
    "pairs/overlap",
    "pairs/pair_boxes",
    "pairs/pair_count",
    "pairs/pair_emit",
    "pairs/pair_emit_kept",
    "pairs/pair_filter",
    "pairs/pair_replay",
    "pairs/pair_slots_none",
    "pairs/pair_slots_read",
    "pairs/pair_slots_static_none",
    "pairs/pair_slots_static_read",
    "pairs/pair_slots_static_write",
    "pairs/pair_slots_write",
    "pairs/pair_static",
    "pairs/pair_static_count",
    "pairs/pair_static_emit",
    "pairs/pair_test",
    "pairs/pair_test_strips",
    "pairs/pair_walk_covered",
    "pairs/pair_walk_one_cell",
    "pairs/pair_walks_all",
    "pairs/pair_walks_listed",
    "pairs/pair_write",
    "pairs/pair_write_kept",
    "pairs/world_pairs",
    "pairs/world_pairs_static",
    "queries/limit_asked",
    "queries/query",
    "queries/query_again_covered",
    "queries/query_again_one_cell",
    "queries/query_cells",
    "queries/query_count",
    "queries/query_counters",
    "queries/query_emit",
    "queries/query_entry_covered",
    "queries/query_entry_one_cell",
    "queries/query_image_own",
    "queries/query_images",
    "queries/query_input",
    "queries/query_nearest",
    "queries/query_walk",
    "queries/table",
    "rays/ray",
    "rays/ray_any",
    "rays/ray_candidates",
    "rays/ray_cells",
    "rays/ray_cells_count",
    "rays/ray_cells_emit",
    "rays/ray_closely",
    "rays/ray_closest",
    "rays/ray_count",
    "rays/ray_counters",
    "rays/ray_emit",
    "rays/ray_entry_covered",
    "rays/ray_entry_one_cell",
    "rays/ray_hits",
    "rays/ray_kept",
    "rays/ray_keys",
    "rays/ray_order_none",
    "rays/ray_order_read",
    "rays/ray_walk",
    "scan/scan",
    "scan/scan_apply",
    "scan/scan_reduce",
    "scan/scan_spine",
    "sort/sort",
    "sort/sort_histogram",
    "sort/sort_histogram_strips",
    "sort/sort_scan",
    "sort/sort_scan_strips",
    "sort/sort_scatter",
    "sort/sort_scatter_strips",
    "sort/sort_scatter_subgroups",
    "sort/sort_strips",
    "table/base_cell",
    "table/cell_starts",
    "table/cover_count",
    "table/cover_emit",
    "table/cover_layout",
    "table/density",
    "table/entry_count",
    "table/entry_emit",
    "table/gather",
    "table/keys",
    "table/layout",
    "table/level_statistics",
    "table/octave",
    "table/prepare",
    "table/scatter",
    "table/size",
    "table/size_statistics",
    "table/worlds",
];

/// The words of the lines that begin with `// uses: ` or the like.
pub(crate) fn named(text: &'static str, what: &str) -> impl Iterator<Item = &'static str> {
    let start = format!("// {what}: ");
    let lines = text.lines().take_while(|line| line.starts_with("//"));
    lines
        .filter_map(move |line| line.strip_prefix(start.as_str()))
        .flat_map(|names| names.split(", "))
}

/// The files of a module, the root last. Files stand behind what they use.
pub(crate) fn link(root: &str, slots: Slots) -> Vec<File> {
    let mut linked = Vec::new();
    visit(root, slots, &mut Vec::new(), &mut linked);
    linked
}

fn visit(path: &str, slots: Slots, met: &mut Vec<&'static str>, linked: &mut Vec<File>) {
    let found = FILES.binary_search_by_key(&path, |&(known, _)| known);
    let (path, text) = FILES[found.unwrap_or_else(|_| panic!("no WGSL file {path}"))];
    if met.contains(&path) {
        return;
    }
    met.push(path);
    for used in named(text, "uses") {
        visit(&filled(used, slots), slots, met, linked);
    }
    linked.push((path, text));
}

/// A path with its slot filled.
fn filled(path: &str, slots: Slots) -> String {
    let Some((before, rest)) = path.split_once('{') else {
        return path.to_owned();
    };
    let (name, after) = rest
        .split_once('}')
        .unwrap_or_else(|| panic!("a slot without an end: {path}"));
    let choice = slots.iter().find(|(slot, _)| *slot == name);
    let (_, choice) = choice.unwrap_or_else(|| panic!("the slot {name} of {path} is not filled"));
    format!("{before}{choice}{after}")
}

/// The files as one text.
pub(crate) fn join(files: &[File]) -> String {
    let parts = files
        .iter()
        .map(|(path, text)| format!("// ---- {path}.wgsl\n{text}\n"));
    parts.collect()
}

/// What the files bind, by number: one declaration a line, of group 0. The variable has the name of the buffer.
pub(crate) fn bindings(files: &[File]) -> Vec<(u32, Binding, &'static str)> {
    let lines = files.iter().flat_map(|(_, text)| text.lines());
    let mut bindings: Vec<_> = lines.filter_map(binding).collect();
    bindings.sort_unstable_by_key(|&(number, ..)| number);
    bindings
}

fn binding(line: &'static str) -> Option<(u32, Binding, &'static str)> {
    let (number, rest) = line.strip_prefix("@group(0) @binding(")?.split_once(") var<")?;
    let (space, rest) = rest.split_once("> ")?;
    let (name, _) = rest.split_once(':')?;
    let kind = match space {
        "uniform" => Binding::Uniform,
        "storage, read" => Binding::Read,
        "storage, read_write" => Binding::Write,
        _ => return None,
    };
    Some((number.parse().ok()?, kind, name))
}
