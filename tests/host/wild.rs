//! Wild scenes on the CPU engine. `GPU_BROAD_PHASE_WILD` selects them: `20000` the first ones, `7123..7124` a single
//! one.

use gpu_broad_phase::cpu::{CpuBroadPhase, compared_objects, step_scene};
use gpu_broad_phase::internals::counters;
use gpu_broad_phase::internals::reference::{Trace, trace};
use gpu_broad_phase::reference::{PairRule, pair_rule};
use gpu_broad_phase::{BroadPhaseDescriptor, Growth, Pair, RayHit, ResultOrder, Scene, Status, StepResult};
use rayon::prelude::*;
use wild::answers::{RAY_MODES, sorted};
use wild::{Expected, Wild, caught, check_definition, check_work};

const SCENES: u64 = 480;
pub fn check_passes(descriptor: &BroadPhaseDescriptor<'_>, passes: &Trace, result: &StepResult) {
    let outputs = &descriptor.outputs;
    // The engine sorts lists by object, unless a capacity cuts them. It sorts pairs in any case.
    let sorts = |capacity: Option<u32>| capacity.is_none() || outputs.growth == Growth::Grow;
    let (mut hits, mut objects) = (passes.ray_hits.clone(), passes.query_objects.clone());
    if sorts(outputs.capacities.hits) {
        sort_lists(&mut hits, &passes.ray_offsets, |hit: &RayHit| hit.object);
    }
    if sorts(outputs.capacities.results) {
        sort_lists(&mut objects, &passes.query_offsets, |&object| object);
    }
    if sorts(outputs.capacities.pairs) {
        let pairs = passes.pairs.clone();
        let pairs = if outputs.order == ResultOrder::Sorted {
            pairs
        } else {
            sorted(pairs)
        };
        assert_eq!(result.pairs, pairs);
        assert_eq!(result.world_offsets, passes.world_offsets);
    }
    assert_eq!(result.world_pairs, passes.world_pairs);
    assert_eq!(result.ray_hits, hits);
    assert_eq!(result.ray_offsets, passes.ray_offsets);
    assert_eq!(result.ray_any, passes.ray_any);
    assert_eq!(result.query_objects, objects);
    assert_eq!(result.query_offsets, passes.query_offsets);
    assert_eq!(result.query_nearest, passes.query_nearest);
    assert_eq!(result.ray_cells, passes.ray_cells);
    assert_eq!(result.ray_cell_offsets, passes.ray_cell_offsets);
    let word = |at: usize| u64::from(passes.counters[at]);
    let wide = |at: usize| word(at) | word(at + 1) << 32;
    let found = &result.counters;
    assert_eq!(wide(counters::PAIRS_NEEDED), found.pairs_needed);
    assert_eq!(wide(counters::HITS_NEEDED), found.hits_needed);
    assert_eq!(wide(counters::RESULTS_NEEDED), found.results_needed);
    assert_eq!(word(counters::RAYS_INVALID), u64::from(found.rays_invalid));
    assert_eq!(word(counters::QUERIES_INVALID), u64::from(found.queries_invalid));
    if descriptor.count_candidates {
        assert_eq!(wide(counters::PAIR_CANDIDATES), found.pair_candidates);
        assert_eq!(wide(counters::RAY_CANDIDATES), found.ray_candidates);
        assert_eq!(wide(counters::QUERY_CANDIDATES), found.query_candidates);
    }
}

fn sort_lists<T>(rows: &mut [T], offsets: &[u32], key: fn(&T) -> u32) {
    for ends in offsets.windows(2) {
        rows[ends[0] as usize..ends[1] as usize].sort_by_key(key);
    }
}

/// Each entry is in the list of its key.
fn check_table(passes: &Trace) {
    assert!(passes.grid.table_cells <= passes.params.table_capacity);
    let entries = passes.grid.entry_count as usize;
    let of = |keys: &[u32], values: &[u32]| -> Vec<_> {
        let rows = keys.iter().copied().zip(values.iter().copied());
        rows.take(entries).collect()
    };
    let mut table = of(&passes.keys, &passes.values);
    let mut expected = of(&passes.unsorted_keys, &passes.unsorted_values);
    expected.sort_by_key(|entry| entry.0);
    // Clusters of a crowded scene reorder the entries of a cell.
    if passes.grid.is_crowded == 1 {
        table.sort_unstable();
        expected.sort_unstable();
    }
    assert_eq!(table, expected);
    for (key, &start) in (0..).zip(&passes.starts) {
        let first = table.partition_point(|entry| entry.0 < key);
        assert_eq!(start as usize, first, "start of key {key}");
    }
}

/// Brute force over the boxes as passes compare them finds the pairs, also with periods, and the rule says why.
fn check_pairs(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) {
    let mut whole = *descriptor;
    (whole.pairs, whole.outputs.growth) = (true, Growth::Grow);
    let objects = compared_objects(&whole, scene).unwrap();
    let worlds = [scene.statics.worlds, scene.worlds].map(|worlds| worlds.elements().unwrap());
    let worlds = worlds.concat();
    let (mut compared, mut plain) = (Scene::default(), BroadPhaseDescriptor::default());
    (compared.objects, compared.worlds) = (objects[..].into(), worlds[..].into());
    compared.excluded_pairs = scene.excluded_pairs;
    (plain.worlds, plain.filters) = (descriptor.worlds, descriptor.filters);
    let mut expected = Expected::of(&plain, &compared).pairs;
    // Without filters, pairs of static objects are not excluded.
    expected.retain(|pair| pair.b as usize >= scene.statics.objects.len());
    let pairs = sorted(step_scene(&whole, scene).unwrap().pairs);
    assert_eq!(pairs, expected);
    let count = objects.len() as u32;
    for (a, b) in (0..count.min(4)).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
        let rule = pair_rule(&whole, scene, b, a).unwrap();
        let is_pair = pairs.binary_search(&Pair { a, b }).is_ok();
        assert_eq!(rule == PairRule::Overlap, is_pair, "{a} and {b}: {rule:?}");
    }
}

/// Queries of a cached table give the results of a step.
fn check_cached_table(number: u64, descriptor: &BroadPhaseDescriptor<'_>, wild: &Wild) {
    let scene = wild.scene(number);
    let mut descriptor = *descriptor;
    descriptor.count_candidates = number.is_multiple_of(4);
    let mut broad_phase = CpuBroadPhase::new(&descriptor).unwrap();
    assert_eq!(broad_phase.step_scene(&scene), step_scene(&descriptor, &scene));
    let modes = (number as usize..).map(|turn| RAY_MODES[turn % 3]);
    for (mut query, ray_mode) in wild.later_input().into_iter().chain([scene.query; 2]).zip(modes) {
        broad_phase.set_ray_mode(ray_mode);
        descriptor.outputs.ray_mode = ray_mode;
        query.rays = scene.query.rays;
        let mut expected = step_scene(&descriptor, &Scene { query, ..scene }).unwrap();
        (expected.pairs, expected.world_pairs, expected.world_offsets) = Default::default();
        assert_eq!(
            broad_phase.query(&query).unwrap(),
            expected,
            "a query of the cached table"
        );
    }
}

/// Returns the numbers of pairs, hits and query results.
fn check_scene(number: u64, is_single: bool) -> [usize; 3] {
    let mut descriptor = wild::descriptor(number);
    let has_few_entries = descriptor.outputs.growth == Growth::Fixed && number % 6 == 1;
    if has_few_entries {
        // Other schemes need an entry for each object.
        descriptor.outputs.capacities.entries = Some(40);
    }
    let wild = wild::scene(number, &descriptor);
    if is_single {
        eprintln!("{descriptor:?}\n{wild:?}");
    }
    let scene = wild.scene(number);
    let result = step_scene(&descriptor, &scene).unwrap();
    let expected = Expected::of(&descriptor, &scene);
    check_definition(&descriptor, &scene, &expected, &result, "definition");
    check_work(&descriptor, &wild, &result.counters);
    let lacks_entries = has_few_entries && result.counters.entries_needed > 40;
    assert!(!lacks_entries || result.counters.status.has(Status::ENTRIES));
    let passes = trace(&descriptor, &scene).unwrap();
    let mut uncut = descriptor;
    uncut.outputs.capacities.pairs = None;
    let pairs = sorted(trace(&uncut, &scene).unwrap().pairs);
    let first = sorted(result.pairs.clone());
    assert_eq!(first, pairs[..passes.pairs.len()], "the first pairs of all");
    check_passes(&descriptor, &passes, &result);
    check_table(&passes);
    check_pairs(&descriptor, &scene);
    check_cached_table(number, &descriptor, &wild);
    [result.pairs.len(), result.ray_hits.len(), result.query_objects.len()]
}

#[test]
fn wild_scenes_follow_the_definition_on_the_cpu() {
    let scenes = wild::selected(SCENES);
    let is_single = scenes.clone().count() == 1;
    let results: Vec<_> = scenes
        .into_par_iter()
        .map(|number| (number, caught(|| check_scene(number, is_single))))
        .collect();
    let mut found = [0; 3];
    let mut failed = Vec::new();
    for (number, result) in results {
        match result {
            Ok(counts) => found = [0, 1, 2].map(|place| found[place] + counts[place]),
            Err(fault) => failed.push(format!(
                "scene {number}: {fault}; again: {}",
                wild::again(number, "host")
            )),
        }
    }
    let first = failed[..failed.len().min(20)].join("\n");
    assert!(failed.is_empty(), "{} scenes fail\n{first}", failed.len());
    assert!(
        wild::is_selected() || found.iter().all(|&count| count > 1000),
        "{found:?}"
    );
}
