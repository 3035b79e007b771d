//! Without the grid, results would be right but take many box tests.

use gpu_broad_phase::cpu::step_scene;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Counters, Query, QueryInput, Ray, RayMode, Rays, Scene, Scheme, Source, SweptRay,
};
use wild::Rng;
use wild::sized::uniform;

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

fn counters(scheme: Scheme, objects: &[Aabb], query: QueryInput<'_>, ray_mode: RayMode) -> Counters {
    let mut descriptor = BroadPhaseDescriptor {
        scheme,
        count_candidates: true,
        ..BroadPhaseDescriptor::default()
    };
    descriptor.outputs.ray_mode = ray_mode;
    let scene = Scene {
        objects: objects.into(),
        query,
        ..Scene::default()
    };
    step_scene(&descriptor, &scene).unwrap().counters
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
        even.iter()
            .map(|object| Aabb::new(moved(object.min), moved(object.max)))
            .collect()
    };
    let mut giant = even.clone();
    giant[17] = Aabb::new([-1e6; 3], [1e6; 3]);
    let power_law = (0..COUNT).map(|_| {
        let edge = (1.0 - rng.unit()).max(1.0 / 65_536.0).powf(-0.5);
        let low = rng.point(90.0);
        Aabb::new(low, low.map(|low| low + edge))
    });
    let power_law = power_law.collect();
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
        ("power law", power_law, 0.0, 30),
        ("behind", behind, 0.0, 20),
        ("among", among, 0.0, 20),
    ] {
        let schemes = [
            Scheme::Hierarchical,
            Scheme::Uniform { cell_size: 1.5 * scale },
            Scheme::Adaptive { min_scale: scale },
        ];
        for scheme in &schemes[..if scale > 0.0 { 3 } else { 1 }] {
            let counters = counters(*scheme, &objects, QueryInput::default(), RayMode::Any);
            let limit = if matches!(scheme, Scheme::Adaptive { .. }) {
                100
            } else {
                limit
            };
            let what = format!("{name}, {scheme:?}: pairs");
            check_few(counters.pair_candidates, objects.len(), limit, &what);
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
        let query = QueryInput {
            queries: queries[..].into(),
            ..QueryInput::default()
        };
        let tests = counters(scheme, &objects, query, RayMode::All).query_candidates;
        check_few(tests, queries.len(), of_query, &format!("{scheme:?}: queries"));
        for (width, limit) in [0.0, 0.5, 4.0, 1e6, 1e30].into_iter().zip(of_ray) {
            let rays = lines.map(|ray| SweptRay::new(ray).with_half_extents([width; 3]));
            let query = QueryInput {
                rays: Rays::Swept(Source::Host(&rays)),
                ..QueryInput::default()
            };
            let [all, any] =
                [RayMode::All, RayMode::Any].map(|mode| counters(scheme, &objects, query, mode).ray_candidates);
            let what = format!("{scheme:?}, rays of width {width}");
            check_few(all, rays.len(), limit, &what);
            check_few(any, 1, all / 2, &format!("{what}, any hit"));
        }
    }
}
