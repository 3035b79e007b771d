use super::*;
use crate::api::descriptor::{OutputOptions, ResultOrder};
use crate::api::scene::Statics;

/// Adds layers, half extents, `t_min` and worlds. Some values make rays invalid.
fn swept(random: &mut SplitMix, rays: &[Ray], edge: f32, worlds: u32) -> Vec<SweptRay> {
    let sweep = |&ray: &Ray| {
        let mut swept = SweptRay::new(ray).with_world(random.below(worlds));
        if random.one_in(4) {
            swept.ray = ray.with_layers(1 << random.below(3), random.next() as u16);
        }
        let largest = edge * random.pick(&[0.0, 0.01, 0.5, 0.5, 1.0, 3.0, 40.0]);
        swept.half_extents = random.vector(|random| match random.below(4) {
            0 => 0.0,
            1 => largest,
            _ => nudge(random, largest * 0.5).max(0.0),
        });
        let axis = random.below(3) as usize;
        match random.below(30) {
            0 => swept.half_extents[axis] = -0.0,
            1 => swept.half_extents[axis] = 1e-45,
            2 => swept.half_extents[axis] = -1e-45,
            3 => swept.half_extents[axis] = f32::NAN,
            4 => swept.half_extents[axis] = f32::INFINITY,
            5 => swept.half_extents[axis] = random.pick(&[f32::MAX, 1e30, f32::MIN_POSITIVE]),
            6 => swept.world = random.pick(&[worlds, u32::MAX]),
            _ => {}
        }
        swept.t_min = random.pick(&[0.0, 0.0, 0.0, -0.0, -3.0, 0.25, 0.5, 1.0, 4.0, 1e-40]);
        match random.below(40) {
            0 => swept.t_min = f32::NAN,
            1 => swept.t_min = f32::INFINITY,
            2 => swept.t_min = f32::NEG_INFINITY,
            3 => swept.t_min = f32::MAX,
            4 => swept.t_min = -f32::NAN,
            _ => {}
        }
        swept
    };
    rays.iter().map(sweep).collect()
}

#[test]
fn swept_rays_agree_with_brute_force() {
    let mut hits = 0;
    for seed in 0..30u64 {
        for kind in 0..KINDS {
            let mut random = SplitMix(70_000 + seed * 100 + u64::from(kind));
            let count = [1, 3, 30, 129, 257, 600][seed as usize % 6];
            let worlds = [1, 1, 4, 300][(seed / 6) as usize % 4];
            let mut objects = scene(&mut random, kind, count);
            if seed % 2 == 1 {
                spoil(&mut random, &mut objects);
            }
            let mut lines = rays(&mut random, &objects, 40);
            let edge = objects.iter().map(|object| object.max[0] - object.min[0]);
            let edge = edge.filter(|edge| edge.is_finite()).fold(0.0, f32::max);
            let dimensions = random.pick(&[Dimensions::Two, Dimensions::Three]);
            if dimensions == Dimensions::Two {
                objects.iter_mut().for_each(|object| object.max[2] = f32::NAN);
                for line in &mut lines {
                    let z = [line.origin[2], 7.0, f32::NAN];
                    (line.origin[2], line.direction[2]) = (random.pick(&z), random.pick(&z));
                }
            }
            let wide = swept(&mut random, &lines, edge.min(1e37), worlds);
            let in_worlds: Vec<u32> = objects.iter().map(|_| random.below(worlds)).collect();
            for scheme in schemes(&mut random, &objects) {
                for form in [Rays::Plain(Source::Host(&lines)), Rays::Swept(Source::Host(&wide))] {
                    let descriptor = BroadPhaseDescriptor {
                        scheme,
                        dimensions,
                        worlds,
                        pairs: false,
                        filters: seed % 3 != 0,
                        ..BroadPhaseDescriptor::default()
                    };
                    let scene = Scene {
                        objects: Source::Host(&objects),
                        worlds: Source::Host(&in_worlds),
                        query: QueryInput {
                            rays: form,
                            ..QueryInput::default()
                        },
                        ..Scene::default()
                    };
                    let what = format!("seed {seed} kind {kind} {dimensions:?} {worlds} worlds {scheme:?}");
                    let found = check_rays(&descriptor, &scene, &what).ray_hits;
                    hits += found.iter().filter(|hit| hit.object != crate::NONE).count();
                }
            }
        }
    }
    assert!(hits > 10_000, "{hits}");
}

#[test]
fn a_swept_ray_without_extents_is_the_plain_one() {
    let mut random = SplitMix(14);
    let mut objects = scene(&mut random, 1, 300);
    spoil(&mut random, &mut objects);
    let lines = rays(&mut random, &objects, 300);
    let wide: Vec<SweptRay> = lines.iter().map(|&ray| ray.into()).collect();
    for scheme in schemes(&mut random, &objects) {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            count_candidates: true,
            ..BroadPhaseDescriptor::default()
        };
        let [plain, swept] = [Rays::Plain(Source::Host(&lines)), Rays::Swept(Source::Host(&wide))].map(|rays| {
            let scene = Scene {
                query: QueryInput {
                    rays,
                    ..QueryInput::default()
                },
                ..only(&objects)
            };
            step_scene(&descriptor, &scene).unwrap()
        });
        assert_eq!(plain, swept);
    }
}

#[test]
fn reciprocals_are_correctly_rounded() {
    let mut random = SplitMix(8);
    let edges = [
        0x0080_0000u32,
        0x0080_0001,
        0x3f80_0000,
        0x3f7f_ffff,
        0x3fff_ffff,
        0x7e80_0000,
        0x7e7f_ffff,
    ];
    let random = (0..2_000_000).map(|_| (0x0080_0000 + random.below(0x7e00_0000)) | (random.below(2) << 31));
    for bits in edges.into_iter().chain(random) {
        assert_eq!(
            reciprocal(bits).to_bits(),
            (1.0 / f32::from_bits(bits)).to_bits(),
            "{bits:#x}"
        );
    }
}

/// Coordinates are multiples of 1/8, so that cross-multiplication compares fractions exactly. At the largest
/// coordinates, bounds grown by the half extents are rounded.
#[test]
fn every_exact_hit_is_found_and_t_is_close() {
    let mut random = SplitMix(9);
    let params = Params {
        world_count: 1,
        ..Params::default()
    };
    let mut hits = [0; 4];
    for case in 0..4_000_000u32 {
        let size = [4, 1000, 4, 1 << 20][case as usize % 4];
        let is_swept = case % 4 > 1;
        let shift = if size > 1000 { 1i64 << 22 } else { 0 };
        let mut integer = |limit: i64| i64::from(random.below(2 * limit as u32 + 1)) - limit;
        let origin: [i64; 3] = std::array::from_fn(|_| 8 * (shift + integer(size)));
        let direction: [i64; 3] = std::array::from_fn(|_| integer(size.min(1000)));
        let low: [i64; 3] = std::array::from_fn(|axis| match size {
            4 => 8 * integer(size),
            1000 => origin[axis] + 8 * (direction[axis] * 3 + integer(3)),
            _ => origin[axis] + 8 * (direction[axis] * 100 + integer(20_000)),
        });
        let high = low.map(|low| low + 8 * integer(2).max(0));
        let half = [0; 3].map(|_| {
            if is_swept {
                integer(size.min(8 * 7000) / 2).max(0)
            } else {
                0
            }
        });
        // Fractions in eighths, with positive denominators.
        let mut near = (0i64, 1i64);
        let mut far = (1i64 << 30, 1i64);
        let mut meets = true;
        for axis in 0..3 {
            let (a, b, d) = (
                low[axis] - half[axis] - origin[axis],
                high[axis] + half[axis] - origin[axis],
                direction[axis],
            );
            if d == 0 {
                meets &= a <= 0 && b >= 0;
                continue;
            }
            let (n, f) = if d > 0 { ((a, d), (b, d)) } else { ((-b, -d), (-a, -d)) };
            if n.0 * near.1 > near.0 * n.1 {
                near = n;
            }
            if f.0 * far.1 < far.0 * f.1 {
                far = f;
            }
        }
        meets &= near.0 * far.1 <= far.0 * near.1;
        let eighths = |vector: [i64; 3]| vector.map(|v| v as f32 / 8.0);
        let ray = Ray::new(eighths(origin), direction.map(|v| v as f32), f32::INFINITY);
        let t = enter_box(
            &load_ray(&params, &SweptRay::new(ray).with_half_extents(eighths(half))),
            &eighths(low).map(grid::ordered),
            &eighths(high).map(grid::ordered),
        );
        let exact = near.0 as f64 / near.1 as f64 / 8.0;
        if meets {
            hits[case as usize % 4] += 1;
            let t = f64::from(t.expect("a hit of exact arithmetic is lost"));
            // Rounding extends a grown box by up to three floats.
            let reach = if is_swept {
                3.0 * f64::from(f32::EPSILON) * (2.0 * shift as f64 + 64.0)
            } else {
                0.0
            };
            assert!((t - exact).abs() <= exact * 2e-7 + reach, "{t} {exact}");
        } else if t.is_some() && !is_swept {
            let leave = far.0 as f64 / far.1 as f64 / 8.0;
            assert!(leave >= 0.0 && exact <= leave * (1.0 + 1e-6), "{exact} {leave}");
        }
    }
    assert!(hits.iter().all(|&hits| hits > 1000), "{hits:?}");
}

#[test]
fn box_tests_of_wide_rays_stay_few() {
    let mut random = SplitMix(15);
    let count = 20_000;
    let objects = benchmark(&mut random, count);
    let side = (8.0 * count as f32 / 6.0).cbrt();
    let lines: Vec<Ray> = (0..300)
        .map(|_| {
            let direction = random.vector(|random| random.range(-1.0, 1.0));
            let length = direction.iter().map(|v| v * v).sum::<f32>().sqrt();
            let origin = random.vector(|random| random.range(0.0, side));
            Ray::new(origin, direction.map(|v| v / length), 16.0)
        })
        .collect();
    let schemes = [
        (Scheme::Hierarchical, [150.0, 300.0, 2500.0]),
        (Scheme::Uniform { cell_size: 1.5 }, [200.0, 600.0, 8000.0]),
        (Scheme::Adaptive { min_scale: 1.0 }, [1000.0, 1300.0, 5000.0]),
    ];
    for (scheme, most) in schemes {
        // The widest rays test every box. The adaptive scheme also tests its clusters.
        let all = if scheme == schemes[2].0 { 1.25 } else { 1.0 } * count as f64;
        for (radius, most) in [0.0, 0.5, 4.0].into_iter().zip(most).chain([(1e6, all), (1e30, all)]) {
            let rays: Vec<SweptRay> = lines
                .iter()
                .map(|&ray| SweptRay::new(ray).with_half_extents([radius; 3]))
                .collect();
            let descriptor = BroadPhaseDescriptor {
                scheme,
                pairs: false,
                outputs: OutputOptions {
                    ray_mode: RayMode::All,
                    ..Default::default()
                },
                count_candidates: true,
                ..BroadPhaseDescriptor::default()
            };
            let scene = Scene {
                query: QueryInput {
                    rays: Rays::Swept(Source::Host(&rays)),
                    ..QueryInput::default()
                },
                ..only(&objects)
            };
            let counters = step_scene(&descriptor, &scene).unwrap().counters;
            let any = BroadPhaseDescriptor {
                outputs: OutputOptions {
                    ray_mode: RayMode::Any,
                    ..descriptor.outputs
                },
                ..descriptor
            };
            let any = step_scene(&any, &scene).unwrap().counters.ray_candidates;
            let a_ray = counters.ray_candidates as f64 / rays.len() as f64;
            println!(
                "{scheme:?}, radius {radius}: {a_ray:.0} box tests, {:.1} hits a ray; {:.1} box tests for any hit",
                counters.hits_needed as f64 / rays.len() as f64,
                any as f64 / rays.len() as f64,
            );
            assert!(a_ray <= most, "{scheme:?}, radius {radius}: {a_ray}");
            assert!(any < counters.ray_candidates / 2);
        }
    }
}

/// A wide ray may visit rows with more cells than the hashed table has buckets. It must read each bucket once.
#[test]
fn rows_longer_than_their_table_give_each_hit_once() {
    let mut random = SplitMix(18);
    let objects: Vec<Aabb> = (0..400u16)
        .map(|k| {
            let min = [f32::from(k) * 25.0, random.range(0.0, 20.0), random.range(0.0, 20.0)];
            Aabb::new(min, min.map(|low| low + 1.0))
        })
        .collect();
    let rays: Vec<SweptRay> = (0..300)
        .map(|_| {
            let origin = [
                random.range(0.0, 10_000.0),
                random.below(40) as f32 * 0.5 + 0.01,
                random.range(0.0, 20.0),
            ];
            let width = random.pick(&[60.0, 200.0, 400.0, 511.7, 600.0, 5000.0]) + random.range(0.0, 0.05);
            SweptRay::new(Ray::new(origin, [0.99, 1.0, 0.0], random.pick(&[0.45, 3.0])))
                .with_half_extents([width, 0.0, 0.0])
        })
        .collect();
    for scheme in [Scheme::Uniform { cell_size: 0.5 }, Scheme::Adaptive { min_scale: 1.0 }] {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            ..BroadPhaseDescriptor::default()
        };
        let scene = Scene {
            query: QueryInput {
                rays: Rays::Swept(Source::Host(&rays)),
                ..QueryInput::default()
            },
            ..only(&objects)
        };
        let grid = trace(&descriptor, &scene).unwrap().grid;
        assert!(grid.occupied_levels().any(|(_, level)| level.table_mask != grid::DENSE));
        check_rays(&descriptor, &scene, &format!("{scheme:?}"));
    }
}

/// Returns true if the exact segment of the ray meets the closed box.
fn segment_meets(ray: &SweptRay, dimensions: usize, low: [f64; 3], high: [f64; 3]) -> bool {
    let (mut near, mut far) = (f64::from(ray.t_min.max(0.0)), f64::from(ray.ray.t_max));
    for axis in 0..dimensions {
        let half = f64::from(ray.half_extents[axis]);
        let (origin, direction) = (f64::from(ray.ray.origin[axis]), f64::from(ray.ray.direction[axis]));
        let (low, high) = (low[axis] - half - origin, high[axis] + half - origin);
        if direction == 0.0 {
            if low > 0.0 || high < 0.0 {
                return false;
            }
        } else {
            near = near.max((low / direction).min(high / direction));
            far = far.min((low / direction).max(high / direction));
        }
    }
    near <= far
}

/// Rays must list all cells that meet their segment, once each, in order along the ray.
#[test]
fn cells_of_rays_follow_the_ray() {
    let mut random = SplitMix(16);
    let mut cells = 0;
    for case in 0..60 {
        let dimensions = [Dimensions::Two, Dimensions::Three][case % 2];
        let kind = random.pick(&[0, 1, 4, 8, 9]);
        let count = [5, 60, 300][case % 3];
        let objects = scene(&mut random, kind, count);
        let point = |random: &mut SplitMix| objects[random.below(objects.len() as u32) as usize].min;
        let rays: Vec<SweptRay> = (0..30)
            .map(|_| {
                let (from, to) = (point(&mut random), point(&mut random));
                let mut direction: [f32; 3] = std::array::from_fn(|axis| to[axis] - from[axis]);
                if random.one_in(4) {
                    direction[random.below(3) as usize] = 0.0;
                }
                let origin = std::array::from_fn(|axis| from[axis] - random.pick(&[0.0, 0.0, 1.0]) * direction[axis]);
                let ray = Ray::new(origin, direction, random.pick(&[f32::INFINITY, 1.0, 0.5, 0.0]));
                let extent = random.pick(&[0.0, 0.0, 0.3]) * random.unit();
                SweptRay::new(ray)
                    .with_half_extents([extent, extent, 0.0])
                    .with_t_min(random.pick(&[0.0, 0.0, 0.25]))
            })
            .collect();
        for scheme in [
            Scheme::Hierarchical,
            Scheme::Uniform { cell_size: 1.3 },
            Scheme::Adaptive { min_scale: 0.7 },
        ] {
            let descriptor = BroadPhaseDescriptor {
                scheme,
                dimensions,
                outputs: OutputOptions {
                    ray_cells: true,
                    ..Default::default()
                },
                ..BroadPhaseDescriptor::default()
            };
            let scene = Scene {
                query: QueryInput {
                    rays: Rays::Swept(Source::Host(&rays)),
                    ..QueryInput::default()
                },
                ..only(&objects)
            };
            let trace = trace(&descriptor, &scene).unwrap();
            assert_eq!(
                wide(&trace.counters, word::RAY_CELLS_NEEDED),
                trace.ray_cells.len() as u64
            );
            cells += trace.ray_cells.len();
            for (ray, ends) in rays.iter().zip(trace.ray_cell_offsets.windows(2)) {
                let visited = &trace.ray_cells[ends[0] as usize..ends[1] as usize];
                let what = format!("case {case}, {dimensions:?}, {scheme:?}, {ray:?}: {visited:?}");
                check_order(&trace, ray, dimensions.count() as usize, visited, &what);
            }
        }
    }
    assert!(cells > 50_000, "{cells}");
}

fn check_order(trace: &Trace, ray: &SweptRay, dimensions: usize, visited: &[RayCell], what: &str) {
    let mut seen: Vec<RayCell> = visited.to_vec();
    seen.sort_unstable();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "a cell twice: {what}");
    assert!(visited.is_sorted_by_key(|cell| cell.level), "{what}");
    let mut direction = ray.ray.direction.map(grid::flush);
    direction[dimensions..].fill(0.0);
    let major = (1..3).fold(0, |best: usize, axis| {
        if direction[axis].abs() > direction[best].abs() {
            axis
        } else {
            best
        }
    });
    let sign = if direction[major] < 0.0 { -1 } else { 1 };
    for (index, level) in trace.grid.occupied_levels() {
        let of_level = visited.iter().filter(|cell| cell.level == index);
        let slabs: Vec<i32> = of_level.map(|cell| [cell.x, cell.y, cell.z][major]).collect();
        let moves_on = slabs
            .windows(2)
            .all(|pair| (0..=1).contains(&(sign * (pair[1] - pair[0]))));
        assert!(moves_on, "{what}");

        let detail = trace.grid.x_detail;
        let (shift, side) = match trace.params.scheme {
            SCHEME_ADAPTIVE => (0.5, 2.0 / f64::from(level.inverse)),
            _ => (0.0, 1.0 / f64::from(level.inverse)),
        };
        let bounds = |cell: i32| {
            let low = (f64::from(cell) - shift) * side;
            (low, low + side)
        };
        for z in level.lower_z..=level.upper_z {
            for y in level.lower_y..=level.upper_y {
                for x in level.lower_x >> detail..=level.upper_x >> detail {
                    let sides = [x, y, z].map(bounds);
                    if segment_meets(ray, dimensions, sides.map(|side| side.0), sides.map(|side| side.1)) {
                        let cell = RayCell { level: index, x, y, z };
                        assert!(seen.binary_search(&cell).is_ok(), "{cell:?} is missing, {what}");
                    }
                }
            }
        }
    }
}

#[test]
fn windows_of_ray_cells_join_to_the_whole() {
    let mut random = SplitMix(17);
    let objects = scene(&mut random, 8, 300);
    let lines = rays(&mut random, &objects, 50);
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_cells: true,
            ..Default::default()
        },
        ..BroadPhaseDescriptor::default()
    };
    let scene = Scene {
        query: QueryInput {
            rays: Rays::Plain(Source::Host(&lines)),
            ..QueryInput::default()
        },
        ..only(&objects)
    };
    let whole = trace(&descriptor, &scene).unwrap();
    let rays = HostScene::of(&scene).unwrap().rays;
    let mut joined = Vec::new();
    for first in (0..whole.ray_cells.len()).step_by(97) {
        let mut params = whole.ray_blocks;
        params.rays.first_cell = first as u32;
        params.rays.cell_capacity = 97.min(whole.ray_cells.len() - first) as u32;
        let cells = ray_cells_emit::ray_cells_emit(&params, &[&whole.grid], &rays, &whole.ray_cell_offsets);
        joined.extend(cells);
    }
    assert_eq!(joined, whole.ray_cells);
    let cut = BroadPhaseDescriptor {
        outputs: OutputOptions {
            growth: Growth::Fixed,
            capacities: crate::Capacities {
                ray_cells: Some(100),
                ..Default::default()
            },
            ..descriptor.outputs
        },
        ..descriptor
    };
    let cut = step_scene(&cut, &scene).unwrap();
    assert_eq!(cut.ray_cells, whole.ray_cells[..100]);
    assert_eq!(cut.counters.status, Status::RAY_CELLS);
    assert_eq!(cut.counters.ray_cells_needed, joined.len() as u64);
}

/// Evaluation order that a compiler may choose for floats.
#[derive(Clone, Copy, Debug)]
struct Order(u32);

impl Order {
    fn sum(self, a: f32, b: f32, c: f32) -> f32 {
        match self.0 % 3 {
            0 => (a + b) + c,
            1 => a + (b + c),
            _ => (a + c) + b,
        }
    }

    /// `a * b + c`
    fn fused(self, a: f32, b: f32, c: f32) -> f32 {
        if (self.0 / 3).is_multiple_of(2) {
            a * b + c
        } else {
            a.mul_add(b, c)
        }
    }

    /// `(a + b + c) * d`
    fn scaled(self, a: f32, b: f32, c: f32, d: f32) -> f32 {
        match self.0 / 6 % 3 {
            0 => self.sum(a, b, c) * d,
            1 => self.fused(a, d, (b + c) * d),
            _ => self.fused(a + b, d, c * d),
        }
    }

    /// `a * b + c + d`
    fn moved(self, a: f32, b: f32, c: f32, d: f32) -> f32 {
        match self.0 / 18 % 3 {
            0 => self.fused(a, b, c) + d,
            1 => self.fused(a, b, c + d),
            _ => self.fused(a, b, d) + c,
        }
    }

    /// `1 / a` within two floats, which is the accuracy of device divisions.
    fn inverse(self, a: f32) -> f32 {
        let inverse = 1.0 / a;
        match self.0 / 54 % 3 {
            0 => inverse,
            1 => inverse.next_up().next_up(),
            _ => inverse.next_down().next_down(),
        }
    }

    const ALL: u32 = 162;
}

/// Cells of each slab, by the expressions of `shaders/rays/ray_passage.wgsl`. `None` if walks skip the level.
fn slabs_of(order: Order, detail: u32, reach: i32, level: &grid::Level, ray: &LoadedRay) -> Option<Vec<[[i32; 3]; 2]>> {
    const RELATIVE: f32 = 1.0 / (1u32 << 19) as f32;
    const CELL: f32 = 1.0 / (1u32 << 10) as f32;
    let below = |position: f32| position.clamp(-1_073_741_824.0, 1_073_741_824.0).floor() as i32;
    let shift = if detail == 0 && reach == 0 { 0.5 } else { 0.0 };
    let origin = ray.origin.map(|origin| order.fused(origin, level.inverse, shift));
    let direction = ray.direction.map(|direction| direction * level.inverse);
    let extent = ray.half_extents.map(|extent| extent * level.inverse);
    let speed = direction.map(f32::abs);
    let inverse = direction.map(|direction| {
        if direction == 0.0 {
            1.0
        } else {
            order.inverse(direction)
        }
    });
    let lower = [level.lower_x >> detail, level.lower_y, level.lower_z];
    let upper = [level.upper_x >> detail, level.upper_y, level.upper_z];
    let (mut near, mut far) = (ray.t_min, f32::MAX);
    for axis in 0..3 {
        let (low, high) = (lower[axis] as f32, (upper[axis] + 1 + reach) as f32);
        let size = order.sum(origin[axis].abs(), extent[axis], low.abs().max(high.abs()));
        let slack = order.moved(size, RELATIVE, CELL, extent[axis]);
        if speed[axis] > 0.0 {
            let at_low = order.scaled(low, -slack, -origin[axis], inverse[axis]);
            let at_high = order.scaled(high, slack, -origin[axis], inverse[axis]);
            near = near.max(at_low.min(at_high));
            far = far.min(at_low.max(at_high));
        } else if !(origin[axis] >= low - slack && origin[axis] <= high + slack) {
            return Some(Vec::new());
        }
    }
    let t_begin = order.fused(near, -RELATIVE, near);
    let wanted = far.min(ray.t_max);
    let t_end = order.fused(wanted, RELATIVE, wanted).min(f32::MAX);
    if t_begin > t_end {
        return Some(Vec::new());
    }
    let major = (1..3).fold(0, |major, axis| if speed[axis] > speed[major] { axis } else { major });
    let rounding: [f32; 3] = std::array::from_fn(|axis| {
        let way = order.moved(speed[axis], t_end, origin[axis].abs(), extent[axis]);
        order.fused(way, RELATIVE, CELL)
    });
    if rounding.iter().any(|&rounding| rounding > 1.0) || speed[major] == 0.0 {
        return None;
    }
    let slack: [f32; 3] = std::array::from_fn(|axis| rounding[axis] + extent[axis]);
    // Position along an axis at `t`, minus or plus the slack.
    let at = |axis: usize, t: f32, side: f32| order.moved(direction[axis], t, origin[axis], side * slack[axis]);
    let ends = [t_begin, t_end];
    let least = |axis: usize, ts: [f32; 2]| at(axis, ts[0], -1.0).min(at(axis, ts[1], -1.0));
    let most = |axis: usize, ts: [f32; 2]| at(axis, ts[0], 1.0).max(at(axis, ts[1], 1.0));
    let first = (below(least(major, ends)) - reach).max(lower[major]);
    let last = below(most(major, ends)).min(upper[major]);
    let mut slabs = Vec::new();
    for slab in first..=last {
        let low = order.scaled(slab as f32, -slack[major], -origin[major], inverse[major]);
        let high = order.scaled((slab + 1 + reach) as f32, slack[major], -origin[major], inverse[major]);
        let ts = [low.min(high).max(t_begin), low.max(high).min(t_end)];
        if ts[0] > ts[1] {
            continue;
        }
        let shift = |axis: usize| if axis == 0 { detail } else { 0 };
        let factor = |axis: usize| (1 << shift(axis)) as f32;
        let cells = |axis: usize| {
            if axis == major {
                let begin = slab << shift(axis);
                return [begin, begin + (1 << shift(axis)) - 1];
            }
            let cells = [least(axis, ts), most(axis, ts)].map(|position| below(position * factor(axis)));
            [cells[0] - (reach << shift(axis)), cells[1]]
        };
        let cells: [[i32; 2]; 3] = std::array::from_fn(cells);
        slabs.push([0, 1].map(|side| cells.map(|cells| cells[side])));
    }
    Some(slabs)
}

struct Visited(Vec<[[i32; 3]; 2]>);

impl crate::reference::rays::ray_walk::SlabVisitor for Visited {
    const COARSE_FIRST: bool = false;

    fn search_limit(&self) -> f32 {
        f32::MAX
    }

    fn walk_pays(&mut self, _: &grid::Level, _: i32, _: [f32; 3], _: [f32; 3]) -> bool {
        true
    }

    fn without_cells(&mut self, _: &grid::Level) {}

    fn visit_slab(&mut self, _: &grid::Level, visit: &crate::reference::rays::ray_walk::Visit) {
        self.0.push([visit.lower, visit.upper]);
    }
}

fn visited(params: &Params, detail: u32, level: &grid::Level, ray: &LoadedRay) -> Vec<[[i32; 3]; 2]> {
    let mut grid = grid::Grid {
        x_detail: detail,
        occupied: 1,
        ..grid::Grid::default()
    };
    grid.levels[0] = *level;
    let mut visited = Visited(Vec::new());
    crate::reference::rays::ray_walk::walk_levels(params, &grid, ray, &mut visited);
    visited.0
}

/// Cell of a box that contains a point.
fn cell_of(random: &mut SplitMix, point: [f64; 3], detail: u32, reach: i32) -> [i32; 3] {
    std::array::from_fn(|axis| {
        let factor = if axis == 0 { f64::from(1 << detail) } else { 1.0 };
        let back = random.pick(&[0.0, 0.5, 1.0]) * f64::from(reach);
        let corner = if random.one_in(4) {
            // Lower corner of a box that contains the point and begins as far before it as its level allows.
            (point[axis] * factor).floor() / factor - f64::from(reach)
        } else {
            point[axis] - back
        };
        (corner * factor).floor() as i32
    })
}

/// The slack of walks must exceed the rounding of any evaluation order plus the tolerance of the box test. Walks then
/// visit the cells of all points that a box test may accept.
#[test]
fn walks_visit_the_cells_of_a_ray_in_whatever_order_floats_are_summed() {
    let mut random = SplitMix(91);
    let (mut walked, mut differing) = (0, 0);
    let params = Params {
        world_count: 1,
        dimensions: 3,
        ..Params::default()
    };
    for case in 0..4000u32 {
        let (detail, reach) = random.pick(&[(2, 1), (0, 0)]);
        let unit = random.pick(&[1.0f32, 1.5, 1.25 * 2f32.powi(-30), 1.75 * 2f32.powi(40)]);
        let inverse = 1.0 / unit;
        let far = random.pick(&[1.0, 30.0, 3000.0, 100_000.0]);
        let origin = random.vector(|random| random.range(-far, far) * unit);
        let steep = random.pick(&[1.0, 1e-3, 1e-6]);
        let mut direction = random.vector(|random| random.range(-1.0, 1.0) * steep * unit);
        direction[random.below(3) as usize] = random.pick(&[1.0, -0.3]) * unit;
        let half = random.pick(&[0.0, 0.0, 0.3, 4.0]) * unit;
        let length = random.pick(&[1.0, 100.0, 3000.0]);
        let given = SweptRay::new(Ray::new(origin, direction, length)).with_half_extents([half; 3]);
        let ray = load_ray(&params, &given);
        let t = random.range(0.0, length);
        let shift = if reach == 0 { 0.5 } else { 0.0 };
        let point: [f64; 3] = std::array::from_fn(|axis| {
            let along = f64::from(t) * f64::from(direction[axis]);
            let side = f64::from(random.range(-1.0, 1.0)) * f64::from(half);
            let beside = f64::from(random.pick(&[-1.0f32, 0.0, 1.0])) * along.abs() * 2f64.powi(-20);
            (f64::from(origin[axis]) + along + beside + side) * f64::from(inverse) + shift
        });
        let cell = cell_of(&mut random, point, detail, reach);
        let mut bound = |axis: usize, sign: i32| cell[axis] + sign * random.below(5000) as i32;
        let level = grid::Level {
            inverse,
            lower_x: bound(0, -1),
            lower_y: bound(1, -1),
            lower_z: bound(2, -1),
            upper_x: bound(0, 1),
            upper_y: bound(1, 1),
            upper_z: bound(2, 1),
            ..grid::Level::default()
        };
        let orders = (0..6).map(|_| random.below(Order::ALL)).chain([0]);
        let mut seen = Vec::new();
        for order in orders.map(Order).collect::<Vec<_>>() {
            let Some(slabs) = slabs_of(order, detail, reach, &level, &ray) else {
                continue;
            };
            let visits = |[lower, upper]: &[[i32; 3]; 2]| {
                (0..3).all(|axis| lower[axis] <= cell[axis] && cell[axis] <= upper[axis])
            };
            assert!(
                slabs.iter().any(visits),
                "case {case}, {order:?}: {cell:?} at {t} of {given:?} in {level:?}"
            );
            seen.push(slabs);
            walked += 1;
        }
        if let (Some(slabs), 1) = (slabs_of(Order(0), detail, reach, &level, &ray), reach) {
            let visited = visited(&params, detail, &level, &ray);
            assert!(
                visited.len().abs_diff(slabs.len()) <= 2,
                "case {case}: {given:?} in {level:?}"
            );
            let shared = visited.iter().filter(|cells| slabs.contains(cells)).count();
            assert!(
                shared + 4 >= visited.len() || shared * 10 >= visited.len() * 9,
                "case {case}"
            );
        }
        differing += usize::from(seen.windows(2).any(|two| two[0] != two[1]));
    }
    assert!(walked > 10_000 && differing > 100, "{walked}, {differing}");
}

/// Trees are searched in another order than cells, and leave most boxes to a test in single precision.
#[test]
fn rays_through_trees_hit_what_those_through_cells_hit() {
    let mut hits = 0;
    for kind in 0..KINDS {
        for (count, scale) in [
            (3, 0),
            (70, -100),
            (300, 60),
            (300, 0),
            (600, 100),
            (600, -60),
            (900, 0),
        ] {
            let mut random = SplitMix(91_000 + 1000 * u64::from(kind) + count as u64);
            let mut objects = scene(&mut random, kind, count);
            spoil(&mut random, &mut objects);
            let mut lines = rays(&mut random, &objects, 120);
            let scaled = |bound: f32| (f64::from(bound) * 2f64.powi(scale)) as f32;
            for object in &mut objects {
                (object.min, object.max) = (object.min.map(scaled), object.max.map(scaled));
            }
            lines.iter_mut().for_each(|line| line.origin = line.origin.map(scaled));
            let wide = swept(&mut random, &lines, scaled(1.0), 1);
            let statics = random.pick(&[0, count / 3]);
            let min_scale = scaled(0.5);
            let scheme = if scale.abs() < 90 && random.one_in(2) {
                Scheme::Adaptive { min_scale }
            } else {
                Scheme::Hierarchical
            };
            for (rays, ray_mode) in [Rays::Plain(Source::Host(&lines)), Rays::Swept(Source::Host(&wide))]
                .into_iter()
                .flat_map(|rays| [RayMode::Closest, RayMode::Any, RayMode::All].map(|mode| (rays, mode)))
            {
                let descriptor = BroadPhaseDescriptor {
                    dimensions: random.pick(&[Dimensions::Two, Dimensions::Three]),
                    scheme,
                    outputs: OutputOptions {
                        ray_mode,
                        order: ResultOrder::Sorted,
                        ..Default::default()
                    },
                    pairs: false,
                    ..Default::default()
                };
                let scene = Scene {
                    statics: Statics {
                        objects: objects[..statics].into(),
                        ..Statics::default()
                    },
                    query: QueryInput {
                        rays,
                        ..QueryInput::default()
                    },
                    ..only(&objects[statics..])
                };
                let (found, expected) = (step_scene(&descriptor, &scene), trace(&descriptor, &scene).unwrap());
                let found = found.unwrap();
                let what = format!("kind {kind}, {count} objects by 2^{scale}, {ray_mode:?}");
                assert_eq!(found.ray_hits.len(), expected.ray_hits.len(), "{what}");
                for (index, (found, expected)) in found.ray_hits.iter().zip(&expected.ray_hits).enumerate() {
                    assert_eq!(bits(found), bits(expected), "{what}, ray {index}");
                    hits += u32::from(found.object != crate::NONE);
                }
                assert_eq!(found.ray_any, expected.ray_any, "{what}");
                assert_eq!(found.ray_offsets, expected.ray_offsets, "{what}");
            }
        }
    }
    assert!(hits > 1000, "{hits}");
}
