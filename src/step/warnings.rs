//! What goes wrong without an error, in the log: for who does not look at the counters.

use crate::api::counters::{Counters, HITS, PAIRS, RAY_CELLS, RESULTS, Status};

/// Logs what the counters of a step report that those of the step before did not: outputs that were too small, walks
/// that ended early, and invalid input. `label` is that of the broad phase.
pub(crate) fn warn(label: &str, counters: &Counters, before: Option<&Counters>, grows: bool) {
    warn_of_invalid(label, counters, before);
    let status = counters.status;
    if status.is_whole() || before.is_some_and(|before| before.status == status) {
        return;
    }
    let next = if grows {
        "a later step makes room"
    } else {
        "the capacity is fixed"
    };
    for (name, bit, needed, capacity) in [
        (
            "cell entries",
            Status::ENTRIES,
            counters.entries_needed.max(counters.static_entries_needed),
            counters.entries_capacity.max(counters.static_entries_capacity),
        ),
        (PAIRS.name, PAIRS.status, counters.pairs_needed, counters.pairs_capacity),
        (HITS.name, HITS.status, counters.hits_needed, counters.hits_capacity),
        (
            RAY_CELLS.name,
            RAY_CELLS.status,
            counters.ray_cells_needed,
            counters.ray_cells_capacity,
        ),
        (
            RESULTS.name,
            RESULTS.status,
            counters.results_needed,
            counters.results_capacity,
        ),
        (
            "rounds of walks",
            Status::ROUNDS,
            counters.rounds_needed.into(),
            counters.rounds_capacity,
        ),
    ] {
        if status.has(bit) {
            log::warn!("{label}: overflow: {needed} {name} needed, room for {capacity}; {next}");
        }
    }
    if status.has(Status::CUT) {
        log::warn!("{label}: the driver ended loops early: pairs, hits or results may be missing");
    }
}

/// Logs invalid objects, rays and queries if there are more than in the step before.
pub(crate) fn warn_of_invalid(label: &str, counters: &Counters, before: Option<&Counters>) {
    for (name, count, before) in [
        ("objects", counters.invalid, before.map(|before| before.invalid)),
        ("rays", counters.rays_invalid, before.map(|before| before.rays_invalid)),
        (
            "queries",
            counters.queries_invalid,
            before.map(|before| before.queries_invalid),
        ),
    ] {
        if count > before.unwrap_or(0) {
            log::warn!("{label}: {count} invalid {name} are ignored");
        }
    }
}
