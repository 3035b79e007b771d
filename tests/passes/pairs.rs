use crate::common::Rng;
use crate::harness::*;
use bytemuck::bytes_of;
use gpu_broad_phase::internals::blocks::{
    CHUNK_PARTNERS, Exclusions, Overrides, PairBlocks, PairParams, Round, STATIC_CACHED_PARTNERS, ScanParams,
};
use gpu_broad_phase::internals::grid::Params;
use gpu_broad_phase::internals::reference::Trace;
use gpu_broad_phase::internals::reference::pairs::pair_count::{self, PairCountOutput};
use gpu_broad_phase::internals::reference::pairs::pair_excludes::Excludes;
use gpu_broad_phase::internals::reference::pairs::pair_walk::PairReads;
use gpu_broad_phase::internals::reference::pairs::{
    pair_cache, pair_emit, pair_emit_cached, pair_exclude, pair_replay, pair_static_count, pair_static_emit, pair_sums,
    world_pairs,
};
use gpu_broad_phase::internals::reference::scan;
use gpu_broad_phase::internals::reference::table::layout;
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{Aabb, Pair};

fn counters_before() -> Vec<u32> {
    let mut counters = used_counters();
    counters[PAIRS_NEEDED..][..2].fill(0);
    counters
}

/// Adds `shift` to the places within tiles, not to the sums of tiles.
fn shifted_places(params: &PairBlocks, words: &[u32], shift: u32) -> Vec<u32> {
    let (places, sums) = words.split_at(pair_sums::tile_words(params));
    [&shifted_words(places, shift), sums].concat()
}

/// Fills words that hold no offset with stale values.
fn with_stale_rows(params: &PairBlocks, words: &[u32], rows: usize) -> Vec<u32> {
    let mut words = words.to_vec();
    let end = pair_sums::row_word(rows);
    words[end + 1..pair_sums::tile_words(params) - 1].fill(STALE);
    words
}

fn static_groups(params: &PairBlocks) -> u32 {
    params.pairs.rows / 256 - params.pairs.entry_rows / 256 + 1
}

/// The round of pairs of moving with static objects.
fn static_walk(params: &PairBlocks) -> Round {
    Round {
        walks: params.object_count,
        first_row: params.pairs.entry_rows,
        ..ONE_ROUND
    }
}

fn has_list(trace: &Trace) -> bool {
    trace.tables.exclusions.list_count > 0
}

fn excludes(trace: &Trace) -> Excludes<'_> {
    Excludes {
        exclusions: trace.tables.exclusions,
        table: &trace.tables.exclusion_table,
        admits: None,
    }
}

pub fn filter_inputs(trace: &Trace, objects: &[Aabb]) -> Vec<(&'static str, Vec<u8>)> {
    let objects = (
        "objects",
        [bytes(objects), bytes(&trace.tables.exclusion_table)].concat(),
    );
    let exclusions = has_list(trace).then(|| ("exclusions", uniform(&trace.tables.exclusions)));
    [objects].into_iter().chain(exclusions).collect()
}

pub fn list_of(pairs: &[Pair], objects: u32, rng: &mut Rng) -> Vec<Pair> {
    let mut list = Vec::new();
    for &Pair { a, b } in pairs.iter().step_by(3) {
        list.push(if rng.below(2) == 0 {
            Pair { a, b }
        } else {
            Pair { a: b, b: a }
        });
        if rng.below(8) == 0 {
            list.extend([Pair { a, b }, Pair { a: b, b: a }]);
        }
    }
    for (a, b) in [
        (0, objects),
        (u32::MAX, 0),
        (u32::MAX, u32::MAX),
        (0, 0),
        (objects / 2, objects / 2),
    ] {
        list.push(Pair { a, b });
    }
    for _ in 0..10 {
        let mut object = || rng.below(objects.max(1) as usize) as u32;
        list.push(Pair {
            a: object(),
            b: object(),
        });
    }
    for place in 1..list.len() {
        list.swap(place, rng.below(place + 1));
    }
    list
}

pub fn check_exclusions(bench: &Bench, trace: &Trace, list: &[Pair]) {
    for (list, words) in [
        (list, 2 * list.len()),
        (list, list.len() / 2),
        (list, 0),
        (&[], list.len()),
    ] {
        check_exclusion(bench, trace, list, words as u32);
    }
}

fn check_exclusion(bench: &Bench, trace: &Trace, list: &[Pair], words: u32) {
    let exclusions = Exclusions::new(trace.tables.exclusions.object_count, list.len() as u32, words);
    let slots = exclusions.slots() as usize;
    let data: Vec<u32> = (0..words).map(|word| word.wrapping_mul(2_654_435_761)).collect();
    assert_eq!(
        exclusions.data_begin as usize,
        2 * trace.tables.objects.len() + slots / 2
    );
    let found = bench.run(
        &shaders::PAIR_EXCLUDE,
        groups(list.len().max(data.len())),
        Vec::new(),
        &[
            ("exclusions", uniform(&exclusions)),
            ("excluded_pairs", bytes(list)),
            ("exclusion_rows", zeros(slots)),
            (
                "objects",
                [
                    bytes(&trace.tables.objects),
                    zeros(2 * slots),
                    poison::<u32>(data.len()),
                ]
                .concat(),
            ),
            ("pair_filter_data", bytes(&data)),
        ],
    );
    let (table, _) = pair_exclude::pair_exclude(&exclusions, list);
    if !list.is_empty() {
        assert_eq!(table, trace.tables.exclusion_table);
    }
    let boxes = 8 * trace.tables.objects.len();
    let words: Vec<u32> = found.take("objects", boxes + 2 * slots + data.len());
    let (words, copied) = words.split_at(boxes + 2 * slots);
    assert!(copied == data, "{}", found.what);
    assert!(bytes(&words[..boxes]) == bytes(&trace.tables.objects), "{}", found.what);
    let found_table: Vec<_> = words[boxes..].chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    let in_order = |table: &[[u32; 2]]| {
        let mut pairs = table.to_vec();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(in_order(&found_table), in_order(&table), "{}", found.what);
    let rows: Vec<u32> = found.take("exclusion_rows", slots);
    let lookup_cell = Excludes {
        table: &found_table,
        ..excludes(trace)
    };
    for (&row, &[a, b]) in rows.iter().zip(&found_table) {
        assert_eq!(row == 0, b == 0, "{}", found.what);
        if row > 0 {
            let of_row = list[row as usize - 1];
            assert_eq!(
                [of_row.a.min(of_row.b), of_row.a.max(of_row.b)],
                [a, b],
                "{}",
                found.what
            );
            assert!(lookup_cell.is_listed(a, b), "{}", found.what);
        }
    }
}

pub fn check_pairs(bench: &Bench, trace: &Trace, objects: &[Aabb], uniform_scheme: bool) {
    let pairs = check_rows(bench, trace, objects, uniform_scheme, 0);
    if !uniform_scheme {
        let split = check_rows(bench, trace, objects, uniform_scheme, 2);
        // The order of pairs depends on how walks are split.
        let [split, pairs] = [split, pairs].map(|mut pairs| {
            pairs.sort_unstable();
            pairs
        });
        assert_eq!(split, pairs, "{}", bench.scene);
    }
}

/// Checks the pair passes with each walk split among `1 << split_bits` rows of counts. Returns all pairs.
fn check_rows(bench: &Bench, trace: &Trace, objects: &[Aabb], uniform_scheme: bool, split_bits: u32) -> Vec<Pair> {
    let keeps_bits = layout::keeps_bits(&trace.pair_blocks, &trace.grid);
    let (count_pass, emit_pass) = match (uniform_scheme, keeps_bits) {
        (true, _) => (&shaders::PAIR_COUNT_MULTI_CELL, &shaders::PAIR_EMIT_MULTI_CELL),
        (false, false) => (&shaders::PAIR_COUNT_SPARSE, &shaders::PAIR_EMIT_SINGLE_CELL),
        (false, true) => (&shaders::PAIR_COUNT_CROWDED, &shaders::PAIR_EMIT_SINGLE_CELL),
    };
    let entry_rows = trace.params.entry_capacity << split_bits;
    let rows = entry_rows as usize;
    let inputs =
        |more: Vec<(&'static str, Vec<u8>)>| [walk_inputs(trace), filter_inputs(trace, objects), more].concat();
    let pairs = PairParams {
        split_bits,
        entry_rows,
        rows: entry_rows,
        cached: if uniform_scheme {
            0
        } else {
            4 + trace.params.entry_capacity % 9
        },
        capacity: trace
            .pair_blocks
            .pairs
            .capacity
            .saturating_sub(trace.params.entry_capacity % 2),
        ..trace.pair_blocks.pairs
    };
    let with_pairs = |pairs| PairBlocks {
        table: trace.params,
        pairs,
    };
    let params = with_pairs(pairs);
    let input = PairReads {
        table: table(trace),
        objects,
        keys: &trace.keys,
        values: &trace.values,
        excludes: excludes(trace),
    };
    let count =
        |params: &PairBlocks, counters: &mut [u32]| pair_count::pair_count(params, &input, bench.overrides, counters);
    let mut counters = counters_before();
    let PairCountOutput {
        mut counts,
        words,
        cache: slots,
        ..
    } = count(&params, &mut counters);
    let counted_of = |words: &[u32]| {
        if uniform_scheme {
            counts.clone()
        } else {
            with_stale_rows(&params, words, rows)
        }
    };
    let counted = counted_of(&words);
    let contents = |cache: &[u32]| {
        let uncounted = if uniform_scheme {
            poison::<u32>(rows + 1)
        } else {
            bytes(&pair_sums::initial_words(&params, STALE))
        };
        inputs(vec![
            ("pair_cache", poison::<u32>(cache.len())),
            ("pair_bits", poison::<u32>(1)),
            ("pair_offsets", uncounted),
            ("counters", bytes(&counters_before())),
        ])
    };
    let all_chunks = counts.iter().map(|&count| chunks(&params, count)).sum();
    let mut caches = vec![(0, slots)];
    if !uniform_scheme && !keeps_bits && bench.stores_in_loop {
        caches.extend([all_chunks / 2, all_chunks].map(|chunks| (chunks, Vec::new())));
    }
    for (partner_chunks, cache) in &mut caches {
        let params = with_pairs(PairParams {
            chunks: *partner_chunks,
            ..params.pairs
        });
        let mut output = count(&params, &mut counters_before());
        let found = bench.run(count_pass, groups(rows + 1), &params, &contents(&output.cache));
        found.check("counters", &counters);
        if *partner_chunks == 0 {
            found.check("pair_offsets", &counted);
        }
        if !uniform_scheme && !keeps_bits {
            output.words = counted_of(&output.words);
            check_cache(&params, &found, &counts, &output, all_chunks);
        }
        *cache = output.cache;
    }

    let contents = contents(&caches[0].1);
    let blocks = (&params).into();
    let rounds = bench.rounds_of(count_pass, groups(rows + 1), &blocks, &contents);
    let found = bench.run_rounds(count_pass, groups(rows + 1), &blocks, &contents, rounds);
    found.check("pair_offsets", &counted);
    let mut expected = counters.clone();
    if keeps_bits {
        let words: Vec<u32> = found.take("counters", counters.len());
        expected[PAIR_CANDIDATES..][..2].copy_from_slice(&words[PAIR_CANDIDATES..][..2]);
    }
    found.check_rounds(&expected, rounds);

    let found = bench.run(
        &shaders::WORLD_PAIRS,
        groups(rows),
        &params,
        &inputs(vec![
            ("pair_offsets", bytes(&counted)),
            ("world_pairs", zeros(params.world_count as usize + 1)),
        ]),
    );
    found.check(
        "world_pairs",
        &world_pairs::world_pairs(&params, &trace.records, &trace.values, &counts),
    );

    let scan = ScanParams {
        count: counts.len() as u32,
        total_word: 10,
        capacity: u32::MAX,
        status_bit: 0,
    };
    scan::scan(&scan, &mut counts, &mut counters);
    if !uniform_scheme {
        assert_eq!(pair_sums::places(&params, &words), counts, "{}", bench.scene);
    }
    let all = counters[10] as usize;
    let whole = with_pairs(PairParams {
        capacity: all as u32,
        ..params.pairs
    });
    let mut pairs = vec![STALE_PAIR; all];
    pair_emit::pair_emit(&whole, &input, bench.overrides, 0..entry_rows, &counts, &mut pairs);
    for (index, window) in bench.windows(all).into_iter().enumerate() {
        let (shift, first, capacity) = window;
        let (partner_chunks, cache) = &caches[(index + rows) % caches.len()];
        let params = with_pairs(PairParams {
            first: shift + first as u32,
            capacity: capacity as u32,
            chunks: *partner_chunks,
            ..params.pairs
        });
        let offsets = if uniform_scheme {
            shifted_words(&counts, shift)
        } else {
            shifted_places(&params, &counted, shift)
        };
        let (kept, walks) = if uniform_scheme {
            (vec![STALE_PAIR; capacity], vec![0; rows])
        } else {
            let places = shifted_words(&counts, shift);
            emitted_cached(bench, trace, &params, cache, &offsets, &places)
        };
        let contents = inputs(vec![
            ("pair_offsets", bytes(&offsets)),
            ("pair_walks", listed(&walks)),
            ("pairs", bytes(&kept)),
        ]);
        let found = bench.run(emit_pass, groups(walks.len()), &params, &contents);
        found.check("pairs", &pairs[shown(all, window)]);
        if !bench.tries_rounds(window) {
            continue;
        }
        let contents = inputs(vec![
            ("pair_offsets", [bytes(&offsets), poison::<u32>(rows)].concat()),
            ("pair_walks", listed(&walks)),
            ("pairs", bytes(&kept)),
        ]);
        let found = bench.run_rounds(emit_pass, groups(walks.len()), &(&params).into(), &contents, rounds);
        found.check("pairs", &pairs[shown(all, window)]);
        found.check_carry_words("pair_offsets", &bytes(&offsets), rows);
    }
    if !uniform_scheme && bench.overrides.filters {
        check_bits(bench, trace, objects, split_bits, &pairs);
    }
    pairs
}

fn chunks(params: &PairBlocks, count: u32) -> u32 {
    match count > params.pairs.cached {
        true => (count - params.pairs.cached + 1).div_ceil(CHUNK_PARTNERS),
        false => 0,
    }
}

/// Checks the offsets and the cache that counting wrote. Invocations claim chunks in any order.
fn check_cache(params: &PairBlocks, found: &Output, counts: &[u32], expected: &PairCountOutput, all_chunks: u32) {
    let what = &found.what;
    let stored: Vec<u32> = found.take("pair_cache", expected.cache.len());
    let words: Vec<u32> = found.take("pair_offsets", expected.words.len());
    let (claimed, places) = words.split_last().unwrap();
    assert_eq!(places, &expected.words[..places.len()], "{what}");
    // A failed claim ends its entry's chain.
    assert!(
        (params.pairs.chunks..=all_chunks).contains(claimed),
        "{what}: {claimed} chunks"
    );
    let mut complete = 0;
    for (row, &count) in (0..params.pairs.entry_rows).zip(counts) {
        let [stored, expected] =
            [&stored, &expected.cache].map(|words| pair_cache::stored_partners(params, words, row, count));
        let common = stored.len().min(expected.len());
        assert_eq!(stored[..common], expected[..common], "{what}: row {row}");
        let is_complete = stored.len() == count as usize;
        assert!(is_complete || params.pairs.chunks < all_chunks, "{what}: row {row}");
        assert!(is_complete || count > params.pairs.cached, "{what}: row {row}");
        complete += u32::from(is_complete) * chunks(params, count);
    }
    assert!(complete <= params.pairs.chunks, "{what}");
    if params.pairs.chunks == 0 || params.pairs.chunks == all_chunks {
        // Each chunk has one link to it.
        let slots = counts.iter().map(|&count| match params.pairs.chunks {
            0 => count.min(params.pairs.cached),
            _ => count,
        });
        let written = stored.iter().filter(|&&word| word != STALE).count() as u32;
        assert_eq!(written, slots.sum::<u32>() + params.pairs.chunks, "{what}");
    }
}

pub fn listed(walks: &[u32]) -> Vec<u8> {
    bytes(&[&[walks.len() as u32], walks].concat())
}

/// Returns the page's pairs after the pass, and the rows that it lists, in its order.
pub fn emitted_cached(
    bench: &Bench,
    trace: &Trace,
    params: &PairBlocks,
    cache: &[u32],
    offsets: &[u32],
    places: &[u32],
) -> (Vec<Pair>, Vec<u32>) {
    let capacity = params.pairs.capacity as usize;
    let rows = params.pairs.entry_rows as usize;
    let mut pairs = vec![STALE_PAIR; capacity];
    let expected = pair_emit_cached::pair_emit_cached(params, &trace.grid, &trace.values, cache, places, &mut pairs);
    let found = bench.run(
        &shaders::PAIR_EMIT_CACHED,
        groups(rows),
        params,
        &[
            ("grid", bytes_of(&trace.grid).to_vec()),
            ("values", with_stale(&trace.values, trace.grid.entry_count)),
            ("pair_cache", bytes(cache)),
            ("pair_offsets", bytes(offsets)),
            ("pair_walks", [zeros(1), poison::<u32>(rows)].concat()),
            ("pair_walk_groups", zeros(3)),
            ("pairs", poison::<Pair>(capacity)),
        ],
    );
    found.check("pairs", &pairs);
    found.check("pair_offsets", offsets);
    let list: Vec<u32> = found.take("pair_walks", 1 + expected.len());
    let walks = list[1..].to_vec();
    let mut sorted = walks.clone();
    sorted.sort_unstable();
    assert_eq!((list[0], &sorted), (expected.len() as u32, &expected), "{}", found.what);
    let groups = expected.len().div_ceil(256) as u32;
    found.check("pair_walk_groups", &[groups, groups.min(1), groups.min(1)]);
    (pairs, walks)
}

/// Checks sums over groups of tiles, and offsets past 32 bits. `empty` adds no counts.
pub fn check_sums(bench: &Bench, empty: &Trace, [entries, rows]: [usize; 2], rng: &mut Rng) {
    let (largest, capacity) = [(9, 1000), (u32::MAX, u32::MAX), (1 << 20, 1 << 31)][rng.below(3)];
    let counts: Vec<u32> = (0..entries + rows).map(|_| rng.bits() as u32 % largest).collect();
    let params = PairBlocks {
        table: Params {
            entry_capacity: entries as u32,
            object_count: rows as u32,
            ..empty.params
        },
        pairs: PairParams {
            capacity,
            ..PairParams::of_rows(entries as u32, 0, rows as u32)
        },
    };
    let later = Round { first: 1, ..ONE_ROUND };
    bench.round.set(later);
    let walk = |pass, groups, params: &PairBlocks, counters: &[u32], offsets: Vec<u8>| {
        let own = vec![
            ("objects", zeros(8)),
            ("own_records", zeros(8 * rows)),
            ("pair_cache", zeros(1)),
            ("pair_offsets", offsets),
            ("counters", bytes(counters)),
        ];
        bench.run(pass, groups, params, &[walk_inputs(empty), own].concat())
    };
    let before = counters_before();
    let mut counters = before.clone();
    let (own, of_statics_counts) = counts.split_at(entries);
    let put = |words: &mut [u32], first: usize, counts: &[u32]| {
        for (row, &count) in (first..).zip(counts) {
            words[pair_sums::row_word(row)] = count;
        }
    };
    let mut words = pair_sums::initial_words(&params, STALE);
    let mut given = words.clone();
    put(&mut given, 0, own);
    pair_sums::add_up(&params, 0, own, &mut words, &mut counters);
    let pass = &shaders::PAIR_COUNT_SPARSE;
    let found = walk(pass, groups(entries + 1), &params, &before, bytes(&given));
    found.check("pair_offsets", &words);
    found.check("counters", &counters);
    if rows > 0 {
        let mut given = words.clone();
        put(&mut given, entries, of_statics_counts);
        let before = counters.clone();
        pair_sums::add_up(&params, entries, of_statics_counts, &mut words, &mut counters);
        let (pass, groups) = (&shaders::PAIR_STATIC_COUNT_SINGLE_CELL, static_groups(&params));
        bench.round.set(Round {
            first: 1,
            ..static_walk(&params)
        });
        let found = walk(pass, groups, &of_statics(params), &before, bytes(&given));
        found.check("pair_offsets", &words);
        found.check("counters", &counters);
    }
    bench.round.set(ONE_ROUND);
    let mut scanned = [&counts[..], &[0]].concat();
    assert_eq!(scan_of(&mut scanned), wide(&counters, PAIRS_NEEDED));
    assert_eq!(pair_sums::places(&params, &words), scanned);
    // No partners are cached, so the pass lists all rows.
    let window = PairBlocks {
        pairs: PairParams {
            first: scanned[entries / 3],
            capacity: 1000,
            ..params.pairs
        },
        ..params
    };
    let mut values = Trace::default();
    values.tables.own.values = vec![0; entries];
    emitted_cached(bench, &values, &window, &[], &words, &scanned);
}

fn check_bits(bench: &Bench, trace: &Trace, objects: &[Aabb], split_bits: u32, pairs: &[Pair]) {
    let (count_pass, emit_pass) = (&shaders::PAIR_COUNT_CROWDED, &shaders::PAIR_EMIT_SINGLE_CELL);
    let entry_rows = trace.params.entry_capacity << split_bits;
    let rows = entry_rows as usize;
    let input = PairReads {
        table: table(trace),
        objects,
        keys: &trace.keys,
        values: &trace.values,
        excludes: excludes(trace),
    };
    let with_pairs = |pairs| PairBlocks {
        table: trace.params,
        pairs,
    };
    for bit_words in [1, 40] {
        let params = with_pairs(PairParams {
            bit_words,
            split_bits,
            entry_rows,
            rows: entry_rows,
            ..trace.pair_blocks.pairs
        });
        let counted = Overrides {
            count_candidates: true,
            ..bench.overrides
        };
        let mut kept = pair_count::pair_count(&params, &input, counted, &mut counters_before());
        let counted = with_stale_rows(&params, &kept.words, rows);
        let found = bench.run(
            count_pass,
            groups(rows + 1),
            &params,
            &[
                walk_inputs(trace),
                filter_inputs(trace, objects),
                vec![
                    ("pair_cache", poison::<u32>(kept.cache.len())),
                    ("pair_bits", poison::<u32>(kept.bits.len())),
                    ("pair_offsets", bytes(&pair_sums::initial_words(&params, STALE))),
                    ("counters", bytes(&counters_before())),
                ],
            ]
            .concat(),
        );
        found.check("pair_offsets", &counted);
        let words: Vec<u32> = found.take("pair_bits", kept.bits.len());
        for (place, (&found, &expected)) in words.iter().zip(&kept.bits).enumerate() {
            let is_written = place / rows < kept.boxes[place % rows].div_ceil(32) as usize;
            assert_eq!(found, if is_written { expected } else { STALE }, "word {place}");
        }

        scan_of(&mut kept.counts);
        let tried = if bit_words == 1 { 6 } else { 1 };
        for window in bench.windows(pairs.len()).into_iter().take(tried) {
            let (shift, first, capacity) = window;
            let params = with_pairs(PairParams {
                first: shift + first as u32,
                capacity: capacity as u32,
                ..params.pairs
            });
            let shifted_cached = PairCountOutput {
                counts: shifted_words(&kept.counts, shift),
                ..kept.clone()
            };
            let offsets = shifted_places(&params, &counted, shift);
            let (from_slots, walks) =
                emitted_cached(bench, trace, &params, &kept.cache, &offsets, &shifted_cached.counts);
            let mut replayed = from_slots.clone();
            let next = pair_replay::pair_replay(&params, &input, &shifted_cached, &walks, &mut replayed);
            let mut places = vec![STALE; rows];
            for (&row, next) in walks.iter().zip(next) {
                places[row as usize] = next;
            }
            let more = |offsets: Vec<u8>, pairs: Vec<u8>| {
                let own = vec![
                    ("pair_bits", bytes(&kept.bits)),
                    ("pair_walks", listed(&walks)),
                    ("pair_offsets", offsets),
                    ("pairs", pairs),
                ];
                [walk_inputs(trace), filter_inputs(trace, objects), own].concat()
            };
            let before = [bytes(&offsets), poison::<u32>(rows)].concat();
            let found = bench.run(
                &shaders::PAIR_REPLAY,
                groups(walks.len()),
                &params,
                &more(before, bytes(&from_slots)),
            );
            found.check("pairs", &replayed);
            let offsets = [offsets, places].concat();
            found.check("pair_offsets", &offsets);

            bench.round.set(Round {
                first: 32 * bit_words,
                ..ONE_ROUND
            });
            let found = bench.run(
                emit_pass,
                groups(walks.len()),
                &params,
                &more(bytes(&offsets), bytes(&replayed)),
            );
            bench.round.set(ONE_ROUND);
            let mut expected = pairs[shown(pairs.len(), window)].to_vec();
            expected.resize(capacity, STALE_PAIR);
            found.check("pairs", &expected);
        }
    }
}

pub fn check_static_pairs(bench: &Bench, trace: &Trace, uniform_scheme: bool) {
    let (count_pass, emit_pass) = if uniform_scheme {
        (
            &shaders::PAIR_STATIC_COUNT_MULTI_CELL,
            &shaders::PAIR_STATIC_EMIT_MULTI_CELL,
        )
    } else {
        (
            &shaders::PAIR_STATIC_COUNT_SINGLE_CELL,
            &shaders::PAIR_STATIC_EMIT_SINGLE_CELL,
        )
    };
    let (Some(statics), Some(input)) = (&trace.tables.statics, trace.reads().static_pairs()) else {
        panic!("no static objects");
    };
    let params = trace.pair_blocks;
    let (entries, rows) = (params.entry_capacity as usize, params.object_count as usize);
    assert_eq!(params.pairs.rows as usize, entries + rows);
    let inputs = |more: Vec<(&'static str, Vec<u8>)>| {
        let given = vec![("own_records", bytes(&trace.records))];
        [
            walk_inputs(statics),
            filter_inputs(trace, &trace.tables.objects),
            given,
            more,
        ]
        .concat()
    };
    let own = PairReads {
        table: table(trace),
        objects: &trace.tables.objects,
        keys: &trace.keys,
        values: &trace.values,
        excludes: excludes(trace),
    };
    let PairCountOutput {
        mut counts,
        mut words,
        cache,
        ..
    } = pair_count::pair_count(&params, &own, bench.overrides, &mut [0; 32]);
    counts.truncate(entries);
    let mut counters = counters_before();
    let given = if uniform_scheme {
        [bytes(&counts), poison::<u32>(rows + 1)].concat()
    } else {
        bytes(&words)
    };
    let more = pair_static_count::pair_static_count(&params, &input, bench.overrides, &mut words, &mut counters);
    counts.extend(&more.counts);
    let counted = if uniform_scheme { counts.clone() } else { words.clone() };
    let count_groups = static_groups(&params);
    bench.begin(static_walk(&params));
    let blocks = (&of_statics(params)).into();
    let kept = if uniform_scheme {
        0
    } else {
        STATIC_CACHED_PARTNERS as usize
    };
    let contents = inputs(vec![
        ("pair_cache", poison::<u32>(cache.len() + more.cache.len())),
        ("pair_offsets", given),
        ("counters", bytes(&counters_before())),
    ]);
    let found = bench.run(count_pass, count_groups, &of_statics(params), &contents);
    found.check("pair_offsets", &counted);
    found.check("counters", &counters);
    if !uniform_scheme {
        let of_statics = (0..kept * rows).map(|slot| {
            let written = slot / rows < more.counts[slot % rows] as usize;
            if written { more.cache[slot] } else { STALE }
        });
        let expected: Vec<_> = cache.iter().map(|_| STALE).chain(of_statics).collect();
        found.check("pair_cache", &expected);
    }
    let rounds = bench.rounds_of(count_pass, count_groups, &blocks, &contents);
    let found = bench.run_rounds(count_pass, count_groups, &blocks, &contents, rounds);
    found.check("pair_offsets", &counted);
    found.check_rounds(&counters, rounds);

    let found = bench.run(
        &shaders::WORLD_PAIRS,
        groups(entries + rows),
        &params,
        &[
            ("records", bytes(&trace.records)),
            ("values", bytes(&trace.values)),
            ("pair_offsets", bytes(&counted)),
            ("world_pairs", zeros(params.world_count as usize + 1)),
        ],
    );
    found.check(
        "world_pairs",
        &world_pairs::world_pairs(&params, &trace.records, &trace.values, &counts),
    );

    let cache = [cache, more.cache].concat();
    let all = scan_of(&mut counts) as usize;
    if !uniform_scheme {
        assert_eq!(pair_sums::places(&params, &words), counts, "{}", bench.scene);
    }
    // These stand for pairs of moving objects, which must not change.
    let mut pairs = vec![STALE_PAIR; all];
    pair_static_emit::pair_static_emit(&params, &input, bench.overrides, &cache, &counts, &mut pairs);
    for window in bench.windows(all) {
        let (shift, first, capacity) = window;
        let params = PairBlocks {
            pairs: PairParams {
                first: shift + first as u32,
                capacity: capacity as u32,
                ..params.pairs
            },
            ..params
        };
        let emit = |offsets: Vec<u8>, rounds: Option<Rounds>| {
            let contents = inputs(vec![
                ("pair_cache", bytes(&cache)),
                ("pair_offsets", offsets),
                ("pairs", poison::<Pair>(capacity)),
            ]);
            let blocks = of_statics(params);
            match rounds {
                None => bench.run(emit_pass, groups(rows), &blocks, &contents),
                Some(rounds) => bench.run_rounds(emit_pass, groups(rows), &(&blocks).into(), &contents, rounds),
            }
        };
        let offsets = bytes(&if uniform_scheme {
            shifted_words(&counts, shift)
        } else {
            shifted_places(&params, &words, shift)
        });
        emit(offsets.clone(), None).check("pairs", &pairs[shown(all, window)]);
        if bench.tries_rounds(window) {
            let left = poison::<u32>(entries + rows);
            let found = emit([offsets.clone(), left].concat(), Some(rounds));
            found.check("pairs", &pairs[shown(all, window)]);
            found.check_carry_words("pair_offsets", &offsets, entries + rows);
        }
    }
    bench.begin(ONE_ROUND);
}
