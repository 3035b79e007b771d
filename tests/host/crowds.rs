//! Crowded scenes on the CPU engine. The work of each scheme, box tests plus rows of cells, is limited by that of brute
//! force and of the adaptive scheme.

use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::internals::blocks::Overrides;
use gpu_broad_phase::internals::counters::PAIR_CANDIDATES;
use gpu_broad_phase::internals::reference::queries::query::load_query;
use gpu_broad_phase::internals::reference::queries::query_walk::count_query;
use gpu_broad_phase::internals::reference::rays::ray::load_ray;
use gpu_broad_phase::internals::reference::rays::ray_hits::{HitVisitor, walk_ray};
use gpu_broad_phase::internals::reference::{Trace, trace};
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, Query, QueryMode, Ray, RayMode, Rays, Scene, Scheme, SelfQuery, Source,
    SweptRay,
};
use wild::answers::RAY_MODES;
use wild::{Expected, Rng, check};

use crate::plain_tree::{Tree, hits, overlap, reach_of};
use crate::wild::check_passes;

const SCENES: u64 = 150;
/// Maximum ratio of work to that of brute force and, except in a fraction [`FEW`] of checks, of the adaptive scheme.
const FACTOR: u64 = 4;
/// Maximum fraction of checks whose ratio exceeds [`FACTOR`]. No ratio may exceed [`MOST`].
const FEW: f64 = 0.02;
const MOST: f64 = 20.0;
/// Maximum ratio of work for thin boxes to that of a plain tree: pairs, queries, rays.
const MOST_OF_TREE: [f64; 3] = [2.0, 3.0, 4.0];
const ALWAYS_ALLOWED: u64 = 40;
const OVERRIDES: Overrides = Overrides {
    filters: false,
    count_candidates: true,
};

struct Crowd {
    dimensions: Dimensions,
    objects: Vec<Aabb>,
    /// Distance between objects, if spread evenly.
    spacing: f32,
    queries: Vec<Query>,
    rays: Vec<SweptRay>,
    statics: usize,
}

impl Crowd {
    fn new(number: u64) -> Self {
        let rng = &mut Rng(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0xc0_5d);
        let is_flat = rng.once_in(4);
        let most = if rng.once_in(12) { 3000 } else { 600 };
        let count = 60 + rng.below(most);
        let axes = if is_flat { 2.0 } else { 3.0 };
        let spacing = 10f32.powi(rng.below(7) as i32 - 3);
        let side = spacing * (count as f32).powf(1.0 / axes);
        let flat = |place: [f32; 3]| if is_flat { [place[0], place[1], 0.0] } else { place };
        let mut places = places(number % 10, count, side, spacing, rng);
        // Without the shuffle, indices of a crowd are contiguous.
        if rng.once_in(2) {
            for last in (1..places.len()).rev() {
                places.swap(last, rng.below(last + 1));
            }
        }
        let edge = spacing * rng.one_of(&[0.0, 0.0, 1e-6, 1e-3, 0.3, 1.0]);
        let is_mixed = rng.once_in(4);
        let objects = places.into_iter().map(|place| {
            let edge = match number % 10 {
                9 => 0.2 * spacing / (1.0 - rng.unit()).max(1e-5).sqrt(),
                _ if is_mixed => edge * rng.unit(),
                _ => edge,
            };
            Aabb::new(flat(place), flat(place.map(|low| low + edge)))
        });
        let objects: Vec<_> = objects.collect();
        let radius = spacing * rng.one_of(&[0.3, 0.3, 1.0, 2.0, 0.01]);
        let queries = (0..80).map(|_| match rng.below(3) {
            0 => Query::sphere(rng.one_of(&objects).min, radius),
            1 => Query::sphere(flat(rng.point(side)), radius),
            _ => {
                let low = flat(rng.point(side));
                Query::overlaps(Aabb::new(low, flat(low.map(|low| low + 2.0 * radius))))
            }
        });
        let queries = queries.collect();
        let rays = (0..40).map(|_| {
            let origin = flat(rng.point(side));
            let direction = flat(rng.point(1.0).map(|along| along - 0.5));
            let squared: f32 = direction.iter().map(|along| along * along).sum();
            let length = squared.sqrt().max(1e-3);
            let t_max = rng.one_of(&[f32::INFINITY, 0.3 * side]);
            SweptRay::new(Ray::new(origin, direction.map(|along| along / length), t_max))
        });
        Self {
            dimensions: if is_flat { Dimensions::Two } else { Dimensions::Three },
            spacing,
            queries,
            rays: rays.collect(),
            statics: if rng.once_in(6) { objects.len() / 2 } else { 0 },
            objects,
        }
    }

    /// Boxes that are up to 10,000 times longer on one axis or two than on the others, and cubes of other sizes.
    fn thin(number: u64) -> Self {
        let rng = &mut Rng(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7417);
        let crowd = Self::new(rng.bits());
        let axes = crowd.dimensions.count() as usize;
        let side = crowd.spacing * (crowd.objects.len() as f32).powf(1.0 / axes as f32);
        let thickness = crowd.spacing * rng.one_of(&[0.5, 0.1, 0.01]);
        let longest = thickness * 10f32.powf(4.0 * rng.unit());
        let first = rng.below(axes);
        let is_plate = axes == 3 && rng.once_in(3);
        let is_mixed = axes == 3 && rng.once_in(3);
        // One box in this many is a cube, or the only thin one.
        let (is_few, stride) = (rng.once_in(3), rng.one_of(&[100, 20, 10, 2]));
        let edge = (thickness * rng.one_of(&[1.0, 1.0, 10.0, 100.0])).min(2.0 * crowd.spacing);
        let shapes = rng.one_of(&[0.0, 0.8]);
        let mut object = |index: usize| {
            let is_thin = index.is_multiple_of(stride) == is_few;
            let mut edges = [if is_thin { thickness } else { edge }; 3];
            edges[axes..].fill(0.0);
            if is_thin {
                let along = (first + if is_mixed { rng.below(2) } else { 0 }) % axes;
                edges[along] = longest * (1.0 - shapes * rng.unit());
                if is_plate {
                    edges[(along + 1) % axes] = edges[along];
                }
            }
            let mut low = rng.point(side);
            low[axes..].fill(0.0);
            Aabb::new(low, [0, 1, 2].map(|axis| low[axis] + edges[axis]))
        };
        Self {
            objects: (0..crowd.objects.len()).map(&mut object).collect(),
            ..crowd
        }
    }

    /// Box tests of a plain tree: for pairs, queries and rays.
    fn work_of_tree(&self) -> [u64; 3] {
        let tree = Tree::of(self.objects.clone());
        let pairs = self.objects.iter().map(|own| tree.tests(&|other| overlap(own, other)));
        let queries = self.queries.iter().map(|query| {
            let reach = reach_of(query);
            tree.tests(&|other| overlap(&reach, other))
        });
        let rays = self.rays.iter().map(|ray| tree.tests(&|other| hits(ray, other)));
        [pairs.sum::<u64>() / 2, queries.sum(), rays.sum()]
    }

    fn scene(&self) -> Scene<'_> {
        let (statics, objects) = self.objects.split_at(self.statics);
        let mut scene = Scene::default();
        (scene.objects, scene.statics.objects) = (objects.into(), statics.into());
        scene.query.rays = Rays::Swept(Source::Host(&self.rays));
        scene.query.queries = self.queries[..].into();
        scene
    }

    fn descriptor(&self, scheme: Scheme) -> BroadPhaseDescriptor<'static> {
        let mut descriptor = BroadPhaseDescriptor::default();
        (descriptor.scheme, descriptor.dimensions) = (scheme, self.dimensions);
        (descriptor.count_candidates, descriptor.filters) = (true, false);
        descriptor.outputs.ray_mode = RayMode::All;
        descriptor
    }

    fn work(&self, passes: &Trace) -> [u64; 3] {
        let pairs = u64::from(passes.counters[PAIR_CANDIDATES]);
        let [mut queries, mut rays] = [0; 2];
        for input in passes.reads().queries(&self.queries, false) {
            for query in &self.queries {
                let query = load_query(&passes.query_blocks, query);
                let counts = count_query(&passes.query_blocks, &input, OVERRIDES, &query, |_, _| {});
                queries += counts.iter().copied().map(u64::from).sum::<u64>();
            }
        }
        for input in passes.reads().rays(&self.rays) {
            for ray in &self.rays {
                let (mut ranges, ray) = (Ranges(0), load_ray(&passes.params, ray));
                let tests = walk_ray(&passes.ray_blocks, &input, OVERRIDES, &ray, &mut ranges);
                rays += u64::from(tests) + ranges.0.div_ceil(2);
            }
        }
        [pairs, queries, rays]
    }
}

fn places(kind: u64, count: usize, side: f32, spacing: f32, rng: &mut Rng) -> Vec<[f32; 3]> {
    let around =
        |place: [f32; 3], reach: f32, rng: &mut Rng| place.map(|along| along + reach * (2.0 * rng.unit() - 1.0));
    let crowded = (rng.one_of(&[0.01, 0.024, 0.1, 0.3]) * count as f32) as usize + 2;
    let jitter = spacing * 10f32.powi(-1 - rng.below(6) as i32);
    let mut all: Vec<_> = (0..count).map(|_| rng.point(side)).collect();
    let centres: Vec<_> = (0..1 + rng.below(8)).map(|_| rng.point(side)).collect();
    let crowd = count - crowded;
    match kind {
        0 => all[crowd..].fill([0.0; 3]),
        1 => {
            let times = rng.one_of(&[2, 10, 10, 25]);
            let jitter = rng.one_of(&[0.0, jitter]);
            for index in 0..count {
                all[index] = around(all[index - index % times], jitter, rng);
            }
        }
        2 => all[crowd..].fill_with(|| around(centres[0], jitter, rng)),
        3 => all[crowd..].fill_with(|| around(rng.one_of(&centres), jitter, rng)),
        4 => {
            let step = spacing * rng.one_of(&[1.0, 2.0, 3.0, 0.5]);
            let some = rng.one_of(&[count, 3 * crowded]);
            let rounded = |place: &mut [f32; 3]| *place = place.map(|along| (along / step).round() * step);
            all.iter_mut().take(some).for_each(rounded);
        }
        5 => {
            let ratio: f32 = rng.one_of(&[0.5, 0.1]);
            for (index, place) in all.iter_mut().enumerate().skip(count / 2) {
                let reach = 0.5 * side * ratio.powi(1 + (index % 10) as i32);
                *place = around(centres[0], reach, rng);
            }
        }
        6 => {
            let few = crowded.min(count / 50 + 1);
            let far = |place: &mut [f32; 3]| *place = place.map(|along| along * 1e4);
            all[count - few..].iter_mut().for_each(far);
        }
        7 => {
            let reach = side * 10f32.powi(-1 - rng.below(3) as i32);
            all[count / 2 + rng.below(count / 3)..].fill_with(|| around(centres[0], reach, rng));
        }
        _ => {}
    }
    all
}

/// Counts the ranges of entries that a ray reads. A row of cells has two.
struct Ranges(u64);

impl HitVisitor for Ranges {
    fn search_limit(&self) -> f32 {
        f32::MAX
    }

    fn accept_hit(&mut self, _: u32, _: f32) {}

    fn reads_range(&mut self) {
        self.0 += 1;
    }
}

fn check_results(crowd: &Crowd, schemes: &[Scheme]) {
    let scene = crowd.scene();
    let [mut within, mut nearest] = [scene; 2];
    (within.query.rays, nearest.query.rays) = (Rays::None, Rays::None);
    within.query.queries = SelfQuery::within(0.3 * crowd.spacing).into();
    nearest.query.query_mode = QueryMode::Nearest(8);
    for scene in [scene, within, nearest] {
        let expected = Expected::of(&crowd.descriptor(schemes[0]), &scene);
        for &scheme in schemes {
            let mut descriptor = crowd.descriptor(scheme);
            let passes = trace(&descriptor, &scene).unwrap();
            for threads in [1, 3] {
                // Without counting, trees.
                descriptor.count_candidates = threads == 1;
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let result = pool.install(|| step_scene(&descriptor, &scene)).unwrap();
                check(&descriptor, &scene, &expected, &result, &format!("{scheme:?}"));
                check_passes(&descriptor, &passes, &result);
            }
        }
    }
}

#[test]
fn crowds_in_one_place_take_little_work_and_follow_the_definition() {
    let (mut checks, mut over) = (0, 0);
    let mut faults = Vec::new();
    for number in 0..SCENES {
        let crowd = Crowd::new(number);
        println!("crowd {number}, {} objects", crowd.objects.len());
        let work_of = |scheme| crowd.work(&trace(&crowd.descriptor(scheme), &crowd.scene()).unwrap());
        let spaced = work_of(Scheme::Adaptive {
            min_scale: crowd.spacing,
        });
        let schemes = [
            Scheme::Hierarchical,
            Scheme::uniform_for(&crowd.objects, crowd.dimensions),
            Scheme::adaptive_for(&crowd.objects, crowd.dimensions),
        ];
        check_results(&crowd, &schemes);
        for scheme in schemes {
            // Cells of the uniform scheme may be too fine for the queries, so its limit is the adaptive scheme's work
            // with the same size.
            let adaptive = match scheme {
                Scheme::Uniform { cell_size: min_scale } => work_of(Scheme::Adaptive { min_scale }),
                _ => spaced,
            };
            let work = work_of(scheme);
            let objects = crowd.objects.len() as u64;
            let walks = [objects, crowd.queries.len() as u64, crowd.rays.len() as u64];
            for (place, what) in ["pairs", "queries", "rays"].into_iter().enumerate() {
                let all = walks[place] * objects / if place == 0 { 2 } else { 1 };
                let allowed = ALWAYS_ALLOWED * walks[place] / FACTOR;
                let ratio = |to: u64| work[place] as f64 / (to + allowed) as f64;
                let worst = ratio(all.min(adaptive[place]));
                checks += 1;
                over += u32::from(worst > FACTOR as f64);
                if ratio(all) > FACTOR as f64 || worst > MOST {
                    let [work, adaptive] = [work, adaptive].map(|work| work[place]);
                    faults.push(format!(
                        "crowd {number}: {what}, {scheme:?}: {work} tests and rows, adaptive {adaptive}, all {all}"
                    ));
                }
            }
        }
    }
    assert!(f64::from(over) <= FEW * f64::from(checks) + 2.0, "{over} of {checks}");
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
}

/// Boxes that are long on one axis or two, but not all along different axes, need no more tests than in a tree.
#[test]
fn thin_boxes_take_as_little_work_as_in_a_tree() {
    let (mut faults, mut long, mut all) = (Vec::new(), 0, [0; 2]);
    for number in 0..SCENES {
        let crowd = Crowd::thin(number);
        let passes = trace(&crowd.descriptor(Scheme::Hierarchical), &crowd.scene()).unwrap();
        let (work, tree) = (crowd.work(&passes), crowd.work_of_tree());
        long += usize::from(passes.grid.stretch > 0);
        all = [all[0] + work[0], all[1] + tree[0]];
        for (place, what) in ["pairs", "queries", "rays"].into_iter().enumerate() {
            let ratio = work[place] as f64 / tree[place] as f64;
            if ratio > MOST_OF_TREE[place] {
                let [work, tree] = [work[place], tree[place]];
                faults.push(format!("thin {number}: {what}: {work} tests and rows, tree {tree}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
    assert!(long > 50 && 4 * all[0] < all[1], "{long}, {all:?}");
}

/// Rows of wide rays may have more cells than the hashed table has buckets.
#[test]
fn rows_longer_than_their_table_give_each_hit_once() {
    let rng = &mut Rng(18);
    let place = |rng: &mut Rng| [10_000.0 * rng.unit(), 20.0 * rng.unit(), 20.0 * rng.unit()];
    let objects = [0; 400].map(|_| {
        let low = place(rng);
        Aabb::new(low, low.map(|low| low + 1.0))
    });
    let rays = [0; 300].map(|_| {
        let width = rng.one_of(&[60.0, 200.0, 400.0, 511.7, 600.0, 5000.0]) + 0.05 * rng.unit();
        let ray = Ray::new(place(rng), [0.99, 1.0, 0.0], rng.one_of(&[0.45, 3.0]));
        SweptRay::new(ray).with_half_extents([width, 0.0, 0.0])
    });
    let (mut scene, mut is_long) = (Scene::default(), false);
    (scene.objects, scene.query.rays) = (objects[..].into(), Rays::Swept(Source::Host(&rays)));
    for (scheme, ray_mode) in [Scheme::Adaptive { min_scale: 1.0 }, Scheme::Uniform { cell_size: 0.5 }]
        .into_iter()
        .flat_map(|scheme| RAY_MODES.map(|mode| (scheme, mode)))
    {
        let mut descriptor = BroadPhaseDescriptor::default();
        (descriptor.scheme, descriptor.outputs.ray_mode) = (scheme, ray_mode);
        let (result, expected) = (
            step_scene(&descriptor, &scene).unwrap(),
            Expected::of(&descriptor, &scene),
        );
        check(
            &descriptor,
            &scene,
            &expected,
            &result,
            &format!("{scheme:?}, {ray_mode:?}"),
        );
        let passes = trace(&descriptor, &scene).unwrap();
        check_passes(&descriptor, &passes, &result);
        let mut levels = passes.grid.levels.iter().filter(|level| level.count > 0);
        is_long |= levels.any(|level| level.upper_x.abs_diff(level.lower_x) > level.table_size);
    }
    assert!(is_long);
}
