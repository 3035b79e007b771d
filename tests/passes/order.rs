use crate::common::Rng;
use crate::harness::*;
use bytemuck::bytes_of;
use gpu_broad_phase::internals::blocks::OrderParams;
use gpu_broad_phase::internals::counters;
use gpu_broad_phase::internals::reference::Trace;
use gpu_broad_phase::internals::reference::order::{
    order_firsts, order_rows, order_seconds, order_worlds, shown, world_offsets,
};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::internals::worlds::Worlds;
use gpu_broad_phase::{ALL_WORLDS, Pair, RayHit};

fn order_params(kind: usize, count: u32, [first, capacity]: [u32; 2]) -> OrderParams {
    let rows = [
        (counters::PAIRS_NEEDED, size_of::<Pair>()),
        (counters::HITS_NEEDED, size_of::<RayHit>()),
        (counters::RESULTS_NEEDED, size_of::<u32>()),
    ];
    OrderParams {
        needed_word: rows[kind].0 as u32,
        first,
        capacity,
        row_words: (rows[kind].1 / 4) as u32,
        walks: if kind == 0 { 0 } else { count },
        ..OrderParams::default()
    }
}

pub fn check_order(bench: &Bench, trace: &Trace) {
    // Objects of hits also stand in for query results.
    let objects: Vec<u32> = trace.ray_hits.iter().map(|hit| hit.object).collect();
    for kind in 0..3 {
        let all = if kind == 0 { trace.pairs.len() } else { objects.len() };
        for (first, capacity) in [(0, all + 5), (all / 3, all / 2), (0, all.min(7)), (all, 3)] {
            let shown = first..(first + capacity).min(all);
            let page = [first as u32, capacity as u32];
            let order_params = order_params(kind, trace.ray_blocks.rays.count, page);
            let walks = shown::Walks {
                offsets: &trace.ray_offsets,
                first: page[0],
            };
            let pairs = &trace.pairs[if kind == 0 { shown.clone() } else { 0..0 }];
            let hits = &trace.ray_hits[if kind == 0 { 0..0 } else { shown.clone() }];
            let results = &objects[if kind == 0 { 0..0 } else { shown.clone() }];
            let (order, given) = match kind {
                0 => (shown::Rows::Pairs(pairs), bytes(pairs)),
                1 => (shown::Rows::Hits(hits, walks), bytes(hits)),
                _ => (shown::Rows::Results(results, walks), bytes(results)),
            };
            let mut counters = used_counters();
            for word in [10, 12, 22] {
                (counters[word], counters[word + 1]) = (all as u32, 0);
            }
            let mut stale = stale_grid();
            let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
                let mut rows = given.clone();
                rows.resize(capacity * given.len() / shown.len().max(1), POISON);
                let given = vec![
                    ("rows", rows),
                    ("counters", bytes(&counters)),
                    ("offsets", bytes(&trace.ray_offsets)),
                ];
                [given, more].concat()
            };
            let found = bench.run(
                &shaders::ORDER_SECONDS,
                groups(capacity),
                uniform(&order_params),
                &inputs(vec![
                    ("keys", poison::<u32>(capacity)),
                    ("values", poison::<u32>(capacity)),
                    ("grid", bytes_of(&stale).to_vec()),
                ]),
            );
            let (keys, values) = order_seconds::order_seconds(order);
            found.check("keys", &keys);
            found.check("values", &values);
            stale.entry_count = shown.len() as u32;
            found.check("grid", &[stale]);

            let mut by_second = values;
            by_second.sort_by_key(|&row| keys[row as usize]);
            let found = bench.run(
                &shaders::ORDER_FIRSTS,
                groups(capacity),
                uniform(&order_params),
                &inputs(vec![("keys", poison::<u32>(capacity)), ("values", bytes(&by_second))]),
            );
            let keys = order_firsts::order_firsts(order, &by_second);
            found.check("keys", &keys);

            let mut places: Vec<_> = (0..by_second.len()).collect();
            places.sort_by_key(|&place| keys[place]);
            let by_both: Vec<_> = places.into_iter().map(|place| by_second[place]).collect();
            let found = bench.run(
                &shaders::ORDER_ROWS,
                groups(capacity),
                uniform(&order_params),
                &inputs(vec![
                    ("values", bytes(&by_both)),
                    ("ordered_rows", poison::<Pair>(capacity)),
                ]),
            );
            match order {
                shown::Rows::Pairs(rows) => {
                    let ordered = order_rows::order_rows(rows, &by_both);
                    assert!(ordered.is_sorted());
                    found.check("ordered_rows", &ordered);
                    check_worlds(
                        bench,
                        trace.tables.objects.len(),
                        order_params,
                        (rows, &by_both),
                        &inputs,
                    );
                }
                shown::Rows::Hits(rows, _) => found.check("ordered_rows", &order_rows::order_rows(rows, &by_both)),
                shown::Rows::Results(rows, _) => found.check("ordered_rows", &order_rows::order_rows(rows, &by_both)),
            }
        }
    }
}

/// `values` are the rows, sorted by both objects.
fn check_worlds(
    bench: &Bench,
    objects: usize,
    params: OrderParams,
    (pairs, values): (&[Pair], &[u32]),
    inputs: &impl Fn(Vec<(&'static str, Vec<u8>)>) -> Vec<(&'static str, Vec<u8>)>,
) {
    let mut rng = Rng(objects as u64);
    let capacity = params.capacity as usize;
    for (world_count, static_count) in bench.some_of([(2, 0), (3, objects / 2), (700, objects), (5_000, 0)]) {
        let worlds: Vec<_> = (0..objects)
            .map(|_| {
                if rng.once_in(4) {
                    ALL_WORLDS
                } else {
                    rng.below(world_count) as u32
                }
            })
            .collect();
        let (of_statics, of_moving) = worlds.split_at(static_count);
        let params = OrderParams {
            world_count: world_count as u32,
            static_count: static_count as u32,
            ..params
        };
        let found = bench.run(
            &shaders::ORDER_WORLDS,
            groups(capacity),
            uniform(&params),
            &inputs(vec![
                ("keys", poison::<u32>(capacity)),
                ("values", bytes(values)),
                ("worlds", bytes(of_moving)),
                ("static_worlds", bytes(of_statics)),
            ]),
        );
        let worlds = Worlds {
            of_statics,
            of_moving,
            count: params.world_count,
        };
        let mut keys = order_worlds::order_worlds(pairs, values, worlds);
        found.check("keys", &keys);

        keys.sort_unstable();
        let mut sorted = bytes(&keys);
        sorted.resize(4 * capacity, POISON);
        let found = bench.run(
            &shaders::WORLD_OFFSETS,
            groups(world_count + 2),
            uniform(&params),
            &inputs(vec![
                ("keys", sorted),
                ("world_offsets", poison::<u32>(world_count + 2)),
            ]),
        );
        found.check(
            "world_offsets",
            &world_offsets::world_offsets(&keys, params.world_count),
        );
    }
}
