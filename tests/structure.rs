//! How the library is built: imports of its files point one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Files under `src/` by the path of their module: `gpu::buffers`, and nothing for the root.
fn modules(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}::{name}")
        };
        if path.is_dir() {
            modules(&path, &module, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" {
            let module = if name == "mod" { prefix.to_owned() } else { module };
            let text = fs::read_to_string(&path).unwrap();
            // Tests may look at everything.
            let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            found.insert(if module == "lib" { String::new() } else { module }, text);
        }
    }
}

/// The paths that a text imports, without what stands in braces.
fn imports(module: &str, text: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut paths = Vec::new();
    for statement in text.split("\nuse ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let (base, inner) = statement.split_once('{').unwrap_or((statement, ""));
        let base = match base.trim() {
            path if path.starts_with("crate::") => path["crate::".len()..].to_owned(),
            path if path.starts_with("super::") && parent.is_empty() => path["super::".len()..].to_owned(),
            path if path.starts_with("super::") => format!("{parent}::{}", &path["super::".len()..]),
            _ => continue,
        };
        if inner.is_empty() {
            paths.push(base);
        } else {
            let inner = inner.trim_end_matches(['}', ' ', '\n', ',']);
            paths.extend(inner.split(',').map(|name| format!("{base}{}", name.trim())));
        }
    }
    paths
}

/// Each module and those that it imports.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = BTreeMap::new();
    modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert!(files.len() > 90, "{}", files.len());
    // The longest module that a path names.
    let named = |path: &str| {
        let mut path = path;
        loop {
            if files.contains_key(path) {
                return Some(path.to_owned());
            }
            path = path.rsplit_once("::")?.0;
        }
    };
    let mut arrows = BTreeMap::new();
    for (module, text) in files.iter().filter(|(module, _)| !module.is_empty()) {
        let targets = imports(module, text).into_iter().filter_map(|path| named(&path));
        arrows.insert(module.clone(), targets.filter(|target| target != module).collect());
    }
    arrows
}

/// From what all others may import to what may import all others. Plain data and grid maths may import each other.
const LAYERS: [&[&str]; 7] = [
    &["api", "shared"],
    &["gpu"],
    &["stages"],
    &["step"],
    &["reference"],
    &["beside"],
    &["shaders"],
];

#[test]
fn imports_point_to_layers_below() {
    let layer = |module: &str| {
        let folder = module.split("::").next().unwrap_or_default();
        LAYERS.iter().position(|layer| layer.contains(&folder))
    };
    for (module, targets) in arrows().iter().filter(|(module, _)| !module.ends_with("tests")) {
        let own = layer(module).unwrap_or_else(|| panic!("{module} is in no layer"));
        for target in targets {
            assert!(layer(target).is_some_and(|of| of <= own), "{module} imports {target}");
        }
    }
}

#[test]
fn imports_have_no_circle() {
    let mut arrows = arrows();
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 200, "{arrows:?}");
    // What imports nothing that is left goes, until only circles are left.
    loop {
        let left: BTreeSet<String> = arrows.keys().cloned().collect();
        let free = |targets: &BTreeSet<String>| targets.is_disjoint(&left);
        let before = arrows.len();
        arrows.retain(|_, targets| !free(targets));
        if arrows.len() == before {
            break;
        }
    }
    assert!(
        arrows.is_empty(),
        "a circle of imports, or what leads into one: {arrows:#?}"
    );
}
