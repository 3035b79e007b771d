//! Pipelines: which steps need, which are prepared, and which are shared.

use super::renderer::own_device;
use crate::common::steps::{self, RAY_MODES, SCHEMES, UNIT, upload};
use crate::common::{Rng, daily_adapters, daily_or_full, uniform};
use gpu_broad_phase::{
    BroadPhaseDescriptor, CreateError, DescriptorError, DeviceCount, Dimensions, GpuBroadPhase, Pair, Queries,
    QueryInput, QueryMode, Ray, RayMode, ResultOrder, Scene, Scheme, SelfQuery, Source, Statics, SweptRay, Uses, wgpu,
};
use pollster::block_on;

fn pipelines(device: &wgpu::Device) -> isize {
    device.get_internal_counters().hal.compute_pipelines.read()
}

fn uses(choose: impl FnOnce(&mut Uses)) -> Uses {
    let mut uses = Uses::default();
    choose(&mut uses);
    uses
}

/// A broad phase prepared for `uses`, and the needed passes that were not dispatched yet.
struct Prepared {
    device: wgpu::Device,
    queue: wgpu::Queue,
    gpu: GpuBroadPhase,
    uses: Uses,
    unused: Vec<&'static str>,
}

impl Prepared {
    fn act(&mut self, record: impl FnOnce(&mut GpuBroadPhase, &mut wgpu::CommandEncoder)) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        record(&mut self.gpu, &mut encoder);
        self.queue.submit([encoder.finish()]);
        block_on(self.gpu.read_back()).expect("a result");
        let still = self.gpu.unused_passes(Some(self.uses));
        self.unused.retain(|pass| still.contains(pass));
    }

    /// Runs six frames of all inputs in use, half of them crowded, since counters of earlier ones change the passes of
    /// later ones.
    fn run(&mut self) {
        fn if_used<T>(is_used: bool, rows: &[T]) -> &[T] {
            if is_used { rows } else { &[] }
        }
        let uses = self.uses;
        let sparse = uniform(400, &mut Rng(31));
        let crowded = vec![UNIT; 120];
        let walls = uniform(100, &mut Rng(32));
        let walls = if_used(uses.statics, &walls);
        let rays = sparse.iter().cycle().map(|of| Ray::new(of.min, [0.2, 1.0, 0.1], 3.0));
        let rays: Vec<_> = rays.take(5000).collect();
        let swept: Vec<_> = rays.iter().map(|&ray| SweptRay::new(ray)).collect();
        let worlds = vec![1; if self.gpu.descriptor().worlds > 1 { 400 } else { 0 }];
        let ids = |count: usize| &worlds[..count.min(worlds.len())];
        let device = self.device.clone();
        let on_device = |words: &[u8]| upload(&device, words, wgpu::BufferUsages::STORAGE);
        let counts = on_device(bytemuck::cast_slice(&[90u32, 300]));
        let count = |word| {
            let buffer = &counts;
            uses.device_counts.then_some(DeviceCount { buffer, word })
        };
        let behind_a_word = |bytes: &[u8]| on_device(&[&[0; 4], bytes].concat());
        let strided_rays = behind_a_word(bytemuck::cast_slice(&rays));
        let all = [sparse, crowded].map(|boxes| (behind_a_word(bytemuck::cast_slice(&boxes)), boxes));
        let scene = |turn: usize| {
            let (strided, boxes) = &all[turn / 3];
            let is_strided = uses.strided && turn.is_multiple_of(2);
            Scene {
                objects: if is_strided {
                    Source::device(strided, boxes.len() as u32).at(4)
                } else {
                    boxes[..].into()
                },
                object_count: count(0),
                worlds: ids(boxes.len()).into(),
                statics: Statics {
                    objects: walls.into(),
                    worlds: ids(walls.len()).into(),
                    generation: 1,
                },
                query: QueryInput {
                    rays: if uses.rays && is_strided {
                        Source::<Ray>::device(&strided_rays, 5000).at(4).into()
                    } else {
                        if_used(uses.rays, &rays).into()
                    },
                    ray_count: count(1).filter(|_| uses.rays),
                    queries: if_used(uses.queries, boxes).into(),
                    query_count: count(0).filter(|_| uses.queries),
                    query_mode: QueryMode::All,
                },
                ..Scene::default()
            }
        };
        for turn in 0..6 {
            let scene = scene(turn);
            self.act(|gpu, encoder| _ = gpu.step(encoder, scene).expect("a step"));
            let query = QueryInput {
                rays: if_used(uses.swept_rays, &swept).into(),
                queries: if_used(uses.nearest, &all[turn / 3].1).into(),
                query_mode: QueryMode::Nearest(3),
                ..QueryInput::default()
            };
            self.act(|gpu, encoder| _ = gpu.query(encoder, query).expect("a query"));
            for (is_used, query_mode) in [(uses.queries, QueryMode::All), (uses.nearest, QueryMode::Nearest(3))] {
                let own = SelfQuery::Overlaps { half: false };
                let excluding = Scene {
                    excluded_pairs: Source::Host(&[Pair { a: 0, b: 1 }]),
                    query: QueryInput {
                        queries: if is_used { own.into() } else { Queries::None },
                        query_count: None,
                        query_mode,
                        ..scene.query
                    },
                    ..scene
                };
                if uses.excluded_pairs {
                    self.act(|gpu, encoder| _ = gpu.step(encoder, excluding).expect("a step"));
                }
            }
        }
    }
}

/// Each scheme has one ray mode.
fn descriptor(number: usize) -> BroadPhaseDescriptor<'static> {
    let ray_mode = RAY_MODES[number];
    let is_all = ray_mode == RayMode::All;
    steps::descriptor(|all| {
        (all.scheme, all.pairs) = (SCHEMES[number], ray_mode != RayMode::Any);
        (all.outputs.ray_mode, all.outputs.ray_cells) = (ray_mode, is_all);
        if is_all {
            (all.worlds, all.outputs.order) = (2, ResultOrder::Sorted);
        }
    })
}

#[test]
fn prepared_uses_compile_nothing_later_and_run_all_that_they_compiled() {
    let some = [
        (0, Uses::default()),
        (0, uses(|uses| (uses.rays, uses.statics) = (true, true))),
        (1, uses(|uses| (uses.nearest, uses.swept_rays) = (true, true))),
        (0, uses(|uses| (uses.excluded_pairs, uses.queries) = (true, true))),
        (2, Uses::ALL),
    ];
    let all = (0..SCHEMES.len()).flat_map(|number| some.map(|(_, uses)| (number, uses)));
    for adapter in daily_adapters() {
        for (number, uses) in daily_or_full(some.to_vec(), all.clone().collect()) {
            let descriptor = descriptor(number);
            let what = format!("{}, {descriptor:?}, {uses:?}", adapter.name);
            let (device, queue) = own_device(&adapter);
            let gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            let made = pipelines(&device);
            gpu.prepare(uses).run().expect("pipelines");
            let prepared = pipelines(&device);
            assert!(prepared > made || uses == Uses::default(), "{what}");
            let again = gpu.prepare(uses);
            let elsewhere = std::thread::spawn(move || again.run());
            elsewhere.join().expect("a thread").expect("pipelines");
            assert_eq!(pipelines(&device), prepared, "{what}: prepared twice");
            let mut prepared_gpu = Prepared {
                unused: gpu.unused_passes(Some(uses)),
                device,
                queue,
                gpu,
                uses,
            };
            prepared_gpu.run();
            assert_eq!(pipelines(&prepared_gpu.device), prepared, "{what}: compiled later");
            assert_eq!(prepared_gpu.unused, [""; 0], "{what}: compiled, but not run");
        }
    }
}

#[test]
fn broad_phases_of_a_device_share_pipelines_and_the_last_one_drops_them() {
    const FILTERS: [&str; 2] = [
        "fn admits_pair(a: u32, b: u32) -> bool { return a < b; }",
        "fn admits_pair(a: u32, b: u32) -> bool { return b < a; }",
    ];
    for adapter in daily_adapters() {
        let what = &adapter.name;
        let (device, queue) = own_device(&adapter);
        // wgpu has pipelines of its own.
        let none = pipelines(&device);
        let make = |headroom: f32, pair_filter: Option<&'static str>| {
            let descriptor = steps::descriptor(|all| {
                (all.outputs.headroom, all.pair_filter) = (headroom, pair_filter);
            });
            let gpu = GpuBroadPhase::new(&device, &queue, &descriptor).expect("a broad phase");
            gpu.prepare(Uses::default()).run().expect("pipelines");
            gpu
        };
        let first = make(0.0, None);
        let all = pipelines(&device);
        let second = make(0.5, None);
        assert_eq!(pipelines(&device), all, "{what}: other options");
        drop(first);
        let (other_device, other_queue) = own_device(&adapter);
        let elsewhere = GpuBroadPhase::new(&other_device, &other_queue, &BroadPhaseDescriptor::default());
        assert_eq!(pipelines(&device), all, "{what}: another device");
        assert!(pipelines(&other_device) > none, "{what}");
        drop(elsewhere);
        let filtered = make(0.0, Some(FILTERS[0]));
        let of_filter = pipelines(&device) - all;
        assert!(of_filter > 0, "{what}");
        let again = make(0.0, Some(FILTERS[0]));
        assert_eq!(pipelines(&device), all + of_filter, "{what}: the same filter");
        drop((filtered, again));
        let filtered = make(0.0, Some(FILTERS[1]));
        assert_eq!(pipelines(&device), all + of_filter, "{what}: the other filter");
        drop((filtered, second));
        assert_eq!(pipelines(&device), none, "{what}: all are dropped");
    }
}

#[test]
fn another_descriptor_compiles_only_what_differs_and_a_bad_one_changes_nothing() {
    type Change = fn(&mut BroadPhaseDescriptor<'_>);
    let base = BroadPhaseDescriptor::default();
    // (Change, `true` if it needs other pipelines).
    let changes: [(Change, bool); 7] = [
        (|of| of.margin = 0.25, false),
        (|of| of.dimensions = Dimensions::Two, false),
        (|of| of.outputs.capacities.pairs = Some(1 << 16), false),
        (|of| of.pairs = false, false),
        (|of| of.filters = false, true),
        (|of| of.scheme = Scheme::Uniform { cell_size: 1.3 }, true),
        (|of| of.scheme = Scheme::Uniform { cell_size: 2.0 }, false),
    ];
    for adapter in daily_adapters() {
        let (device, queue) = own_device(&adapter);
        let mut gpu = GpuBroadPhase::new(&device, &queue, &base).expect("a broad phase");
        gpu.prepare(Uses::ALL).run().expect("pipelines");
        let all = pipelines(&device);
        let mut descriptor = base;
        for (change, differs) in changes {
            change(&mut descriptor);
            let what = format!("{}: {descriptor:?}", adapter.name);
            let before = pipelines(&device);
            gpu.set_descriptor(&descriptor).expect("a descriptor that works");
            assert_eq!(gpu.descriptor().margin, descriptor.margin);
            let made = pipelines(&device) - before;
            assert!(
                if differs { made < all * 4 / 5 } else { made == 0 },
                "{what}: {made} of {all}"
            );
            let mut encoder = device.create_command_encoder(&Default::default());
            assert!(
                gpu.record_read_back(&mut encoder, &[]).is_err(),
                "{what}: the last step is gone"
            );
            gpu.step(&mut encoder, Scene::default()).expect("a step");
        }
        let mut encoder = device.create_command_encoder(&Default::default());
        gpu.step(&mut encoder, Scene::default()).expect("a step");
        let bad = BroadPhaseDescriptor {
            margin: -1.0,
            ..descriptor
        };
        let error = gpu.set_descriptor(&bad).err();
        assert_eq!(error, Some(CreateError::Descriptor(DescriptorError::Margin(-1.0))));
        assert_eq!(gpu.descriptor().margin, descriptor.margin);
        assert!(
            gpu.record_read_back(&mut encoder, &[]).is_ok(),
            "the last step is still there"
        );
    }
}
