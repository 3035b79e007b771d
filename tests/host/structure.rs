//! Checks the order of imports, and that tests read no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::files::{files, root};

fn modules(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = format!("{prefix}::{name}").trim_start_matches(':').to_owned();
        if path.is_dir() {
            modules(&path, &module, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" {
            let module = if name == "mod" { prefix.to_owned() } else { module };
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            found.insert(if module == "lib" { String::new() } else { module }, text);
        }
    }
}

fn imports(module: &str, text: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut paths = Vec::new();
    let text = text
        .replace("\npub use ", "\nuse ")
        .replace("\npub(crate) use ", "\nuse ");
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

fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = BTreeMap::new();
    modules(&root().join("src"), "", &mut files);
    assert!(files.len() > 90, "{}", files.len());
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

/// Layers, lowest first. A layer may import itself and earlier ones.
const LAYERS: &str = "shared api layout reference cpu gpu stages step broad_phase addons shaders";

#[test]
fn imports_point_to_layers_below() {
    let folder = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let layer = |module: &str| LAYERS.split(' ').position(|layer| layer == folder(module));
    for (module, targets) in arrows().iter().filter(|(module, _)| !module.ends_with("tests")) {
        let own = layer(module).unwrap_or_else(|| panic!("{module} is in no layer"));
        let is_of = |module: &str, folders: &[&str]| folders.contains(&&*folder(module));
        for target in targets {
            assert!(layer(target).is_some_and(|of| of <= own), "{module} imports {target}");
            let crosses = is_of(module, &["gpu", "stages", "step"]) && is_of(target, &["reference", "cpu"]);
            assert!(!crosses, "{module} imports {target}");
        }
    }
}

/// Watchdogs, and figures that nothing is held to.
const CLOCKS: [&str; 12] = [
    "tests/browser/run.py",
    "tests/browser/src/times.rs",
    "tests/oracles/compare.py",
    "tests/registers.rs",
    "tests/simt/src/check.rs",
    "tests/host/structure.rs",
    "integrations/bevy/tests/it/common.rs",
    "integrations/bevy/tests/it/gizmos.rs",
    "integrations/mpi/program/tests/killed.rs",
    "integrations/npm/tests/life.test.js",
    "integrations/python/tests/test_life.py",
    "integrations/python/tests/test_progress.py",
];

/// Tests limit counts, not times, since a busy machine must not fail them. Watchdogs wait at least ten minutes.
#[test]
fn no_test_depends_on_a_clock() {
    let root = root();
    let mut paths = files(&root.join("tests"), &[".rs", ".py", ".js"]);
    for parent in ["examples", "integrations", "integrations/mpi"] {
        for entry in fs::read_dir(root.join(parent)).unwrap() {
            let folder = entry.unwrap().path().join("tests");
            if folder.is_dir() {
                paths.extend(files(&folder, &[".rs", ".py", ".js"]));
            }
        }
    }
    assert!(paths.len() > 150, "{}", paths.len());
    let clocks = "Instant::now SystemTime:: .elapsed() performance.now perf_counter time.time( monotonic(";
    // Shortest allowed wait, in the unit of the call: seconds or milliseconds.
    let waits = [
        ("timeout=", 600),
        ("timeout: ", 600_000),
        ("recv_timeout(Duration::from_secs(", 600),
    ];
    let mut faults = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let mut fault = |what| faults.push(format!("{name}:{}: {what}: {}", number + 1, line.trim()));
            if !CLOCKS.contains(&&*name) && clocks.split(' ').any(|clock| line.contains(clock)) {
                fault("reads a clock");
            }
            for (word, least) in waits {
                for rest in line.split(word).skip(1) {
                    let digits = rest
                        .chars()
                        .filter(|&letter| letter != '_')
                        .take_while(char::is_ascii_digit);
                    let limit = digits.collect::<String>().parse::<u64>();
                    if limit.is_ok_and(|limit| limit < least) {
                        fault("waits for less than ten minutes");
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn imports_have_no_circle() {
    let mut arrows = arrows();
    assert!(arrows.values().map(BTreeSet::len).sum::<usize>() > 200, "{arrows:?}");
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
        "a circle, or modules that lead into one: {arrows:#?}"
    );
}
