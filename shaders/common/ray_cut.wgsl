@group(0) @binding(8) var<storage, read_write> counters: array<atomic<u32>>;

fn note_cut() {
    if (!all_turns_taken()) {
        atomicOr(&counters[COUNTER_STATUS], STATUS_CUT);
    }
}
