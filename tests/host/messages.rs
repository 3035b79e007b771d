//! Messages name no item of the crate, since they reach users of other interfaces.

use std::collections::BTreeSet;
use std::fs;

use crate::files::{files, root};

/// Folders of Rust files, and names that an interface shares.
const LAYERS: [(&str, &[&str]); 8] = [
    ("src", &[]),
    ("benches/src", &[]),
    ("examples/broadphase/src", &[]),
    ("integrations/bevy/src", &[]),
    ("integrations/mpi/src", &[]),
    ("integrations/mpi/program/src", &[]),
    ("integrations/npm/wasm/src", &[]),
    ("integrations/python/src", &["BroadPhase"]),
];

const OTHERS: [(&str, &str); 2] = [("integrations/npm/src", ".ts"), ("integrations/python/python", ".py")];

const ONLY_IN_RUST: &str = "BroadPhaseDescriptor Growth OutputOptions device_descriptor required_limits step_scene";

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// Exported types and functions of two or more words.
fn names() -> BTreeSet<String> {
    let is_of_two_words = |name: &&str| {
        let uppercase = name.chars().filter(|letter| letter.is_uppercase()).count();
        uppercase > 1 && name.chars().any(char::is_lowercase)
    };
    let exports = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let lists = exports.split("pub use ").skip(1);
    let exports = lists.flat_map(|rest| words(rest.split(';').next().unwrap_or_default()));
    let types = exports.filter(is_of_two_words).chain(["Capacities", "Growth"]);
    let mut names: BTreeSet<_> = types.map(str::to_owned).collect();
    for path in files(&root().join("src"), &[".rs"]) {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().filter(|line| line.trim_start().starts_with("pub "));
        let functions = lines.filter_map(|line| words(line.split_once(" fn ")?.1).next());
        names.extend(functions.filter(|name| name.contains('_')).map(str::to_owned));
    }
    names
}

/// String literals before a file's tests.
fn literals(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let letters: Vec<_> = text.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or_default();
    let mut found = Vec::new();
    let mut index = 0;
    while index < letters.len() {
        match (at(index), at(index + 1)) {
            ('/', '/') => index += letters[index..].iter().take_while(|&&letter| letter != '\n').count(),
            ('\'', '"') => index += 2,
            ('\'', '\\') => index += 3,
            ('"', _) => {
                let start = index + 1;
                index = start;
                while index < letters.len() && at(index) != '"' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                found.push(letters[start..index.min(letters.len())].iter().collect());
            }
            _ => {}
        }
        index += 1;
    }
    found
}

#[test]
fn messages_name_no_item_of_the_crate() {
    let names = names();
    assert!(names.contains("GpuBroadPhase") && names.contains("step_scene") && names.len() > 100);
    let mut count = 0;
    let mut bad = Vec::new();
    for (folder, own) in LAYERS {
        let folder = root().join(folder);
        for path in files(&folder, &[".rs"]) {
            let name = path.strip_prefix(&folder).unwrap().display().to_string();
            if name.ends_with("tests.rs") || name.contains("tests/") {
                continue;
            }
            let literals = literals(&fs::read_to_string(&path).unwrap());
            // Names of passes have no blanks.
            for literal in literals.into_iter().filter(|literal| literal.contains(' ')) {
                count += 1;
                let is_name = |word: &&str| names.contains(*word) && !own.contains(word);
                if literal.contains("::") || words(&literal).any(|word| is_name(&word)) {
                    bad.push(format!("{}: {literal}", path.display()));
                }
            }
        }
    }
    assert!(count > 700, "{count}");
    for (folder, ending) in OTHERS {
        for path in files(&root().join(folder), &[ending]) {
            let text = fs::read_to_string(&path).unwrap();
            let found = words(&text).find(|word| words(ONLY_IN_RUST).any(|name| name == *word));
            bad.extend(found.map(|word| format!("{}: {word}", path.display())));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn literals_are_found() {
    let text = r##"let a = "b \" c"; // "comment"
        let d = '"'; let e = '\''; f("g", 'h', "i::j k");"##;
    assert_eq!(literals(text), [r#"b \" c"#, "g", "i::j k"]);
}
