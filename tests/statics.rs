//! Static objects: the answer is that of one list with marks, whether their table was kept or built, and a kept table is
//! neither uploaded nor built.

mod common;

use common::{Rng, TestAdapter, adapters, lattice, sweep};
use gpu_broad_phase::wgpu::util::{BufferInitDescriptor, DeviceExt};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, DescriptorError, Dimensions, GpuBroadPhase, Growth, Headless,
    HeadlessDescriptor, Neighbors, Pair, PairOrder, Query, QueryInput, QueryMode, RayMode, STATUS_ENTRIES,
    STATUS_ROUNDS, Scene, SceneQueries, SceneRays, SceneStatics, Scheme, Source, Statics, StepError, StepInput,
    StepResult, SweptRay, Window, reference, wgpu,
};
use pollster::block_on;
use common::steps::{
    RAY_MODES, SCHEMES, broad_phase, check_hits, check_lists, check_nearest, counted, encoder, read, record, sorted, submit, whole,
};

/// Boxes of all kinds: touching ones on a lattice with layers, owners and marks, a few without bounds, huge, faulty and
/// excluded ones.
fn boxes(count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let mut boxes = lattice(count, rng);
    let odd = [
        Aabb::new([-1e30; 3], [1e30; 3]),
        Aabb::new([2.0, 2.0, f32::NEG_INFINITY], [3.0, 3.0, f32::INFINITY]),
        Aabb::new([f32::NAN, 0.0, 0.0], [1.0; 3]),
        Aabb::new([1.0; 3], [0.0; 3]),
        Aabb::new([0.0; 3], [4.0; 3]).with_owner(Aabb::EXCLUDED),
        Aabb::new([0.5; 3], [40.0; 3]),
        Aabb::point([3.0; 3]),
    ];
    for (index, object) in boxes.iter_mut().enumerate() {
        if index % 29 == 7 {
            *object = odd[rng.below(odd.len())];
        }
        if rng.below(4) == 0 {
            *object = object.with_layers(1 << rng.below(3), 0b110 | rng.below(2) as u16);
        }
        let owner = [0, 0, 0, 1, 2, Aabb::STATIC][rng.below(6)];
        object.owner |= owner;
    }
    boxes
}

/// What a scene borrows.
struct Case {
    statics: Vec<Aabb>,
    static_worlds: Vec<u32>,
    moving: Vec<Aabb>,
    worlds: Vec<u32>,
    rays: Vec<SweptRay>,
    queries: Vec<Query>,
    generation: u64,
}

impl Case {
    fn new(seed: u64, [statics, moving]: [usize; 2], worlds: u32) -> Self {
        let mut rng = Rng(seed);
        let [statics, moving] = [statics, moving].map(|count| boxes(count, &mut rng));
        // One more than there are.
        let mut world_of = |objects: &[Aabb]| -> Vec<u32> {
            let worlds = if worlds > 1 { worlds as usize + 1 } else { 0 };
            let objects = if worlds > 0 { objects } else { &[] };
            objects.iter().map(|_| rng.below(worlds) as u32).collect()
        };
        let (static_worlds, worlds_of_moving) = (world_of(&statics), world_of(&moving));
        let scene = common::scene(2, 10, 40, &mut rng);
        let rays = sweep(&scene.rays, worlds, &mut rng);
        let queries = boxes(40, &mut rng)
            .into_iter()
            .enumerate()
            .map(|(index, bounds)| Query {
                bounds,
                radius: [0.0, 0.7, 2.3][index % 3],
                world: index as u32 % worlds,
                reserved: [0; 2],
            });
        Self {
            statics,
            static_worlds,
            moving,
            worlds: worlds_of_moving,
            queries: queries.collect(),
            rays,
            generation: seed,
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            objects: &self.moving,
            worlds: &self.worlds,
            statics: SceneStatics {
                objects: &self.statics,
                worlds: &self.static_worlds,
                generation: self.generation,
            },
            rays: SceneRays::Swept(&self.rays),
            queries: SceneQueries::Rounded(&self.queries),
            query_mode: QueryMode::All,
        }
    }
}

/// The answer of a scene is that of the definition, on whatever it was found.
fn check_answer(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, result: &StepResult, what: &str) {
    use gpu_broad_phase::reference::brute_force;
    if descriptor.pairs {
        let pairs = brute_force::scene_pairs(descriptor, scene);
        let found = sorted(result.pairs.clone());
        if found != pairs {
            let lost: Vec<_> = pairs.iter().filter(|pair| !found.contains(pair)).collect();
            let more: Vec<_> = found.iter().filter(|pair| !pairs.contains(pair)).collect();
            panic!("{what}: pairs {lost:?} are lost, {more:?} are too many, {} of {}", found.len(), pairs.len());
        }
        if descriptor.worlds > 1 {
            let of_worlds: u32 = result.world_pairs.iter().sum();
            assert_eq!(of_worlds as usize, pairs.len(), "{what}: pairs of worlds");
        }
    }
    let hits = brute_force::scene_rays(descriptor, scene);
    check_hits(result, descriptor.ray_mode, &hits, what);
    let found = brute_force::scene_queries(descriptor, scene);
    if scene.query_mode == QueryMode::All && !found.is_empty() {
        check_lists(result, &found, what);
    }
}

fn check(descriptor: &BroadPhaseDescriptor<'_>, scene: &Scene<'_>, on_gpu: &StepResult, what: &str) {
    let on_cpu = reference::step_scene(descriptor, scene).unwrap();
    check_answer(descriptor, scene, &on_cpu, &format!("{what}, reference"));
    check_answer(descriptor, scene, on_gpu, what);
    assert_eq!(counted(&on_gpu.counters), counted(&on_cpu.counters), "{what}");
    assert_eq!(
        on_gpu.counters.static_entries_needed, on_cpu.counters.static_entries_needed,
        "{what}"
    );
    assert_eq!(on_gpu.counters.table_cells, on_cpu.counters.table_cells, "{what}");
    // Not only as a set: in the reference's order.
    assert!(on_gpu.pairs == on_cpu.pairs, "{what}: another order of pairs");
    assert_eq!(on_gpu.world_pairs, on_cpu.world_pairs, "{what}");
    assert_eq!(on_gpu.query_offsets, on_cpu.query_offsets, "{what}");
    check_nearest(&on_gpu.query_nearest, &on_cpu.query_nearest, what);
}

fn descriptors() -> Vec<BroadPhaseDescriptor<'static>> {
    let default = BroadPhaseDescriptor::default();
    let mut all = Vec::new();
    for (index, scheme) in SCHEMES.into_iter().enumerate() {
        let ray_mode = RAY_MODES[index];
        all.extend([
            BroadPhaseDescriptor {
                scheme,
                ray_mode,
                ..default
            },
            BroadPhaseDescriptor {
                scheme,
                ray_mode: RayMode::All,
                dimensions: Dimensions::Two,
                margin: 0.125,
                pair_order: [PairOrder::Deterministic, PairOrder::Sorted][index % 2],
                ..default
            },
            BroadPhaseDescriptor {
                scheme,
                ray_mode: RAY_MODES[(index + 1) % 3],
                worlds: 3,
                ..default
            },
        ]);
    }
    all
}

const SIZES: [[usize; 2]; 7] = [[300, 40], [40, 300], [1, 1], [0, 50], [50, 0], [257, 256], [2000, 100]];

#[test]
fn the_answer_is_that_of_one_list() {
    for adapter in adapters() {
        for (index, descriptor) in descriptors().iter().enumerate() {
            let mut on_gpu = broad_phase(&adapter, descriptor);
            for (seed, sizes) in SIZES.into_iter().enumerate() {
                let case = Case::new(seed as u64 + 10 * index as u64, sizes, descriptor.worlds);
                let mut scene = case.scene();
                let what = format!("{sizes:?} on {}, {descriptor:?}", adapter.name);
                for (mode, queries) in [
                    (QueryMode::All, scene.queries),
                    (QueryMode::All, SceneQueries::Neighbors(Neighbors { radius: 1.3, once: false })),
                    (QueryMode::All, SceneQueries::Neighbors(Neighbors { radius: 0.9, once: true })),
                    (QueryMode::Nearest(3), scene.queries),
                    (QueryMode::Nearest(4), SceneQueries::Neighbors(Neighbors { radius: 2.1, once: false })),
                ] {
                    (scene.query_mode, scene.queries) = (mode, queries);
                    let what = format!("{what}, {mode:?} {:?}", matches!(queries, SceneQueries::Neighbors(_)));
                    let found = whole(&adapter, &mut on_gpu, (&scene).into());
                    check(descriptor, &scene, &found, &what);
                }
            }
        }
    }
}
