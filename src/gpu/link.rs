//! Links the WGSL of a pass: its root file and all files that it uses, also indirectly, each once.
//!
//! A file declares what it uses at its top:
//!
//! ```wgsl
//! // uses: common/box, common/entry_{entry}
//! // needs: accept_hit
//! ```
//!
//! `{entry}` is a hole. Each pass fills it with its own word, so one file can be linked in several ways. The names
//! after `needs` must be declared by the files that use this one.

use crate::shared::wgsl::{FILES, File};

/// Kind of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A uniform block.
    Uniform,
    /// A read-only storage buffer.
    Read,
    /// A storage buffer that the pass writes.
    Write,
}

pub(crate) type Holes = &'static [(&'static str, &'static str)];

pub(crate) fn named(text: &'static str, what: &str) -> impl Iterator<Item = &'static str> {
    let start = format!("// {what}: ");
    let lines = text.lines().take_while(|line| line.starts_with("//"));
    lines
        .filter_map(move |line| line.strip_prefix(start.as_str()))
        .flat_map(|names| names.split(", "))
}

/// Returns the files of a pass, dependencies first, `root` last.
pub(crate) fn link(root: &str, holes: Holes) -> Vec<File> {
    let mut linked = Vec::new();
    visit(root, holes, &mut Vec::new(), &mut linked);
    linked
}

fn visit(path: &str, holes: Holes, met: &mut Vec<&'static str>, linked: &mut Vec<File>) {
    let found = FILES.binary_search_by_key(&path, |&(known, _)| known);
    let (path, text) = FILES[found.unwrap_or_else(|_| panic!("src/shared/wgsl.rs lists no file {path}"))];
    if met.contains(&path) {
        return;
    }
    met.push(path);
    for used in named(text, "uses") {
        visit(&filled(used, holes), holes, met, linked);
    }
    linked.push((path, text));
}

fn filled(path: &str, holes: Holes) -> String {
    let Some((before, rest)) = path.split_once('{') else {
        return path.to_owned();
    };
    let (name, after) = rest
        .split_once('}')
        .unwrap_or_else(|| panic!("a hole without an end: {path}"));
    let choice = holes.iter().find(|(hole, _)| *hole == name);
    let (_, choice) = choice.unwrap_or_else(|| panic!("the hole {name} of {path} is not filled"));
    format!("{before}{choice}{after}")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub path: &'static str,
    pub text: String,
    /// Variants of passes with this switch on have the text.
    pub switch: &'static str,
}

pub(crate) fn join(files: &[File], replacement: Option<&Replacement>) -> String {
    let parts = files.iter().map(|&(path, text)| {
        let replaced = replacement.filter(|replacement| replacement.path == path);
        let text = replaced.map_or(text, |replacement| &replacement.text);
        format!("// ---- {path}.wgsl\n{text}\n")
    });
    parts.collect()
}

/// Bindings must be declared one per line.
pub(crate) fn bindings(files: &[File]) -> Vec<(u32, Binding, &'static str)> {
    let lines = files.iter().flat_map(|(_, text)| text.lines());
    let mut bindings: Vec<_> = lines.filter_map(binding).collect();
    bindings.sort_unstable_by_key(|&(number, ..)| number);
    bindings
}

/// Constants must be declared one per line.
pub(crate) fn overrides(files: &[File]) -> Vec<&'static str> {
    let lines = files.iter().flat_map(|(_, text)| text.lines());
    let declarations = lines.filter_map(|line| line.strip_prefix("override ")?.split_once(':'));
    declarations.map(|(name, _)| name).collect()
}

/// Workgroup size, declared as a literal or by a constant in one of the files.
pub(crate) fn workgroup(files: &[File]) -> Option<u32> {
    let lines = || files.iter().flat_map(|(_, text)| text.lines());
    let size = lines().find_map(|line| line.strip_prefix("@compute @workgroup_size(")?.strip_suffix(')'))?;
    let declared = format!("const {size}: u32 = ");
    let constant = lines().find_map(|line| line.strip_prefix(&declared)?.strip_suffix("u;"));
    constant.unwrap_or(size).parse().ok()
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
