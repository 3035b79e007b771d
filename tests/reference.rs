//! A step on the CPU finds its rows by one walk where the passes take two, and on as many threads as there are: neither
//! changes a byte. Knows no device.

mod common {
    mod rng;
    pub use rng::Rng;
}

#[path = "common/wild.rs"]
#[allow(dead_code, reason = "what a scene is asked later is not asked here")]
mod wild;

use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::reference::{brute_force, compared_objects, step_scene};
use gpu_broad_phase::{BroadPhaseDescriptor, Growth, Scene, StepResult};

#[test]
fn a_step_answers_what_its_passes_leave() {
    let [mut pairs, mut hits, mut results] = [0; 3];
    for number in 0..400 {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(number);
        let passes = trace(&descriptor, &scene).unwrap();
        let step = || step_scene(&descriptor, &scene).unwrap();
        for answer in on_threads(step) {
            assert_eq!(answer.pairs, passes.pairs, "scene {number}");
            assert_eq!(answer.world_pairs, passes.world_pairs, "scene {number}");
            assert_eq!(answer.ray_hits, passes.ray_hits, "scene {number}");
            assert_eq!(answer.ray_offsets, passes.ray_offsets, "scene {number}");
            assert_eq!(answer.ray_any, passes.ray_any, "scene {number}");
            assert_eq!(answer.query_objects, passes.query_objects, "scene {number}");
            assert_eq!(answer.query_offsets, passes.query_offsets, "scene {number}");
            assert_eq!(answer.query_nearest, passes.query_nearest, "scene {number}");
            let counters = answer.counters;
            let wide = |at: usize| u64::from(passes.counters[at]) | u64::from(passes.counters[at + 1]) << 32;
            // Words as the documents of `Counters` name them.
            let counted = [
                (10, counters.pairs_needed),
                (12, counters.hits_needed),
                (22, counters.results_needed),
                (14, counters.pair_candidates),
                (16, counters.ray_candidates),
                (26, counters.query_candidates),
            ];
            for (at, count) in counted {
                assert_eq!(wide(at), count, "scene {number}: word {at}");
            }
            let invalid = [counters.rays_invalid, counters.queries_invalid];
            assert_eq!([6, 24].map(|at| passes.counters[at]), invalid, "scene {number}");
            pairs += answer.pairs.len();
            hits += answer.ray_hits.len();
            results += answer.query_objects.len();
        }
    }
    assert!(pairs.min(hits).min(results) > 1000, "{pairs} {hits} {results}");
}

/// Boxes as they are compared have the pairs of the scene without anything being done with them.
#[test]
fn compared_objects_have_the_pairs_of_their_scene() {
    let mut pairs = 0;
    for number in 0..200 {
        let descriptor = wild::descriptor(number);
        let wild = wild::scene(number, &descriptor);
        let scene = wild.scene(number);
        let objects = compared_objects(&descriptor, &scene).unwrap();
        let worlds = [scene.statics.worlds, scene.worlds].map(|worlds| worlds.elements().unwrap());
        let worlds = worlds.concat();
        let plain = BroadPhaseDescriptor {
            worlds: descriptor.worlds,
            filters: descriptor.filters,
            ..Default::default()
        };
        let compared = Scene {
            objects: objects[..].into(),
            worlds: worlds[..].into(),
            excluded_pairs: scene.excluded_pairs,
            ..Default::default()
        };
        let whole = BroadPhaseDescriptor {
            pairs: true,
            growth: Growth::Grow,
            ..descriptor
        };
        let mut expected = step_scene(&whole, &scene).unwrap().pairs;
        expected.sort_unstable();
        let mut found = brute_force::scene_pairs(&plain, &compared).unwrap();
        // Without filters nothing looks at the mark of those that were static.
        found.retain(|pair| pair.b as usize >= scene.statics.objects.len());
        assert_eq!(found, expected, "scene {number}");
        pairs += expected.len();
    }
    assert!(pairs > 1000, "{pairs}");
}

/// Answers with one thread and with several, or with the one that there is without the feature `rayon`.
fn on_threads(step: impl Fn() -> StepResult + Sync) -> Vec<StepResult> {
    #[cfg(feature = "rayon")]
    return [1, 3]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(&step)
        })
        .into();
    #[cfg(not(feature = "rayon"))]
    vec![step()]
}
