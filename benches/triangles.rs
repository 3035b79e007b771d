//! Hits, shadows and closest points of a mesh: the CPU engine beside obvhs, with the same tests of triangles. Prints
//! median and least milliseconds on one thread and on all.
//!
//! `cargo bench -p measure --features peers --bench triangles -- [RUNS]`

#[path = "../examples/triangles/mesh.rs"]
mod mesh;

use std::time::Instant;

use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Query, Ray, RayHit, Scene};
use mesh::{EYE, FLOOR, LIGHT, Point, bounds, cloud, hit_triangle, shadow_origin, triangle_distance, triangles, view};
use obvhs::Boundable;
use obvhs::aabb::Aabb as Bounds;
use obvhs::bvh2::Bvh2;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};
use obvhs::ray::{Ray as Line, RayHit as LineHit};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

const PIXELS: usize = 480;
const POINTS: usize = 20_000;

struct Corners<'a>(&'a [Point; 3]);

impl Boundable for Corners<'_> {
    fn aabb(&self) -> Bounds {
        Bounds::from_points(&self.0.map(glam::Vec3A::from_array))
    }
}

/// Hits of `rays` by obvhs, as `t`, infinite without a hit.
fn by_tree(bvh: &Bvh2, mesh: &[[Point; 3]], rays: &[Ray], is_any: bool) -> Vec<f32> {
    let hit = |ray: &Ray| {
        let [origin, direction] = [ray.origin, ray.direction].map(glam::Vec3A::from_array);
        let line = Line::new(origin, direction, 0.0, ray.t_max);
        let triangle = |place: usize| &mesh[bvh.primitive_indices[place] as usize];
        let mut hit = LineHit::none();
        if is_any {
            let is_hit = bvh.ray_traverse_miss(line, |line, place| {
                hit_triangle(triangle(place), ray.origin, ray.direction, line.tmax)
            });
            return if is_hit { f32::INFINITY } else { 0.0 };
        }
        bvh.ray_traverse(line, &mut hit, |line, place| {
            match hit_triangle(triangle(place), ray.origin, ray.direction, line.tmax) {
                t if t < line.tmax => t,
                _ => f32::INFINITY,
            }
        });
        match hit.primitive_id {
            obvhs::ray::INVALID_ID => f32::INFINITY,
            _ => hit.t,
        }
    };
    rays.par_iter().map(hit).collect()
}

fn main() {
    let runs = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(7usize);
    let mesh = triangles();
    let boxes: Vec<_> = mesh
        .iter()
        .map(bounds)
        .map(|[low, high]| Aabb::new(low, high))
        .collect();
    let sight = |pixel| Ray::new(EYE, view([pixel % PIXELS, pixel / PIXELS], PIXELS), 100.0);
    let camera: Vec<_> = (0..PIXELS * PIXELS).map(sight).collect();
    let hit = |triangle: u32, origin: Point, direction: Point, t_max: f32| {
        hit_triangle(&mesh[triangle as usize], origin, direction, t_max)
    };
    let points = cloud(&mesh, POINTS);
    let queries: Vec<_> = points.iter().map(|&point| Query::sphere(point, 100.0)).collect();
    let distance = |triangle: u32, point: Point| triangle_distance(&mesh[triangle as usize], point);
    println!(
        "{} triangles, of which {FLOOR} are a floor; {} rays, {POINTS} points",
        mesh.len(),
        camera.len()
    );
    for threads in [1, std::thread::available_parallelism().map_or(1, Into::into)] {
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
            .install(|| {
                let mut broad_phase = CpuBroadPhase::new(&BroadPhaseDescriptor {
                    pairs: false,
                    filters: false,
                    ..Default::default()
                })
                .unwrap();
                let scene = Scene {
                    objects: boxes[..].into(),
                    ..Default::default()
                };
                broad_phase.step_scene(&scene).unwrap();
                let seen = broad_phase.closest_shapes(camera[..].into(), &hit).unwrap();
                let shadow = |(hit, ray): (&RayHit, &Ray)| {
                    (*hit != RayHit::MISS)
                        .then(|| Ray::new(shadow_origin(ray.origin, ray.direction, hit.t), LIGHT, 100.0))
                };
                let shadows: Vec<_> = seen.iter().zip(&camera).filter_map(shadow).collect();
                let corners: Vec<_> = mesh.iter().map(Corners).collect();
                let build = || {
                    let bounds: Vec<_> = corners.iter().map(Corners::aabb).collect();
                    let all = (0..bounds.len() as u32).collect();
                    PlocBuilder::with_capacity(bounds.len()).build(
                        PlocSearchDistance::VeryLow,
                        &bounds,
                        all,
                        SortPrecision::U64,
                        0,
                    )
                };
                let bvh = build();
                let mut times = [const { Vec::new() }; 7];
                for _ in 0..runs {
                    let mut timed = |place: usize, work: &mut dyn FnMut()| {
                        let start = Instant::now();
                        work();
                        times[place].push(1e3 * start.elapsed().as_secs_f64());
                    };
                    timed(0, &mut || {
                        let mut fresh = CpuBroadPhase::new(&broad_phase.descriptor()).unwrap();
                        fresh.step_scene(&scene).unwrap();
                        fresh.closest_shapes(camera[..1].into(), &hit).unwrap();
                    });
                    timed(1, &mut || drop(build()));
                    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                    timed(2, &mut || {
                        ours = broad_phase.closest_shapes(camera[..].into(), &hit).unwrap()
                    });
                    timed(3, &mut || theirs = by_tree(&bvh, &mesh, &camera, false));
                    let is_same = |(ours, theirs): (&RayHit, &f32)| (ours.t - theirs).abs() < 1e-3 || ours.t == *theirs;
                    let same = ours.iter().zip(&theirs).filter(|&both| is_same(both)).count();
                    assert!(same + 20 >= camera.len(), "{same} of {} hits agree", camera.len());
                    timed(4, &mut || {
                        ours = broad_phase.any_shapes(shadows[..].into(), &hit).unwrap()
                    });
                    timed(5, &mut || theirs = by_tree(&bvh, &mesh, &shadows, true));
                    let is_same = |(ours, theirs): (&RayHit, &f32)| (*ours == RayHit::MISS) == theirs.is_infinite();
                    let same = ours.iter().zip(&theirs).filter(|&both| is_same(both)).count();
                    assert!(same + 20 >= shadows.len(), "{same} of {} shadows agree", shadows.len());
                    timed(6, &mut || {
                        drop(broad_phase.nearest_shapes(&queries, &distance).unwrap())
                    });
                }
                let names = [
                    "build",
                    "build, obvhs",
                    "closest hits",
                    "closest hits, obvhs",
                    "shadows",
                    "shadows, obvhs",
                    "closest points",
                ];
                for (name, times) in names.iter().zip(&mut times) {
                    times.sort_by(f64::total_cmp);
                    println!(
                        "{threads} threads, {name}: median {:.1} ms, least {:.1}",
                        times[times.len() / 2],
                        times[0]
                    );
                }
            });
    }
}
