//! Several steps and queries of one broad phase, and results of unusual sizes.

use crate::common::pool::pooled;
use crate::common::steps::{
    UNIT, broad_phase, buffer, descriptor, download, encoder, queries_of, query, read, record, scene_of, submit,
    upload, whole,
};
use crate::common::{Rng, adapters, daily_adapters, power_law, uniform};
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, CullOptions, Culling, Frustum, Growth, InputError, Pair, Queries, QueryInput, Ray,
    RayMode, ResultOrder, Scene, Scheme, Source, Status, StepError, StepResult, wgpu,
};
use pollster::block_on;
use wild::answers::{lists, sorted};

#[test]
fn steps_and_queries_of_one_encoder_have_their_own_input() {
    for adapter in adapters() {
        let mut rng = Rng(7);
        let (first, second) = (uniform(300, &mut rng), uniform(200, &mut rng));
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut encoder = encoder(&adapter);
        let expected = brute_force::pairs(&first);
        let bytes = 8 * expected.len() as u64;
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let pairs = buffer(&adapter.device, bytes, usage);
        let output = record(&mut gpu, &mut encoder, scene_of(&first));
        encoder.copy_buffer_to_buffer(&output.pairs.unwrap().buffer, 0, &pairs, 0, bytes);
        record(&mut gpu, &mut encoder, scene_of(&second));
        gpu.query(&mut encoder, queries_of(&first)).unwrap();
        gpu.query(&mut encoder, queries_of(&second[..50])).unwrap();
        adapter.queue.submit([encoder.finish()]);
        let last = Scene {
            query: queries_of(&second[..50]),
            ..scene_of(&second)
        };
        let found = brute_force::scene_queries(&BroadPhaseDescriptor::default(), &last).unwrap();
        let rows = |list: &brute_force::Found| list.surely.iter().map(|row| row.0).collect::<Vec<_>>();
        let found: Vec<_> = found.iter().map(rows).collect();
        assert_eq!(lists(&read(&mut gpu)), found, "{}", adapter.name);
        let pairs = download(&adapter.device, &adapter.queue, &pairs, bytes);
        assert_eq!(sorted(pairs), expected, "{}", adapter.name);
    }
}

/// A query leaves the step's pairs and counters, even where the next step would have more room.
#[test]
fn pairs_and_their_counters_stay_after_queries() {
    for adapter in adapters() {
        let descriptor = descriptor(|all| {
            (all.count_candidates, all.outputs.capacities.pairs) = (true, Some(50));
        });
        let objects = uniform(500, &mut Rng(65));
        let mut gpu = broad_phase(&adapter, &descriptor);
        submit(&adapter, &mut gpu, scene_of(&objects));
        let before = read(&mut gpu);
        assert_eq!((before.pairs.len(), before.counters.status), (50, Status::PAIRS));
        let ray = [Ray::new([-1.0, 3.0, 3.0], [1.0, 0.0, 0.0], f32::INFINITY)];
        let rays = QueryInput {
            rays: ray[..].into(),
            ..QueryInput::default()
        };
        for input in [queries_of(&objects[..5]), rays, QueryInput::default()] {
            let after = query(&adapter, &mut gpu, input);
            let of_step = |result: &StepResult| {
                let counters = result.counters;
                let pairs = (counters.pairs_needed, counters.pairs_capacity, counters.pair_candidates);
                (pairs, counters.entries_needed, counters.levels, counters.status)
            };
            assert_eq!(of_step(&after), of_step(&before), "{}", adapter.name);
            assert_eq!(after.query_objects.is_empty(), matches!(input.queries, Queries::None));
        }
        let mut encoder = encoder(&adapter);
        let output = gpu.query(&mut encoder, QueryInput::default()).unwrap();
        adapter.queue.submit([encoder.finish()]);
        let pairs = output.pairs.unwrap().buffer;
        let pairs: Vec<Pair> = download(&adapter.device, &adapter.queue, &pairs, 8 * 50);
        assert_eq!(pairs, before.pairs, "{}", adapter.name);
        assert_eq!(
            sorted(whole(&adapter, &mut gpu, scene_of(&objects)).pairs),
            brute_force::pairs(&objects)
        );
    }
}

/// The last read-back selects how the next step counts pairs, which is the slower way if the scene changed. From the
/// second step on, crowds cache the results of their box tests.
#[test]
fn steps_give_equal_bytes_after_any_other_step() {
    for adapter in daily_adapters() {
        let mut rng = Rng(12);
        let sparse = uniform(3000, &mut rng);
        let mut crowded = sparse.clone();
        for object in &mut crowded[..1200] {
            object.min = object.min.map(|low| 0.1 * low);
            object.max = object.min.map(|low| low + 1.0 + rng.below(100) as f32 * 0.01);
        }
        // Boxes of one group leave few pairs, so no results are cached.
        let mut grouped = crowded.clone();
        for (index, object) in grouped.iter_mut().enumerate() {
            object.group = u32::from(index % 300 != 0);
        }
        let scenes = [sparse, crowded, grouped, power_law(1500, &mut rng)];
        for order in [ResultOrder::Deterministic, ResultOrder::Sorted] {
            let descriptor = |growth| {
                descriptor(|all| {
                    (all.outputs.growth, all.outputs.order) = (growth, order);
                    all.outputs.capacities.pairs = Some(1 << 20);
                })
            };
            let fixed = descriptor(Growth::Fixed);
            let expected = scenes
                .each_ref()
                .map(|scene| whole(&adapter, &mut broad_phase(&adapter, &fixed), scene_of(scene)).pairs);
            assert!(expected[1].len() > 13 * scenes[1].len());
            let mut used = broad_phase(&adapter, &descriptor(Growth::Grow));
            for scene in [0, 1, 1, 0, 2, 2, 1, 3, 1, 2, 0, 3] {
                let pairs = whole(&adapter, &mut used, scene_of(&scenes[scene])).pairs;
                assert!(pairs == expected[scene], "{order:?}, scene {scene} on {}", adapter.name);
            }
        }
    }
}

/// 18 million pairs and 36 million results exceed a binding of 128 MiB.
#[test]
fn results_larger_than_a_binding_are_whole_from_a_broad_phase() {
    const COUNT: u32 = 6_000;
    let objects = vec![UNIT; COUNT as usize];
    for adapter in daily_adapters() {
        let mut broad_phase = pooled(&adapter, &BroadPhaseDescriptor::default());
        let result = block_on(broad_phase.step(&objects, &[])).unwrap();
        assert!(result.counters.is_complete());
        let expected = (0..COUNT).flat_map(|a| (a + 1..COUNT).map(move |b| Pair { a, b }));
        assert!(sorted(result.pairs).into_iter().eq(expected), "{}", adapter.name);
        let result = block_on(broad_phase.query(&queries_of(&objects))).unwrap();
        let each = u64::from(COUNT);
        assert_eq!(result.query_objects.len() as u64, each * each);
        for ends in result.query_offsets.windows(2) {
            let list = &result.query_objects[ends[0] as usize..ends[1] as usize];
            let sum: u64 = list.iter().map(|&object| u64::from(object)).sum();
            let found = (list.len() as u64, sum);
            assert_eq!(found, (each, each * (each - 1) / 2), "{}", adapter.name);
        }
    }
}

/// The ray's 100,000 hits exceed llvmpipe's limit of loop iterations.
#[test]
fn rays_and_queries_through_a_crowd_take_several_rounds() {
    let mut objects = vec![Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); 100_000];
    objects.push(Aabb::point([5.0; 3]));
    let ray = [Ray::new([0.0; 3], [1.0; 3], 1.0)];
    for adapter in daily_adapters() {
        let descriptor = descriptor(|all| (all.pairs, all.outputs.ray_mode) = (false, RayMode::All));
        let mut gpu = broad_phase(&adapter, &descriptor);
        let scene = Scene {
            query: QueryInput {
                rays: ray[..].into(),
                ..queries_of(&objects[..1])
            },
            ..scene_of(&objects)
        };
        submit(&adapter, &mut gpu, scene);
        let first = read(&mut gpu).counters;
        assert!(first.status.has(Status::ROUNDS) && first.rounds_needed > 1, "{first:?}");
        let result = whole(&adapter, &mut gpu, scene);
        assert_eq!((result.ray_hits.len(), result.query_objects.len()), (100_000, 100_001));
        let lone = query(&adapter, &mut gpu, queries_of(&objects[100_000..]));
        assert_eq!(
            (lone.counters.status, lone.query_objects.len()),
            (Status::default(), 100_001)
        );
    }
}

/// The only pair comes after more candidates than llvmpipe's limit of loop iterations.
#[test]
#[ignore = "minutes on two processors"]
fn walks_through_crowds_get_their_rounds_with_fixed_capacities() {
    const COUNT: u32 = 66_500;
    let along = |index: u32| Aabb::new([2.0 * index as f32, 0.0, 0.0], [2.0 * index as f32 + 1.0, 1.0, 1.0]);
    let mut objects: Vec<_> = (0..COUNT).map(along).collect();
    objects[COUNT as usize - 1] = objects[0];
    for adapter in daily_adapters() {
        let descriptor = descriptor(|all| {
            all.scheme = Scheme::Uniform { cell_size: 1e6 };
            (all.outputs.growth, all.outputs.capacities.pairs) = (Growth::Fixed, Some(1000));
        });
        let result = block_on(pooled(&adapter, &descriptor).step(&objects, &[])).unwrap();
        assert_eq!(result.pairs, [Pair { a: 0, b: COUNT - 1 }], "{}", adapter.name);
        assert!(result.counters.is_complete(), "{}", adapter.name);
    }
}

/// A zeroed box is a point without layers, which pairs with nothing.
#[test]
fn buffers_larger_than_a_binding_serve_as_input_by_the_part_that_is_used() {
    for adapter in adapters() {
        let limits = adapter.device.limits();
        let mut pools = vec![(4, 0), (32 * 10 + 4, 10)];
        if limits.max_buffer_size > limits.max_storage_buffer_binding_size {
            pools.push((limits.max_storage_buffer_binding_size + 32, 1000));
        }
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        for (size, count) in pools {
            let pool = buffer(&adapter.device, size, wgpu::BufferUsages::STORAGE);
            let input = Scene {
                objects: Source::device(&pool, count),
                ..Scene::default()
            };
            submit(&adapter, &mut gpu, input);
            let result = read(&mut gpu);
            let found = (result.counters.objects, result.pairs.len());
            assert_eq!(found, (count, 0), "{}", adapter.name);
        }
    }
}

/// Lists of excluded pairs and views are bound at their place, so it has to be aligned and without gaps.
#[test]
fn excluded_pairs_and_views_are_read_at_aligned_places_only() {
    let adapter = &adapters()[0];
    let alignment = adapter.device.limits().min_storage_buffer_offset_alignment;
    let words = alignment as usize / 4;
    let upload = |words: &[u32]| upload(&adapter.device, words, wgpu::BufferUsages::STORAGE);
    let excluded = upload(&[vec![7; words], vec![1, 0, 9, 9]].concat());
    let frusta = [Frustum::new([[1.0, 0.0, 0.0, -0.5]]); 2];
    let frusta = upload(&[vec![0xffff_ffff; words], bytemuck::pod_collect_to_vec(&frusta)].concat());
    let mut gpu = broad_phase(adapter, &BroadPhaseDescriptor::default());
    let mut culling = Culling::new(None);
    let boxes = [UNIT, Aabb::new([0.0; 3], [0.25; 3]), Aabb::new([0.5; 3], [2.0; 3])];
    let mut step = |excluded_pairs, views| {
        let mut encoder = encoder(adapter);
        let scene = Scene {
            excluded_pairs,
            ..scene_of(&boxes)
        };
        let step = gpu.step(&mut encoder, scene)?;
        culling.record(&mut encoder, &step, views, CullOptions::default())?;
        adapter.queue.submit([encoder.finish()]);
        Ok((read(&mut gpu).pairs, block_on(culling.read_back()).unwrap().objects))
    };
    let (list, views) = (Source::device(&excluded, 2), Source::<Frustum>::device(&frusta, 2));
    let expected = (vec![Pair { a: 0, b: 2 }], vec![vec![0, 2]; 2]);
    assert_eq!(
        step(list.at(alignment.into()), views.at(alignment.into())),
        Ok(expected)
    );
    let refused = |what| Err(StepError::Input(InputError::NotInPlace { what, alignment }));
    for list in [list.at(4), list.stride(16)] {
        assert_eq!(step(list, Source::default()), refused("excluded pairs"));
    }
    for views in [views.at(16), Source::<Frustum>::device(&frusta, 1).at(4)] {
        assert_eq!(step(Source::default(), views), refused("views"));
    }
}
