use bytemuck::pod_collect_to_vec;

use crate::harness::*;
use crate::pairs::filter_inputs;
use gpu_broad_phase::internals::blocks::{QueryBlocks, QueryParams};
use gpu_broad_phase::internals::reference::Trace;
use gpu_broad_phase::internals::reference::queries::{query_count, query_emit, query_nearest};
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{NearestObject, Query};

/// Words per query that a round leaves for the next one.
const STATE_WORDS: usize = 6;

/// Box tests of a round, within llvmpipe's limit of loop iterations.
const LONG_ROUND: u32 = 2048;

pub fn check_queries(bench: &Bench, trace: &Trace, queries: &[Query]) {
    let has_list = trace.tables.exclusions.list_count > 0;
    let boxes: Vec<_> = queries.iter().map(|query| Query::from(query.bounds)).collect();
    let bounds: Vec<_> = queries.iter().map(|query| query.bounds).collect();
    let with_queries = |queries| QueryBlocks {
        table: trace.params,
        queries,
    };
    let asked = queries.len() as u32;
    let forms = [
        (&queries[..0], Vec::new(), [1, 1, 0], trace.tables.objects.len() as u32),
        (&queries[..0], Vec::new(), [1, 0, 0], trace.tables.objects.len() as u32),
        (
            &queries[..0],
            Vec::new(),
            [2, trace.tables.objects.len() as u32 % 2, 0],
            trace.tables.objects.len() as u32,
        ),
        (queries, bytes(queries), [0, 0, 1], asked),
        (&boxes, bytes(&bounds), [0, 0, 0], asked),
    ];
    let forms = forms
        .into_iter()
        .filter(|(_, _, [self_query, ..], _)| !has_list || *self_query == 2);
    for (queries, contents, [self_query, half, is_wide], count) in bench.some_of(forms) {
        let params = with_queries(QueryParams {
            radius: 1.2345,
            nearest: 3,
            self_query,
            half,
            is_wide,
            count,
            ..trace.query_blocks.queries
        });
        let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
            // Self-queries read the objects, which [`Walk`] adds.
            let given = (self_query == 0).then(|| ("queries", contents.clone()));
            let given = given
                .into_iter()
                .chain(filter_inputs(trace, &trace.tables.objects))
                .collect();
            [given, more].concat()
        };
        let count = count as usize;
        let walks = Walk::all(trace, count, self_query != 0);
        let carried = if walks.len() > 1 { count } else { 0 };
        let reference_walks = trace.reads().queries(queries, self_query != 0);
        let mut counters = used_counters();
        let mut offsets = query_count::query_count(&params, &reference_walks, bench.overrides, &mut counters);
        let more = vec![
            ("query_offsets", poison::<u32>(count + 1)),
            ("counters", bytes(&used_counters())),
        ];
        let contents = inputs(more);
        let found = bench.run_walks(&shaders::QUERY_COUNT, &walks, params, &contents, None);
        found.check("query_offsets", &offsets);
        found.check("counters", &counters);
        let rounds = bench.rounds_of_walks(&shaders::QUERY_COUNT, &walks, params, &contents);
        let found = bench.run_walks(&shaders::QUERY_COUNT, &walks, params, &contents, Some(rounds));
        found.check("query_offsets", &offsets);
        found.check_query_rounds(&counters, rounds, trace.grid.is_crowded != 0);

        let all = scan_of(&mut offsets) as usize;
        let page = |(shift, first, capacity): (u32, usize, usize)| {
            with_queries(QueryParams {
                first: shift + first as u32,
                capacity: capacity as u32,
                ..params.queries
            })
        };
        let whole = page((0, 0, all));
        let results = query_emit::query_emit(&whole, &reference_walks, bench.overrides, &offsets);
        for window in bench.windows(all) {
            let (shift, _, capacity) = window;
            let params = page(window);
            let more = vec![
                (
                    "query_offsets",
                    [shifted(&offsets, shift), poison::<u32>(carried)].concat(),
                ),
                ("query_objects", poison::<u32>(capacity)),
            ];
            let found = bench.run_walks(&shaders::QUERY_EMIT, &walks, params, &inputs(more), None);
            found.check("query_objects", &results[shown(all, window)]);
            if !bench.tries_rounds(window) {
                continue;
            }
            let shifted = shifted(&offsets, shift);
            let more = vec![
                ("query_offsets", [shifted.clone(), poison::<u32>(count)].concat()),
                ("query_objects", poison::<u32>(capacity)),
            ];
            let found = bench.run_walks(&shaders::QUERY_EMIT, &walks, params, &inputs(more), Some(rounds));
            found.check("query_objects", &results[shown(all, window)]);
            found.check_carry_words("query_offsets", &shifted, count);
        }

        for is_bounded in bench.some_of([false, true]) {
            let radius = if is_bounded { params.queries.radius } else { f32::MAX };
            let of_radius = |query: &Query| Query {
                radius: if is_bounded { query.radius } else { f32::INFINITY },
                ..*query
            };
            let reaching: Vec<_> = queries.iter().map(of_radius).collect();
            let params = with_queries(QueryParams {
                radius,
                ..params.queries
            });
            // Queries of the narrow layout have no radius.
            let is_narrow = self_query == 0 && is_wide == 0;
            let reference_walks = trace
                .reads()
                .queries(if is_narrow { queries } else { &reaching }, self_query != 0);
            let mut counters = used_counters();
            let nearest = query_nearest::query_nearest(&params, &reference_walks, bench.overrides, &mut counters);
            let left = STATE_WORDS * count;
            let more = vec![
                (
                    "query_nearest",
                    [poison::<NearestObject>(nearest.len()), poison::<u32>(left)].concat(),
                ),
                ("counters", bytes(&used_counters())),
            ];
            let mut contents = inputs(more);
            if is_wide != 0 {
                contents.retain(|(name, _)| *name != "queries");
                contents.push(("queries", bytes(&reaching)));
            }
            let run = |mut rounds: Rounds| loop {
                let found = bench.run_walks(&shaders::QUERY_NEAREST, &walks, params, &contents, Some(rounds));
                if found.counter(UNFINISHED) == 0 {
                    break found;
                }
                assert!(found.counter(ROUNDS_NEEDED) > rounds.count, "{}", found.what);
                rounds.count *= 2;
            };
            // Objects are few enough for one round within llvmpipe's limit.
            let long = Rounds {
                count: 1,
                tests: LONG_ROUND,
            };
            for rounds in bench.some_of([long, rounds]) {
                let found = run(rounds);
                let rows = &found.buffers["query_nearest"][..size_of::<NearestObject>() * nearest.len()];
                found.check_carry_words("query_nearest", rows, left);
                // Hardware may fuse products and sums, so objects of nearly equal distance may swap.
                let given: Vec<NearestObject> = pod_collect_to_vec(rows);
                for (given, expected) in given.iter().zip(&nearest) {
                    let [given_squared, squared] = [given.squared_distance, expected.squared_distance];
                    let close = given_squared == squared || (given_squared - squared).abs() <= 1e-6 * squared;
                    assert!(
                        close && (given.object == expected.object || !bench.device.rounds_as_reference()),
                        "{}: {given:?}, {expected:?}",
                        found.what
                    );
                }
                found.check_nearest_counters(&used_counters(), &counters);
            }
        }
    }
}
