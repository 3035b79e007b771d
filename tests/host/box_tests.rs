//! Without the grid, results would be right but take many box tests.

use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Query, QueryInput, Ray, RayMode, Rays, Scene, Scheme, Source, SweptRay,
};
use wild::Rng;
use wild::sized::{power_law, uniform};

const COUNT: usize = 5000;

/// Side of a world in which each of `count` boxes overlaps about six others.
fn side(count: usize) -> f32 {
    (8.0 * count as f32 / 6.0).cbrt()
}

fn cubes(count: usize, edge: f32, side: f32, rng: &mut Rng) -> Vec<Aabb> {
    let object = |_| {
        let low = rng.point(side);
        Aabb::new(low, low.map(|low| low + edge))
    };
    (0..count).map(object).collect()
}

fn box_tests(scheme: Scheme, objects: &[Aabb], query: QueryInput<'_>, ray_mode: RayMode) -> [u64; 3] {
    let (mut descriptor, mut scene) = (BroadPhaseDescriptor::default(), Scene::default());
    (descriptor.scheme, descriptor.outputs.ray_mode) = (scheme, ray_mode);
    descriptor.count_candidates = true;
    (scene.objects, scene.query) = (objects.into(), query);
    let counters = step_scene(&descriptor, &scene).unwrap().counters;
    [
        counters.pair_candidates,
        counters.ray_candidates,
        counters.query_candidates,
    ]
}

fn check_few(tests: u64, searches: usize, limit: u64, what: &str) {
    let each = tests / searches as u64;
    assert!(tests > 0 && each <= limit, "{what}: {each} box tests");
}

#[test]
fn pairs_take_few_box_tests() {
    let rng = &mut Rng(10);
    let even = uniform(COUNT, rng);
    let moved = |scale: f32, by: f32| -> Vec<_> {
        let moved = |corner: [f32; 3]| corner.map(|bound| bound * scale + by);
        let moved = |object: &Aabb| Aabb::new(moved(object.min), moved(object.max));
        even.iter().map(moved).collect()
    };
    let mut giant = even.clone();
    giant[17] = Aabb::new([-1e6; 3], [1e6; 3]);
    // A sample sets the cells.
    let [large, small] = [cubes(16_384, 10.0, 1000.0, rng), cubes(16_000, 0.1, 10.0, rng)];
    let behind = [&large[..], &small].concat();
    let among = large[..5000].iter().zip(small.chunks(3));
    let among = among.flat_map(|(large, small)| [&[*large], small].concat()).collect();
    for (name, objects, scale, limit) in [
        ("even", moved(1.0, 0.0), 1.0, 30),
        ("even and small", moved(1e-6, 0.0), 1e-6, 30),
        ("even and large", moved(3e7, 0.0), 3e7, 30),
        ("far", moved(1.0, 1e5), 1.0, 40),
        ("giant", giant, 1.0, 40),
        ("points", cubes(COUNT, 0.0, 2.0 * side(COUNT), rng), 1.0, 20),
        ("power law", power_law(COUNT, rng), 0.0, 30),
        ("behind", behind, 0.0, 20),
        ("among", among, 0.0, 20),
    ] {
        let schemes = [
            (Scheme::Hierarchical, limit),
            (Scheme::Uniform { cell_size: 1.5 * scale }, limit),
            (Scheme::Adaptive { min_scale: scale }, 100),
        ];
        for (scheme, limit) in &schemes[..if scale > 0.0 { 3 } else { 1 }] {
            let [tests, ..] = box_tests(*scheme, &objects, QueryInput::default(), RayMode::Any);
            check_few(tests, objects.len(), *limit, &format!("{name}, {scheme:?}: pairs"));
        }
    }
}

#[test]
fn rays_and_queries_take_few_box_tests() {
    let rng = &mut Rng(15);
    let objects = uniform(COUNT, rng);
    let lines = [0; 100].map(|_| {
        let direction = rng.point(2.0).map(|along| along - 1.0);
        let length = direction.iter().map(|along| along * along).sum::<f32>().sqrt();
        Ray::new(rng.point(side(COUNT)), direction.map(|along| along / length), 16.0)
    });
    let queries: Vec<_> = objects.iter().step_by(10).copied().map(Query::overlaps).collect();
    // The widest rays test every box. The adaptive scheme also tests its clusters.
    let all = COUNT as u64 * 5 / 4;
    for (scheme, of_query, of_ray) in [
        (Scheme::Hierarchical, 45, [150, 300, 2500, all, all]),
        (Scheme::Uniform { cell_size: 1.5 }, 60, [200, 600, 4500, all, all]),
        (Scheme::Adaptive { min_scale: 1.0 }, 200, [400, 600, 2500, all, all]),
    ] {
        for (width, limit) in [0.0, 0.5, 4.0, 1e6, 1e30].into_iter().zip(of_ray) {
            let rays = lines.map(|ray| SweptRay::new(ray).with_half_extents([width; 3]));
            let mut query = QueryInput::default();
            (query.rays, query.queries) = (Rays::Swept(Source::Host(&rays)), queries[..].into());
            let of_modes = [RayMode::All, RayMode::Any].map(|mode| box_tests(scheme, &objects, query, mode));
            let [[_, all, of_queries], [_, any, _]] = of_modes;
            let what = format!("{scheme:?}, rays of width {width}");
            check_few(of_queries, queries.len(), of_query, &format!("{what}: queries"));
            check_few(all, rays.len(), limit, &what);
            check_few(any, 1, all / 2, &format!("{what}, any hit"));
        }
    }
}
