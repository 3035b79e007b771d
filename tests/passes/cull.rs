use crate::common::Rng;
use crate::common::views::views;
use crate::harness::*;
use gpu_broad_phase::internals::blocks::{CullParams, ScanParams};
use gpu_broad_phase::internals::counters::cull_word as word;
use gpu_broad_phase::internals::reference::Trace;
use gpu_broad_phase::internals::reference::cull::{cull_args, cull_count, cull_emit, cull_objects, cull_views};
use gpu_broad_phase::internals::reference::scan;
use gpu_broad_phase::internals::shaders;
use gpu_broad_phase::{BroadPhaseDescriptor, Frustum, Scene, reference};

pub fn check_cull(
    bench: &Bench,
    descriptor: &BroadPhaseDescriptor<'_>,
    scene: &Scene<'_>,
    trace: &Trace,
    view_count: usize,
) {
    let mut rng = Rng((trace.tables.objects.len() + view_count) as u64);
    let frusta = views(&trace.tables.objects, trace.params.world_count, view_count, &mut rng);
    let mut cull = CullParams {
        view_count: view_count as u32,
        words: trace.tables.objects.len().div_ceil(32) as u32,
        filters: descriptor.filters.into(),
        ..CullParams::default()
    };
    let run = |pass, groups, params: &_, mut more: Vec<(&'static str, Vec<u8>)>, cull: &CullParams| {
        more.push(("cull", uniform(cull)));
        bench.run(pass, groups, uniform(params), &more)
    };
    let mut counters: Vec<u32> = (1000..1000 + word::COUNT as u32).collect();
    let before = bytes(&counters);
    let views = cull_views::cull_views(&trace.params, &frusta, &mut counters);
    let found = run(
        &shaders::CULL_VIEWS,
        1,
        &trace.params,
        vec![
            ("frusta", bytes(&frusta)),
            ("views", poison::<Frustum>(view_count)),
            ("counters", before),
        ],
        &cull,
    );
    found.check("views", &views);
    found.check("counters", &counters);
    let invalid = counters[word::INVALID] - 1000;

    let words = view_count * cull.words as usize;
    let mut visible = vec![0; words];
    for table in trace.tables.statics.iter().chain([&trace.tables.own]) {
        let mut inputs = walk_inputs(table);
        inputs.extend([
            ("views", bytes(&views)),
            ("objects", bytes(&trace.tables.objects)),
            ("visible", bytes(&visible)),
        ]);
        let found = run(
            &shaders::CULL_OBJECTS,
            groups(table.params.object_count as usize),
            &table.params,
            inputs,
            &cull,
        );
        let (records, starts) = (&table.records, &table.starts);
        cull_objects::cull_objects(
            &table.params,
            &cull,
            &views,
            records,
            starts,
            &table.grid,
            &trace.tables.objects,
            &mut visible,
        );
        found.check("visible", &visible);
    }
    let by_definition = reference::cull(descriptor, scene, &frusta).unwrap();
    assert_eq!(by_definition.invalid, invalid, "{}", bench.scene);
    for (view, expected) in by_definition.objects.iter().enumerate() {
        let words = &visible[view * cull.words as usize..][..cull.words as usize];
        let is_seen = |object: &u32| words[*object as usize / 32] >> (object % 32) & 1 != 0;
        let seen: Vec<u32> = (0..32 * cull.words).filter(is_seen).collect();
        assert_eq!(seen, *expected, "{}: view {view} of {frusta:?}", bench.scene);
    }

    for (place, draw_words) in bench.some_of([(0, 4), (1, 5), (2, 0), (3, 4)]) {
        let needed: usize = by_definition.objects.iter().map(Vec::len).sum();
        cull.lists = u32::from(place > 0);
        cull.list_capacity = [0, needed + 3, needed, needed / 2][place] as u32;
        cull.draw_words = draw_words;
        cull.draw_count = 36;
        let mut counters = counters.clone();
        let before = bytes(&counters);
        let room = if cull.lists != 0 { words + 1 } else { 0 };
        let mut unwritten = poison::<u32>(room);
        let mut places = cull_count::cull_count(&cull, &visible, &mut counters);
        places.push(0);
        places.truncate(room);
        if room > 0 {
            unwritten[4 * words..].fill(0);
        }
        let contents = vec![
            ("visible", bytes(&visible)),
            ("places", unwritten),
            ("counters", before),
        ];
        let groups_of_views = view_count as u32 * cull.words.div_ceil(256);
        let found = run(
            &shaders::CULL_COUNT,
            groups_of_views.max(1),
            &trace.params,
            contents,
            &cull,
        );
        found.check("places", &places);
        found.check("counters", &counters);
        if cull.lists != 0 {
            let block = ScanParams {
                count: places.len() as u32,
                total_word: word::NEEDED as u32,
                capacity: u32::MAX,
                status_bit: 0,
            };
            scan::scan(&block, &mut places, &mut counters);
            assert_eq!(wide(&counters, word::NEEDED), needed as u64, "{}", bench.scene);
            let lists = cull_emit::cull_emit(&cull, &visible);
            let contents = vec![
                ("visible", bytes(&visible)),
                ("places", bytes(&places)),
                ("lists", poison::<u32>(lists.len())),
            ];
            let found = run(&shaders::CULL_EMIT, groups(words), &trace.params, contents, &cull);
            found.check("lists", &lists);
            let whole = by_definition.objects.concat();
            assert_eq!(
                lists,
                whole[..needed.min(cull.list_capacity as usize)],
                "{}",
                bench.scene
            );
        }
        let (offsets, draws) = cull_args::cull_args(&cull, &places, &counters);
        let contents = vec![
            ("places", bytes(&places)),
            ("counters", bytes(&counters)),
            ("offsets", poison::<u32>(offsets.len())),
            ("draws", poison::<u32>(draws.len())),
        ];
        let found = run(&shaders::CULL_ARGS, 1, &trace.params, contents, &cull);
        found.check("offsets", &offsets);
        found.check("draws", &draws);
        if place == 1 {
            let drawn: Vec<u32> = draws.chunks(5).map(|draw| draw[1]).collect();
            let expected: Vec<_> = by_definition.objects.iter().map(|seen| seen.len() as u32).collect();
            assert_eq!(drawn, expected, "{}", bench.scene);
        }
    }
}
