mod queries;

use crate::common::steps::{
    Bench, INFINITY, NANS, SCHEMES, UNIT, among, benches, broad_phase, check_on, encoder, lists, sorted, whole,
    with_bound,
};
use crate::common::{Rng, adapters, uniform};
use gpu_broad_phase::cpu;
use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Counters, Dimensions, InputError, OutputOptions, Pair, Queries, Query, QueryInput,
    QueryMode, Ray, RayHit, RayMode, Rays, Scene, SelfQuery, Source, StepError, SweptRay,
};

fn check(scene: &Scene<'_>, fault: &str) -> Counters {
    let mut counters = None;
    for mut bench in benches() {
        let Bench { adapter, by_mode } = &mut *bench;
        for (descriptor, on_gpu) in by_mode {
            let result = check_on(adapter, descriptor, on_gpu, scene, fault);
            counters = Some(result.counters);
        }
    }
    counters.unwrap_or_default()
}

fn check_boxes(objects: &[Aabb], fault: &str) -> Counters {
    let mut rng = Rng(objects.len() as u64);
    let mut corner = || {
        let object = &objects[rng.below(objects.len())];
        [0, 1, 2].map(|axis| [object.min, object.max][rng.below(2)][axis])
    };
    let corners: Vec<_> = (0..40).map(|_| [corner(), corner()]).collect();
    let rays: Vec<_> = corners
        .iter()
        .flat_map(|[from, to]| {
            let towards = [0, 1, 2].map(|axis| to[axis] - from[axis]);
            let back = [0, 1, 2].map(|axis| from[axis] - 2.0 * towards[axis]);
            [
                Ray::new(*from, towards, 1.0),
                Ray::new(back, towards, INFINITY),
                Ray::new(*from, [0.0; 3], INFINITY),
                Ray::new(*to, [1.0, 0.0, 0.0], INFINITY),
            ]
        })
        .collect();
    let queries: Vec<_> = corners
        .iter()
        .flat_map(|[from, to]| [Query::overlaps(Aabb::new(*from, *to)), Query::sphere(*from, 0.75)])
        .collect();
    let scene = Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: rays.as_slice().into(),
            queries: queries.as_slice().into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    check(&scene, fault);
    let nearest = Scene {
        query: QueryInput {
            query_mode: QueryMode::Nearest(3),
            ..scene.query
        },
        ..scene
    };
    check(&nearest, fault)
}

#[test]
fn boxes_with_a_nan_are_ignored() {
    let mut faulty: Vec<_> = (0..6)
        .flat_map(|bound| NANS.map(|nan| with_bound(bound, nan)))
        .collect();
    faulty.extend(NANS.map(|nan| Aabb::point([nan; 3])));
    faulty.push(Aabb::new([f32::NAN, -INFINITY, 0.0], [INFINITY; 3]));
    let counters = check_boxes(&among(&faulty), "NaN");
    assert_eq!(counters.invalid as usize, faulty.len());
    check_boxes(&faulty, "nothing but NaN");
}

#[test]
fn inverted_boxes_are_ignored() {
    let mut faulty: Vec<_> = (0..3)
        .flat_map(|axis| [1.0f32.next_up(), 1e30, INFINITY].map(|low| with_bound(axis, low)))
        .collect();
    faulty.push(Aabb::new([1e-45, 0.0, 0.0], [0.0, 1.0, 1.0]));
    faulty.push(Aabb::new([0.0; 3], [1.0, -1e-45, 1.0]));
    faulty.push(Aabb::new([-0.0; 3], [1.0, 1.0, -1e-45]));
    faulty.push(Aabb::new([INFINITY; 3], [-INFINITY; 3]));
    faulty.push(Aabb::new([f32::MAX; 3], [f32::MIN; 3]));
    let counters = check_boxes(&among(&faulty), "inverted");
    assert_eq!(counters.invalid as usize, faulty.len());
    let zeros = [Aabb::new([0.0; 3], [-0.0; 3]), Aabb::new([-0.0; 3], [0.0; 3])];
    assert_eq!(check_boxes(&zeros, "zeros").invalid, 0);
}

#[test]
fn infinite_boxes_meet_all_that_they_cover() {
    let mut faulty: Vec<_> = (0..6)
        .map(|bound| with_bound(bound, if bound < 3 { -INFINITY } else { INFINITY }))
        .collect();
    faulty.push(Aabb::new([-INFINITY; 3], [INFINITY; 3]));
    faulty.push(Aabb::point([INFINITY; 3]));
    faulty.push(Aabb::point([-INFINITY; 3]));
    faulty.push(Aabb::new([INFINITY, 0.0, 0.0], [INFINITY, 1.0, 1.0]));
    let counters = check_boxes(&among(&faulty), "infinite");
    assert_eq!((counters.invalid, counters.large as usize), (0, faulty.len()));
    check_boxes(&faulty, "nothing but infinite ones");
}

#[test]
fn denormal_bounds_and_zeros_of_either_sign_compare_exactly() {
    let mut rng = Rng(31);
    let tiny = [
        0.0,
        1e-45,
        3e-45,
        1e-40,
        f32::MIN_POSITIVE.next_down(),
        f32::MIN_POSITIVE,
    ];
    let objects: Vec<_> = (0..300)
        .map(|_| {
            let bound = |rng: &mut Rng| tiny[rng.below(6)] * [1.0, -1.0][rng.below(2)];
            let [a, b] = [0; 2].map(|_| [0; 3].map(|_| bound(&mut rng)));
            let is_below = |axis: usize| a[axis] <= b[axis];
            Aabb::new(
                [0, 1, 2].map(|axis| if is_below(axis) { a[axis] } else { b[axis] }),
                [0, 1, 2].map(|axis| if is_below(axis) { b[axis] } else { a[axis] }),
            )
        })
        .collect();
    assert_eq!(check_boxes(&objects, "denormal").invalid, 0);
    check_boxes(&among(&objects), "denormal");
}

#[test]
fn boxes_of_zero_size_are_points_and_sheets_that_meet_what_they_touch() {
    let mut rng = Rng(32);
    let objects: Vec<_> = (0..400)
        .map(|index| {
            let at = [0; 3].map(|_| rng.below(6) as f32 * 0.5 - 1.0);
            let mut end = at;
            for bound in end.iter_mut().take(index % 3) {
                *bound += 0.5 * rng.below(3) as f32;
            }
            Aabb::new(at, end)
        })
        .collect();
    assert_eq!(check_boxes(&objects, "flat").invalid, 0);
}

#[test]
fn huge_boxes_meet_all_that_they_cover() {
    let mut faulty: Vec<_> = [1e30, 1e38, f32::MAX]
        .into_iter()
        .flat_map(|far| {
            [
                Aabb::new([-far; 3], [far; 3]),
                Aabb::new([far * 0.5; 3], [far; 3]),
                Aabb::point([far, 0.0, 0.0]),
                Aabb::new([-far, 0.0, 0.0], [far, 1.0, 1.0]),
                Aabb::new([0.0; 3], [1.0, 1.0, far]),
            ]
        })
        .collect();
    faulty.push(Aabb::new([f32::MIN; 3], [f32::MAX; 3]));
    assert_eq!(check_boxes(&among(&faulty), "huge").invalid, 0);
    check_boxes(&faulty, "nothing but huge ones");
}

/// Cell coordinates end at ±2^30. The scene's cells are small, so far boxes are past the end.
#[test]
fn boxes_past_the_cell_range_meet_their_neighbours() {
    let mut rng = Rng(33);
    let mut objects = uniform(100, &mut rng);
    let reach = (1u32 << 30) as f32;
    for far in [
        0.5 * reach,
        0.75 * reach,
        reach,
        1.5 * reach,
        4.0 * reach,
        1e12,
        1e20,
        1e30,
    ] {
        for sign in [1.0, -1.0] {
            let step = far * 1e-6;
            for _ in 0..12 {
                let at = [0; 3].map(|_| sign * (far + step * rng.below(4) as f32));
                let size = step * rng.below(3) as f32;
                objects.push(Aabb::new(at, at.map(|low| low + size)));
            }
        }
    }
    assert_eq!(check_boxes(&objects, "far out").invalid, 0);
    let specks: Vec<_> = (0..100)
        .map(|_| Aabb::point([0; 3].map(|_| rng.unit() * 1e-30)))
        .chain(objects)
        .collect();
    check_boxes(&specks, "far out beside specks");
}

#[test]
fn thousands_of_equal_boxes_all_meet() {
    const COUNT: u32 = 2500;
    let expected: Vec<_> = (0..COUNT)
        .flat_map(|a| (a + 1..COUNT).map(move |b| Pair { a, b }))
        .collect();
    for object in [UNIT, Aabb::point([-1e30; 3])] {
        let objects = vec![object; COUNT as usize];
        let rays = [Ray::new(object.min, [1.0; 3], 1.0), Ray::new([5.0; 3], [1.0; 3], 1.0)];
        let queries = [Query::overlaps(object), Query::point([5.0; 3])];
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                rays: rays.as_slice().into(),
                queries: queries.as_slice().into(),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        for mut bench in benches() {
            let Bench { adapter, by_mode } = &mut *bench;
            let (descriptor, on_gpu) = &mut by_mode[0];
            let result = whole(adapter, on_gpu, scene);
            let what = format!("{descriptor:?} on {}", adapter.name);
            assert!(sorted(result.pairs.clone()) == expected, "{what}");
            assert_eq!(result.ray_hits, [RayHit { object: 0, t: 0.0 }, RayHit::MISS], "{what}");
            assert_eq!(lists(&result), [(0..COUNT).collect(), vec![]], "{what}");
            let on_cpu = cpu::step_scene(descriptor, &scene).unwrap();
            assert!(sorted(on_cpu.pairs) == expected, "{what}");
        }
    }
}

#[test]
fn one_box_over_everything_meets_everything() {
    for over in [1e3, 1e30, INFINITY] {
        let mut objects = uniform(800, &mut Rng(34));
        objects[17] = Aabb::new([-over; 3], [over; 3]);
        check_boxes(&objects, "one over everything");
    }
}

#[test]
fn one_object_or_none_is_enough_for_rays_and_queries() {
    let rays = [
        Ray::new([-1.0, 0.5, 0.5], [1.0, 0.0, 0.0], INFINITY),
        Ray::new([9.0; 3], [1.0; 3], 1.0),
    ];
    let queries = [
        Query::point([0.5; 3]),
        Query::sphere([9.0; 3], INFINITY),
        Query::point([f32::NAN; 3]),
    ];
    for objects in [&[][..], &[UNIT], &[Aabb::point([f32::NAN; 3])]] {
        for queries in [
            Queries::General(Source::Host(&queries)),
            Queries::Boxes(Source::Host(&[UNIT])),
            SelfQuery::Within {
                radius: 3.0,
                half: false,
            }
            .into(),
        ] {
            for query_mode in [QueryMode::All, QueryMode::Nearest(5)] {
                let scene = Scene {
                    objects: Source::Host(objects),
                    query: QueryInput {
                        rays: rays.as_slice().into(),
                        queries,
                        query_mode,
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                check(&scene, "one or none");
            }
        }
    }
}

fn cubes() -> Vec<Aabb> {
    let cell = |index: i32, axis: u32| 2.0 * (index / 4i32.pow(axis) % 4 - 2) as f32;
    (0..64)
        .map(|index| {
            let low = [0, 1, 2].map(|axis| cell(index, axis));
            Aabb::new(low, low.map(|low| low + 1.0))
        })
        .collect()
}

/// Returns the objects that the ray hits, by integer arithmetic. Coordinates must be multiples of 1/2, and components
/// of the direction divisors of 12.
fn exactly_met(objects: &[Aabb], ray: &Ray) -> Vec<u32> {
    let halves = |value: f32| (2.0 * value) as i64;
    let is_met = |object: &Aabb| {
        // Ray parameters in units of 1/24.
        let (mut enter, mut leave) = (
            0,
            if ray.t_max.is_finite() {
                (24.0 * ray.t_max) as i64
            } else {
                i64::MAX
            },
        );
        for axis in 0..3 {
            let ends = [object.min[axis], object.max[axis]].map(|bound| halves(bound) - halves(ray.origin[axis]));
            match ray.direction[axis] as i64 {
                0 if ends[0] > 0 || ends[1] < 0 => return false,
                0 => {}
                step => {
                    let [a, b] = ends.map(|end| 12 / step * end);
                    enter = enter.max(a.min(b));
                    leave = leave.min(a.max(b));
                }
            }
        }
        enter <= leave
    };
    (0..)
        .zip(objects)
        .filter(|(_, object)| is_met(object))
        .map(|(index, _)| index)
        .collect()
}

fn check_exactly(objects: &[Aabb], rays: &[Ray], fault: &str) {
    let expected: Vec<_> = rays.iter().map(|ray| exactly_met(objects, ray)).collect();
    let by_definition: Vec<Vec<_>> = brute_force::rays_all(objects, rays)
        .iter()
        .map(|hits| hits.iter().map(|hit| hit.object).collect())
        .collect();
    for (ray, (exact, defined)) in rays.iter().zip(expected.iter().zip(&by_definition)) {
        assert_eq!(exact, defined, "{ray:?}");
    }
    assert!(expected.iter().any(|met| met.len() > 2));
    let scene = Scene {
        objects: Source::Host(objects),
        query: QueryInput {
            rays: rays.into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    check(&scene, fault);
}

#[test]
fn rays_along_axes_faces_and_edges_hit_what_they_graze() {
    let objects = cubes();
    let across = [-2.5, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 3.0, 3.5];
    let mut rays = Vec::new();
    for axis in 0..3 {
        for step in [1.0, -2.0] {
            for a in across {
                for b in across {
                    for start in [-8.0, -4.0, 0.5, 8.0] {
                        let [mut origin, mut direction] = [[a; 3], [0.0, -0.0, 0.0]];
                        (origin[axis], origin[(axis + 1) % 3], direction[axis]) = (start, b, step);
                        rays.push(Ray::new(origin, direction, INFINITY));
                    }
                }
            }
        }
    }
    check_exactly(&objects, &rays, "along an axis");
}

#[test]
fn rays_a_float_beside_a_face_miss_it() {
    let objects = cubes();
    let ray = |y: f32, z: f32, drift: f32| Ray::new([-9.0, y, z], [1.0, drift, -0.0], INFINITY);
    for drift in [0.0, -0.0, 1e-40, -1e-45] {
        let on = [
            ray(1.0, 0.5, drift),
            ray(0.0, 0.5, drift),
            ray(-0.0, 1.0, drift),
            ray(1.0, 1.0, drift),
        ];
        let beside = [
            ray(1.0f32.next_up(), 0.5, drift),
            ray(-1e-45, 0.5, drift),
            ray(0.5, 1.0f32.next_up(), drift),
            ray(1.0, -1e-45, drift),
        ];
        let hits = |rays: &[Ray]| {
            brute_force::rays_all(&objects, rays)
                .iter()
                .map(Vec::len)
                .collect::<Vec<_>>()
        };
        assert_eq!((hits(&on), hits(&beside)), (vec![4; 4], vec![0; 4]));
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                rays: Rays::Plain(Source::Host(&[on, beside].concat())),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        check(&scene, "beside a face");
    }
}

#[test]
fn rays_from_corners_faces_and_insides_hit_where_they_start() {
    let objects = cubes();
    let at = |index: usize, axis: u32| [-0.5, 0.0, 0.5, 1.0, 1.5][index / 5usize.pow(axis) % 5];
    let step = |index: usize, axis: u32| [0.0, 1.0, -1.0, 3.0, -4.0][index / 5usize.pow(axis) % 5];
    let rays: Vec<_> = (0..125 * 125)
        .step_by(7)
        .map(|index| {
            let [origin, direction] = [
                [0, 1, 2].map(|axis| at(index % 125, axis)),
                [0, 1, 2].map(|axis| step(index / 125, axis)),
            ];
            Ray::new(origin, direction, [INFINITY, 0.0, 1.0, 0.5][index % 4])
        })
        .collect();
    check_exactly(&objects, &rays, "from a corner");
}

#[test]
fn rays_with_a_nan_an_infinity_or_an_overlong_step_hit_nothing() {
    let objects = cubes();
    let whole_ray = Ray::new([-9.0, 0.5, 0.5], [1.0, 0.0, 0.0], INFINITY);
    let mut faulty = Vec::new();
    for value in NANS
        .into_iter()
        .chain([INFINITY, -INFINITY, f32::from_bits(0x7e80_0001), f32::MIN])
    {
        for axis in 0..3 {
            let (mut from, mut along) = (whole_ray, whole_ray);
            from.origin[axis] = value;
            along.direction[axis] = value;
            faulty.extend((!value.is_finite()).then_some(from));
            faulty.push(along);
        }
        faulty.extend(value.is_nan().then_some(Ray {
            t_max: value,
            ..whole_ray
        }));
    }
    let rays: Vec<_> = faulty.iter().flat_map(|&ray| [ray, whole_ray]).collect();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays.as_slice().into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    let counters = check(&scene, "no numbers");
    assert_eq!(counters.rays_invalid as usize, faulty.len());
    assert_eq!(counters.hits_needed, 4 * faulty.len() as u64);
}

#[test]
fn rays_without_a_direction_ask_for_what_lies_at_their_origin() {
    let objects = cubes();
    let mut rays = Vec::new();
    for nothing in [[0.0; 3], [-0.0; 3], [1e-40, -1e-45, 0.0]] {
        for t_max in [INFINITY, 1.0, 0.0, -0.0, 1e-45, -1e-45, -1.0] {
            for origin in [[0.5; 3], [1.0; 3], [-0.0; 3], [1.5; 3], [1e30; 3]] {
                rays.push(Ray::new(origin, nothing, t_max));
            }
        }
    }
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays.as_slice().into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    let counters = check(&scene, "no direction");
    // Three directions, five nonnegative values of `t_max`, and three origins inside a cube.
    assert_eq!((counters.rays_invalid, counters.hits_needed), (0, 3 * 5 * 3));
}

#[test]
fn rays_of_endless_negative_and_vanishing_length_end_where_they_should() {
    let objects = cubes();
    let lengths = [
        INFINITY,
        f32::MAX,
        1e30,
        9.0,
        8.999,
        1e-40,
        0.0,
        -0.0,
        -1e-45,
        -1.0,
        f32::MIN,
        -INFINITY,
    ];
    let rays: Vec<_> = [1.0, -1.0, 1e-30, -1e-37, 1e30]
        .into_iter()
        .flat_map(|step| lengths.map(|t_max| Ray::new([-9.0, 0.5, 0.5], [step, 0.0, 0.0], t_max)))
        .chain(lengths.map(|t_max| Ray::new([1e30, 0.5, 0.5], [-1e20, 0.0, 0.0], t_max)))
        .chain(lengths.map(|t_max| Ray::new([f32::MIN, 0.5, 0.5], [f32::from_bits(0x7e80_0000), 0.0, 0.0], t_max)))
        .collect();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: rays.as_slice().into(),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    assert_eq!(check(&scene, "lengths").rays_invalid, 0);
}

/// Rounding affects the visited cells, so the test only checks that lists end, and that faulty rays visit no cell.
#[test]
fn cells_of_faulty_and_endless_rays_end() {
    let near = among(&[Aabb::new([-INFINITY; 3], [INFINITY; 3])]);
    let far = [near.as_slice(), &[Aabb::point([1e30; 3]), Aabb::point([-1e9; 3])]].concat();
    let sound = [
        Ray::new([-9.0, 0.25, 0.25], [1.0, 0.0, 0.0], INFINITY),
        Ray::new([1e30; 3], [-1.0; 3], INFINITY),
        Ray::new([-1e9; 3], [1.0; 3], f32::MAX),
        Ray::new([0.0; 3], [0.0; 3], INFINITY),
        Ray::new([0.0; 3], [1e-38, 1e38, -1e-30], 1e30),
    ];
    let faulty = [
        Ray::new([f32::NAN; 3], [1.0; 3], 1.0),
        Ray::new([0.0; 3], [INFINITY, 0.0, 0.0], 1.0),
        Ray::new([0.0; 3], [1.0; 3], -1.0),
        Ray::new([0.0; 3], [1.0; 3], -INFINITY),
    ];
    let rays = [sound.as_slice(), &faulty].concat();
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            outputs: OutputOptions {
                ray_cells: true,
                ..Default::default()
            },
            pairs: false,
            ..Default::default()
        };
        for adapter in adapters() {
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            // Far objects make levels large. A ray that would cross too many slabs of cells tests all objects instead.
            for (objects, has_cells) in [(&near, true), (&far, false)] {
                let scene = Scene {
                    objects: Source::Host(objects),
                    query: QueryInput {
                        rays: rays.as_slice().into(),
                        ..QueryInput::default()
                    },
                    ..Default::default()
                };
                let found = check_on(&adapter, &descriptor, &mut on_gpu, &scene, "cells");
                let on_cpu = cpu::step_scene(&descriptor, &scene).unwrap();
                for result in [found, on_cpu] {
                    let ends = &result.ray_cell_offsets;
                    assert!(ends.is_sorted() && ends.len() == rays.len() + 1);
                    assert_eq!(
                        ends[sound.len()..],
                        [result.ray_cells.len() as u32; 5],
                        "{descriptor:?}"
                    );
                    assert!(ends[1] > 0 || !has_cells, "{descriptor:?}");
                }
            }
        }
    }
}

#[test]
fn swept_rays_that_start_after_their_end_or_have_faulty_extents_hit_nothing() {
    let objects = cubes();
    let ray = SweptRay::new(Ray::new([-9.0, 0.5, 0.5], [1.0, 0.0, 0.0], 12.0));
    let sound = [
        ray,
        ray.with_t_min(12.0),
        ray.with_t_min(-INFINITY),
        ray.with_t_min(-0.0),
        ray.with_half_extents([-0.0, 1e-45, 0.5]),
        ray.with_half_extents([f32::MAX, 1e30, 0.25]),
        SweptRay {
            reserved: [u32::MAX; 3],
            ..ray
        },
    ];
    let endless = SweptRay::new(Ray {
        t_max: INFINITY,
        ..ray.ray
    });
    let too_late = [
        ray.with_t_min(12.0f32.next_up()),
        ray.with_t_min(f32::MAX),
        ray.with_t_min(INFINITY),
        endless.with_t_min(INFINITY),
    ];
    let faulty: Vec<_> = NANS
        .into_iter()
        .flat_map(|nan| [ray.with_t_min(nan), ray.with_half_extents([0.0, nan, 0.0])])
        .chain([-1e-45, -1.0, INFINITY, -INFINITY].map(|extent| ray.with_half_extents([0.0, 0.0, extent])))
        .chain([1, u32::MAX].map(|world| ray.with_world(world)))
        .collect();
    let rays: Vec<_> = sound.iter().chain(&too_late).chain(&faulty).copied().collect();
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: Rays::Swept(Source::Host(&rays)),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    assert_eq!(check(&scene, "swept").rays_invalid as usize, faulty.len());
    let none = Scene {
        query: QueryInput {
            rays: Rays::Swept(Source::Host(&too_late)),
            ..scene.query
        },
        ..scene
    };
    assert_eq!(check(&none, "too late").hits_needed, 0);
}

#[test]
fn extents_that_grow_boxes_past_the_largest_float_hit_alike_with_every_scheme() {
    let objects = [Aabb::point([8.507059e37; 3]), Aabb::point([1e30, -1e38, 0.0])];
    let rays = [Ray::new([-6.5, 3.5, 0.0], [3.0, 31417.576, 0.0], INFINITY)];
    let swept = rays.map(|ray| {
        SweptRay::new(ray)
            .with_half_extents([3.0, f32::MAX, f32::MAX])
            .with_t_min(1.0)
    });
    let scene = Scene {
        objects: Source::Host(&objects),
        query: QueryInput {
            rays: Rays::Swept(Source::Host(&swept)),
            ..QueryInput::default()
        },
        ..Default::default()
    };
    check(&scene, "endless extents");
    let descriptor = BroadPhaseDescriptor {
        outputs: OutputOptions {
            ray_mode: RayMode::All,
            ..Default::default()
        },
        ..Default::default()
    };
    assert!(!brute_force::scene_rays(&descriptor, &scene).unwrap()[0].is_empty());
}

#[test]
fn faults_of_the_third_component_do_not_matter_in_two_dimensions() {
    let mut rng = Rng(42);
    for scheme in SCHEMES {
        let descriptor = BroadPhaseDescriptor {
            scheme,
            dimensions: Dimensions::Two,
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        };
        let faults = [f32::NAN, INFINITY, -INFINITY, 1e30, -1e-45];
        let mut objects = among(&[]);
        for object in &mut objects {
            (object.min[2], object.max[2]) = (faults[rng.below(5)], faults[rng.below(5)]);
        }
        let rays: Vec<_> = objects
            .iter()
            .map(|object| {
                let mut ray = Ray::new(object.min, [1.0, 0.5, 0.0], INFINITY);
                (ray.origin[2], ray.direction[2]) = (faults[rng.below(5)], faults[rng.below(5)]);
                ray
            })
            .collect();
        let scene = Scene {
            objects: Source::Host(&objects),
            query: QueryInput {
                rays: rays.as_slice().into(),
                queries: objects.as_slice().into(),
                ..QueryInput::default()
            },
            ..Default::default()
        };
        for adapter in adapters() {
            let mut on_gpu = broad_phase(&adapter, &descriptor);
            let counters = check_on(&adapter, &descriptor, &mut on_gpu, &scene, "z").counters;
            assert_eq!(
                (counters.invalid, counters.rays_invalid, counters.queries_invalid),
                (0, 0, 0)
            );
        }
    }
}
