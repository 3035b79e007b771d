//! Joins the WGSL of a pass: its root, and every file that is used there or by what is used there, each once.
//!
//! A file names what it uses in lines at its top:
//!
//! ```wgsl
//! // uses: common/box, common/entry_{entry}
//! // needs: accept_hit
//! ```
//!
//! `{entry}` is a slot. Each pass fills it with a word of its own, so that one file is joined in several ways. What a file
//! *needs* is declared by those who use it.

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
    "base_cell",
    "cell_starts",
    "common/box",
    "common/cells",
    "common/counters",
    "common/cover",
    "common/draw",
    "common/draw_args",
    "common/draw_cells",
    "common/draw_entry_covered",
    "common/draw_entry_one_cell",
    "common/entry_covered",
    "common/entry_groups",
    "common/entry_one_cell",
    "common/event",
    "common/event_rows",
    "common/grid",
    "common/grow",
    "common/indirect",
    "common/octave",
    "common/order",
    "common/order_hits",
    "common/order_pairs",
    "common/order_results",
    "common/overlap",
    "common/pair_boxes",
    "common/pair_filter",
    "common/pair_slots_none",
    "common/pair_slots_read",
    "common/pair_slots_static_none",
    "common/pair_slots_static_read",
    "common/pair_slots_static_write",
    "common/pair_slots_write",
    "common/pair_static",
    "common/pair_test",
    "common/pair_test_strips",
    "common/pair_walk_covered",
    "common/pair_walk_one_cell",
    "common/pair_walks_all",
    "common/pair_walks_listed",
    "common/pair_write",
    "common/pair_write_kept",
    "common/place",
    "common/prelude",
    "common/query",
    "common/query_again_covered",
    "common/query_again_one_cell",
    "common/query_cells",
    "common/query_counters",
    "common/query_entry_covered",
    "common/query_entry_one_cell",
    "common/query_image_own",
    "common/query_images",
    "common/query_input",
    "common/query_walk",
    "common/ray",
    "common/ray_candidates",
    "common/ray_cells",
    "common/ray_closely",
    "common/ray_counters",
    "common/ray_entry_covered",
    "common/ray_entry_one_cell",
    "common/ray_hits",
    "common/ray_kept",
    "common/ray_order_none",
    "common/ray_order_read",
    "common/ray_walk",
    "common/round",
    "common/round_counters",
    "common/rows",
    "common/scan",
    "common/size",
    "common/sort",
    "common/sort_strips",
    "common/table",
    "common/wide",
    "common/workgroup",
    "common/worlds",
    "cover_count",
    "cover_emit",
    "cover_layout",
    "density",
    "dispatch_args",
    "draw_boxes",
    "draw_cells",
    "draw_pairs",
    "draw_ray_cells",
    "entry_count",
    "entry_emit",
    "event_emit",
    "event_end",
    "event_insert",
    "event_match",
    "gather",
    "keys",
    "layout",
    "level_statistics",
    "limit_asked",
    "order_firsts",
    "order_rows",
    "order_seconds",
    "pair_count",
    "pair_emit",
    "pair_emit_kept",
    "pair_replay",
    "pair_static_count",
    "pair_static_emit",
    "prepare",
    "query_count",
    "query_emit",
    "query_nearest",
    "ray_any",
    "ray_cells_count",
    "ray_cells_emit",
    "ray_closest",
    "ray_count",
    "ray_emit",
    "ray_keys",
    "scan_apply",
    "scan_reduce",
    "scan_spine",
    "scatter",
    "size_statistics",
    "sort_histogram",
    "sort_histogram_strips",
    "sort_scan",
    "sort_scan_strips",
    "sort_scatter",
    "sort_scatter_strips",
    "sort_scatter_subgroups",
    "world_pairs",
    "world_pairs_static",
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
