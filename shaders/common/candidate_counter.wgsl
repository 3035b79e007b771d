// uses: common/candidates, common/round_counters

// Adds the box tests of the walk to the 64-bit counter at `word` (low) and `word + 1` (high).
fn add_candidates(word: u32) {
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[word], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[word + 1u], 1u);
        }
    }
}
