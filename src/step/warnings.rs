use crate::api::counters::{Counters, Output, Status};

/// Counters of queries, then of steps.
#[derive(Default)]
pub(crate) struct Warnings([Option<Counters>; 2]);

impl Warnings {
    /// Logs overflow, cut walks and invalid input, unless the previous step (or query) had the same.
    pub fn observe(&mut self, label: &str, counters: &Counters, is_of_step: bool, grows: bool) {
        let before = self.0[usize::from(is_of_step)].replace(*counters);
        warn(label, counters, before.as_ref(), grows);
    }
}

fn warn(label: &str, counters: &Counters, before: Option<&Counters>, grows: bool) {
    warn_of_invalid(label, counters, before);
    let status = counters.status;
    if status.is_complete() || before.is_some_and(|before| before.status == status) {
        return;
    }
    let next = if grows {
        "a later step has room"
    } else {
        "raise it, or let outputs grow"
    };
    let tables = [
        ("cell entries", counters.entries_needed, counters.entries_capacity),
        (
            "cell entries of static objects",
            counters.static_entries_needed,
            counters.static_entries_capacity,
        ),
    ];
    let outputs = Output::EACH.map(|output| {
        let (needed, capacity) = counters.rows(output);
        (output.counted().status, output.counted().name, needed, capacity)
    });
    let shorts = tables
        .map(|(name, needed, capacity)| (Status::ENTRIES, name, needed, capacity))
        .into_iter()
        .chain(outputs)
        .filter(|&(_, _, needed, capacity)| needed > u64::from(capacity));
    let (rounds, room) = (counters.rounds_needed, counters.rounds_capacity);
    let rounds = (Status::ROUNDS, "rounds of walks", rounds.into(), room);
    for (_, name, needed, capacity) in shorts.chain([rounds]).filter(|&(bit, ..)| status.has(bit)) {
        log::warn!("{label}: overflow: {needed} {name} needed, the capacity is {capacity}: {next}");
    }
    if status.has(Status::CUT) {
        log::warn!("{label}: the driver ended loops early: pairs, hits or results may be missing");
    }
}

fn warn_of_invalid(label: &str, counters: &Counters, before: Option<&Counters>) {
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
            log::warn!("{label}: {count} invalid {name} ignored");
        }
    }
}
