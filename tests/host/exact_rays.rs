//! Rays hit what exact arithmetic says, with coordinates from the smallest denormal to the largest floats.

use std::cmp::Ordering;

use gpu_broad_phase::{Aabb, BroadPhaseDescriptor, Dimensions, Ray, RayMode, Rays, Scene, Source, SweptRay, cpu};
use wild::answers::SCHEMES;
use wild::{Expected, Rng, check};

const SCENES: u64 = 3_000;
/// Exponents of coordinates: denormal, near the smallest normal float, near the ray test's thresholds, ordinary, and
/// where differences overflow.
const UNITS: [i32; 17] = [
    -149, -148, -140, -130, -127, -126, -124, -103, -98, -80, -78, -75, -40, 0, 47, 90, 124,
];
/// The smallest are denormal in cells.
const SPEEDS: [i32; 10] = [-126, -124, -80, -70, -20, 0, 1, 30, 100, 123];

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// Returns a multiple of 6 / `steps` units. With few steps, boxes and rays often touch.
fn multiple(steps: usize, unit: i32, rng: &mut Rng) -> f32 {
    let multiple = rng.below(2 * steps + 1) as f64 - steps as f64;
    (multiple * (6.0 / steps as f64) * power(unit)) as f32
}

fn boxes(units: [i32; 3], steps: usize, rng: &mut Rng) -> Vec<Aabb> {
    let count = rng.below(24);
    let bound = |rng: &mut Rng| multiple(steps, rng.one_of(&units), rng);
    (0..count)
        .map(|_| {
            let sides = [0; 3].map(|_| [bound(rng), bound(rng)]);
            let [min, max] = [sides.map(|[a, b]| a.min(b)), sides.map(|[a, b]| a.max(b))];
            let (mut object, axis) = (Aabb::new(min, max), rng.below(3));
            match rng.below(20) {
                0 => object.max[axis] = f32::INFINITY,
                1 => object.min[axis] = f32::NEG_INFINITY,
                2 => object.min[axis] = f32::MIN,
                3 => object.max[axis] = f32::MAX,
                4 => object.min = object.min.map(|low| if low == 0.0 { -0.0 } else { low }),
                _ => {}
            }
            object
        })
        .collect()
}

fn ray(units: [i32; 3], speeds: [i32; 2], steps: usize, is_swept: bool, rng: &mut Rng) -> SweptRay {
    let origin = units.map(|unit| multiple(steps, unit, rng));
    let direction = [0, 1, 0].map(|speed| multiple(steps, speeds[speed], rng));
    let length = |rng: &mut Rng| (rng.below(8) as f64 * power(rng.one_of(&units)) / power(speeds[0])) as f32;
    let t_max = match rng.below(8) {
        0..5 => f32::INFINITY,
        5 => 0.0,
        _ => length(rng),
    };
    let ray = SweptRay::new(Ray::new(origin, direction, t_max));
    if !is_swept {
        return ray;
    }
    let t_min = if rng.once_in(4) { length(rng).min(f32::MAX) } else { 0.0 };
    let extents = units.map(|unit| ((rng.below(8).saturating_sub(4)) as f64 * power(unit)) as f32);
    ray.with_t_min(t_min)
        .with_half_extents(extents.map(|extent| extent.min(f32::MAX)))
}

/// Returns the rounded sum, and `true` if it is exact.
fn exact_sum(a: f64, b: f64) -> (f64, bool) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, b == of_b && a == sum - of_b)
}

#[derive(Clone, Copy, Debug)]
struct Parameter {
    way: f64,
    speed: f64,
    is_exact: bool,
}

impl Parameter {
    fn of(value: f32) -> Self {
        Self {
            way: f64::from(value),
            speed: 1.0,
            is_exact: true,
        }
    }

    fn value(self) -> f64 {
        self.way / self.speed
    }

    /// Compares two quotients exactly, by products of mantissas.
    fn compare(self, other: Self) -> Ordering {
        let product = |a: f64, b: f64| {
            let parts = |value: f64| {
                let bits = value.abs().to_bits();
                ((bits & ((1 << 52) - 1) | 1 << 52) as i128, (bits >> 52) as i32)
            };
            let ((m, e), (n, f)) = (parts(a), parts(b));
            let sign = if a < 0.0 { -1 } else { i128::from(a > 0.0) };
            (sign, m * n, e + f)
        };
        let (a, b) = (product(self.way, other.speed), product(other.way, self.speed));
        if a.0 != b.0 || a.0 == 0 {
            return a.0.cmp(&b.0);
        }
        let apart = a.2 - b.2;
        let magnitudes = match apart {
            // Products of mantissas differ by less than a factor of four, so exponents decide.
            3.. => Ordering::Greater,
            ..=-3 => Ordering::Less,
            0.. => (a.1 << apart).cmp(&b.1),
            _ => a.1.cmp(&(b.1 << -apart)),
        };
        if a.0 > 0 { magnitudes } else { magnitudes.reverse() }
    }
}

/// Rounding error of a grown bound, in floats.
const GROWN_BY: f64 = 4.0;

/// Returns the parameter at which the ray enters the box, `true` if it surely hits, and `true` if it may hit.
fn enter(axes: usize, ray: &SweptRay, object: &Aabb) -> (f64, bool, bool) {
    let counted = |value: f32| if value.is_subnormal() { 0.0 } else { value };
    let mut near = Parameter::of(counted(ray.t_min));
    let mut far = Parameter::of(counted(ray.ray.t_max));
    let mut surely = near.compare(far) != Ordering::Greater;
    let mut perhaps = surely;
    let mut slack = 0.0f64;
    let mut is_exact = true;
    for axis in 0..axes {
        let extent = counted(ray.half_extents[axis]);
        let (origin, direction) = (ray.ray.origin[axis], counted(ray.ray.direction[axis]));
        let side = |bound: f32, sign: f64| {
            let (grown, first) = exact_sum(f64::from(bound), sign * f64::from(extent));
            let (way, second) = exact_sum(grown, -f64::from(origin));
            // A grown bound past the largest float counts as infinite.
            let is_endless = extent > 0.0 && grown.abs() > f64::from(f32::MAX.next_down());
            let grown = if extent > 0.0 { grown.abs() as f32 } else { 0.0 };
            let grown = grown.min(f32::MAX.next_down());
            let rounding = GROWN_BY * (f64::from(grown.next_up()) - f64::from(grown));
            (way, bound.is_infinite() || is_endless, first && second, rounding)
        };
        let (low, high) = (side(object.min[axis], -1.0), side(object.max[axis], 1.0));
        if direction == 0.0 {
            surely &= (low.1 || low.0 <= 0.0) && (high.1 || high.0 >= 0.0);
            perhaps &= (low.1 || low.0 - low.3 <= 0.0) && (high.1 || high.0 + high.3 >= 0.0);
            is_exact &= (low.1 || low.2) && (high.1 || high.2);
            // A box that is at infinity is never reached.
            let is_beyond = object.min[axis] == f32::INFINITY || object.max[axis] == f32::NEG_INFINITY;
            surely &= !is_beyond;
            perhaps &= !is_beyond;
            continue;
        }
        let (first, last) = if direction > 0.0 { (low, high) } else { (high, low) };
        let sign = f64::from(direction.signum());
        let parameter = |side: (f64, bool, bool, f64)| Parameter {
            way: sign * side.0,
            speed: f64::from(direction.abs()),
            is_exact: side.2,
        };
        let [ahead, behind] = match direction > 0.0 {
            true => [object.min[axis], object.max[axis]],
            false => [-object.max[axis], -object.min[axis]],
        };
        if ahead == f32::INFINITY || behind == f32::NEG_INFINITY {
            return (f64::INFINITY, false, false);
        }
        if !first.1 && parameter(first).compare(near) == Ordering::Greater {
            near = parameter(first);
        }
        if !last.1 && parameter(last).compare(far) == Ordering::Less {
            far = parameter(last);
        }
        slack = slack.max((first.3 + last.3) / f64::from(direction.abs()));
        is_exact &= (first.1 || first.2) && (last.1 || last.2);
    }
    let reached = near.value().max(0.0);
    let zero = Parameter::of(0.0);
    let is_behind = near.compare(zero) == Ordering::Less;
    let start = if is_behind { zero } else { near };
    surely &= start.compare(far) != Ordering::Greater && near.is_exact && far.is_exact && is_exact;
    // A parameter past the largest float is a miss, and one slightly below may round to it.
    surely &= reached < f64::from(f32::MAX) * (1.0 - power(-22));
    let rounding = 1.0 + power(-50);
    let part = 1.0 + power(-20);
    perhaps &= reached <= (far.value() * part + slack) * rounding + if is_exact { 0.0 } else { slack };
    (reached, surely, perhaps || (!is_exact && far.value() >= 0.0))
}

#[test]
fn rays_hit_what_exact_arithmetic_says_at_every_scale() {
    let mut counts = [0; 2];
    for number in 0..SCENES {
        let rng = &mut Rng(number);
        let unit = rng.one_of(&UNITS);
        let units = match rng.below(3) {
            0 => [unit; 3],
            1 => [unit, 0, 0],
            _ => [0; 3].map(|_| rng.one_of(&UNITS)),
        };
        let speeds = match rng.below(3) {
            0 => [0; 2],
            1 => [rng.one_of(&SPEEDS); 2],
            _ => [0; 2].map(|_| rng.one_of(&SPEEDS)),
        };
        let steps = rng.one_of(&[6, 6, 6, 3 << 20]);
        let (objects, is_swept) = (boxes(units, steps, rng), rng.once_in(2));
        let rays: Vec<_> = (0..1 + rng.below(11))
            .map(|_| ray(units, speeds, steps, is_swept, rng))
            .collect();
        let (mut descriptor, mut scene) = (BroadPhaseDescriptor::default(), Scene::default());
        descriptor.scheme = SCHEMES[number as usize % 3];
        descriptor.dimensions = rng.one_of(&[Dimensions::Three, Dimensions::Two]);
        (descriptor.pairs, descriptor.outputs.ray_mode) = (false, RayMode::All);
        (scene.objects, scene.query.rays) = (objects[..].into(), Rays::Swept(Source::Host(&rays)));
        let result = cpu::step_scene(&descriptor, &scene).unwrap();
        let expected = Expected::of(&descriptor, &scene);
        check(&descriptor, &scene, &expected, &result, &format!("scene {number}"));
        let axes = descriptor.dimensions.count() as usize;
        for (ends, ray) in result.ray_offsets.windows(2).zip(&rays) {
            let hits = &result.ray_hits[ends[0] as usize..ends[1] as usize];
            for (index, object) in (0u32..).zip(&objects) {
                let (entry, surely, perhaps) = enter(axes, ray, object);
                let Some(hit) = hits.iter().find(|hit| hit.object == index) else {
                    assert!(!surely, "scene {number}: {index} is lost: {ray:?}, {object:?}");
                    continue;
                };
                assert!(perhaps, "scene {number}: {index} is too much: {ray:?}, {object:?}");
                counts[usize::from(surely)] += 1;
                let (t, entry) = (f64::from(hit.t), entry.min(f64::from(ray.ray.t_max)));
                let part = power(-20);
                let is_zero = t == 0.0 && entry <= f64::from(f32::MIN_POSITIVE) * (1.0 + part);
                let is_near = t <= entry * (1.0 + part) && (t >= entry * (1.0 - part) || is_zero);
                let is_grown = ray.half_extents.iter().any(|&extent| extent > 0.0);
                assert!(
                    is_near || is_grown,
                    "scene {number}: {index} at {t:e}, not {entry:e}: {ray:?}, {object:?}"
                );
            }
        }
    }
    let [others, sure] = counts;
    println!("{sure} hits of exact arithmetic, {others} that may be");
    assert!(2 * sure > others && sure > 6 * SCENES, "{sure} and {others}");
}
