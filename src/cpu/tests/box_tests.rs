use super::*;
use crate::api::descriptor::OutputOptions;

fn power_law(random: &mut SplitMix, count: usize) -> Vec<Aabb> {
    let edges: Vec<f32> = (0..count)
        .map(|_| 1.0 / (1.0 - random.range(0.0, 1.0 - 1.0 / 65536.0)).sqrt())
        .collect();
    let moment = |power: i32| edges.iter().map(|&edge| f64::from(edge).powi(power)).sum::<f64>() / count as f64;
    let volume = 2.0 * moment(3) + 6.0 * moment(2) * moment(1);
    let side = (count as f64 * volume / 6.0).cbrt() as f32;
    edges
        .into_iter()
        .map(|edge| {
            let min = random.vector(|random| random.range(0.0, side));
            Aabb::new(min, min.map(|low| low + edge))
        })
        .collect()
}

/// Without the grid, results would be right but take many box tests.
#[test]
fn box_tests_are_few_where_the_grid_must_help() {
    let mut random = SplitMix(10);
    let count = 20_000;
    for scale in [1.0, 1e-6, 3e7] {
        let objects: Vec<Aabb> = benchmark(&mut random, count)
            .into_iter()
            .map(|object| Aabb::new(object.min.map(|v| v * scale), object.max.map(|v| v * scale)))
            .collect();
        let side = (8.0 * count as f32 / 6.0).cbrt() * scale;
        let rays: Vec<Ray> = (0..1000)
            .map(|_| {
                let direction = random.vector(|random| random.range(-1.0, 1.0));
                let length = direction.iter().map(|v| v * v).sum::<f32>().sqrt();
                let origin = random.vector(|random| random.range(0.0, side));
                Ray::new(origin, direction.map(|v| v / length), 16.0 * scale)
            })
            .collect();
        for scheme in [Scheme::Hierarchical, Scheme::Uniform { cell_size: 1.5 * scale }] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                count_candidates: true,
                ..BroadPhaseDescriptor::default()
            };
            let counters = check(&descriptor, &objects, &rays, "benchmark");
            let a_object = counters.pair_candidates as f64 / count as f64;
            let closest = counters.ray_candidates as f64 / rays.len() as f64;
            let all = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..descriptor.outputs
                },
                pairs: false,
                ..descriptor
            };
            let all = step(&all, &objects, &rays).unwrap().counters;
            let a_ray = all.ray_candidates as f64 / rays.len() as f64;
            println!(
                "uniform scene x{scale} {scheme:?}: {a_object:.1} pair candidates, {:.1} pairs an object; \
                 {closest:.0} closest, {a_ray:.0} all candidates, {:.1} hits a ray; levels {} cells {}",
                counters.pairs_needed as f64 / count as f64,
                all.hits_needed as f64 / rays.len() as f64,
                counters.levels,
                counters.table_cells,
            );
            assert_eq!(counters.large, 0);
            assert!(a_object < 30.0 && a_ray < 1000.0);
        }
    }

    let objects = power_law(&mut random, count);
    let descriptor = BroadPhaseDescriptor {
        count_candidates: true,
        ..BroadPhaseDescriptor::default()
    };
    let counters = check(&descriptor, &objects, &[], "power law");
    let a_object = counters.pair_candidates as f64 / count as f64;
    println!(
        "power law: {a_object:.1} pair candidates an object, levels {}",
        counters.levels
    );
    assert_eq!(counters.large, 0);
    assert!(a_object < 60.0);
}

#[test]
fn box_tests_stay_few_on_awkward_scenes() {
    let mut random = SplitMix(11);
    let count = 5000;
    let side = (count as f32).cbrt();
    let points: Vec<Aabb> = (0..count)
        .map(|_| Aabb::point(random.vector(|random| random.range(-side, side))))
        .collect();
    let mut giant = benchmark(&mut random, count);
    giant[17] = Aabb::new([-1e6; 3], [1e6; 3]);
    let far: Vec<Aabb> = benchmark(&mut random, count)
        .into_iter()
        .map(|object| Aabb::new(object.min.map(|v| v + 1e5), object.max.map(|v| v + 1e5)))
        .collect();
    for (name, objects, most) in [("points", points, 40.0), ("giant", giant, 40.0), ("far", far, 40.0)] {
        let descriptor = BroadPhaseDescriptor {
            count_candidates: true,
            ..BroadPhaseDescriptor::default()
        };
        let counters = check(&descriptor, &objects, &[], name);
        let a_object = counters.pair_candidates as f64 / count as f64;
        println!(
            "{name}: {a_object:.1} pair candidates an object, levels {}, large {}",
            counters.levels, counters.large
        );
        assert!(a_object < most, "{name}: {a_object}");
    }
}

#[test]
fn rays_slower_than_a_float_can_say_in_cells_still_move() {
    // Directions divided by the cell size of about 1.5 are subnormal and flush to zero. Up to the largest finite `t`, a
    // ray still moves 4 units.
    let mut objects: Vec<Aabb> = (0..400u16)
        .map(|k| {
            let min = [f32::from(k % 20) * 1.5, f32::from(k / 20) * 1.5, 0.0];
            Aabb::new(min, min.map(|v| v + 1.5))
        })
        .collect();
    objects.push(Aabb::new([3.2, 0.2, 0.2], [3.3, 0.3, 0.3]));
    let slow = 1.2e-38;
    let rays = [
        Ray::new([0.25; 3], [slow, 0.0, 0.0], f32::INFINITY),
        Ray::new([29.0, 3.25, 0.25], [-slow, -slow, 0.0], f32::INFINITY),
        Ray::new(
            [2f32.powi(47), 0.25, 0.25],
            [-(2f32.powi(-80)), slow, 0.0],
            f32::INFINITY,
        ),
    ];
    for scheme in [Scheme::Hierarchical, Scheme::Uniform { cell_size: 1.5 }] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        check(&descriptor, &objects, &rays, "slow rays");
    }
}
