//! Tests the fault detector with removed barriers and planted faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use gpu_broad_phase::shaders::{Pass, passes};

use crate::check::few;
use crate::code::Program;
use crate::common::scenes;
use crate::devices::{Case, Warps, memories, run, told};
use crate::findings::{Findings, Tally};
use crate::harness::Bench;
use crate::lower::lower;
use crate::machine::Config;
use crate::suite::{check_alone, check_scenes};

struct Mutant {
    what: String,
    barrier: Option<(String, usize)>,
    text: String,
}

/// Pass, description, text of the pass, and its replacement.
const PLANTED: [(&str, &str, &str, &str); 7] = [
    (
        "keys",
        "two invocations of a workgroup write one word",
        "keys[object] = key;",
        "keys[object & 0xfffffffeu] = key;",
    ),
    (
        "scan_reduce",
        "all workgroups write one word",
        "tile_sums[",
        "tile_sums[0u * ",
    ),
    (
        "gather",
        "records one too far",
        "records[2u * index + 1u]",
        "records[2u * index + 9000001u]",
    ),
    (
        "sort_scatter",
        "an index past an array of the workgroup",
        "counts[8u * local + k] = running;",
        "counts[8u * local + k + 8u] = running;",
    ),
    (
        "clusters",
        "a barrier in a branch",
        "workgroupBarrier();",
        "if (local < 7u) { workgroupBarrier(); }",
    ),
    (
        "level_statistics",
        "a sum that nobody sets to 0",
        "atomicStore(&local_levels[local], 0u);",
        "",
    ),
    ("device_count", "an index past the end", "counts[", "counts[5000u + "),
];

/// Barriers without observable effect: pass, file, index in the file, and reason.
const REDUNDANT: [(&str, &str, usize, &str); 1] = [(
    "layout",
    "table/levels.wgsl",
    2,
    "parts the levels from those who read them in `keys`; here is nobody",
)];

/// One mutant per barrier, and one without the uniform load, which acts as a barrier.
fn without_barriers(program: &Program, source: &str) -> Vec<Mutant> {
    let barriers = ["workgroupBarrier();", "storageBarrier();"];
    let mut calls: Vec<_> = barriers
        .into_iter()
        .flat_map(|text| source.match_indices(text))
        .collect();
    calls.sort_unstable();
    let mut before = BTreeMap::new();
    let without = calls.into_iter().map(|(at, text)| {
        let line = source[..at].matches('\n').count() as u32 + 1;
        let file = program.file(line).to_owned();
        let number = before.entry(file.clone()).or_insert(0);
        *number += 1;
        Mutant {
            what: format!("without {text} at {}", program.place(line)),
            barrier: Some((file, *number - 1)),
            text: format!(
                "{}{}{}",
                &source[..at],
                " ".repeat(text.len()),
                &source[at + text.len()..]
            ),
        }
    });
    let without: Vec<_> = without.collect();
    let load = "workgroupUniformLoad(&subgroups)";
    let loads = source.contains(load).then(|| Mutant {
        what: format!("without {load}"),
        barrier: None,
        text: source.replacen(load, "subgroups", 1),
    });
    without.into_iter().chain(loads).collect()
}

/// Returns findings as text, without counts and examples.
fn findings_of(pass: &'static Pass, source: &str, cases: &[Case]) -> BTreeSet<String> {
    let config = Config {
        watches: true,
        counts: false,
        seed: 0,
        in_flight: 1,
        limit: 500_000,
    };
    let mut all = BTreeSet::new();
    for case in cases {
        let program = lower(pass.name, source, &case.constants, true);
        let mut memories = memories(&program, |buffer| {
            let (_, words, given) = case.memories.iter().find(|(name, ..)| *name == buffer.name)?;
            Some((words.clone(), *given))
        });
        let (findings, _): (Findings, _) = run(32, &program, &mut memories, case.groups, config);
        all.extend(
            findings
                .keys()
                .map(|finding| told(&program, finding, &Tally::default())),
        );
    }
    all
}

pub fn mutate(only: Option<&str>, thoroughly: bool) -> bool {
    let warps = Arc::new(Warps::keeping(2));
    let mut bench = Bench::new(warps.clone());
    check_scenes(&mut bench, false, few());
    if thoroughly {
        let larger = scenes(42)
            .enumerate()
            .filter(|(index, _)| [4, 9, 11, 17].contains(index));
        check_scenes(&mut bench, false, larger);
    }
    check_alone(&mut bench, thoroughly);
    let log = warps.log.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = 0;
    let mut silent = Vec::new();
    for pass in passes().filter(|pass| only.is_none_or(|only| only == pass.name)) {
        let source = pass.source();
        let cases = &log[pass.name].cases;
        let program = lower(pass.name, &source, &cases[0].constants, true);
        let mut mutants = without_barriers(&program, &source);
        for &(_, what, from, to) in PLANTED.iter().filter(|planted| planted.0 == pass.name) {
            assert!(source.contains(from), "{} has no {from}", pass.name);
            mutants.push(Mutant {
                what: what.to_owned(),
                barrier: None,
                text: source.replacen(from, to, 1),
            });
        }
        if mutants.is_empty() {
            continue;
        }
        let right = findings_of(pass, &source, cases);
        for Mutant { what, barrier, text } in mutants {
            match findings_of(pass, &text, cases).difference(&right).next() {
                Some(first) => {
                    found += 1;
                    println!("{}, {what}: {}", pass.name, first.trim_end_matches(":  (0 times)"));
                }
                None => {
                    let is_this = |of: &&(&str, &str, usize, &str)| {
                        let (name, file, number, _) = **of;
                        name == pass.name && barrier == Some((file.to_owned(), number))
                    };
                    match REDUNDANT.iter().find(is_this) {
                        Some((.., why)) => println!("{}, {what}: redundant: {why}", pass.name),
                        None => silent.push(format!("{}, {what}", pass.name)),
                    }
                }
            }
        }
    }
    println!(
        "{found} mutants are found, and {} are neither found nor redundant",
        silent.len()
    );
    silent.iter().for_each(|mutant| println!("not found: {mutant}"));
    silent.is_empty()
}
