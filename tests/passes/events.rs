use crate::common::Rng;
use crate::harness::*;
use gpu_broad_phase::internals::blocks::{EventParams, ScanParams};
use gpu_broad_phase::internals::counters::event_word;
use gpu_broad_phase::internals::reference::events::event::{self, Generations};
use gpu_broad_phase::internals::reference::events::{event_begun, event_emit, event_end, event_insert, event_match};
use gpu_broad_phase::internals::reference::scan;
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{Pair, PairEvent};

/// Checks events with room for `spare` more rows. With 0, the step needed more pairs than it holds.
pub fn check_events(bench: &mut Bench, [before, now]: [usize; 2], spare: usize, rng: &mut Rng) {
    bench.scene = format!("events of {before} and {now} pairs, room for {spare} more");
    // Few objects, so that most pairs are in both steps.
    let objects = 8 + 2 * before.max(now).isqrt() as u32;
    let generations: Vec<u32> = (0..objects).map(|_| rng.below(3) as u32).collect();
    let generations = Generations {
        statics: &generations[..2],
        moving: &generations[3..],
    };
    let mut some_pairs = |count: usize| -> Vec<Pair> {
        let mut all: Vec<_> = (0..objects)
            .flat_map(|a| (a + 1..objects).map(move |b| Pair { a, b }))
            .collect();
        let candidates = all.len();
        (0..count).for_each(|place| all.swap(place, place + rng.below(candidates - place)));
        all.truncate(count);
        all
    };
    let [pairs_before, pairs] = [before, now].map(&mut some_pairs);
    let capacities = [before, now].map(|count| (count + spare) as u32);
    let [previous_mask, table_mask] = capacities.map(|capacity| (2 * capacity.max(1)).next_power_of_two() - 1);
    let params = EventParams {
        pair_capacity: capacities[1],
        previous_capacity: capacities[0],
        table_mask,
        previous_mask,
        static_count: 4,
        static_generations: generations.statics.len() as u32,
        generations: generations.moving.len() as u32,
        begun_capacity: (now / 3 + spare) as u32,
    };
    // In every fifth pair of the last step, an index belonged to another object.
    let previous: Vec<_> = (0..)
        .zip(&pairs_before)
        .map(|(place, &pair)| {
            let row = event::row_of(&params, generations, pair);
            PairEvent {
                b_generation: row.b_generation + u32::from(place % 5 == 0),
                ..row
            }
        })
        .collect();
    let of_previous = EventParams {
        table_mask: previous_mask,
        ..params
    };
    let previous_table = event_insert::event_insert(&of_previous, &previous);
    let mut step_counters = used_counters();
    step_counters[STATUS] = 0xff;
    step_counters[10] = if spare > 0 { now as u32 } else { now as u32 + 7 };
    step_counters[11] = 0;
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![
            ("pairs", bytes(&pairs)),
            ("static_generations", bytes(generations.statics)),
            ("generations", bytes(generations.moving)),
            ("step_counters", bytes(&step_counters)),
            ("previous_rows", bytes(&previous)),
            ("previous_table", bytes(&previous_table)),
        ];
        [given, more].concat()
    };
    let [previous_rows, rows] = capacities.map(|capacity| capacity as usize);
    let (mut marks, mut matched) = event_match::event_match(&params, &pairs, generations, &previous, &previous_table);
    let found = bench.run(
        &shaders::EVENT_MATCH,
        groups(rows),
        uniform(&params),
        &inputs(vec![("marks", zeros(rows + 1)), ("matched", zeros(previous_rows + 1))]),
    );
    found.check("marks", &marks);
    found.check("matched", &matched);

    let mut counters: Vec<u32> = (50..50 + event_word::COUNT as u32).collect();
    for (marks, word) in [
        (&mut marks, event_word::PERSISTING),
        (&mut matched, event_word::MATCHED),
    ] {
        let scan = ScanParams {
            count: marks.len() as u32,
            total_word: word as u32,
            capacity: u32::MAX,
            status_bit: 0,
        };
        scan::scan(&scan, marks, &mut counters);
    }
    let before_emit = bytes(&counters);
    let status = step_counters[STATUS] | step_counters[UNFINISHED];
    let emitted = event_emit::event_emit(&params, &pairs, generations, status, &marks, &mut counters);
    let found = bench.run(
        &shaders::EVENT_EMIT,
        groups(rows),
        uniform(&params),
        &inputs(vec![
            ("marks", bytes(&marks)),
            ("rows", poison::<PairEvent>(rows)),
            ("counters", before_emit),
        ]),
    );
    found.check("rows", &emitted);
    found.check("counters", &counters);

    let begun_room = params.begun_capacity as usize;
    let begun = event_begun::event_begun(&params, &emitted, &counters);
    let found = bench.run(
        &shaders::EVENT_BEGUN,
        groups(begun_room),
        uniform(&params),
        &[
            ("rows", bytes(&emitted)),
            ("counters", bytes(&counters)),
            ("begun", poison::<PairEvent>(begun_room)),
        ],
    );
    found.check("begun", &begun);

    let mut previous_counters = vec![0; event_word::COUNT];
    previous_counters[event_word::PERSISTING] = before as u32 / 3;
    previous_counters[event_word::BEGUN] = (before - before / 3) as u32;
    let before_end = bytes(&counters);
    let ended = event_end::event_end(&previous, &matched, &mut counters);
    let found = bench.run(
        &shaders::EVENT_END,
        groups(previous_rows),
        uniform(&params),
        &inputs(vec![
            ("previous_counters", bytes(&previous_counters)),
            ("matched", bytes(&matched)),
            ("ended", poison::<PairEvent>(previous_rows)),
            ("counters", before_end),
        ]),
    );
    found.check("ended", &ended);
    found.check("counters", &counters);

    let found = bench.run(
        &shaders::EVENT_INSERT,
        groups(rows),
        uniform(&params),
        &[
            ("rows", bytes(&emitted)),
            ("counters", bytes(&counters)),
            ("table", zeros(table_mask as usize + 1)),
        ],
    );
    let table: Vec<u32> = found.take("table", table_mask as usize + 1);
    let places: Vec<_> = emitted
        .iter()
        .map(|row| event::find(&emitted, &table, table_mask, row))
        .collect();
    assert_eq!(places, (1..=emitted.len() as u32).collect::<Vec<_>>(), "{}", found.what);
    assert_eq!(
        table.iter().filter(|&&entry| entry != 0).count(),
        emitted.len(),
        "{}",
        found.what
    );
    let on_cpu = event_insert::event_insert(&params, &emitted);
    assert!(
        places
            .iter()
            .zip(&emitted)
            .all(|(&place, row)| event::find(&emitted, &on_cpu, table_mask, row) == place)
    );
}
