//! Memory that components report, hold and give back, and caches of pipelines.

use crate::common::steps::{
    UNIT, broad_phase, descriptor, encoder, poll, queries_of, query, read, scene_of, submit, upload,
};
use crate::common::{Rng, TestAdapter, daily_adapters, uniform};
use gpu_broad_phase::{
    Aabb, Backend, BroadPhase, BroadPhaseDescriptor, BroadPhaseError, CreateError, CullDraw, CullOptions, Culling,
    DebugDraw, DebugLines, DispatchArgs, Frustum, GpuBroadPhase, Growth, MemoryUse, ObjectSet, Output, PairEvents,
    QueryInput, Ray, Scene, Scheme, Source, Status, StepResult, wgpu,
};
use pollster::block_on;

fn scene<'s>(moving: &'s [Aabb], fixed: &'s [Aabb]) -> Scene<'s> {
    let mut scene = scene_of(moving);
    scene.statics.objects = fixed.into();
    scene
}

fn step(adapter: &TestAdapter, gpu: &mut GpuBroadPhase, scene: Scene<'_>) -> StepResult {
    submit(adapter, gpu, scene);
    read(gpu)
}

#[test]
fn objects_take_at_most_160_bytes_and_pairs_8() {
    const COUNT: usize = 50_000;
    let objects = uniform(COUNT, &mut Rng(3));
    for adapter in daily_adapters() {
        let mut descriptor = BroadPhaseDescriptor::default();
        let mut gpu = broad_phase(&adapter, &descriptor);
        let pairs = step(&adapter, &mut gpu, scene(&objects, &[])).counters.pairs_needed;
        descriptor.outputs.growth = Growth::Fixed;
        descriptor.outputs.capacities.pairs = Some(pairs as u32);
        let mut exact = broad_phase(&adapter, &descriptor);
        assert_eq!(exact.memory().total(), 0);
        let found = step(&adapter, &mut exact, scene(&objects, &[]));
        assert_eq!(found.pairs.len() as u64, pairs);
        let memory = exact.memory();
        let each = memory.objects as f64 / COUNT as f64;
        assert!((60.0..=160.0).contains(&each), "{each} bytes an object");
        assert_eq!(memory.pairs, (8 * pairs).next_multiple_of(16));
        let inputs = 32 * COUNT as u64;
        assert!((inputs..=inputs + 64).contains(&memory.inputs));
        assert_eq!(memory.order, 0);
    }
}

/// `memory` reports everything but uniform blocks and staging buffers.
#[test]
fn memory_is_what_the_device_holds() {
    let boxes = uniform(3000, &mut Rng(15));
    for adapter in daily_adapters() {
        let on_device = || adapter.device.get_internal_counters().hal.buffer_memory.read() as u64;
        for (statics, list_capacity) in [(0, None), (700, Some(10_000))] {
            let what = format!("{statics} static on {}", adapter.name);
            let mut descriptor = BroadPhaseDescriptor::default();
            descriptor.outputs.capacities.pairs = Some(1 << 14);
            let mut set = ObjectSet::new();
            let handles: Vec<_> = boxes.iter().map(|&of| set.insert(of)).collect();
            boxes[..statics].iter().for_each(|&of| _ = set.insert_static(of));
            assert_eq!(set.memory().total(), 0, "{what}");
            poll(&adapter.device);
            let before = on_device();
            let mut gpu = broad_phase(&adapter, &descriptor);
            let mut events = PairEvents::new(None);
            let mut culling = Culling::new(None);
            let mut lines = DebugDraw::new(&descriptor, None);
            let mut args = DispatchArgs::new(None);
            let views = [Frustum::new([[1.0, 0.0, 0.0, 0.0]]); 5];
            let options = CullOptions {
                list_capacity,
                draw: Some(CullDraw::Indices(36)),
            };
            for step in 0..3 {
                for handle in handles.iter().take(100 * step) {
                    set.set(*handle, UNIT).unwrap();
                }
                let mut encoder = encoder(&adapter);
                let input = set.upload(&adapter.device, &mut encoder).unwrap();
                let output = gpu.step(&mut encoder, input).unwrap();
                events.record(&mut encoder, &output, set.names()).unwrap();
                culling
                    .record(&mut encoder, &output, Source::Host(&views), options)
                    .unwrap();
                lines
                    .record(&mut encoder, &output, DebugLines::Boxes, [0; 4], 1000)
                    .unwrap();
                args.record(&mut encoder, &output, Output::Pairs, 64).unwrap();
                adapter.queue.submit([encoder.finish()]);
            }
            poll(&adapter.device);
            let MemoryUse { objects, pairs, .. } = gpu.memory();
            let each = objects / (boxes.len() + statics) as u64;
            assert!(
                (60..=200).contains(&each) && pairs == 8 << 14,
                "{what}: {each}, {pairs}"
            );
            // A box has twelve lines of two 16-byte vertices.
            assert_eq!(lines.memory().results, 16 * 2 * 12 * (1000 / 12), "{what}");
            assert_eq!((lines.memory().fixed, args.memory().total()), (32, 16), "{what}");
            // For each view, a bit per object and, with a list, a count per 32 objects.
            let words = 5 * (boxes.len() + statics).div_ceil(32) as u64;
            let bytes = 4 * list_capacity.map_or(words, |rows| 2 * words + u64::from(rows));
            let of_views = culling.memory().total();
            let is_near = (bytes..bytes + 2000).contains(&of_views);
            assert!(is_near, "{what}: {of_views}, not {bytes}");
            let components = [
                set.memory(),
                culling.memory(),
                events.memory(),
                lines.memory(),
                args.memory(),
            ];
            let own = components.iter().map(MemoryUse::total).sum::<u64>() + gpu.memory().total();
            // wgpu does not count buffers of GL.
            let made = on_device() - before;
            assert!(
                adapter.backends == wgpu::Backends::GL || (own..own + own / 10).contains(&made),
                "{what}: {made} bytes, {own} of them our own"
            );
            culling.trim();
            assert_eq!(culling.memory().total(), 0, "{what}");
        }
    }
}

#[test]
fn buffers_that_many_steps_do_not_need_shrink_and_grow_again() {
    const MANY: usize = 20_000;
    let objects = uniform(MANY, &mut Rng(7));
    let few = &objects[..50];
    for adapter in daily_adapters() {
        for (scheme, [moving, fixed]) in [
            (Scheme::Hierarchical, [&objects[..], few]),
            (Scheme::Uniform { cell_size: 2.0 }, [&objects[..], &[]]),
            (Scheme::Hierarchical, [few, &objects[..]]),
        ] {
            let what = format!("{scheme:?}, {} static on {}", fixed.len(), adapter.name);
            let mut gpu = broad_phase(&adapter, &descriptor(|all| all.scheme = scheme));
            // Queries between steps keep their results' memory.
            let mut run = |scene: Scene<'_>| {
                let found = step(&adapter, &mut gpu, scene);
                let results = query(&adapter, &mut gpu, queries_of(&objects[..2000]));
                assert_eq!(results.query_offsets.len(), 2001, "{what}");
                (found.pairs, gpu.memory())
            };
            let [small, large] = [scene(few, &few[..fixed.len().min(50)]), scene(moving, fixed)];
            let (first, before) = run(small);
            let (all, held) = run(large);
            assert!(held.total() > before.total() + 60 * MANY as u64, "{what}: {held:?}");
            let is_moving = moving.len() == MANY;
            let mut results = None;
            for frame in 0..24 {
                let (pairs, now) = run(small);
                assert_eq!(pairs, first, "{what}, frame {frame}");
                assert!(
                    !is_moving || frame > 2 || now.objects == held.objects,
                    "{what}, {frame}"
                );
                // The second query grows results.
                let is_held = frame == 0 || now.results == *results.get_or_insert(now.results);
                assert!(is_held, "{what}, frame {frame}: {now:?}");
                let is_small = now.total() - now.results <= 2 * (before.total() - before.results);
                assert!(is_small || frame < 20, "{what}, frame {frame}: {now:?}, not {before:?}");
            }
            assert_eq!(run(large).0, all, "{what}");
        }
    }
}

#[test]
fn outputs_that_grew_shrink_again() {
    let crowd = [UNIT; 700];
    for adapter in daily_adapters() {
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let mut run = |boxes: &[Aabb]| {
            let counters = step(&adapter, &mut gpu, scene(boxes, &[])).counters;
            (counters.pairs_needed, counters.status, gpu.memory().pairs)
        };
        run(&crowd);
        let (_, _, grown) = run(&crowd);
        assert!(grown >= 8 * 244_650, "{grown} on {}", adapter.name);
        for frame in 0..140 {
            let (needed, status, held) = run(&crowd[..20]);
            assert_eq!((needed, status), (190, Status::default()), "{}", adapter.name);
            assert!(
                held == grown || frame >= 60,
                "{held} in frame {frame} on {}",
                adapter.name
            );
            assert!(held <= 8 << 16 || frame < 139, "{held} on {}", adapter.name);
        }
        let (needed, status, _) = run(&crowd);
        assert_eq!((needed, status), (244_650, Status::PAIRS), "{}", adapter.name);
        assert_eq!(run(&crowd).1, Status::default(), "{}", adapter.name);
    }
}

#[test]
fn disused_bindings_and_trimmed_buffers_are_freed() {
    let objects = uniform(5000, &mut Rng(6));
    for adapter in daily_adapters() {
        let device = &adapter.device;
        let idle = || {
            poll(&adapter.device);
            let counters = device.get_internal_counters().hal;
            [counters.bind_groups.read(), counters.buffers.read()]
        };
        let mut gpu = broad_phase(&adapter, &BroadPhaseDescriptor::default());
        let before = idle();
        step(&adapter, &mut gpu, scene(&objects, &[]));
        let rays = [Ray::new([0.0; 3], [1.0, 0.5, 0.25], f32::INFINITY)];
        let caller_owned = upload(device, &rays, wgpu::BufferUsages::STORAGE);
        let rays = Source::<Ray>::device(&caller_owned, 1).into();
        let input = QueryInput {
            rays,
            ..QueryInput::default()
        };
        query(&adapter, &mut gpu, input);
        drop(caller_owned);
        let held = idle();
        for _ in 0..10 {
            step(&adapter, &mut gpu, scene(&objects, &[]));
        }
        let now = idle();
        let what = format!("{now:?}, {held:?}, {before:?} on {}", adapter.name);
        assert!(now[0] < held[0] && now[1] < held[1], "{what}");
        gpu.trim();
        let after = idle();
        assert!(after[0] <= before[0] && after[1] <= before[1], "{after:?}, {what}");
    }
}

/// Returns pairs, and the cache's data afterwards.
fn with_cache(data: Option<&[u8]>, objects: &[Aabb]) -> Result<(StepResult, Option<Vec<u8>>), BroadPhaseError> {
    let mut cache = None;
    let backend = Backend::Gpu(wgpu::Backends::VULKAN);
    let descriptor = BroadPhaseDescriptor::default();
    let made = block_on(BroadPhase::with_pipeline_cache(&descriptor, backend, |_, device| {
        // SAFETY: the data comes from a cache of this adapter, or its header is refused.
        cache = Some(unsafe { device.create_pipeline_cache(&cache_descriptor(data)) });
        cache.clone()
    }));
    let result = block_on(made?.step(objects, &[]))?;
    Ok((result, cache.and_then(|cache| cache.get_data())))
}

const fn cache_descriptor(data: Option<&[u8]>) -> wgpu::PipelineCacheDescriptor<'_> {
    wgpu::PipelineCacheDescriptor {
        label: None,
        data,
        fallback: true,
    }
}

#[test]
fn pipeline_caches_change_no_result_and_a_refused_one_counts_as_none() {
    let objects = uniform(500, &mut Rng(4));
    let (expected, data) = match with_cache(None, &objects) {
        Err(BroadPhaseError::NoAdapter { .. }) => return,
        answer => answer.expect("an answer"),
    };
    let Some(data) = data else { return };
    let changed = |at: usize| {
        let mut data = data.clone();
        data[at] ^= 1;
        data
    };
    let [format, adapter, driver] = [0, 20, 35].map(changed);
    for (data, is_taken) in [
        (&data[..], true),
        (&data[..data.len() - 1], true),
        (&[], true),
        (&format, true),
        (&driver, true),
        (&adapter, false),
    ] {
        let (found, data) = with_cache(Some(data), &objects).expect("an answer");
        assert_eq!(found.pairs, expected.pairs);
        assert_eq!(data.is_some(), is_taken);
    }
}

#[test]
fn a_pipeline_cache_of_another_device_is_an_error() {
    let with_caches = block_on(gpu_broad_phase::adapters(wgpu::Backends::VULKAN))
        .into_iter()
        .filter(|adapter| adapter.features().contains(wgpu::Features::PIPELINE_CACHE));
    for adapter in with_caches {
        let [(device, queue), (other, _)] = [(); 2].map(|()| {
            let request = GpuBroadPhase::device_descriptor(&adapter);
            block_on(adapter.request_device(&request)).unwrap()
        });
        // SAFETY: there is no data.
        let cache = unsafe { other.create_pipeline_cache(&cache_descriptor(None)) };
        let made = GpuBroadPhase::with_pipeline_cache(&device, &queue, &BroadPhaseDescriptor::default(), &cache);
        assert!(matches!(made.err(), Some(CreateError::Device(_))));
    }
}
