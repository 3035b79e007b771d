use std::collections::BTreeSet;

use crate::common::steps::{SCHEMES, broad_phase, buffer, download, encoder, lists, query, read, record, sorted};
use crate::common::steps::{upload, whole};
use crate::common::{Rng, adapters, daily_adapters, uniform};
use gpu_broad_phase::internals::reference::HostScene;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Page, Pair, QueryInput, Scene, Scheme, SelfQuery, Source, StepResult, wgpu,
};
use pollster::block_on;

/// A filter whose result depends on the order of `a` and `b`.
const BITS: &str = "
alias admits_place = u32;
const admits_bits: u32 = 32u;

fn admits_place_of(place: admits_place) -> bool {
    return ((pair_data(place / admits_bits) >> (place % admits_bits)) & 1u) == 1u;
}

fn admits_pair(a: u32, b: u32) -> bool {
    return pair_data_count() == 0u || admits_place_of((7u * a + b) % (admits_bits * pair_data_count()));
}
";

fn bits(data: &[u32], a: u32, b: u32) -> bool {
    let place = |count: usize| (7 * a + b) as usize % (32 * count);
    data.is_empty() || data[place(data.len()) / 32] >> (place(data.len()) % 32) & 1 == 1
}

/// A filter whose local names are also names in the passes.
const WORDS: &str = "
fn admits_pair(a: u32, b: u32) -> bool {
    var found = pair_layers(a) ^ pair_layers(b) ^ pair_group(a) ^ pair_group(b);
    let params = a + b;
    let entry = pair_data(pair_data_count()) + pair_data(0xffffffffu);
    for (var slot = 0u; slot < 3u; slot += 1u) {
        found ^= found >> (slot + 1u);
    }
    return entry == 0u && ((found + params) & 3u) != 0u;
}
";

fn words(objects: &[Aabb], a: u32, b: u32) -> bool {
    let [first, second] = [a, b].map(|object| &objects[object as usize]);
    let mut found = first.layers ^ second.layers ^ first.group ^ second.group;
    (0..3).for_each(|slot| found ^= found >> (slot + 1));
    found.wrapping_add(a + b) & 3 != 0
}

/// Some of `pairs`, in either order or repeated, and rows that exclude nothing.
fn list_of(pairs: &[Pair], objects: u32, rng: &mut Rng) -> Vec<Pair> {
    let mut list = Vec::new();
    for &Pair { a, b } in pairs {
        match rng.below(6) {
            0 => list.push(Pair { a, b }),
            1 => list.push(Pair { a: b, b: a }),
            2 => list.extend([Pair { a, b }, Pair { a, b }, Pair { a: b, b: a }]),
            _ => {}
        }
    }
    for (a, b) in [(0, 0), (0, objects), (u32::MAX, 0), (objects / 2, objects / 2)] {
        list.push(Pair { a, b });
    }
    for place in 1..list.len() {
        list.swap(place, rng.below(place + 1));
    }
    list
}

fn all_pairs(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Vec<Pair> {
    let mut plain = *scene;
    plain.excluded_pairs = Source::default();
    brute_force::scene_pairs(descriptor, &plain).unwrap()
}

fn expected(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>) -> Vec<Pair> {
    let list = scene.excluded_pairs.elements().unwrap();
    let listed: BTreeSet<_> = list
        .iter()
        .map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b)))
        .collect();
    let data = scene.pair_filter_data.elements().unwrap();
    let (objects, _) = HostScene::of(scene).unwrap().all_objects();
    let mut pairs = all_pairs(descriptor, scene);
    pairs.retain(|&Pair { a, b }| {
        let is_admitted = match descriptor.pair_filter {
            None => true,
            Some(BITS) => bits(data, a, b),
            _ => words(&objects, a, b),
        };
        is_admitted && !listed.contains(&(a, b))
    });
    pairs
}

fn rows_of(pairs: &[Pair], objects: usize, half: bool) -> Vec<Vec<u32>> {
    let mut rows = vec![Vec::new(); objects];
    for &Pair { a, b } in pairs {
        rows[a as usize].push(b);
        if !half {
            rows[b as usize].push(a);
        }
    }
    rows.iter_mut().for_each(|row| row.sort_unstable());
    rows
}

fn check(result: &StepResult, expected: &[Pair], what: &str) {
    assert_eq!(result.counters.pairs_needed, expected.len() as u64, "{what}");
    assert_eq!(sorted(result.pairs.clone()), expected, "{what}");
}

/// Has room for all results, since growth rebuilds tables.
fn descriptor(scheme: Scheme, pair_filter: Option<&str>) -> BroadPhaseDescriptor<'_> {
    let mut descriptor = BroadPhaseDescriptor::default();
    descriptor.outputs.capacities.pairs = Some(40_000);
    descriptor.outputs.capacities.results = Some(80_000);
    descriptor.outputs.capacities.entries = Some(20_000);
    descriptor.outputs.capacities.rounds = Some(2);
    (descriptor.scheme, descriptor.pair_filter) = (scheme, pair_filter);
    descriptor
}

fn scene_of<'a>(statics: &'a [Aabb], objects: &'a [Aabb], generation: u64) -> Scene<'a> {
    let mut scene = Scene::default();
    scene.statics.objects = statics.into();
    scene.statics.generation = generation;
    scene.objects = objects.into();
    scene
}

/// Each filter meets few and many pairs, new and cached tables.
#[test]
fn lists_filters_and_data_may_change_in_every_step() {
    for adapter in adapters() {
        let mut rng = Rng(91);
        let mut few = uniform(600, &mut rng);
        let low = [0; 600].map(|_| rng.point(3.0));
        let mut many = low.map(|low| Aabb::new(low, low.map(|low| low + 0.6)));
        for object in few.iter_mut().chain(&mut many).step_by(5) {
            *object = object
                .with_layers(1 + rng.below(7) as u16, !0)
                .with_group(rng.below(3) as u32);
        }
        for (case, scheme) in SCHEMES.into_iter().enumerate() {
            if !adapter.runs(case) {
                continue;
            }
            let mut gpu = broad_phase(&adapter, &descriptor(scheme, None));
            for step in 0..[12, 8, 8][case] {
                let (turn, is_cached) = (step / 2, step % 2 == 1);
                let descriptor = descriptor(scheme, [None, Some(BITS), Some(WORDS)][turn / 2]);
                let what = format!("step {step}, {descriptor:?} on {}", adapter.name);
                if !is_cached {
                    gpu.set_descriptor(&descriptor).unwrap();
                }
                let unfit = self::descriptor(scheme, Some("fn admits_pair(a: u32, b: u32) -> bool { return a; }"));
                assert!(gpu.set_descriptor(&unfit).is_err());

                let objects = [&few[..], &many][turn % 2];
                let (statics, moving) = objects.split_at([100, 0, 200, 350, 0, 250][turn]);
                let data: Vec<_> = (0..step % 4).map(|_| rng.bits() as u32).collect();
                let mut scene = scene_of(statics, moving, turn as u64);
                scene.pair_filter_data = data[..].into();
                let all = all_pairs(&descriptor, &scene);
                let list = match step % 5 {
                    3 => all.clone(),
                    4 => Vec::new(),
                    _ => list_of(&all, 600, &mut rng),
                };
                scene.excluded_pairs = list[..].into();
                let expected = expected(&descriptor, &scene);
                assert!(all.len() > 500 && (step % 5 == 3) == expected.is_empty(), "{what}");

                let [of_list, of_data] = [bytemuck::cast_slice(&list), &data[..]].map(|words: &[u32]| {
                    upload(&adapter.device, &[words, &[7; 9]].concat(), wgpu::BufferUsages::STORAGE)
                });
                if step % 3 == 0 {
                    scene.excluded_pairs = Source::device(&of_list, list.len() as u32);
                    scene.pair_filter_data = Source::device(&of_data, data.len() as u32);
                }
                if is_cached {
                    // A cached table still has the boxes of the step before.
                    scene.statics.objects = objects[600 - statics.len()..].into();
                }
                let result = whole(&adapter, &mut gpu, scene);
                check(&result, &expected, &what);

                let half = step % 3 == 0;
                let partners = QueryInput {
                    queries: SelfQuery::Overlaps { half }.into(),
                    ..Default::default()
                };
                let mut set = gpu.query_set("partners", &descriptor.outputs).unwrap();
                let mut encoder = encoder(&adapter);
                let output = record(&mut gpu, &mut encoder, scene);
                set.record(&mut encoder, &output, partners).unwrap();
                let page = Page {
                    pairs: expected.len() as u32 / 2,
                    ..Default::default()
                };
                gpu.page(&mut encoder, page).unwrap();
                adapter.queue.submit([encoder.finish()]);
                let shown = read(&mut gpu).pairs;
                assert_eq!(shown, result.pairs[page.pairs as usize..], "{what}: a page");
                let later = query(&adapter, &mut gpu, partners);
                let rows = rows_of(&expected, 600, half);
                assert_eq!(lists(&later), rows, "{what}: a later query");
                assert_eq!(lists(&block_on(set.read_back()).unwrap()), rows, "{what}: a query set");
            }
        }
    }
}

/// Rods along three axes in one cell: more box tests than one round allows.
#[test]
fn crowds_searched_in_several_rounds_leave_out_the_same_pairs() {
    let mut rng = Rng(92);
    let corners: Vec<_> = (0..16_500).map(|_| rng.point(1.0)).collect();
    let rods = corners.iter().enumerate().map(|(index, &(mut low))| {
        let mut high = low.map(|low| low + 2e-5);
        (low[index % 3], high[index % 3]) = (0.0, 1.0);
        Aabb::new(low, high)
    });
    let rods: Vec<_> = rods.collect();
    for adapter in daily_adapters() {
        let descriptor = descriptor(Scheme::default(), Some(BITS));
        let mut scene = scene_of(&[], &rods, 0);
        let list = list_of(&all_pairs(&descriptor, &scene), 16_500, &mut rng);
        scene.excluded_pairs = list[..].into();
        scene.pair_filter_data = [0x9e37_79b9, 0x0f0f_1234][..].into();
        let result = whole(&adapter, &mut broad_phase(&adapter, &descriptor), scene);
        let expected = expected(&descriptor, &scene);
        assert!(result.counters.rounds_needed > 1 && list.len() > 300 && expected.len() > 50);
        check(&result, &expected, &adapter.name);
    }
}

#[test]
fn steps_of_one_encoder_have_their_own_lists() {
    let objects = uniform(500, &mut Rng(93));
    for adapter in daily_adapters() {
        let descriptor = descriptor(Scheme::default(), None);
        let mut gpu = broad_phase(&adapter, &descriptor);
        let mut scene = scene_of(&[], &objects, 0);
        let all = all_pairs(&descriptor, &scene);
        let lists = [0, 1, 2].map(|first| all.iter().copied().skip(first).step_by(3).collect::<Vec<_>>());
        let mut encoder = encoder(&adapter);
        let copies = lists.each_ref().map(|list| {
            scene.excluded_pairs = list[..].into();
            let pairs = record(&mut gpu, &mut encoder, scene).pairs.unwrap().buffer;
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let copy = buffer(&adapter.device, pairs.size(), usage);
            encoder.copy_buffer_to_buffer(&pairs, 0, &copy, 0, copy.size());
            copy
        });
        adapter.queue.submit([encoder.finish()]);
        for (copy, list) in copies.iter().zip(&lists) {
            scene.excluded_pairs = list[..].into();
            let expected = expected(&descriptor, &scene);
            let bytes = 8 * expected.len() as u64;
            let pairs = download::<Pair>(&adapter.device, &adapter.queue, copy, bytes);
            assert_eq!(sorted(pairs), expected, "{}", adapter.name);
        }
    }
}

#[test]
fn a_broad_phase_keeps_the_text_of_its_filter() {
    let objects = uniform(300, &mut Rng(99));
    let mut scene = scene_of(&[], &objects, 0);
    scene.pair_filter_data = [0x0f0f_1234, 0x7654_3210][..].into();
    for adapter in daily_adapters() {
        let text = String::from(BITS);
        let first = broad_phase(&adapter, &descriptor(Scheme::default(), Some(&text)));
        drop(text);
        let mut second = broad_phase(&adapter, &first.descriptor());
        drop(first);
        assert_eq!(second.descriptor().pair_filter, Some(BITS));
        let expected = expected(&second.descriptor(), &scene);
        check(&whole(&adapter, &mut second, scene), &expected, &adapter.name);
    }
}
