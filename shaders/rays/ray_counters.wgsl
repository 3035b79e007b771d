// uses: common/candidates, common/counters, common/round, common/round_counters, rays/ray

// What a walk adds to the counters at its end.

fn finish_counters(ray: Ray) {
    if (!ray.valid && is_first_of_all()) {
        atomicAdd(&counters[COUNTER_RAYS_INVALID], 1u);
    }
    note_rounds();
    if (COUNT_CANDIDATES) {
        let before = atomicAdd(&counters[COUNTER_RAY_CANDIDATES], candidates);
        if (before + candidates < before) {
            atomicAdd(&counters[COUNTER_RAY_CANDIDATES + 1u], 1u);
        }
    }
}
