use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_broad_phase::RayMode;
use gpu_broad_phase::shaders::passes;

use crate::check::{check_every_pass, few};
use crate::common::{Rng, uniform};
use crate::cost;
use crate::devices::{ENDLESS, Warps, run, told};
use crate::harness::Bench;
use crate::lower::lower;
use crate::machine::{Config, Memory};
use crate::recordings;
use crate::suite::check_scenes;
use crate::wgpu_backend::CostedDispatch;

macro_rules! every_pass {
    ($($name:ident: $lanes:literal, $by_chance:literal;)+) => {
        $(#[test]
        fn $name() {
            check_every_pass(&Arc::new(Warps::new($lanes, $by_chance)), false, few());
        })+
    };
}

every_pass! {
    every_pass_on_warps_of_1_in_order: 1, false;
    every_pass_on_warps_of_1_by_chance: 1, true;
    every_pass_on_warps_of_8_in_order: 8, false;
    every_pass_on_warps_of_8_by_chance: 8, true;
    every_pass_on_warps_of_32_in_order: 32, false;
    every_pass_on_warps_of_32_by_chance: 32, true;
}

#[test]
fn subgroups_have_16_or_64_lanes() {
    for lanes in [16, 64] {
        let mut bench = Bench::new(Arc::new(Warps::new(lanes, true)));
        check_scenes(&mut bench, false, few().skip(2).take(1));
        assert!(bench.run.borrow().contains(&("sort_scatter_subgroups", false)));
    }
}

/// Runs `body` on 64 words of 1 in two workgroups.
fn faults_of(body: &str) -> Vec<String> {
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
        @group(0) @binding(1) var<storage, read_write> atomics: array<atomic<u32>>;
        var<workgroup> shared_words: array<u32, 32>;
        var<workgroup> shared_flag: u32;
        fn count_up(counter: ptr<function, u32>) {{
            if (*counter == 7u) {{ return; }}
            *counter += 1u;
        }}
        @compute @workgroup_size(32)
        fn main(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
            @builtin(subgroup_invocation_id) lane: u32,
        ) {{
            let own = 32u * group.x + local;
            {body}
        }}"
    );
    let program = lower("planted", &source, &[], true);
    let mut all = Vec::new();
    for by_chance in [0, 1] {
        let mut memories: Vec<Memory> = program
            .buffers
            .iter()
            .map(|_| Memory {
                words: vec![1; 80],
                given: 64,
            })
            .collect();
        let config = Config {
            watches: true,
            counts: false,
            seed: by_chance,
            in_flight: 2,
            limit: ENDLESS.min(10_000),
        };
        let (findings, _) = run(8, &program, &mut memories, [2, 1], config);
        let texts = findings.iter().map(|(finding, tally)| told(&program, finding, tally));
        all.push(texts.collect::<Vec<_>>());
    }
    let [in_order, by_chance] = &all[..] else {
        unreachable!()
    };
    assert_eq!(in_order.is_empty(), by_chance.is_empty(), "{all:?}");
    all.swap_remove(0)
}

#[test]
fn right_shaders_have_no_faults() {
    for body in [
        "words[own] = words[own] + 1u;",
        "shared_words[local] = own; workgroupBarrier(); words[own] = shared_words[31u - local];",
        "words[own] = own; storageBarrier(); atomicAdd(&atomics[0], words[32u * group.x + 31u - local]);",
        "atomicAdd(&atomics[0], 1u);",
        "if (local < 8u) { words[own] = subgroupAdd(own); }",
        "for (var k = 0u; k < 4u; count_up(&k)) { words[own] += k; }",
        "if (local == 0u) { shared_flag = 5u; }
         if (workgroupUniformLoad(&shared_flag) == 5u) { workgroupBarrier(); }",
    ] {
        let faults = faults_of(body);
        assert!(faults.is_empty(), "{body}: {faults:?}");
    }
}

#[test]
fn each_kind_of_fault_is_told() {
    for (body, expected) in [
        (
            "words[local / 2u] = own;",
            "two invocations write a word, in two workgroups",
        ),
        (
            "words[32u * group.x] = own;",
            "two invocations write a word, and no barrier orders them",
        ),
        (
            "shared_words[local] = own; words[own] = shared_words[31u - local];",
            "an invocation reads what another one writes, and no barrier orders them",
        ),
        (
            "shared_words[local] = own; storageBarrier(); words[own] = shared_words[31u - local];",
            "an invocation reads what another one writes, and no barrier orders them",
        ),
        (
            "words[own] = own; workgroupBarrier(); let other = words[32u * group.x + 31u - local];
             storageBarrier(); words[own] = other;",
            "an invocation reads what another one writes, and no barrier orders them",
        ),
        (
            "shared_words[local] = own; workgroupBarrier(); let other = shared_words[31u - local]; shared_words[local] = other;",
            "an invocation writes what another one reads, and no barrier orders them",
        ),
        ("words[own + 8u] = 1u;", "an invocation writes past the end"),
        ("words[own] = words[own + 1000u];", "an invocation reads past the end"),
        (
            "words[own] = shared_words[local];",
            "an invocation reads workgroup memory that nobody wrote",
        ),
        ("shared_words[own] = 1u;", "an index is past the end of its array"),
        (
            "if (words[own] == own) { workgroupBarrier(); }",
            "a barrier in control flow that is not uniform",
        ),
        (
            "if (own < 8u) { workgroupBarrier(); }",
            "a barrier in control flow that is not uniform",
        ),
        (
            "if (lane < 3u) { words[own] = subgroupAdd(own); }",
            "an operation of a subgroup in control flow that is not uniform",
        ),
        ("words[own] = 1u << own;", "a shift by 32 bits or more"),
        (
            "atomicStore(&atomics[0], own);",
            "two invocations store an atomic, in two workgroups",
        ),
        (
            "atomicAdd(&atomics[0], 1u); words[own] = atomicLoad(&atomics[0]);",
            "an invocation loads an atomic that another one updates, in two workgroups",
        ),
        ("for (var k = 0u; k != 1u; k += 2u) {}", "a loop that does not end"),
    ] {
        let faults = faults_of(body);
        let is_told = faults
            .iter()
            .any(|fault| fault.starts_with(&format!("planted: {expected}: ")));
        assert!(is_told, "{body}: {faults:?}, {expected} expected");
    }
}

/// Upper bounds, slightly above current costs, for 10,000 uniform boxes: instructions and L2 bytes per box.
const COSTS: [(&str, f64, f64); 8] = [
    ("sample_statistics", 16.6, 46.1),
    ("level_statistics", 18.4, 50.5),
    ("keys", 13.45, 83.0),
    ("large_table_emit", 2.3, 1.35),
    ("gather", 5.0, 142.1),
    ("sort_scatter_subgroups", 24.2, 81.5),
    ("pair_count_sparse", 101.0, 261.2),
    ("pair_emit_cached", 14.9, 102.6),
];

/// Bounds per ray, for 5,000 rays through 10,000 boxes.
const OF_RAYS: [(&str, f64, f64); 4] = [
    ("ray_closest", 739.9, 669.0),
    ("ray_any", 365.3, 334.0),
    ("ray_count", 5807.3, 7874.0),
    ("ray_emit", 33.8, 1101.0),
];
/// Bounds per query, for all objects and for the 8 nearest.
const OF_QUERIES: [(&str, f64, f64); 3] = [
    ("query_count", 340.7, 1735.0),
    ("query_emit", 357.0, 1944.0),
    ("query_nearest", 1746.0, 6338.0),
];
/// Bounds per box, in a search for its neighbours.
const OF_NEIGHBORS: [(&str, f64, f64); 2] = [("query_count", 144.8, 306.0), ("query_emit", 127.5, 205.4)];
/// Bounds per box, for 4 views.
const OF_VIEWS: [(&str, f64, f64); 1] = [("cull_objects", 31.6, 71.9)];
/// Bounds per pair.
const OF_EVENTS: [(&str, f64, f64); 4] = [
    ("event_match", 4.9, 75.0),
    ("event_emit", 1.4, 32.0),
    ("event_end", 0.86, 13.2),
    ("event_insert", 3.35, 57.0),
];

fn hold_costs(work: &cost::Work, bounds: &[(&'static str, f64, f64)]) -> Vec<&'static str> {
    let mut held = Vec::new();
    let objects = uniform(10_000, &mut Rng(7));
    let (dispatches, count) = cost::count(&objects, work);
    let count = count as f64;
    for (pass, cost) in cost::costs(&dispatches, &cost::Gpu::named("h100"), CostedDispatch::pass) {
        let Some(&(name, instructions, l2_bytes)) = bounds.iter().find(|(name, ..)| *name == pass) else {
            continue;
        };
        let found = [cost.instructions / count, cost.l2_bytes / count];
        let is_held = found[0] <= instructions && found[1] <= l2_bytes;
        assert!(
            is_held,
            "{pass}: {found:.2?} instructions and bytes, {:.2?} allowed",
            [instructions, l2_bytes]
        );
        let is_near = found[0] >= 0.8 * instructions;
        assert!(
            is_near,
            "{pass}: {found:.2?} instructions and bytes: the bounds can be lower"
        );
        held.push(name);
    }
    held
}

#[test]
fn costs_are_bounded() {
    use cost::Work::*;
    let rays = |mode| (Rays(5_000, mode), &OF_RAYS[..]);
    let all = [
        (Pairs, &COSTS[..]),
        rays(RayMode::Closest),
        rays(RayMode::Any),
        rays(RayMode::All),
        (Queries(2_000), &OF_QUERIES),
        (Nearest(2_000, 8), &OF_QUERIES),
        (Neighbors(0.5), &OF_NEIGHBORS),
        (Views(4), &OF_VIEWS),
        (Events, &OF_EVENTS),
    ];
    let held: BTreeSet<_> = all.iter().flat_map(|(work, bounds)| hold_costs(work, bounds)).collect();
    let mut bounds = all.iter().flat_map(|(_, bounds)| *bounds);
    assert!(
        bounds.all(|(name, ..)| held.contains(name)),
        "only {held:?} were dispatched"
    );
}

#[test]
fn the_table_of_modelled_stages_is_that_of_today() {
    let table = include_str!("../../../benches/src/bench/model.csv");
    let (dispatches, _) = cost::count(&uniform(10_000, &mut Rng(7)), &cost::Work::Pairs);
    let today = cost::stage_rows("uniform", 10_000, &dispatches, &cost::Gpu::named("h100"));
    for row in today.lines() {
        assert!(table.lines().any(|line| line == row), "{row} in\n{table}");
    }
}

#[test]
fn whole_steps_are_right_and_run_every_pass() {
    const KINDS: [(usize, bool); 3] = [(8, true), (32, false), (32, true)];
    let run = |place: usize| {
        let (lanes, by_chance) = KINDS[place];
        let (adapter, log) = recordings::device(lanes, by_chance);
        let first = 50 * place as u64;
        recordings::check_wild(&adapter, first..first + 50);
        recordings::check_used(&adapter, first..first + 50);
        recordings::check_all(&adapter);
        log.dispatches().into_keys()
    };
    let ran: BTreeSet<_> = std::thread::scope(|scope| {
        let threads = [0, 1, 2].map(|place| scope.spawn(move || run(place)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let others: Vec<_> = passes()
        .map(|pass| pass.name)
        .filter(|name| !ran.contains(*name))
        .collect();
    assert!(others.is_empty(), "no whole step runs {others:?}");
}
