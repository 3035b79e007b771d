// What a walk that is not done says of it.

@group(0) @binding(8) var<storage, read_write> counters: array<atomic<u32>>;

fn note_rounds() {
    if (tests_beyond > 0u) {
        let rounds = round.first / round.tests + 1u + (tests_beyond - 1u) / round.tests + 1u;
        atomicMax(&counters[COUNTER_ROUNDS_NEEDED], rounds);
        if (round.is_last != 0u) {
            atomicOr(&counters[COUNTER_STATUS], STATUS_ROUNDS);
        }
    }
}
