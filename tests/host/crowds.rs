//! Crowded scenes on the CPU engine, compared with brute force. The work of each scheme is limited by that of brute
//! force and of the adaptive scheme.
//!
//! Work is box tests plus rows of cells, since tests alone miss steps over empty cells. `GPU_BROAD_PHASE_CROWDS`
//! selects scenes, as `GPU_BROAD_PHASE_HUNT` does in `hunt.rs`.

use std::ops::Range;

use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::internals::blocks::Overrides;
use gpu_broad_phase::internals::reference::queries::query::load_query;
use gpu_broad_phase::internals::reference::queries::query_walk::count_query;
use gpu_broad_phase::internals::reference::rays::ray::load_ray;
use gpu_broad_phase::internals::reference::rays::ray_hits::{HitVisitor, walk_ray};
use gpu_broad_phase::internals::reference::trace;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, OutputOptions, Queries, Query, QueryInput, Ray, RayMode, Rays, Scene,
    Scheme, SelfQuery, Source, Statics, SweptRay,
};
use wild::Rng;
use wild::{Expected, check};

/// Default number of scenes.
const SCENES: u64 = 150;
/// Maximum ratio of work to that of brute force and, except in a fraction [`FEW`] of checks, of the adaptive scheme. In
/// the excepted checks, cells sized for groups of objects are too fine for queries elsewhere.
const FACTOR: u64 = 4;
/// Maximum fraction of checks whose ratio exceeds [`FACTOR`]. No ratio may exceed [`MOST`].
const FEW: f64 = 0.02;
const MOST: f64 = 20.0;
/// Rows and tests per object, query or ray that are always allowed.
const ALWAYS_ALLOWED: u64 = 40;
const OVERRIDES: Overrides = Overrides {
    filters: false,
    count_candidates: true,
};

fn range() -> Range<u64> {
    let Ok(asked) = std::env::var("GPU_BROAD_PHASE_CROWDS") else {
        return 0..SCENES;
    };
    let number = |text: &str| text.trim().parse::<u64>().expect("a number or a range");
    match asked.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 0..number(&asked),
    }
}

struct Crowd {
    kind: &'static str,
    dimensions: Dimensions,
    objects: Vec<Aabb>,
    /// Distance between objects, if spread evenly.
    spacing: f32,
    queries: Vec<Query>,
    rays: Vec<SweptRay>,
    statics: usize,
}

const KINDS: [&str; 9] = [
    "padded",
    "repeated",
    "ball",
    "jittered",
    "rounded",
    "nested",
    "far",
    "two densities",
    "even",
];

impl Crowd {
    fn new(number: u64) -> Self {
        let rng = &mut Rng(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0xc0_5d);
        let kind = KINDS[(number % 9) as usize];
        let is_flat = rng.below(4) == 0;
        let most = if rng.below(20) == 0 { 2500 } else { 600 };
        let count = 60 + rng.below(most);
        let axes = if is_flat { 2.0 } else { 3.0 };
        let side = (count as f32).powf(1.0 / axes) * 10f32.powi(rng.below(7) as i32 - 3);
        let spacing = side / (count as f32).powf(1.0 / axes);
        let mut places = places(kind, count, side, spacing, rng);
        if is_flat {
            places.iter_mut().for_each(|place| place[2] = 0.0);
        }
        // Without the shuffle, indices of a crowd are contiguous.
        if rng.below(2) == 0 {
            for last in (1..places.len()).rev() {
                places.swap(last, rng.below(last + 1));
            }
        }
        let edge = spacing * [0.0, 0.0, 1e-6, 1e-3, 0.3, 1.0][rng.below(6)];
        let is_mixed = rng.below(4) == 0;
        let objects = places.iter().map(|place| {
            let edge = if is_mixed { edge * rng.unit() } else { edge };
            let high = place.map(|low| low + edge);
            let high = if is_flat { [high[0], high[1], 0.0] } else { high };
            Aabb::new(*place, high)
        });
        let objects: Vec<_> = objects.collect();
        let radius = spacing * [0.3, 0.3, 1.0, 2.0, 0.01][rng.below(5)];
        let flat = |place: [f32; 3]| if is_flat { [place[0], place[1], 0.0] } else { place };
        let mut queries: Vec<_> = (0..80)
            .map(|_| match rng.below(3) {
                0 => Query::sphere(objects[rng.below(objects.len())].min, radius),
                1 => Query::sphere(flat([0; 3].map(|_| rng.unit() * side)), radius),
                _ => {
                    let low = flat([0; 3].map(|_| rng.unit() * side));
                    Query::overlaps(Aabb::new(low, flat(low.map(|low| low + 2.0 * radius))))
                }
            })
            .collect();
        queries.truncate(80);
        let rays = (0..40)
            .map(|_| {
                let origin = flat([0; 3].map(|_| rng.unit() * side));
                let direction = flat([0; 3].map(|_| rng.unit() - 0.5));
                let length = direction
                    .iter()
                    .map(|along| along * along)
                    .sum::<f32>()
                    .sqrt()
                    .max(1e-3);
                let t_max = if rng.below(2) == 0 { f32::INFINITY } else { 0.3 * side };
                SweptRay::new(Ray::new(origin, direction.map(|along| along / length), t_max))
            })
            .collect();
        let statics = if rng.below(6) == 0 { objects.len() / 2 } else { 0 };
        Self {
            kind,
            dimensions: if is_flat { Dimensions::Two } else { Dimensions::Three },
            objects,
            spacing,
            queries,
            rays,
            statics,
        }
    }

    fn scene(&self) -> Scene<'_> {
        let (statics, objects) = self.objects.split_at(self.statics);
        Scene {
            objects: Source::Host(objects),
            worlds: Source::Host(&[]),
            statics: Statics {
                objects: Source::Host(statics),
                ..Statics::default()
            },
            query: QueryInput {
                rays: Rays::Swept(Source::Host(&self.rays)),
                queries: Queries::General(Source::Host(&self.queries)),
                ..QueryInput::default()
            },
            ..Scene::default()
        }
    }
}

fn places(kind: &str, count: usize, side: f32, spacing: f32, rng: &mut Rng) -> Vec<[f32; 3]> {
    let anywhere = |rng: &mut Rng| [0; 3].map(|_| rng.unit() * side);
    let around =
        |place: [f32; 3], reach: f32, rng: &mut Rng| place.map(|along| along + reach * (2.0 * rng.unit() - 1.0));
    let share = [0.01, 0.024, 0.1, 0.3][rng.below(4)];
    let crowded = (share * count as f32) as usize + 2;
    let jitter = spacing * 10f32.powi(-1 - rng.below(6) as i32);
    let mut all: Vec<_> = (0..count).map(|_| anywhere(rng)).collect();
    match kind {
        "padded" => {
            for place in &mut all[count - crowded..] {
                *place = [0.0; 3];
            }
        }
        "repeated" => {
            let times = [2, 10, 10, 25][rng.below(4)];
            let jitter = jitter * rng.below(2) as f32;
            for index in 0..count {
                all[index] = around(all[index - index % times], jitter, rng);
            }
        }
        "ball" => {
            let centre = anywhere(rng);
            for place in &mut all[count - crowded..] {
                *place = around(centre, jitter, rng);
            }
        }
        "jittered" => {
            let some = 1 + rng.below(8);
            let centres: Vec<_> = (0..some).map(|_| anywhere(rng)).collect();
            for (index, place) in all[count - crowded..].iter_mut().enumerate() {
                *place = around(centres[index % some], jitter, rng);
            }
        }
        "rounded" => {
            let step = spacing * [1.0, 2.0, 3.0, 0.5][rng.below(4)];
            let some = if rng.below(2) == 0 { count } else { 3 * crowded };
            for place in all.iter_mut().take(some) {
                *place = place.map(|along| (along / step).round() * step);
            }
        }
        "nested" => {
            let centre = anywhere(rng);
            let ratio = [0.5f32, 0.1][rng.below(2)];
            for (index, place) in all[count / 2..].iter_mut().enumerate() {
                *place = around(centre, 0.5 * side * ratio.powi(1 + (index % 10) as i32), rng);
            }
        }
        "far" => {
            for place in &mut all[count - crowded.min(count / 50 + 1)..] {
                *place = place.map(|along| along * 1e4);
            }
        }
        "two densities" => {
            let centre = anywhere(rng);
            let reach = side * 10f32.powi(-1 - rng.below(3) as i32);
            for place in &mut all[count / 2 + rng.below(count / 3)..] {
                *place = around(centre, reach, rng);
            }
        }
        _ => {}
    }
    all
}

#[derive(Clone, Copy, Debug)]
struct Work([u64; 3]);

/// Counts the ranges of entries that a ray reads. A row of cells has two.
struct Looks(u64);

impl HitVisitor for Looks {
    fn search_limit(&self) -> f32 {
        f32::MAX
    }

    fn accept_hit(&mut self, _: u32, _: f32) {}

    fn reads_range(&mut self) {
        self.0 += 1;
    }
}

fn work(descriptor: &BroadPhaseDescriptor<'_>, crowd: &Crowd) -> Work {
    let trace = trace(descriptor, &crowd.scene()).unwrap();
    let pairs = u64::from(trace.counters[gpu_broad_phase::internals::counters::PAIR_CANDIDATES]);
    let mut queries = 0;
    for input in trace.reads().queries(&crowd.queries, false) {
        for query in &crowd.queries {
            let query = load_query(&trace.query_blocks, query);
            let counts = count_query(&trace.query_blocks, &input, OVERRIDES, &query, |_, _| {});
            queries += counts.iter().copied().map(u64::from).sum::<u64>();
        }
    }
    let mut rays = 0;
    for input in trace.reads().rays(&crowd.rays) {
        for ray in &crowd.rays {
            let mut looks = Looks(0);
            let ray = load_ray(&trace.params, ray);
            rays += u64::from(walk_ray(&trace.ray_blocks, &input, OVERRIDES, &ray, &mut looks)) + looks.0.div_ceil(2);
        }
    }
    Work([pairs, queries, rays])
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    worst: f64,
    scene: u64,
    count: u64,
    over: u64,
}

fn hold(crowd: &Crowd, number: u64, of: &str, work: Work, adaptive: Work, held: &mut [Held; 3]) -> Vec<String> {
    let objects = crowd.objects.len() as u64;
    let walks = [objects, crowd.queries.len() as u64, crowd.rays.len() as u64];
    let mut faults = Vec::new();
    for (place, what) in ["pairs", "queries", "rays"].into_iter().enumerate() {
        let all = walks[place] * objects / if place == 0 { 2 } else { 1 };
        let trifle = ALWAYS_ALLOWED * walks[place];
        let times = |of: u64| work.0[place] as f64 / (of + trifle / FACTOR) as f64;
        let held = &mut held[place];
        let least = times(all.min(adaptive.0[place]));
        held.count += 1;
        held.over += u64::from(least > FACTOR as f64);
        if least > held.worst {
            (held.worst, held.scene) = (least, number);
        }
        if times(all) > FACTOR as f64 || least > MOST {
            faults.push(format!(
                "scene {number} ({}, {:?}, {objects} objects): {what}, {of}: {} tests and rows, adaptive {}, all {all}",
                crowd.kind, crowd.dimensions, work.0[place], adaptive.0[place]
            ));
        }
    }
    faults
}

#[test]
fn crowds_in_one_place_take_little_work() {
    let mut faults = Vec::new();
    let mut held = [[Held::default(); 3]; 3];
    for number in range() {
        let crowd = Crowd::new(number);
        let descriptor = |scheme| BroadPhaseDescriptor {
            scheme,
            dimensions: crowd.dimensions,
            count_candidates: true,
            filters: false,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..BroadPhaseDescriptor::default()
        };
        let min_scale = crowd.spacing;
        let work_of = |scheme| work(&descriptor(scheme), &crowd);
        let adaptive = work_of(Scheme::Adaptive { min_scale });
        let schemes = [
            ("hierarchical", Scheme::Hierarchical),
            ("uniform", Scheme::uniform_for(&crowd.objects, crowd.dimensions)),
            ("adaptive", Scheme::adaptive_for(&crowd.objects, crowd.dimensions)),
        ];
        let scene = crowd.scene();
        let neighbors = Scene {
            query: QueryInput {
                rays: Rays::default(),
                queries: Queries::Objects(SelfQuery::within(0.3 * crowd.spacing)),
                ..scene.query
            },
            ..scene
        };
        let asked = [scene, neighbors].map(|scene| (scene, Expected::of(&descriptor(Scheme::Hierarchical), &scene)));
        for (place, (of, scheme)) in schemes.into_iter().enumerate() {
            let descriptor = descriptor(scheme);
            let what = format!("scene {number} ({}), {of}", crowd.kind);
            for (scene, expected) in &asked {
                check(
                    &descriptor,
                    scene,
                    expected,
                    &step_scene(&descriptor, scene).unwrap(),
                    &what,
                );
            }
            let work = work_of(scheme);
            if range().count() == 1 {
                let trace = trace(&descriptor, &scene).unwrap();
                let levels = trace.grid.levels.iter().filter(|level| level.count > 0);
                let levels: Vec<_> = levels.map(|level| (1.0 / level.inverse, level.count)).collect();
                println!("{scheme:?}, spacing {}: {work:?}, levels {levels:?}", crowd.spacing);
            }
            // Cells of the uniform scheme may be too fine for the queries, so its limit is the adaptive scheme's work
            // with the same size.
            let to = match scheme {
                Scheme::Uniform { cell_size: min_scale } => work_of(Scheme::Adaptive { min_scale }),
                _ => adaptive,
            };
            faults.extend(hold(&crowd, number, of, work, to, &mut held[place]));
        }
        if number % 1000 == 999 {
            println!("{} scenes: {} faults, {held:?}", number + 1, faults.len());
        }
    }
    println!("{held:#?}");
    for held in held.as_flattened() {
        assert!(held.over as f64 <= FEW * held.count as f64 + 2.0, "{held:?}");
    }
    assert!(
        faults.is_empty(),
        "{} faults: {:#?}",
        faults.len(),
        &faults[..faults.len().min(40)]
    );
}
