// uses: common/candidates, common/counters, common/round

// What walks add to the counters.

@group(0) @binding(8) var<storage, read_write> counters: array<atomic<u32>>;

// Whether the driver may end loops early, as llvmpipe does. Off for hardware GPUs, which do not.
override DRIVER_CUTS_LOOPS: bool = true;

// Run after the walk, with a bound that no compiler knows.
fn all_iterations_taken() -> bool {
    var iterations = 0u;
    for (var k = 0u; k < round.canary_iterations; k += 1u) {
        iterations += 1u;
    }
    return iterations == round.canary_iterations;
}

fn note_rounds() {
    // Such a walk must not pass for a whole one.
    if (DRIVER_CUTS_LOOPS && !all_iterations_taken()) {
        atomicOr(&counters[COUNTER_UNFINISHED], STATUS_CUT);
    }
    let beyond = tests_beyond();
    if (beyond > 0u) {
        let rounds = round.first / round.tests + 1u + (beyond - 1u) / round.tests + 1u;
        atomicMax(&counters[COUNTER_ROUNDS_NEEDED], rounds);
        if (round.is_last != 0u) {
            atomicOr(&counters[COUNTER_UNFINISHED], STATUS_ROUNDS);
        }
    }
}

// Counts a ray or a query that is invalid, in the first of its rounds.
fn count_invalid(is_valid: bool, word: u32) {
    if (!is_valid && is_first_of_all()) {
        atomicAdd(&counters[word], 1u);
    }
}

// Adds the box tests of the walk to the 64-bit counter at `word` (low) and `word + 1` (high).
fn add_candidates(word: u32) {
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[word], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[word + 1u], 1u);
        }
    }
}
