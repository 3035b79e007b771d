use crate::common::pool::pooled;
use crate::common::steps::{self, broad_phase, scene_of, whole};
use crate::common::{Rng, TestAdapter, daily_adapters};
use gpu_broad_phase::cpu;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Query, QueryMode, Scene, Scheme, SelfQuery, Status, StepResult};
use pollster::block_on;
use wild::{Expected, check_definition};

/// Cell sizes are about the distance between objects, on which bounds on box tests depend.
const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.3 },
    Scheme::Adaptive { min_scale: 1.0 },
];

const KINDS: [&str; 8] = [
    "points", "plane", "outlier", "sizes", "clusters", "crowd", "place", "lattice",
];

fn descriptor(scheme: Scheme) -> BroadPhaseDescriptor<'static> {
    steps::descriptor(|all| (all.scheme, all.pairs, all.count_candidates) = (scheme, false, true))
}

struct Case {
    kind: &'static str,
    objects: Vec<Aabb>,
    statics: usize,
    /// Objects query each other if `None`.
    queries: Option<Vec<Query>>,
    wanted: u32,
}

impl Case {
    fn self_query(kind: &'static str, count: usize, wanted: u32) -> Self {
        Self {
            kind,
            objects: objects(kind, count, &mut Rng(404)),
            statics: 0,
            queries: None,
            wanted,
        }
    }

    fn spheres(kind: &'static str, count: usize, wanted: u32, place: impl Fn(&mut Rng) -> [f32; 3]) -> Self {
        let mut rng = Rng(405);
        let spheres = (0..200).map(|_| Query::sphere(place(&mut rng), f32::INFINITY));
        Self {
            queries: Some(spheres.collect()),
            ..Self::self_query(kind, count, wanted)
        }
    }

    fn scene(&self) -> Scene<'_> {
        let (radius, half) = (f32::MAX, false);
        let (statics, moving) = self.objects.split_at(self.statics);
        let mut scene = scene_of(moving);
        scene.query.query_mode = QueryMode::Nearest(self.wanted);
        scene.query.queries = match &self.queries {
            Some(queries) => queries[..].into(),
            None => SelfQuery::Within { radius, half }.into(),
        };
        scene.statics.objects = statics.into();
        scene
    }

    fn tests_per_query(&self, result: &StepResult) -> f64 {
        let queries = self.queries.as_ref().map_or(self.objects.len(), Vec::len);
        result.counters.query_candidates as f64 / queries as f64
    }
}

/// Evenly spread objects are one per unit of volume.
fn objects(kind: &str, count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (count as f32).cbrt();
    let centers: Vec<_> = (0..7).map(|_| rng.point(300.0)).collect();
    let bell = |rng: &mut Rng| (0..6).map(|_| rng.unit()).sum::<f32>() - 3.0;
    let object = |index: usize| match kind {
        "outlier" if index == 3 => Aabb::point([3e5, -2e5, 1e5]),
        "points" | "outlier" => Aabb::point(rng.point(side)),
        "plane" => {
            let [x, y, _] = rng.point((count as f32).sqrt());
            Aabb::point([x, y, 0.0])
        }
        "sizes" => {
            let half = 0.05 / (1.0 - 0.9999 * rng.unit());
            Aabb::from_center_half(rng.point(4.0 * side), [half; 3])
        }
        "clusters" => Aabb::point(centers[index % 7].map(|at| at + bell(rng))),
        "crowd" => {
            let side = if index.is_multiple_of(4) { side } else { 0.05 };
            Aabb::from_center_half(rng.point(side), [0.3 * rng.unit(); 3])
        }
        "place" => Aabb::point([[1.0; 3], [2.0, 5.0, 1.0]][index % 2]),
        "lattice" => {
            let low = rng.point(side).map(f32::round);
            let edges = [0; 3].map(|_| 0.5 * rng.below(5) as f32);
            Aabb::new(low, [0, 1, 2].map(|axis| low[axis] + edges[axis]))
        }
        _ => panic!("{kind}"),
    };
    (0..count).map(object).collect()
}

#[test]
fn nearest_of_thousands_of_objects_are_those_of_brute_force() {
    for adapter in daily_adapters() {
        let mut rounds = 0;
        for (number, kind) in KINDS.into_iter().enumerate() {
            let mut all = Case::spheres(kind, 9000, [4, 40, 300][number % 3], |rng| rng.point(25.0));
            let queries = all.queries.as_mut().unwrap();
            queries.truncate(15);
            queries[..5].iter_mut().for_each(|query| query.radius = 5.0);
            all.statics = [3000, 0][number % 2];
            let mut each_other = Case::self_query(kind, 700, [17, 4, 60][number % 3]);
            each_other.statics = [0, 300][number % 2];
            for (case, scheme) in [(all, number), (each_other, number + 1)] {
                let descriptor = descriptor(SCHEMES[scheme % 3]);
                let scene = case.scene();
                let expected = Expected::of(&descriptor, &scene);
                let on_cpu = cpu::step_scene(&descriptor, &scene).unwrap();
                let found = block_on(pooled(&adapter, &descriptor).step_scene(&scene)).unwrap();
                assert_eq!(found.counters.status, Status::default());
                rounds = rounds.max(found.counters.rounds_needed);
                for (result, place) in [(&found, &*adapter.name), (&on_cpu, "the CPU")] {
                    let what = format!("{} {kind}, {descriptor:?} on {place}", case.objects.len());
                    check_definition(&descriptor, &scene, &expected, result, &what);
                }
            }
        }
        assert!(rounds > 1, "no case takes several rounds");
    }
}

/// Broad phases are new, since rounds that a driver once cut stay shorter, which adds tests.
fn tests_per_query(adapters: &[TestAdapter], scheme: Scheme, case: &Case) -> f64 {
    let descriptor = descriptor(scheme);
    let tests = case.tests_per_query(&cpu::step_scene(&descriptor, &case.scene()).unwrap());
    for adapter in adapters {
        let mut on_gpu = broad_phase(adapter, &descriptor);
        let on_device = case.tests_per_query(&whole(adapter, &mut on_gpu, case.scene()));
        assert!(
            on_device <= 1.1 * tests + 1.0 && tests <= 1.1 * on_device + 1.0,
            "{on_device} and {tests} tests per query of {}, {scheme:?} on {}",
            case.kind,
            adapter.name
        );
    }
    tests
}

#[test]
fn tests_per_query_hardly_grow_with_the_number_of_objects() {
    let adapters = daily_adapters();
    for scheme in SCHEMES {
        for (kind, wanted, most, growth) in [
            ("points", 4, 60.0, 1.3),
            ("plane", 4, 60.0, 1.3),
            ("outlier", 4, 90.0, 1.3),
            ("points", 32, 300.0, 1.3),
            ("clusters", 4, 120.0, 2.0),
        ] {
            // Clusters become eight times as dense, which fills cells of fixed size.
            if kind == "clusters" && scheme != Scheme::Hierarchical {
                continue;
            }
            let on_device = if most == 60.0 { &adapters[..] } else { &[] };
            let few = tests_per_query(on_device, scheme, &Case::self_query(kind, 2000, wanted));
            let many = tests_per_query(&[], scheme, &Case::self_query(kind, 16_000, wanted));
            let what = format!("{few} and {many} tests per query, {wanted} nearest of {kind}, {scheme:?}");
            assert!(many <= most && many <= growth * few, "{what}");
        }
    }
}

/// Cells do not help in voids between clusters, or if a query wants more objects than exist.
#[test]
fn no_search_tests_much_more_than_all_objects() {
    let adapters = daily_adapters();
    let anywhere = |rng: &mut Rng| rng.point(300.0);
    let far = |rng: &mut Rng| {
        let [x, y, z] = rng.point(25.0);
        [x + 250.0, y + 175.0, z - 225.0]
    };
    for scheme in SCHEMES {
        let tests = tests_per_query(&adapters, scheme, &Case::spheres("points", 16_000, 4, far));
        assert!(tests <= 2000.0, "{tests} tests per far query, {scheme:?}");
        for (kind, count, wanted) in [
            ("clusters", 6000, 4),
            ("clusters", 6000, 200),
            ("points", 500, 1000),
            ("sizes", 700, 1000),
            ("sizes", 6000, 4),
            ("place", 2000, 4),
            ("crowd", 2000, 32),
            ("lattice", 2000, 1000),
        ] {
            for case in [
                Case::spheres(kind, count, wanted, anywhere),
                Case::self_query(kind, count.min(2000), wanted),
            ] {
                let (tests, all) = (tests_per_query(&[], scheme, &case), case.objects.len());
                assert!(
                    tests <= 4.0 * all as f64,
                    "{tests} tests per query of {all} objects, {wanted} nearest of {kind}, {scheme:?}"
                );
            }
        }
    }
}
