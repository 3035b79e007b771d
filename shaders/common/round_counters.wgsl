// uses: common/candidates, common/counters, common/round

@group(0) @binding(8) var<storage, read_write> counters: array<atomic<u32>>;

// False if the adapter is surely a GPU. Software drivers may end loops early.
override DRIVER_CUTS_LOOPS: bool = true;

// Returns false if a driver ended loops early. Call it after the walk. Compilers keep this loop, since they do not know
// its bound.
fn all_iterations_taken() -> bool {
    var iterations = 0u;
    for (var k = 0u; k < round.canary_iterations; k += 1u) {
        iterations += 1u;
    }
    return iterations == round.canary_iterations;
}

fn record_rounds() {
    if (DRIVER_CUTS_LOOPS && !all_iterations_taken()) {
        atomicOr(&counters[COUNTER_UNFINISHED], STATUS_CUT);
    }
    let beyond = tests_after_round();
    if (beyond > 0u) {
        let rounds = round.first / round.tests + 1u + (beyond - 1u) / round.tests + 1u;
        atomicMax(&counters[COUNTER_ROUNDS_NEEDED], rounds);
        if (round.is_last != 0u) {
            atomicOr(&counters[COUNTER_UNFINISHED], STATUS_ROUNDS);
        }
    }
}

// Called before the walk, so that loops need not carry `is_valid`.
fn count_invalid(is_valid: bool, word: u32) {
    if (!is_valid && is_first_of_all()) {
        atomicAdd(&counters[word], 1u);
    }
}

fn add_candidates(word: u32) {
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[word], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[word + 1u], 1u);
        }
    }
}
