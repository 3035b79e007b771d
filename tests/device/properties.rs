//! Random scenes. `PROPTEST_CASES` sets their number on the CPU (devices run a twentieth), `PROPTEST_RNG_SEED` the
//! seed.

mod devices;
mod exact;
mod scales;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{TestAdapter, adapters};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Capacities, Dimensions, GpuBroadPhase, Growth, OutputOptions, Pair, Queries, Query,
    QueryInput, QueryMode, Ray, RayMode, Rays, Scene, Scheme, SelfQuery, Source, Statics, StepResult, SweptRay, cpu,
};
use pollster::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};
use wild::{Expected, check, hit_bits};

/// The CPU runs this many scenes in the time of one on a device.
const DEVICE_SHARE: u32 = 20;

fn config(cases: u32) -> ProptestConfig {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: if is_set("PROPTEST_CASES") { default.cases } else { cases },
        rng_seed: if is_set("PROPTEST_RNG_SEED") {
            default.rng_seed
        } else {
            RngSeed::Fixed(2026)
        },
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..default
    }
}

fn on_cpu() -> ProptestConfig {
    config(2000)
}

fn on_devices() -> ProptestConfig {
    let all = on_cpu();
    ProptestConfig {
        cases: all.cases.div_ceil(DEVICE_SHARE),
        ..all
    }
}

fn hold<S: Strategy>(config: ProptestConfig, strategy: S, property: impl Fn(S::Value)) {
    let property = |given| {
        property(given);
        Ok(())
    };
    if let Err(failure) = TestRunner::new(config).run(&strategy, property) {
        panic!("{failure}");
    }
}

/// Coordinate on the lattice, one float beside it, or between its cells.
#[derive(Clone, Copy, Debug)]
struct Place {
    cell: i32,
    nudge: u8,
    fraction: f32,
}

#[derive(Clone, Copy, Debug)]
struct Lattice {
    step: f32,
    is_free: bool,
    is_nudged: bool,
    /// Centre of the lattice, in steps.
    origin: [i32; 3],
}

impl Lattice {
    fn at(&self, place: Place, axis: usize) -> f32 {
        let value = (place.cell + self.origin[axis]) as f32 * self.step;
        if self.is_free {
            return value + place.fraction * self.step;
        }
        match place.nudge {
            2 if self.is_nudged => value.next_up(),
            3 if self.is_nudged => value.next_down(),
            4 if self.is_nudged && value == 0.0 => -value,
            _ => value,
        }
    }

    fn point(&self, places: [Place; 3]) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.at(places[axis], axis))
    }
}

fn places(cells: RangeInclusive<i32>) -> impl Strategy<Value = [Place; 3]> {
    let place = (cells, 0u8..5, 0f32..1.0).prop_map(|(cell, nudge, fraction)| Place { cell, nudge, fraction });
    proptest::array::uniform3(place)
}

#[derive(Clone, Copy, Debug)]
struct Oddity {
    kind: u8,
    axis: usize,
    word: u32,
}

fn oddity() -> impl Strategy<Value = Oddity> {
    (prop_oneof![3 => Just(0), 1 => 1u8..16], 0usize..3, any::<u32>()).prop_map(|(kind, axis, word)| Oddity {
        kind,
        axis,
        word,
    })
}

#[derive(Clone, Copy, Debug)]
struct ObjectSeed {
    low: [Place; 3],
    edges: [Place; 3],
    oddity: Oddity,
    world: u32,
}

fn object_seed() -> impl Strategy<Value = ObjectSeed> {
    (places(-5..=5), places(0..=3), oddity(), 0u32..4).prop_map(|(low, edges, oddity, world)| ObjectSeed {
        low,
        edges,
        oddity,
        world,
    })
}

impl ObjectSeed {
    /// Only `is_odd` allows bounds that are NaN, infinite, inverted, huge or denormal.
    fn object(&self, lattice: &Lattice, is_odd: bool) -> Aabb {
        let min = lattice.point(self.low);
        let upper = [0, 1, 2].map(|axis| Place {
            cell: self.low[axis].cell + self.edges[axis].cell,
            ..self.edges[axis]
        });
        let max = lattice.point(upper);
        let ordered = |low: bool| {
            let axis = |axis: usize| {
                if (min[axis] <= max[axis]) == low {
                    min[axis]
                } else {
                    max[axis]
                }
            };
            [0, 1, 2].map(axis)
        };
        let mut object = Aabb::new(ordered(true), ordered(false));
        let Oddity { kind, axis, word } = self.oddity;
        match kind {
            1 => object = object.with_layers(word as u16 & 15, (word >> 16) as u16 & 15),
            2 => object.group = Aabb::STATIC | word & 3,
            3 | 4 => object.group = word & 3,
            5 => object.group |= Aabb::EXCLUDED,
            _ if !is_odd => {}
            6 => object.min[axis] = f32::NAN,
            7 => object.max[axis] = f32::INFINITY,
            8 => object.min[axis] = f32::NEG_INFINITY,
            9 => (object.min, object.max) = (object.max, object.min),
            10 => (object.min[axis], object.max[axis]) = (-1e30, 3e30),
            11 => object.max[axis] = f32::MAX,
            12 => (object.min[axis], object.max[axis]) = (-1e-40, 1e-45),
            13 => object.min[axis] = [1e-40, -f32::MIN_POSITIVE, f32::INFINITY][word as usize % 3],
            14 => object = Aabb::point([0, 1, 2].map(|axis| object.max[axis] * 1e6)),
            _ => object.min = [-0.0; 3],
        }
        object
    }
}

#[derive(Clone, Copy, Debug)]
struct RaySeed {
    from: [Place; 3],
    to: [Place; 3],
    t_max: u8,
    t_min: u8,
    extents: [u8; 3],
    oddity: Oddity,
    world: u32,
}

fn ray_seed() -> impl Strategy<Value = RaySeed> {
    let extents = proptest::array::uniform3(0u8..4);
    let numbers = (0u8..8, 0u8..8, extents, oddity(), 0u32..4);
    (places(-7..=7), places(-7..=7), numbers).prop_map(|(from, to, (t_max, t_min, extents, oddity, world))| RaySeed {
        from,
        to,
        t_max,
        t_min,
        extents,
        oddity,
        world,
    })
}

impl RaySeed {
    fn ray(&self, lattice: &Lattice, is_odd: bool) -> SweptRay {
        let (origin, to) = (lattice.point(self.from), lattice.point(self.to));
        let direction = [0, 1, 2].map(|axis| to[axis] - origin[axis]);
        let t_max = [f32::INFINITY, f32::INFINITY, f32::INFINITY, 1.0, 2.0, 0.5, 100.0, 0.0][usize::from(self.t_max)];
        let mut swept = SweptRay::new(Ray::new(origin, direction, t_max))
            .with_half_extents(self.extents.map(|extent| [0.0, 0.0, 0.25, 1.0][usize::from(extent)]))
            .with_t_min([0.0, 0.0, 0.0, 0.0, 0.25, 1.0, -2.0, 0.5][usize::from(self.t_min)])
            .with_world(self.world);
        let Oddity { kind, axis, word } = self.oddity;
        let ray = &mut swept.ray;
        match kind {
            1 => *ray = ray.with_layers(word as u16 & 15, (word >> 16) as u16 & 15),
            2 => ray.direction[axis] = 0.0,
            3 => ray.direction = [0, 1, 2].map(|other| if other == axis { ray.direction[axis] } else { -0.0 }),
            4 => ray.direction = ray.direction.map(|component| component * 0.125),
            _ if !is_odd => {}
            5 => ray.direction = [1e-40, 0.0, -1e-45],
            6 => ray.direction[axis] = [f32::NAN, f32::INFINITY, 1e38, 8.507_059e37][word as usize % 4],
            7 => ray.origin[axis] = [f32::NAN, f32::NEG_INFINITY, 1e-40, 1e30][word as usize % 4],
            8 => ray.t_max = [f32::NAN, -1.0, -0.0, 1e-40][word as usize % 4],
            9 => swept.half_extents[axis] = [f32::NAN, -0.0, 1e-45, 1e30][word as usize % 4],
            10 => swept.t_min = [f32::NAN, f32::INFINITY, 1e-40, f32::MAX][word as usize % 4],
            11 => swept.world = u32::MAX,
            12 => ray.direction[axis] *= 1e-30,
            _ => ray.origin = [-0.0; 3],
        }
        swept
    }
}

#[derive(Clone, Copy, Debug)]
struct QuerySeed {
    bounds: ObjectSeed,
    is_point: bool,
    radius: u8,
}

fn query_seed() -> impl Strategy<Value = QuerySeed> {
    (object_seed(), any::<bool>(), 0u8..8).prop_map(|(bounds, is_point, radius)| QuerySeed {
        bounds,
        is_point,
        radius,
    })
}

impl QuerySeed {
    fn query(&self, lattice: &Lattice, is_odd: bool) -> Query {
        let mut bounds = self.bounds.object(lattice, is_odd);
        if self.is_point {
            bounds.max = bounds.min;
        }
        let odd = [f32::NAN, -1.0, f32::INFINITY, 1e-40];
        Query {
            bounds,
            radius: match self.radius {
                7 if is_odd => odd[self.bounds.oddity.word as usize % 4],
                radius => [0.0, 0.0, 0.0, 0.5, 1.0, 2.6, 0.1, 3.0][usize::from(radius)],
            },
            world: self.bounds.world,
            reserved: [0; 2],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Half of the scenes are on a lattice. The others are between its cells, or have odd values.
    Any,
    /// On a lattice, so ray parameters can be computed exactly.
    Exact,
    /// Coordinates are multiples of 1/2.
    Whole,
}

#[derive(Clone, Debug)]
struct SceneSeed {
    lattice: Lattice,
    is_odd: bool,
    objects: Vec<ObjectSeed>,
    rays: Vec<RaySeed>,
    queries: Vec<QuerySeed>,
    /// True for swept rays, and true for queries with a radius.
    is_wide: [bool; 2],
    asking: Option<Queries<'static>>,
    nearest: u32,
    /// Static share of the objects, in quarters.
    quarters: usize,
}

fn scene_seed(kind: Kind) -> impl Strategy<Value = SceneSeed> {
    let steps = match kind {
        Kind::Any => vec![1.0, 0.5, 1.5, 0.1],
        Kind::Exact => vec![1.0, 0.5, 1.5, 0.1],
        Kind::Whole => vec![1.0, 0.5, 1.5],
    };
    let shape = match kind {
        Kind::Any => prop_oneof![5 => Just((false, false)), 2 => Just((true, false)), 3 => Just((false, true))].boxed(),
        Kind::Exact | Kind::Whole => Just((false, false)).boxed(),
    };
    let neighbors = (select(vec![0.0, 0.5, 1.0, 2.6, 1e30]), any::<bool>())
        .prop_map(|(radius, half)| SelfQuery::Within { radius, half }.into());
    let partners = any::<bool>().prop_map(|half| SelfQuery::Overlaps { half }.into());
    let asking = prop_oneof![neighbors, partners];
    let contents = (
        vec(object_seed(), 0..48),
        vec(ray_seed(), 0..12),
        vec(query_seed(), 0..12),
    );
    let asked = (any::<[bool; 2]>(), proptest::option::weighted(0.3, asking), 0u32..4);
    let quarters = prop_oneof![3 => Just(0), 2 => 1usize..=4];
    (select(steps), shape, contents, asked, quarters).prop_map(
        move |(step, (is_free, is_odd), (objects, rays, queries), (is_wide, asking, nearest), quarters)| SceneSeed {
            lattice: Lattice {
                step,
                is_free,
                is_nudged: kind != Kind::Whole,
                origin: [0; 3],
            },
            is_odd,
            objects,
            rays,
            queries,
            is_wide,
            asking,
            nearest,
            quarters,
        },
    )
}

#[derive(Clone, Debug)]
struct Given {
    objects: Vec<Aabb>,
    worlds: Vec<u32>,
    plain: Vec<Ray>,
    swept: Vec<SweptRay>,
    boxes: Vec<Aabb>,
    rounded: Vec<Query>,
    is_wide: [bool; 2],
    asking: Option<Queries<'static>>,
    mode: QueryMode,
    statics: usize,
}

impl SceneSeed {
    fn given(&self, descriptor: &BroadPhaseDescriptor<'_>) -> Given {
        let (lattice, is_odd) = (&self.lattice, self.is_odd);
        let swept: Vec<_> = self.rays.iter().map(|seed| seed.ray(lattice, is_odd)).collect();
        let rounded: Vec<_> = self.queries.iter().map(|seed| seed.query(lattice, is_odd)).collect();
        let worlds = if descriptor.worlds > 1 { &self.objects[..] } else { &[] };
        let is_periodic = descriptor.periods != [0.0; 3];
        Given {
            objects: self.objects.iter().map(|seed| seed.object(lattice, is_odd)).collect(),
            worlds: worlds.iter().map(|seed| seed.world).collect(),
            plain: swept.iter().map(|swept| swept.ray).filter(|_| !is_periodic).collect(),
            swept: swept.into_iter().filter(|_| !is_periodic).collect(),
            boxes: rounded.iter().map(|query| query.bounds).collect(),
            rounded,
            statics: self.objects.len() * self.quarters / 4,
            is_wide: self.is_wide,
            asking: match self.asking {
                Some(Queries::Objects(SelfQuery::Overlaps { .. })) | None if is_periodic => Some(
                    SelfQuery::Within {
                        radius: 1.5,
                        half: self.is_wide[0],
                    }
                    .into(),
                ),
                asking => asking,
            },
            mode: match self.nearest {
                1 => QueryMode::Nearest(3),
                _ => QueryMode::All,
            },
        }
    }
}

impl Given {
    fn scene(&self) -> Scene<'_> {
        let (statics, objects) = self.objects.split_at(self.statics);
        let (static_worlds, worlds) = self.worlds.split_at(self.statics.min(self.worlds.len()));
        static GENERATION: AtomicU64 = AtomicU64::new(0);
        Scene {
            objects: Source::Host(objects),
            worlds: Source::Host(worlds),
            statics: Statics {
                objects: Source::Host(statics),
                worlds: Source::Host(static_worlds),
                generation: GENERATION.fetch_add(1, Ordering::Relaxed),
            },
            query: QueryInput {
                rays: if self.is_wide[0] {
                    Rays::Swept(Source::Host(&self.swept))
                } else {
                    Rays::Plain(Source::Host(&self.plain))
                },
                queries: match self.asking {
                    Some(asking) => asking,
                    None if self.is_wide[1] => Queries::General(Source::Host(&self.rounded)),
                    None => Queries::Boxes(Source::Host(&self.boxes)),
                },
                query_mode: self.mode,
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }
}

fn scheme() -> impl Strategy<Value = Scheme> {
    prop_oneof![
        Just(Scheme::Hierarchical),
        select(vec![1.0, 1.5, 0.5, 0.3, 4.0]).prop_map(|cell_size| Scheme::Uniform { cell_size }),
        select(vec![1.0, 0.5, 0.25, 8.0]).prop_map(|min_scale| Scheme::Adaptive { min_scale }),
    ]
}

fn descriptor() -> impl Strategy<Value = BroadPhaseDescriptor<'static>> {
    let space = (
        select(vec![Dimensions::Three, Dimensions::Two]),
        select(vec![0.0, 0.0, 0.125, 0.1]),
        select(vec![1, 1, 3]),
        select(vec![[0.0; 3], [0.0; 3], [0.0; 3], [4.0, 0.0, 5.5], [3.0; 3]]),
    );
    let modes = select(vec![RayMode::All, RayMode::Closest, RayMode::Any]);
    (scheme(), space, any::<bool>(), modes).prop_map(
        |(scheme, (dimensions, margin, worlds, periods), filters, ray_mode)| BroadPhaseDescriptor {
            scheme,
            dimensions,
            margin,
            worlds,
            periods,
            pairs: periods == [0.0; 3],
            filters,
            outputs: OutputOptions {
                ray_mode,
                ..Default::default()
            },
            ..Default::default()
        },
    )
}

fn fixed(capacities: Capacities) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        outputs: OutputOptions {
            capacities,
            growth: Growth::Fixed,
            ray_mode: RayMode::All,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn capacities() -> impl Strategy<Value = Capacities> {
    let some = || (1u32..40).prop_map(Some);
    let entries = prop_oneof![3 => Just(None), 1 => (1u32..100).prop_map(Some)];
    (some(), some(), some(), entries).prop_map(|(pairs, hits, results, entries)| Capacities {
        pairs,
        hits,
        results,
        entries,
        ..Default::default()
    })
}

fn on_reference(descriptor: &BroadPhaseDescriptor<'_>, given: &Given) -> StepResult {
    cpu::step_scene(descriptor, &given.scene()).unwrap()
}

#[test]
fn the_reference_answers_by_the_definition() {
    hold(on_cpu(), (descriptor(), scene_seed(Kind::Any)), |(descriptor, seed)| {
        let given = seed.given(&descriptor);
        let scene = given.scene();
        let expected = Expected::of(&descriptor, &scene);
        let result = on_reference(&descriptor, &given);
        check(&descriptor, &scene, &expected, &result, "reference");
        assert!(result.counters.is_complete());
    });
}

#[test]
fn a_fixed_capacity_holds_a_part_of_the_answer_and_exact_counts() {
    let strategy = (descriptor(), capacities(), scene_seed(Kind::Any));
    hold(on_cpu(), strategy, |(descriptor, capacities, seed)| {
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                growth: Growth::Fixed,
                capacities,
                ..descriptor.outputs
            },
            ..descriptor
        };
        let given = seed.given(&descriptor);
        let expected = Expected::of(&descriptor, &given.scene());
        let result = on_reference(&descriptor, &given);
        check(&descriptor, &given.scene(), &expected, &result, "reference");
    });
}

#[derive(Debug, PartialEq)]
struct Sets {
    pairs: Vec<Pair>,
    hits: Vec<Vec<(u32, u32)>>,
    found: Vec<Vec<u32>>,
}

fn ranges<'a, T>(offsets: &'a [u32], rows: &'a [T]) -> impl Iterator<Item = &'a [T]> {
    offsets.windows(2).map(|ends| &rows[ends[0] as usize..ends[1] as usize])
}

fn sets(result: &StepResult, name: impl Fn(u32) -> u32) -> Sets {
    let pair = |pair: &Pair| {
        let (a, b) = (name(pair.a), name(pair.b));
        Pair {
            a: a.min(b),
            b: a.max(b),
        }
    };
    let mut pairs: Vec<_> = result.pairs.iter().map(pair).collect();
    pairs.sort_unstable();
    let hits = ranges(&result.ray_offsets, &result.ray_hits).map(|hits| {
        let mut hits: Vec<_> = hits.iter().map(hit_bits).map(|(object, t)| (name(object), t)).collect();
        hits.sort_unstable();
        hits
    });
    let found = ranges(&result.query_offsets, &result.query_objects).map(|objects| {
        let mut objects: Vec<_> = objects.iter().map(|&object| name(object)).collect();
        objects.sort_unstable();
        objects
    });
    Sets {
        hits: hits.collect(),
        found: found.collect(),
        pairs,
    }
}

fn everything(descriptor: BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..descriptor.outputs
        },
        ..descriptor
    }
}

#[test]
fn another_order_of_the_objects_gives_the_same_answer() {
    let strategy = (descriptor(), scene_seed(Kind::Any), vec(any::<u16>(), 48));
    hold(on_cpu(), strategy, |(descriptor, seed, keys)| {
        let descriptor = everything(descriptor);
        let mut given = seed.given(&descriptor);
        // With `half`, results depend on the order of objects.
        given.asking = given.asking.map(|asking| match asking {
            Queries::Objects(SelfQuery::Within { radius, .. }) => SelfQuery::within(radius).into(),
            _ => SelfQuery::Overlaps { half: false }.into(),
        });
        // Static objects must have the lowest indices, so they cannot be reordered.
        given.statics = 0;
        given.mode = QueryMode::All;
        let before = on_reference(&descriptor, &given);

        let mut order: Vec<usize> = (0..given.objects.len()).collect();
        order.sort_by_key(|&object| keys[object]);
        let mut moved = given.clone();
        moved.objects = order.iter().map(|&object| given.objects[object]).collect();
        moved.worlds = order
            .iter()
            .filter_map(|&object| given.worlds.get(object).copied())
            .collect();
        let after = on_reference(&descriptor, &moved);

        let expected = sets(&before, |object| object);
        let mut found = sets(&after, |object| order[object as usize] as u32);
        if given.asking.is_some() {
            let mut by_querier = vec![Vec::new(); found.found.len()];
            for (list, &object) in found.found.into_iter().zip(&order) {
                by_querier[object] = list;
            }
            found.found = by_querier;
        }
        assert_eq!(found, expected);
    });
}

/// Coordinates are multiples of 1/2, so moving them is exact.
#[test]
fn a_translation_by_whole_cells_keeps_the_answer() {
    let moves = proptest::array::uniform3(-2000i32..=2000);
    let strategy = (descriptor(), scene_seed(Kind::Whole), moves);
    hold(on_cpu(), strategy, |(descriptor, seed, cells)| {
        let descriptor = BroadPhaseDescriptor {
            periods: [0.0; 3],
            pairs: true,
            margin: if descriptor.margin > 0.0 { 0.125 } else { 0.0 },
            ..everything(descriptor)
        };
        let mut moved = seed.clone();
        // 48 steps are a whole number of cells, for every cell size except 0.3.
        moved.lattice.origin = cells.map(|cell| 48 * cell);
        let prepared = |seed: &SceneSeed| {
            let mut given = seed.given(&descriptor);
            given.mode = QueryMode::All;
            // Grown boxes round differently at each position, which changes hits and distances.
            let rounds = descriptor.margin > 0.0;
            for ray in &mut given.swept {
                ray.half_extents = [0.0; 3];
                ray.ray.t_max = if rounds { -1.0 } else { ray.ray.t_max };
            }
            for ray in &mut given.plain {
                ray.t_max = if rounds { -1.0 } else { ray.t_max };
            }
            if rounds {
                given.rounded.iter_mut().for_each(|query| query.radius = 0.0);
                given.asking = None;
            }
            given
        };
        let [before, after] =
            [&seed, &moved].map(|seed| sets(&on_reference(&descriptor, &prepared(seed)), |name| name));
        assert_eq!(after, before, "moved by {:?} steps", moved.lattice.origin);
    });
}

fn check_rays(descriptor: &BroadPhaseDescriptor<'_>, given: &Given, result: &StepResult) {
    let axes = descriptor.dimensions.count() as usize;
    for (ray, (hits, swept)) in ranges(&result.ray_offsets, &result.ray_hits)
        .zip(&given.swept)
        .enumerate()
    {
        let swept = if given.is_wide[0] { *swept } else { swept.ray.into() };
        for (index, object) in (0u32..).zip(&given.objects) {
            let hit = hits.iter().find(|hit| hit.object == index);
            if object.group & Aabb::EXCLUDED != 0 {
                assert!(hit.is_none());
                continue;
            }
            let enter = |slack| exact::enter(axes, descriptor.margin, &swept, object, slack);
            let [(entry, is_met), (widened, may_be_met)] = [enter(false), enter(true)];
            let Some(hit) = hit else {
                assert!(!is_met, "ray {ray} loses {index}: {swept:?}, {object:?}");
                continue;
            };
            assert!(may_be_met, "ray {ray} has too much: {index} of {swept:?}, {object:?}");
            let (t, limit) = (f64::from(hit.t), f64::from(swept.ray.t_max));
            let part = 2f64.powi(-20);
            let is_near = t >= widened.min(limit) * (1.0 - part) && t <= entry.min(limit) * (1.0 + part);
            assert!(
                is_near,
                "ray {ray} enters {index} at {entry}, not {t}: {swept:?}, {object:?}"
            );
        }
    }
}

fn ray_descriptor(descriptor: BroadPhaseDescriptor<'static>) -> BroadPhaseDescriptor<'static> {
    BroadPhaseDescriptor {
        periods: [0.0; 3],
        pairs: false,
        worlds: 1,
        filters: false,
        ..everything(descriptor)
    }
}

/// [`exact`] uses multiples of 2^-30, which denormals are not.
fn without_denormals(given: &mut Given) {
    let clean = |value: &mut f32| {
        if value.is_subnormal() {
            *value = 0.0;
        }
    };
    for object in &mut given.objects {
        object.min.iter_mut().chain(&mut object.max).for_each(clean);
    }
    for ray in given
        .swept
        .iter_mut()
        .map(|swept| &mut swept.ray)
        .chain(&mut given.plain)
    {
        ray.origin.iter_mut().chain(&mut ray.direction).for_each(clean);
    }
    for swept in &mut given.swept {
        swept.world = 0;
    }
}

#[test]
fn rays_hit_what_exact_arithmetic_says() {
    hold(
        on_cpu(),
        (descriptor(), scene_seed(Kind::Exact)),
        |(descriptor, seed)| {
            let descriptor = ray_descriptor(descriptor);
            let mut given = seed.given(&descriptor);
            without_denormals(&mut given);
            check_rays(&descriptor, &given, &on_reference(&descriptor, &given));
        },
    );
}

fn check_scales(axes: usize, objects: &[Aabb], rays: &[SweptRay], result: &StepResult) -> [usize; 2] {
    let mut counts = [0; 2];
    for (hits, ray) in ranges(&result.ray_offsets, &result.ray_hits).zip(rays) {
        for (index, object) in (0u32..).zip(objects) {
            let hit = hits.iter().find(|hit| hit.object == index);
            let (entry, surely, perhaps) = scales::enter(axes, ray, object);
            let Some(hit) = hit else {
                assert!(!surely, "{index} is lost: {ray:?}, {object:?}");
                continue;
            };
            assert!(perhaps, "{index} is too much: {ray:?}, {object:?}");
            counts[usize::from(surely)] += 1;
            let is_swept = ray.half_extents.iter().any(|&extent| extent > 0.0);
            let smallest = f64::from(f32::MIN_POSITIVE);
            let (t, entry) = (f64::from(hit.t), entry.min(f64::from(ray.ray.t_max)));
            let part = 2f64.powi(-20);
            let is_near = t <= entry * (1.0 + part)
                && (t >= entry * (1.0 - part) || (t == 0.0 && entry <= smallest * (1.0 + part)));
            assert!(
                is_near || is_swept,
                "{index} at {t:e}, not {entry:e}: {ray:?}, {object:?}"
            );
        }
    }
    counts
}

fn scales_given(seed: &scales::Seed) -> Given {
    let swept = seed.rays();
    Given {
        objects: seed.objects(),
        worlds: Vec::new(),
        plain: swept.iter().map(|swept| swept.ray).collect(),
        swept,
        boxes: Vec::new(),
        rounded: Vec::new(),
        is_wide: [seed.is_swept, false],
        asking: None,
        mode: QueryMode::All,
        statics: 0,
    }
}

#[test]
fn rays_hit_what_exact_arithmetic_says_at_every_scale() {
    let strategy = (descriptor(), scales::seed());
    let (counts, cases) = (RefCell::new([0; 2]), on_cpu().cases as usize);
    hold(on_cpu(), strategy, |(descriptor, seed)| {
        let descriptor = BroadPhaseDescriptor {
            margin: 0.0,
            worlds: 1,
            periods: [0.0; 3],
            ..descriptor
        };
        let given = scales_given(&seed);
        let scene = given.scene();
        let expected = Expected::of(&descriptor, &scene);
        check(
            &descriptor,
            &scene,
            &expected,
            &on_reference(&descriptor, &given),
            "reference",
        );
        let all = on_reference(&everything(descriptor), &given);
        let axes = descriptor.dimensions.count() as usize;
        let found = check_scales(axes, &given.objects, &given.swept, &all);
        let mut counts = counts.borrow_mut();
        *counts = [counts[0] + found[0], counts[1] + found[1]];
    });
    let [others, sure] = counts.into_inner();
    println!("{sure} hits of exact arithmetic, {others} that may be");
    assert!(sure > others && sure > 5 * cases, "{sure} and {others}");
}
