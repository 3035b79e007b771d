//! The definition by examples with known results: brute force, which all other tests compare with, and the CPU engine.

use gpu_broad_phase::reference::brute_force;
use gpu_broad_phase::{
    Aabb, BroadPhaseDescriptor, Dimensions, Pair, Query, QueryMode, Ray, RayMode, Rays, Scene, Source, SweptRay, cpu,
};
use wild::answers::{SCHEMES, lists, sorted};
use wild::{Expected, check};

const INFINITY: f32 = f32::INFINITY;
const FAR: [f32; 3] = [INFINITY; 3];
/// Quiet NaNs of either sign, and a signalling one.
const NANS: [f32; 3] = [f32::NAN, f32::from_bits(0xffc0_0001), f32::from_bits(0x7f80_0001)];
const UNIT: Aabb = Aabb::new([0.0; 3], [1.0; 3]);

fn with_bound(bound: usize, value: f32) -> Aabb {
    let mut object = UNIT;
    [&mut object.min, &mut object.max][bound / 3][bound % 3] = value;
    object
}

/// Numbers of pairs and large objects, objects of each ray and of each query, and numbers of invalid objects, rays and
/// queries.
type Found = ([usize; 2], Vec<Vec<u32>>, Vec<Vec<u32>>, [u32; 3]);

fn found(mut descriptor: BroadPhaseDescriptor<'static>, scene: &Scene<'_>) -> Found {
    descriptor.outputs.ray_mode = RayMode::All;
    let expected = Expected::of(&descriptor, scene);
    let mut last = Default::default();
    for scheme in SCHEMES {
        descriptor.scheme = scheme;
        let result = cpu::step_scene(&descriptor, scene).unwrap();
        check(&descriptor, scene, &expected, &result, &format!("{scheme:?}"));
        let counters = result.counters;
        let invalid = [counters.invalid, counters.rays_invalid, counters.queries_invalid];
        let hits = expected
            .hits
            .iter()
            .map(|hits| hits.iter().map(|hit| hit.object).collect());
        last = (
            [result.pairs.len(), counters.large as usize],
            hits.collect(),
            lists(&result),
            invalid,
        );
    }
    last
}

fn objects(objects: &[Aabb]) -> Scene<'_> {
    Scene {
        objects: Source::Host(objects),
        ..Scene::default()
    }
}

#[test]
fn boxes_overlap_if_they_touch_and_have_numbers() {
    let plain = BroadPhaseDescriptor::default();
    let beside = Aabb::new([1.0, 0.0, 0.0], [2.0, 1.0, 1.0]);
    let above = |low: f32| Aabb::new([0.0, 0.0, low], [1.0, 1.0, 9.0]);
    let flat = BroadPhaseDescriptor {
        dimensions: Dimensions::Two,
        ..plain
    };
    let grown = |margin| BroadPhaseDescriptor { margin, ..plain };
    let floor = |end: f32| Aabb::new([-1.0, -end, -1.0], [1.0, 0.0, 1.0]);
    let over_floor = Aabb::new([0.0, 0.75, 0.0], [2.0; 3]);
    let zeros = [Aabb::new([0.0; 3], [-0.0; 3]), Aabb::new([-0.0; 3], [0.0; 3])];
    let tiny = Aabb::point([1e-45; 3]);
    for (name, descriptor, [a, b], overlap) in [
        ("a face", plain, [UNIT, beside], true),
        ("a corner", plain, [UNIT, Aabb::point([1.0; 3])], true),
        ("a float apart", plain, [UNIT, above(1.0f32.next_up())], false),
        ("apart along z in 2D", flat, [UNIT, above(5.0)], true),
        ("NaN along z in 2D", flat, [UNIT, above(f32::NAN)], true),
        ("margins that touch", grown(0.5), [UNIT, above(2.0)], true),
        ("margins apart", grown(0.25), [UNIT, above(2.0)], false),
        (
            "a margin of an endless box",
            grown(0.5),
            [floor(INFINITY), over_floor],
            true,
        ),
        ("a margin of a huge box", grown(0.5), [floor(1e30), over_floor], true),
        ("points at the same place", plain, [Aabb::point([1e30; 3]); 2], true),
        ("zeros of either sign", plain, zeros, true),
        ("a denormal beside zero", plain, [tiny, zeros[0]], false),
        ("a denormal at itself", plain, [tiny, tiny], true),
        (
            "everything",
            plain,
            [Aabb::new(FAR.map(|far| -far), FAR), Aabb::point([f32::MAX; 3])],
            true,
        ),
        ("infinity at itself", plain, [Aabb::point(FAR); 2], true),
        (
            "different ends",
            plain,
            [Aabb::point(FAR), Aabb::point(FAR.map(|far| -far))],
            false,
        ),
        ("NaN", plain, [UNIT, with_bound(4, f32::NAN)], false),
        ("inverted", plain, [UNIT, with_bound(1, 1.0f32.next_up())], false),
        ("excluded", plain, [UNIT, UNIT.with_group(Aabb::EXCLUDED)], false),
        ("two static ones", plain, [UNIT.with_group(Aabb::STATIC); 2], false),
        ("one group", plain, [UNIT.with_group(3); 2], false),
        ("two groups", plain, [UNIT.with_group(3), UNIT.with_group(4)], true),
        (
            "no common layer",
            plain,
            [UNIT.with_layers(1, 1), UNIT.with_layers(2, 2)],
            false,
        ),
        (
            "a layer of one mask only",
            plain,
            [UNIT.with_layers(1, 2), UNIT.with_layers(2, 2)],
            false,
        ),
    ] {
        let pairs = found(descriptor, &objects(&[a, b])).0[0];
        assert_eq!(pairs, usize::from(overlap), "{name}");
    }
}

#[test]
fn boxes_without_numbers_are_counted_and_endless_ones_are_large() {
    let nans = (0..6).flat_map(|bound| NANS.map(|nan| with_bound(bound, nan)));
    let inverted = (0..3).flat_map(|axis| [1.0f32.next_up(), 1e30, INFINITY].map(|low| with_bound(axis, low)));
    let others = [
        Aabb::new([1e-45, 0.0, 0.0], [0.0, 1.0, 1.0]),
        Aabb::new(FAR, FAR.map(|far| -far)),
    ];
    let invalid: Vec<_> = nans.chain(inverted).chain(others).collect();
    let endless: Vec<_> = (0..6)
        .map(|bound| with_bound(bound, if bound < 3 { -INFINITY } else { INFINITY }))
        .collect();
    let all = [&invalid[..], &[UNIT, UNIT], &endless].concat();
    let ([pairs, large], .., [counted, ..]) = found(BroadPhaseDescriptor::default(), &objects(&all));
    assert_eq!(
        (pairs, large, counted as usize),
        (8 * 7 / 2, endless.len(), invalid.len())
    );
}

#[test]
fn a_box_by_its_centre_has_the_nearest_outward_bounds() {
    let bounds = Aabb::from_center_half([1.0, 0.1, 1e30], [0.5, 0.3, 1.0]);
    assert_eq!([bounds.min[0], bounds.max[0]], [0.5, 1.5]);
    // These sums are exact in doubles.
    assert!(f64::from(bounds.min[1]) <= f64::from(0.1f32) - f64::from(0.3f32));
    assert!(f64::from(bounds.max[1]) >= f64::from(0.1f32) + f64::from(0.3f32));
    assert_eq!([bounds.min[2], bounds.max[2]], [1e30f32.next_down(), 1e30f32.next_up()]);
    assert!(bounds.max[1].next_down() < 0.4f32.next_up());
    assert!(Aabb::from_center_half([0.0; 3], [1.0, -1.0, 1.0]).min[1].is_nan());
    let endless = Aabb::from_center_half([7.0; 3], FAR);
    assert_eq!([endless.min, endless.max], [FAR.map(|far| -far), FAR]);
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

fn rays_of<'a>(objects: &'a [Aabb], rays: &'a [SweptRay]) -> Scene<'a> {
    let mut scene = self::objects(objects);
    scene.query.rays = Rays::Swept(Source::Host(rays));
    scene
}

#[test]
fn rays_a_float_beside_a_face_miss() {
    let objects = cubes();
    for drift in [0.0, -0.0, 1e-40, -1e-45] {
        let ray = |y: f32, z: f32| SweptRay::new(Ray::new([-9.0, y, z], [1.0, drift, -0.0], INFINITY));
        let on = [ray(1.0, 0.5), ray(0.0, 0.5), ray(-0.0, 1.0), ray(1.0, 1.0)];
        let above = 1.0f32.next_up();
        let beside = [ray(above, 0.5), ray(-1e-45, 0.5), ray(0.5, above), ray(1.0, -1e-45)];
        let rays = [on, beside].concat();
        let hits = found(BroadPhaseDescriptor::default(), &rays_of(&objects, &rays)).1;
        let counts: Vec<_> = hits.iter().map(Vec::len).collect();
        assert_eq!(counts, [4, 4, 4, 4, 0, 0, 0, 0], "{drift:e}");
    }
}

#[test]
fn rays_with_odd_numbers_hit_nothing_or_what_their_length_reaches() {
    let ray = Ray::new([-9.0, 0.5, 0.5], [1.0, 0.0, 0.0], 9.0);
    let endless = Ray { t_max: INFINITY, ..ray };
    let swept = SweptRay::new(ray);
    let still = |origin: [f32; 3], t_max| SweptRay::new(Ray::new(origin, [-0.0, 1e-40, 0.0], t_max));
    let ended = |t_max| SweptRay::new(Ray { t_max, ..ray });
    let hits = [
        swept,
        ended(f32::MAX),
        SweptRay::new(Ray::new([1e30, 0.5, 0.5], [-1e20, 0.0, 0.0], INFINITY)),
        SweptRay::new(Ray::new([f32::MIN, 0.5, 0.5], [2f32.powi(126), 0.0, 0.0], INFINITY)),
        still([0.5; 3], 0.0),
        still([1.0; 3], -0.0),
        swept.with_t_min(9.0),
        swept.with_t_min(-INFINITY),
        swept.with_half_extents([-0.0, 1e-45, 0.5]),
        swept.with_half_extents([f32::MAX, 1e30, 0.25]),
        ended(8.0).with_half_extents([1.0, 0.0, 0.0]),
    ];
    let misses = [
        ended(8.999),
        ended(-1e-45),
        ended(-INFINITY),
        still([1.5; 3], INFINITY),
        still([0.5; 3], -1.0),
        swept.with_t_min(9.0f32.next_up()),
        SweptRay::new(endless).with_t_min(INFINITY),
    ];
    let fast = [f32::from_bits(0x7e80_0001), f32::MIN, INFINITY];
    let invalid: Vec<_> = NANS
        .into_iter()
        .flat_map(|nan| {
            [
                swept.with_t_min(nan),
                swept.with_half_extents([0.0, nan, 0.0]),
                ended(nan),
            ]
        })
        .chain([-1e-45, INFINITY].map(|extent| swept.with_half_extents([0.0, 0.0, extent])))
        .chain([1, u32::MAX].map(|world| swept.with_world(world)))
        .chain(
            NANS.into_iter()
                .chain(fast)
                .map(|speed| SweptRay::new(Ray::new(ray.origin, [1.0, speed, 0.0], 9.0))),
        )
        .chain(
            NANS.into_iter()
                .chain([INFINITY])
                .map(|at| SweptRay::new(Ray::new([at, 0.5, 0.5], ray.direction, 9.0))),
        )
        .collect();
    let all = [&hits[..], &misses, &invalid].concat();
    let (_, found, _, [_, counted, _]) = found(BroadPhaseDescriptor::default(), &rays_of(&[UNIT], &all));
    for (index, objects) in found.iter().enumerate() {
        assert_eq!(!objects.is_empty(), index < hits.len(), "{:?}", all[index]);
    }
    assert_eq!(counted as usize, invalid.len());
}

#[test]
fn queries_find_what_they_touch_or_are_counted_as_invalid() {
    let objects = cubes();
    let all = Query::overlaps(Aabb::new([-9.0; 3], [9.0; 3]));
    let excluded = Query::from(all.bounds.with_group(Aabb::EXCLUDED));
    let sphere = |radius| Query::sphere([0.5, 0.5, 1.5], radius);
    let valid = [
        (all, 64),
        (Query::overlaps(UNIT), 1),
        (Query::point([1.0; 3]), 1),
        (Query::point([1.5; 3]), 0),
        (Query::overlaps(Aabb::new([1.0; 3], [2.0; 3])), 8),
        (Query::overlaps(Aabb::new(FAR.map(|far| -far), FAR)), 64),
        (sphere(0.25), 0),
        (sphere(0.5), 2),
        (sphere(-0.0), 0),
        (sphere(INFINITY), 64),
        (excluded, 0),
        (
            Query {
                radius: f32::NAN,
                ..excluded
            },
            0,
        ),
        (excluded.in_world(7), 0),
    ];
    let invalid: Vec<_> = (0..6)
        .flat_map(|bound| NANS.map(|nan| Query::from(with_bound(bound, nan))))
        .chain((0..3).map(|axis| Query::from(with_bound(axis, 2.0))))
        .chain(
            [-1.0, -1e-45, -INFINITY]
                .into_iter()
                .chain(NANS)
                .map(|radius| Query { radius, ..all }),
        )
        .chain([all.in_world(1), all.in_world(u32::MAX)])
        .collect();
    let queries: Vec<_> = valid.iter().map(|row| row.0).chain(invalid.iter().copied()).collect();
    let mut scene = self::objects(&objects);
    scene.query.queries = queries[..].into();
    let (.., lists, [.., counted]) = found(BroadPhaseDescriptor::default(), &scene);
    for (index, list) in lists.iter().enumerate() {
        let expected = valid.get(index).map_or(0, |row| row.1);
        assert_eq!(list.len(), expected, "{:?}", queries[index]);
    }
    assert_eq!(counted as usize, invalid.len());
}

#[test]
fn nearest_objects_come_by_distance_then_by_index() {
    let objects = [3.0, 1.0, -1.0, 2.0, f32::NAN].map(|x| Aabb::point([x, 0.0, 0.0]));
    let query = [Query::sphere([0.0; 3], 2.5)];
    let mut scene = self::objects(&objects);
    (scene.query.queries, scene.query.query_mode) = (query[..].into(), QueryMode::Nearest(4));
    let result = cpu::step_scene(&BroadPhaseDescriptor::default(), &scene).unwrap();
    let rows = result.query_nearest.iter();
    let rows: Vec<_> = rows.map(|row| (row.object, row.squared_distance)).collect();
    assert_eq!(rows, [(1, 1.0), (2, 1.0), (3, 4.0), (gpu_broad_phase::NONE, INFINITY)]);
}

#[test]
fn brute_force_lists_pairs_in_order() {
    let objects = [UNIT, Aabb::point([5.0; 3]), UNIT, UNIT];
    let pairs = brute_force::pairs(&objects);
    assert_eq!(pairs, [(0, 2), (0, 3), (2, 3)].map(|(a, b)| Pair { a, b }));
    let scene = self::objects(&objects);
    assert_eq!(
        sorted(cpu::step_scene(&BroadPhaseDescriptor::default(), &scene).unwrap().pairs),
        pairs
    );
}
