use super::*;
use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::reference::brute_force::closest;
use gpu_broad_phase::{Dimensions, RayHit};

/// Same floats on every device: at most one operation rounds.
const SHAPES: &str = "
    fn mixed(object: u32) -> u32 {
        let bits = (object + 7u) * 0x9e3779b9u;
        return (bits ^ (bits >> 15u)) * 0x85ebca6bu >> 13u;
    }

    fn own_hit_shape(object: u32, origin: vec3<f32>, direction: vec3<f32>, t_max: f32) -> f32 {
        let bits = mixed(object);
        return select(abs(origin.x) + f32(bits % 8u) * 0.25, t_max, bits % 5u == 0u);
    }
";

fn mixed(object: u32) -> u32 {
    let bits = (object + 7).wrapping_mul(0x9e37_79b9);
    (bits ^ (bits >> 15)).wrapping_mul(0x85eb_ca6b) >> 13
}

fn hit_shape(object: u32, origin: [f32; 3], _direction: [f32; 3], t_max: f32) -> f32 {
    let bits = mixed(object);
    match bits % 5 {
        0 => t_max,
        _ => origin[0].abs() + (bits % 8) as f32 * 0.25,
    }
}

/// Adds closest object, its `t`, any object, 1 for complete results.
const HIT: &str = "
    fn visit(id: u32) {
        let ray = own_ray_of(input(id, 0u), input(id, 1u), input(id, 2u), input(id, 3u).x);
        let out = output(id);
        let closest = own_closest_shape(ray);
        let any = own_any_shape(ray);
        data[out] = closest.object;
        data[out + 1u] = bitcast<u32>(closest.t);
        data[out + 2u] = any.object;
        data[out + 3u] = u32(closest.is_complete && any.is_complete && closest.is_hit == any.is_hit);
    }
";

/// The rule of [`TableShader::shape_rays`], of all hits of boxes.
pub fn shape_hits(
    ray: &SweptRay,
    boxes: &[(u32, u32)],
    hit_shape: impl Fn(u32, [f32; 3], [f32; 3], f32) -> f32,
) -> Vec<RayHit> {
    let flushed = |x: f32| if x.is_subnormal() { 0.0 } else { x };
    let t_max = ray.ray.t_max.min(f32::MAX);
    let limit = t_max.next_up().clamp(f32::MIN_POSITIVE, f32::MAX);
    let t_min = flushed(ray.t_min).max(0.0);
    let origin = ray.ray.origin.map(flushed);
    let hit = |&(object, entry): &(u32, u32)| {
        let t = hit_shape(object, origin, ray.ray.direction, limit);
        let counted = if t < f32::MIN_POSITIVE { 0.0 } else { t }.max(f32::from_bits(entry));
        (t >= t_min && t < limit && counted < limit).then_some(RayHit { object, t: counted })
    };
    boxes.iter().filter_map(hit).collect()
}

#[test]
fn rays_end_at_the_closest_shape_of_both_tables() {
    let mut met = [0; 2];
    for adapter in daily_adapters() {
        let mut passes = [Passes::new(), Passes::new()];
        for (number, descriptor, wild) in scenes(400, true) {
            if wild.rays.is_empty() {
                continue;
            }
            let scene = wild.scene(number);
            let (is_swept, rays, boxes) = rays_and_hits(&descriptor, scene, &wild);
            let expected: Vec<_> = rays
                .iter()
                .zip(&boxes)
                .map(|(ray, boxes)| shape_hits(ray, boxes, hit_shape))
                .collect();
            let mut on_cpu = CpuBroadPhase::new(&descriptor).unwrap();
            on_cpu.step_scene(&scene).unwrap();
            let found = on_cpu.closest_shapes(Rays::Swept(rays[..].into()), &hit_shape).unwrap();
            let some = on_cpu.any_shapes(Rays::Swept(rays[..].into()), &hit_shape).unwrap();
            let has_statics = wild.statics > 0;
            let outputs = run_alike(
                &adapter,
                &mut passes[usize::from(has_statics)],
                &descriptor,
                scene,
                &rays,
                &[],
                || {
                    let make = [TableShader::with_rays, TableShader::with_swept_rays][usize::from(is_swept)];
                    let first = make(&descriptor, "own_", 1).unwrap();
                    let second = has_statics.then(|| first.second_table("static_", 2).unwrap());
                    let text = format!("{}{SHAPES}{HIT}", first.shape_rays(second.as_ref()));
                    OwnPass::new::<SweptRay>(
                        &adapter,
                        [Some(first), second].into_iter().flatten().collect(),
                        &text,
                        4,
                    )
                },
            );
            for (index, ray) in rays.iter().enumerate() {
                let what = format!("{ray:?} in scene {number}, {descriptor:?} on {}", adapter.name);
                let expected = &expected[index];
                let best = closest(expected);
                let words = &outputs[index];
                let on_gpu = RayHit {
                    object: words[0],
                    t: if words[0] == RayHit::MISS.object {
                        f32::INFINITY
                    } else {
                        f32::from_bits(words[1])
                    },
                };
                assert_eq!((found[index], on_gpu, words[3]), (best, best, 1), "{what}");
                for any in [some[index].object, words[2]] {
                    let is_one = expected.iter().any(|hit| hit.object == any);
                    assert_eq!(is_one, !expected.is_empty(), "{what}: {any}");
                }
                met[usize::from(best == RayHit::MISS)] += 1;
            }
        }
    }
    assert!(met.iter().all(|&count| count > 300), "{met:?} hits and misses are few");
}

/// A shape is the lower corner of a box. Distances are sums along the axes, rounded up to 1 / 64.
const DISTANCE: &str = "
    fn steps(a: f32, b: f32) -> i32 {
        return i32(ceil(min(abs(a - b) * 64.0, 5.0e8)));
    }

    fn own_shape_distance(object: u32, point: vec3<f32>) -> f32 {
        let first = output(data[0]) + 3u * object;
        let corner = bitcast<vec3<f32>>(vec3<u32>(data[first], data[first + 1u], data[first + 2u]));
        return f32(steps(point.x, corner.x) + steps(point.y, corner.y) + steps(point.z, corner.z)) / 64.0;
    }

    fn visit(id: u32) {
        let rest = input(id, 2u);
        let nearest = own_nearest_shape(own_query_of(input(id, 0u), input(id, 1u), rest.x, rest.y));
        let out = output(id);
        data[out] = nearest.object;
        data[out + 1u] = bitcast<u32>(nearest.distance);
        data[out + 2u] = u32(nearest.is_complete && nearest.is_found == (nearest.object != own_NO_OBJECT));
    }
";

fn distance(corner: [f32; 3], point: [f32; 3]) -> f32 {
    let steps = |axis: usize| ((point[axis] - corner[axis]).abs() * 64.0).min(5e8).ceil() as i32;
    (steps(0) + steps(1) + steps(2)) as f32 / 64.0
}

#[test]
fn the_nearest_shape_of_both_tables_is_found() {
    let mut met = [0; 2];
    // Mesa's software drivers end long loops.
    let mut cut = 0;
    let mut rng = Rng(905);
    for adapter in daily_adapters() {
        let mut passes = [Passes::new(), Passes::new()];
        for (number, descriptor, wild) in scenes(400, false) {
            let mut scene = wild.scene(number);
            let flat = |corner: [f32; 3]| match descriptor.dimensions {
                Dimensions::Two => [corner[0], corner[1], 0.0],
                Dimensions::Three => corner,
            };
            let statics = scene.statics.objects.elements().unwrap();
            let objects = [statics, scene.objects.elements().unwrap()].concat();
            let is_far = |bound: &f32| bound.is_finite() && bound.abs() > 1e6;
            if objects.is_empty()
                || objects
                    .iter()
                    .any(|object| object.min.iter().chain(&object.max).any(is_far))
            {
                continue;
            }
            let corners: Vec<_> = objects.iter().map(|object| flat(object.min)).collect();
            let queries: Vec<_> = (0..40)
                .map(|_| {
                    let center = objects[rng.below(objects.len())].max;
                    let moved = center.map(|bound| if bound.is_finite() { bound + rng.unit() } else { 0.5 });
                    let radius = [f32::INFINITY, 0.25, 3.0, 40.0, 0.0, -1.0, f32::NAN][rng.below(7)];
                    Query::sphere(moved, radius).in_world(rng.below(descriptor.worlds as usize) as u32)
                })
                .collect();
            let everywhere: Vec<_> = queries
                .iter()
                .map(|query| Query {
                    radius: f32::INFINITY,
                    ..*query
                })
                .collect();
            scene.query = QueryInput {
                queries: everywhere[..].into(),
                ..Default::default()
            };
            let admitted = brute_force::scene_queries(&descriptor, &scene).unwrap();
            scene.query = QueryInput::default();
            let mut on_cpu = CpuBroadPhase::new(&descriptor).unwrap();
            on_cpu.step_scene(&scene).unwrap();
            let of_object = |object: u32, point: [f32; 3]| distance(corners[object as usize], flat(point));
            let found = on_cpu.nearest_shapes(&queries, &of_object).unwrap();
            let has_statics = wild.statics > 0;
            let passes = &mut passes[usize::from(has_statics)];
            let make = || {
                let first = TableShader::new(&descriptor, "own_", 1).unwrap();
                let second = has_statics.then(|| first.second_table("static_", 2).unwrap());
                let text = format!("{}{DISTANCE}", first.shape_queries(second.as_ref()));
                OwnPass::new::<Query>(
                    &adapter,
                    [Some(first), second].into_iter().flatten().collect(),
                    &text,
                    3,
                )
            };
            let extra: Vec<_> = corners.iter().flatten().map(|bound| bound.to_bits()).collect();
            let outputs = run_alike(&adapter, passes, &descriptor, scene, &queries, &extra, make);
            for (index, query) in queries.iter().enumerate() {
                let what = format!("{query:?} in scene {number}, {descriptor:?} on {}", adapter.name);
                let rows = admitted[index].surely.iter().chain(&admitted[index].perhaps);
                let point = query.bounds.min.map(|x| if x.is_subnormal() { 0.0 } else { x });
                let shapes = rows
                    .filter(|_| query.radius >= 0.0)
                    .map(|row| (of_object(row.0, point), row.0));
                let best = shapes
                    .filter(|shape| shape.0 <= query.radius)
                    .min_by(|a, b| a.partial_cmp(b).unwrap());
                let best = best.map(|(distance, object)| (object, distance));
                let words = &outputs[index];
                let on_gpu = (words[0] != u32::MAX).then(|| (words[0], f32::from_bits(words[1])));
                assert_eq!(found[index], best, "{what}");
                if words[2] == 1 {
                    assert_eq!(on_gpu, best, "{what}");
                    met[usize::from(best.is_none())] += 1;
                } else {
                    cut += 1;
                }
            }
        }
    }
    assert!(
        met.iter().all(|&count| count > 300),
        "{met:?} results and misses are few"
    );
    assert!(cut < met[0] / 200, "{cut} searches were cut");
}

/// Negative distances, distances whose squares overflow, and shapes that are never near.
#[test]
fn distances_of_any_size_are_compared() {
    let far = 2f32.powi(70);
    let boxes = [
        Aabb::new([0.0; 3], [4.0; 3]),
        Aabb::new([1.0; 3], [6.0; 3]),
        Aabb::new([1.4 * far, 0.0, 0.0], [1.5 * far, 1.0, 1.0]),
        Aabb::new([far, 0.0, 0.0], [1.1 * far, 1.0, 1.0]),
    ];
    let text = |distances: [f32; 4]| {
        let words = distances.map(|distance| format!("{}u", distance.to_bits())).join(", ");
        let shapes = format!(
            "fn own_shape_distance(object: u32, point: vec3<f32>) -> f32 {{ return bitcast<f32>(array({words})[object]); }}"
        );
        let (_, visit) = DISTANCE.split_once("fn visit").unwrap();
        format!("{shapes} fn visit{visit}")
    };
    let query = Query::sphere([2.0; 3], f32::INFINITY);
    for adapter in daily_adapters() {
        for scheme in SCHEMES {
            let descriptor = with_scheme(scheme);
            let mut on_cpu = CpuBroadPhase::new(&descriptor).unwrap();
            on_cpu.step_scene(&scene_of(&boxes)).unwrap();
            for distances in [
                [-1.0, -3.0, far, far],
                [f32::MAX, f32::MAX, 1.4 * far, far],
                [f32::NAN; 4],
            ] {
                let shader = TableShader::new(&descriptor, "own_", 1).unwrap();
                let text = shader.shape_queries(None) + &text(distances);
                let pass = OwnPass::new::<Query>(&adapter, vec![shader], &text, 3);
                let mut on_gpu = broad_phase(&adapter, &descriptor);
                whole(&adapter, &mut on_gpu, scene_of(&boxes));
                let words = &pass.run(&adapter, &mut on_gpu, scene_of(&boxes), &[query])[0];
                let nearest = on_cpu
                    .nearest_shapes(&[query], &|object, _| distances[object as usize])
                    .unwrap();
                let least = distances.iter().copied().fold(f32::INFINITY, f32::min);
                let expected = distances
                    .iter()
                    .position(|&distance| distance == least)
                    .map(|object| (object as u32, least));
                let what = format!("{distances:?}, {scheme:?} on {}", adapter.name);
                assert_eq!(nearest[0], expected, "{what}");
                let on_gpu = (words[0] != u32::MAX).then(|| (words[0], f32::from_bits(words[1])));
                assert_eq!((on_gpu, words[2]), (expected, 1), "{what}");
            }
        }
    }
}
