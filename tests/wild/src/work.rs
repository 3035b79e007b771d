use gpu_broad_phase::{BroadPhaseDescriptor, Counters};

use crate::Wild;

/// Box tests within the limit that justify a further round, beyond [`SPARE_ROUNDS`].
const ROUND_TESTS: u64 = 1 << 10;
const SPARE_ROUNDS: u64 = 2;
/// The limit of box tests is [`FEW`] times those of brute force, plus [`ALWAYS_ALLOWED`]. A search tests each large
/// object once, other objects four times on average, and all once more if it gives up on cells.
const FEW: u64 = 6;
const ALWAYS_ALLOWED: u64 = 100;

/// Panics if a step with these counters took many more box tests or rounds than brute force.
pub fn check_work(descriptor: &BroadPhaseDescriptor<'_>, wild: &Wild, counters: &Counters) {
    let objects = wild.objects.len() as u64;
    let [rays, queries] = [wild.rays.len(), wild.queries.count(wild.objects.len())].map(|count| count as u64);
    for (what, tests, all) in [
        (
            "pairs",
            counters.pair_candidates,
            objects * objects.saturating_sub(1) / 2,
        ),
        ("rays", counters.ray_candidates, objects * rays),
        ("queries", counters.query_candidates, objects * queries),
    ] {
        assert!(
            tests <= FEW * all + ALWAYS_ALLOWED,
            "work: {tests} tests for {what}, brute force has {all}; {descriptor:?}"
        );
    }
    let rounds = SPARE_ROUNDS + FEW * objects / ROUND_TESTS;
    assert!(
        u64::from(counters.rounds_needed) <= rounds,
        "work: {} rounds for walks past {objects} objects, {rounds} are enough; {descriptor:?}",
        counters.rounds_needed
    );
}
