use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use gpu_broad_phase::cpu::CpuBroadPhase;
use gpu_broad_phase::reference::brute_force::closest;

/// Same floats on every device: at most one operation rounds.
const SHAPES: &str = "
    fn mixed(object: u32) -> u32 {
        let bits = (object + 7u) * 0x9e3779b9u;
        return (bits ^ (bits >> 15u)) * 0x85ebca6bu >> 13u;
    }

    fn own_hit_shape(object: u32, origin: vec3<f32>, direction: vec3<f32>, t_max: f32) -> f32 {
        let bits = mixed(object);
        return select(abs(origin.x) + f32(bits % 64u) * 0.25, t_max, bits % 5u == 0u);
    }

    fn own_shape_distance(object: u32, point: vec3<f32>) -> f32 {
        return max(FAR[mixed(object) % 3u], 1.0);
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
        _ => origin[0].abs() + (bits % 64) as f32 * 0.25,
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
fn shape_hits(ray: &SweptRay, boxes: &[(u32, u32)]) -> Vec<RayHit> {
    let t_max = ray.ray.t_max.min(f32::MAX);
    let limit = t_max.next_up().max(f32::MIN_POSITIVE);
    let flushed = |x: f32| if x.is_subnormal() { 0.0 } else { x };
    let origin = ray.ray.origin.map(flushed);
    let hit = |&(object, entry): &(u32, u32)| {
        let t = hit_shape(object, origin, ray.ray.direction, limit);
        let counted = if t < f32::MIN_POSITIVE { 0.0 } else { t }.max(f32::from_bits(entry));
        (t < limit && counted < limit).then_some(RayHit { object, t: counted })
    };
    boxes.iter().filter_map(hit).collect()
}

#[test]
fn rays_end_at_the_closest_shape_of_both_tables() {
    let hits = AtomicUsize::new(0);
    let mut met = [0; 2];
    for adapter in daily_adapters() {
        let mut passes = [Passes::new(), Passes::new()];
        for (number, descriptor, wild) in scenes(400, true) {
            let mut scene = wild.scene(number);
            let mut rays = wild.rays.clone();
            if rays.is_empty() {
                continue;
            }
            let is_swept = descriptor.filters != matches!(descriptor.scheme, Scheme::Adaptive { .. });
            if !is_swept {
                rays.iter_mut().for_each(|ray| ray.half_extents = [0.0; 3]);
            }
            scene.query = QueryInput {
                rays: Rays::Swept(rays[..].into()),
                ..Default::default()
            };
            let mut all = descriptor;
            all.outputs.ray_mode = RayMode::All;
            let boxes = hits_by_ray(&cpu::step_scene(&all, &scene).unwrap());
            let expected: Vec<_> = rays
                .iter()
                .zip(&boxes)
                .map(|(ray, boxes)| shape_hits(ray, boxes))
                .collect();
            let mut on_cpu = CpuBroadPhase::new(&descriptor).unwrap();
            on_cpu.step_scene(&scene).unwrap();
            let count = |object, origin, direction, t_max| {
                hits.fetch_add(1, Ordering::Relaxed);
                hit_shape(object, origin, direction, t_max)
            };
            let found = on_cpu.closest_shapes(Rays::Swept(rays[..].into()), &count).unwrap();
            let some = on_cpu.any_shapes(Rays::Swept(rays[..].into()), &count).unwrap();
            let has_statics = wild.statics > 0;
            let outputs = run_alike(
                &adapter,
                &mut passes[usize::from(has_statics)],
                &descriptor,
                scene,
                &rays,
                || {
                    let make = [TableShader::with_rays, TableShader::with_swept_rays][usize::from(is_swept)];
                    let first = make(&descriptor, "own_", 1).unwrap();
                    let second = has_statics.then(|| first.second_table("static_", 2).unwrap());
                    let text = format!(
                        "{}{SHAPES}{HIT}const FAR = array(0.0, 1.0, 2.0);",
                        first.shape_rays(second.as_ref())
                    );
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
