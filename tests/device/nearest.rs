use crate::common::pool::pooled;
use crate::common::{Rng, TestAdapter, adapters, daily_adapters, daily_or_full};
use gpu_broad_phase::cpu;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, NONE, NearestObject, Queries, Query, QueryInput, QueryMode, Scene, Scheme, SelfQuery,
    Source, Statics, Status,
};
use pollster::block_on;

const SCHEMES: [Scheme; 3] = [
    Scheme::Hierarchical,
    Scheme::Uniform { cell_size: 1.3 },
    Scheme::Adaptive { min_scale: 1.0 },
];

struct Case {
    name: String,
    /// Unique number, also used as the generation of the static objects.
    number: u64,
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    statics: usize,
    queries: Vec<Query>,
    /// Radius and `half` of the self-query, if objects query each other.
    neighbors: Option<(f32, bool)>,
    wanted: u32,
}

impl Case {
    fn scene(&self) -> Scene<'_> {
        let (statics, objects) = self.objects.split_at(self.statics);
        let (static_worlds, worlds) = self.worlds.split_at(self.statics.min(self.worlds.len()));
        Scene {
            objects: Source::Host(objects),
            worlds: Source::Host(worlds),
            statics: Statics {
                objects: Source::Host(statics),
                worlds: Source::Host(static_worlds),
                generation: self.number,
            },
            query: QueryInput {
                queries: match self.neighbors {
                    Some((radius, half)) => SelfQuery::Within { radius, half }.into(),
                    None => Queries::General(Source::Host(&self.queries)),
                },
                query_mode: QueryMode::Nearest(self.wanted),
                ..QueryInput::default()
            },
            ..Default::default()
        }
    }

    fn world(&self, object: usize) -> u32 {
        self.worlds.get(object).copied().unwrap_or(0)
    }

    fn expected(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Vec<NearestObject> {
        let wanted = self.wanted as usize;
        let self_query = self.neighbors.map_or(self.queries.len(), |_| self.objects.len());
        let periods = descriptor.periods;
        let place = |object: &Aabb| [0, 1, 2].map(|axis| into_period(object.min[axis], periods[axis]));
        let mut rows = Vec::new();
        for querier in 0..self_query {
            let query = match self.neighbors {
                Some((radius, _)) => Query {
                    bounds: self.objects[querier],
                    radius,
                    ..Query::point([0.0; 3]).in_world(self.world(querier))
                },
                None => self.queries[querier],
            };
            let mut found: Vec<_> = (0..self.objects.len())
                .filter(|&object| {
                    let has_queries = self.neighbors.is_none_or(|(_, half)| {
                        let are_static = querier < self.statics && object < self.statics;
                        !are_static && (object > querier || (object < querier && !half))
                    });
                    has_queries && self.world(object) == query.world && meet(&query.bounds, &self.objects[object])
                })
                .filter_map(|object| {
                    let other = &self.objects[object];
                    let gap: [f32; 3] = std::array::from_fn(|axis| match self.neighbors {
                        Some(_) => image_gap(place(&query.bounds)[axis], place(other)[axis], periods[axis]),
                        None => {
                            let (low, high) = (query.bounds.min[axis], query.bounds.max[axis]);
                            (other.min[axis] - high).max(low - other.max[axis]).max(0.0)
                        }
                    });
                    let squared = gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2];
                    let is_near = query.radius >= f32::MAX || squared <= query.radius * query.radius;
                    is_near.then_some((squared, object as u32))
                })
                .collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let found = found.into_iter().map(|(squared_distance, object)| NearestObject {
                object,
                squared_distance,
            });
            rows.extend(found.chain(std::iter::repeat(NearestObject::NONE)).take(wanted));
        }
        rows
    }
}

fn into_period(position: f32, period: f32) -> f32 {
    if period > 0.0 {
        position.rem_euclid(period)
    } else {
        position
    }
}

fn image_gap(own: f32, other: f32, period: f32) -> f32 {
    let apart = other - own;
    match 0.5 * period {
        half if half > 0.0 && apart > half => (other - period) - own,
        half if half > 0.0 && apart < -half => other - (own - period),
        _ => apart,
    }
}

fn meet(a: &Aabb, b: &Aabb) -> bool {
    let sees = |a: &Aabb, b: &Aabb| (a.layers & 0xffff) & (b.layers >> 16) != 0;
    let group = a.group & 0x3fff_ffff;
    let is_excluded = (a.group | b.group) & Aabb::EXCLUDED != 0;
    let are_static = a.group & b.group & Aabb::STATIC != 0;
    sees(a, b) && sees(b, a) && (group == 0 || group != b.group & 0x3fff_ffff) && !is_excluded && !are_static
}

/// Compares results with brute force. Devices may round distances, so objects of nearly equal distance may swap unless
/// `exact`.
fn check(adapters: &[TestAdapter], descriptor: &BroadPhaseDescriptor<'static>, case: &Case, exact: bool) {
    let what = format!("{}, {} nearest, {descriptor:?}", case.name, case.wanted);
    let expected = case.expected(descriptor);
    let result = cpu::step_scene(descriptor, &case.scene()).unwrap();
    compare(
        &result.query_nearest,
        &expected,
        case.wanted,
        true,
        &format!("reference, {what}"),
    );
    for adapter in adapters.iter().filter(|adapter| adapter.runs(case.number as usize)) {
        let result = block_on(pooled(adapter, descriptor).step_scene(&case.scene())).unwrap();
        assert_eq!(result.counters.status, Status::default(), "{what}");
        let what = format!("{}, {what}", adapter.name);
        compare(&result.query_nearest, &expected, case.wanted, exact, &what);
    }
}

fn compare(found: &[NearestObject], expected: &[NearestObject], wanted: u32, exact: bool, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let [a, b] = [found.squared_distance, expected.squared_distance];
        let is_near = a == b || (a - b).abs() <= 1e-6 * b;
        let is_same = found.object == expected.object && (a == b || !exact);
        let both = [found.object, expected.object].map(|object| object == NONE);
        assert!(
            is_same || (!exact && is_near && both[0] == both[1]),
            "{what}: query {}: {found:?}, not {expected:?}",
            place as u32 / wanted
        );
    }
}

fn spread(rng: &mut Rng, side: f32) -> [f32; 3] {
    [0; 3].map(|_| rng.unit() * side)
}

/// Random objects of a kind. Evenly spread ones have one object per unit of volume.
fn objects(kind: &str, count: usize, rng: &mut Rng) -> Vec<Aabb> {
    let side = (count as f32).cbrt();
    let bell = |rng: &mut Rng| (0..6).map(|_| rng.unit()).sum::<f32>() - 3.0;
    let centers: Vec<_> = (0..7).map(|_| spread(rng, 300.0)).collect();
    (0..count)
        .map(|index| match kind {
            "points" => Aabb::point(spread(rng, side)),
            "boxes" => Aabb::from_center_half(spread(rng, side), [0; 3].map(|_| 0.4 * rng.unit())),
            "sizes" => {
                let half = 0.05 / (1.0 - 0.9999 * rng.unit());
                Aabb::from_center_half(spread(rng, 4.0 * side), [half; 3])
            }
            "lattice" => Aabb::point(spread(rng, side).map(f32::round)),
            "lattice of boxes" => {
                let low = spread(rng, side).map(f32::round);
                let edges = [0; 3].map(|_| 0.5 * rng.below(5) as f32);
                Aabb::new(low, [0, 1, 2].map(|axis| low[axis] + edges[axis]))
            }
            "clusters" => {
                let center = centers[index % 7];
                Aabb::point(center.map(|at| at + bell(rng)))
            }
            "one place" => Aabb::point([[1.0; 3], [2.0, 5.0, 1.0]][index % 2]),
            "crowd" => {
                let side = if index % 4 == 0 { side } else { 0.05 };
                Aabb::from_center_half(spread(rng, side), [0.3 * rng.unit(); 3])
            }
            "plane" => {
                let [x, y, _] = spread(rng, (count as f32).sqrt());
                Aabb::point([x, y, 0.0])
            }
            "outlier" if index == 3 => Aabb::point([3e5, -2e5, 1e5]),
            "outlier" => Aabb::point(spread(rng, side)),
            "huge and infinite" => match index % 40 {
                0 => Aabb::new([f32::NEG_INFINITY, 1.0, 1.0], [f32::INFINITY, 2.0, 2.0]),
                1 => Aabb::from_center_half(spread(rng, side), [1e4; 3]),
                2 => Aabb::point(spread(rng, side)).with_group(Aabb::EXCLUDED),
                _ => Aabb::from_center_half(spread(rng, side), [0.2; 3]),
            },
            _ => panic!("{kind}"),
        })
        .collect()
}

const KINDS: [&str; 11] = [
    "points",
    "boxes",
    "sizes",
    "lattice",
    "lattice of boxes",
    "clusters",
    "one place",
    "crowd",
    "plane",
    "outlier",
    "huge and infinite",
];

fn queries(objects: &[Aabb], count: usize, worlds: u32, rng: &mut Rng) -> Vec<Query> {
    (0..count)
        .map(|index| {
            let object = &objects[rng.below(objects.len())];
            let at = object.min.map(|low| low.clamp(-1e6, 1e6));
            let near = at.map(|at| at + 4.0 * rng.unit() - 2.0);
            let radius = [f32::INFINITY, f32::MAX, 5.0, 0.5, 0.0][rng.below(5)];
            let bounds = match index % 6 {
                0 => Aabb::point(at),
                1 => Aabb::point(near),
                2 => Aabb::from_center_half(near, [0.0, 1.0, 2.5]),
                3 => Aabb::point(spread(rng, 300.0)),
                4 => Aabb::point([0, 1, 2].map(|axis| near[axis] + [0.0, 500.0, -2e4][rng.below(3)])),
                _ => Aabb::new(near.map(|at| at - 40.0), near.map(|at| at + 3.0)),
            };
            let query = Query {
                bounds,
                radius,
                ..Query::point(at)
            };
            query.in_world(rng.below(worlds as usize) as u32)
        })
        .collect()
}

#[test]
fn rows_are_those_of_a_search_through_all_objects() {
    let adapters = adapters();
    let mut rng = Rng(401);
    for (round, kind) in KINDS.into_iter().cycle().take(3 * KINDS.len()).enumerate() {
        let count = [700, 90, 2100][round % 3];
        let worlds = [1, 1, 5][round / 2 % 3];
        let mut objects = objects(kind, count, &mut rng);
        if round % 4 == 1 {
            for object in &mut objects {
                object.group |= 1 + rng.below(3) as u32;
                object.layers = [Aabb::point([0.0; 3]).layers, 0x0001_0003, 0x0002_0002][rng.below(3)];
            }
        }
        let mut queries = queries(&objects, 60, worlds, &mut rng);
        let scale = [1.0, 2f32.powi(-40), 1.0, 2f32.powi(30), 1.0][round % 5];
        let offset = [0.0, 0.0, 0.0, 0.0, 3e5][round % 5];
        let moved = |place: [f32; 3]| place.map(|at| scale * at + offset);
        for bounds in objects
            .iter_mut()
            .chain(queries.iter_mut().map(|query| &mut query.bounds))
        {
            (bounds.min, bounds.max) = (moved(bounds.min), moved(bounds.max));
        }
        for query in &mut queries {
            query.radius = (query.radius * scale).min(f32::INFINITY);
            if query.radius > 1e30 {
                query.radius = f32::MAX;
            }
        }
        let case = Case {
            name: format!("{kind} of {worlds} worlds, {scale} times as large"),
            number: round as u64,
            queries,
            worlds: (0..count).map(|_| rng.below(worlds as usize) as u32).collect(),
            statics: [0, count / 2, 0, count / 20][round % 4],
            neighbors: None,
            wanted: [1, 4, 17, 100][rng.below(4)],
            objects,
        };
        let descriptor = BroadPhaseDescriptor {
            scheme: SCHEMES[round % 3],
            worlds,
            pairs: false,
            ..Default::default()
        };
        check(&adapters, &descriptor, &case, false);
        for scheme in SCHEMES {
            check(&[], &BroadPhaseDescriptor { scheme, ..descriptor }, &case, true);
        }
    }
}

#[test]
fn neighbors_are_those_of_a_search_through_all_objects() {
    let adapters = daily_adapters();
    let mut rng = Rng(402);
    let kinds = [
        "points",
        "boxes",
        "lattice",
        "clusters",
        "one place",
        "crowd",
        "plane",
        "outlier",
    ];
    for (round, kind) in kinds
        .into_iter()
        .cycle()
        .take(daily_or_full(1, 3) * kinds.len())
        .enumerate()
    {
        let count = [700, 90, 1300][round % 3];
        let worlds = [1, 4][round / 2 % 2];
        let objects = objects(kind, count, &mut rng);
        let case = Case {
            name: format!("neighbours of {kind} of {worlds} worlds"),
            number: 1000 + round as u64,
            queries: Vec::new(),
            worlds: (0..count).map(|_| rng.below(worlds as usize) as u32).collect(),
            statics: [0, count / 3][round % 2],
            neighbors: Some(([f32::MAX, 2.0, f32::MAX, 0.0, 30.0][rng.below(5)], rng.below(4) == 0)),
            wanted: [4, 1, 17, 60][rng.below(4)],
            objects,
        };
        let periods = [[0.0; 3], [8.0, 0.0, 3.5], [9.0; 3], [40.0, 64.0, 0.0]][round % 4];
        let descriptor = BroadPhaseDescriptor {
            scheme: SCHEMES[round % 3],
            worlds,
            periods,
            pairs: false,
            ..Default::default()
        };
        check(&adapters, &descriptor, &case, false);
        for scheme in SCHEMES {
            check(&[], &BroadPhaseDescriptor { scheme, ..descriptor }, &case, true);
        }
    }
}

#[test]
fn walks_of_several_rounds_find_the_same() {
    let adapters = daily_adapters();
    let mut rng = Rng(403);
    for (number, kind) in ["one place", "clusters", "crowd"].into_iter().enumerate() {
        let objects = objects(kind, 9000, &mut rng);
        for (scheme, wanted) in SCHEMES.into_iter().zip([4, 40, 300]) {
            let case = Case {
                name: format!("rounds of {kind}"),
                number: 2000 + number as u64,
                queries: queries(&objects, 12, 1, &mut rng),
                worlds: Vec::new(),
                statics: 3000,
                neighbors: None,
                wanted,
                objects: objects.clone(),
            };
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                ..Default::default()
            };
            check(&adapters, &descriptor, &case, false);
        }
    }
}

fn tests_per_query(adapters: &[TestAdapter], scheme: Scheme, case: &Case) -> f64 {
    let descriptor = BroadPhaseDescriptor {
        scheme,
        pairs: false,
        count_candidates: true,
        ..Default::default()
    };
    let counters = cpu::step_scene(&descriptor, &case.scene()).unwrap().counters;
    let self_query = case.neighbors.map_or(case.queries.len(), |_| case.objects.len());
    let tests = counters.query_candidates as f64 / self_query as f64;
    for adapter in adapters {
        let counters = block_on(pooled(adapter, &descriptor).step_scene(&case.scene()))
            .unwrap()
            .counters;
        let on_device = counters.query_candidates as f64 / self_query as f64;
        assert!(
            on_device <= 1.1 * tests + 1.0 && tests <= 1.1 * on_device + 1.0,
            "{}: {on_device} and {tests} tests per query, {}, {scheme:?}",
            adapter.name,
            case.name
        );
    }
    tests
}

fn asked_by_all(kind: &str, count: usize, wanted: u32) -> Case {
    Case {
        name: format!("{count} {kind}"),
        number: 0,
        objects: objects(kind, count, &mut Rng(404)),
        worlds: Vec::new(),
        statics: 0,
        queries: Vec::new(),
        neighbors: Some((f32::MAX, false)),
        wanted,
    }
}

fn self_query_of(kind: &str, count: usize, wanted: u32, places: impl Fn(&mut Rng) -> [f32; 3]) -> Case {
    let mut rng = Rng(405);
    Case {
        queries: (0..200)
            .map(|_| Query::sphere(places(&mut rng), f32::INFINITY))
            .collect(),
        neighbors: None,
        ..asked_by_all(kind, count, wanted)
    }
}

#[test]
fn tests_per_query_hardly_grow_with_the_number_of_objects() {
    let adapters = adapters();
    for scheme in SCHEMES {
        for (kind, wanted, most) in [
            ("points", 4, 60.0),
            ("plane", 4, 60.0),
            ("outlier", 4, 90.0),
            ("points", 32, 300.0),
        ] {
            let [few, many] = [2000, 16_000].map(|count| {
                let is_tried = kind == "points" && wanted == 4 && count == 2000;
                let adapters = if is_tried { &adapters[..] } else { &[] };
                tests_per_query(adapters, scheme, &asked_by_all(kind, count, wanted))
            });
            let what = format!("{few} and {many} tests per query, {kind}, {wanted} nearest, {scheme:?}");
            assert!(many <= most && many <= 1.3 * few, "{what}");
        }
    }
    // Clusters become eight times as dense. Schemes with fixed cell sizes are left out, since their cells fill up.
    let [few, many] =
        [2000, 16_000].map(|count| tests_per_query(&[], Scheme::Hierarchical, &asked_by_all("clusters", count, 4)));
    assert!(
        many <= 120.0 && many <= 2.0 * few,
        "{few} and {many} tests per query in clusters"
    );
}

#[test]
fn far_queries_test_few_of_the_objects() {
    let adapters = adapters();
    let side = 16_000f32.cbrt();
    let far = [[10.0, 0.0, 0.0], [0.0, -40.0, 0.0], [10.0, 7.0, -9.0]];
    for scheme in SCHEMES {
        for (index, far) in far.into_iter().enumerate() {
            let place = |rng: &mut Rng| {
                let at = spread(rng, side);
                [0, 1, 2].map(|axis| at[axis] + far[axis] * side)
            };
            let case = self_query_of("points", 16_000, 4, place);
            let tried = if index == 2 { &adapters[..] } else { &[] };
            let tests = tests_per_query(tried, scheme, &case);
            assert!(tests <= 2000.0, "{tests} tests per query, {far:?}, {scheme:?}");
        }
    }
}

/// Cells do not help in voids between clusters, or if a query wants more objects than exist.
#[test]
fn no_walk_tests_much_more_than_all_objects() {
    for scheme in SCHEMES {
        for (kind, count, wanted) in [
            ("clusters", 6000, 4),
            ("clusters", 6000, 200),
            ("points", 500, 1000),
            ("sizes", 700, 1000),
            ("sizes", 6000, 4),
            ("one place", 2000, 4),
            ("crowd", 2000, 32),
            ("lattice of boxes", 2000, 1000),
        ] {
            for case in [
                self_query_of(kind, count, wanted, |rng| spread(rng, 300.0)),
                asked_by_all(kind, count.min(2000), wanted),
            ] {
                let tests = tests_per_query(&[], scheme, &case);
                let all = case.objects.len() as f64;
                let what = format!("{}, {wanted} nearest, {scheme:?}", case.name);
                assert!(tests <= 4.0 * all, "{tests} tests per query of {all} objects, {what}");
            }
        }
    }
}
