//! Language of comments and documents. Hard patterns and words are counted, and their limits may only fall.

use std::fs;
use std::path::Path;

use crate::files::{files, root};

/// A pattern, its limit, and a function that counts it in a block of text.
type Pattern = (&'static str, usize, fn(&[&str]) -> usize);

/// Limits are today's counts. `CONTRIBUTING.md` has the rules.
const PATTERNS: [Pattern; 9] = [
    ("a block begins with What, Who, Where, How many or How much", 0, clause),
    ("a block begins with Whether", 0, |words| {
        usize::from(words[0] == "Whether")
    }),
    ("so many, so much", 0, |words| pairs(words, &["so"], &["many", "much"])),
    ("of a caller's", 0, |words| {
        let is_of = |three: &&[&str]| three[0] == "of" && ["a", "the"].contains(&three[1]) && three[2] == "caller's";
        words.windows(3).filter(is_of).count()
    }),
    ("lies", 2, |words| one_of(words, &["lie", "lies"])),
    ("tells", 0, |words| one_of(words, &["tell", "tells"])),
    ("takes no part", 0, |words| pairs(words, &["no"], &["part"])),
    ("anew", 0, |words| one_of(words, &["anew"])),
    ("twin", 0, |words| one_of(words, &["twin", "reference_walks", "Twin"])),
];

const MAX_WORDS: usize = 115_000;

/// Documents, and the limit of their words together.
const DOCUMENTS: [(&str, usize); 3] = [
    ("ARCHITECTURE.md", 1_500),
    ("docs/decisions.md", 5_300),
    (
        "README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/compare.md docs/decisions.md \
         docs/interpreter.md docs/measurements.md docs/promises.md docs/tiles.md docs/tried.md",
        19_000,
    ),
];

fn clause(words: &[&str]) -> usize {
    let is_clause = match words[0] {
        "What" | "Who" | "Where" => true,
        "How" => ["many", "much"].contains(words.get(1).unwrap_or(&"")),
        _ => false,
    };
    usize::from(is_clause && !words[words.len() - 1].ends_with('?'))
}

fn letters(word: &str) -> &str {
    word.trim_matches(|letter: char| !letter.is_alphanumeric())
}

fn one_of(words: &[&str], wanted: &[&str]) -> usize {
    words.iter().filter(|word| wanted.contains(&letters(word))).count()
}

fn pairs(words: &[&str], first: &[&str], second: &[&str]) -> usize {
    let is_pair = |two: &&[&str]| first.contains(&two[0]) && second.contains(&letters(two[1]));
    words.windows(2).filter(is_pair).count()
}

fn text_of(line: &str, is_document: bool) -> Option<&str> {
    let line = line.trim();
    if is_document {
        return Some(line).filter(|line| !line.is_empty());
    }
    let is_parsed = line.starts_with("// uses:") || line.starts_with("// needs:");
    if is_parsed || line.starts_with("#[") || line.starts_with("#!") || line.starts_with("*/") {
        return None;
    }
    let marks = ["///", "//!", "//", "#", "*"];
    let comment = marks.iter().find_map(|mark| line.strip_prefix(mark))?.trim();
    Some(comment).filter(|comment| !comment.is_empty())
}

fn blocks(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let is_document = path.extension() == Some("md".as_ref());
    let mut blocks = vec![String::new()];
    for line in text.lines() {
        let current = blocks.last_mut().unwrap();
        match text_of(line, is_document) {
            Some(text) => {
                current.push_str(text);
                current.push(' ');
            }
            None if current.is_empty() => {}
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

#[test]
fn comments_and_documents_have_few_hard_patterns() {
    let root = root();
    let mut paths = files(&root, &[".rs", ".wgsl", ".md", ".ts", ".py", ".pyi"]);
    // Reports are kept as they were written.
    paths.retain(|path| !path.starts_with(root.join("benches/results")));
    assert!(paths.len() > 500, "{}", paths.len());
    let mut words_in_all = 0;
    let mut found = PATTERNS.map(|_| Vec::new());
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        for block in blocks(&path) {
            let words: Vec<_> = block.split_whitespace().collect();
            words_in_all += words.len();
            for (place, (_, _, count)) in PATTERNS.iter().enumerate() {
                let start: String = block.chars().take(90).collect();
                found[place].extend((0..count(&words)).map(|_| format!("{name}: {start}")));
            }
        }
    }
    println!("{words_in_all} of {MAX_WORDS} words");
    for (found, (pattern, most, _)) in found.iter().zip(PATTERNS) {
        let count = found.len();
        assert!(
            count <= most,
            "{pattern}: {count} times of {most}\n{}",
            found.join("\n")
        );
    }
    assert!(words_in_all <= MAX_WORDS, "{words_in_all} words");
}

#[test]
fn documents_are_short() {
    for (names, most) in DOCUMENTS {
        let texts = names
            .split(' ')
            .map(|name| fs::read_to_string(root().join(name)).unwrap());
        let words: usize = texts.map(|text| text.split_whitespace().count()).sum();
        assert!(words <= most, "{names:?}: {words} words of {most}");
    }
}

#[test]
fn files_named_in_documents_exist() {
    let folders = "src/ shaders/ tests/ docs/ benches/ examples/ integrations/ fuzz/ .ci/";
    let documents = "ARCHITECTURE.md CONTRIBUTING.md README.md docs/promises.md docs/decisions.md docs/measurements.md";
    let mut named = 0;
    for document in documents.split(' ') {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for quoted in text.split('`').skip(1).step_by(2) {
            let path = quoted.split_whitespace().next().unwrap_or_default();
            if folders.split(' ').any(|folder| path.starts_with(folder)) && !path.contains(['<', '*', '{']) {
                named += 1;
                assert!(
                    root().join(path).exists(),
                    "{document} names {path}, which does not exist"
                );
            }
        }
    }
    assert!(named > 80, "{named}");
}
