//! Ray tests with coordinates from the smallest denormal to the largest floats, each axis at its own scale.

use std::cmp::Ordering;

use super::*;

/// Exponents of coordinates: denormal, near the smallest normal float, near the ray test's thresholds, ordinary, and
/// where differences overflow.
const UNITS: [i32; 16] = [
    -149, -148, -140, -130, -127, -126, -124, -103, -98, -80, -78, -75, -40, 0, 90, 124,
];
const SPEEDS: [i32; 9] = [-126, -124, -70, -20, 0, 1, 30, 100, 123];

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

#[derive(Clone, Debug)]
pub struct Seed {
    units: [usize; 3],
    speeds: [usize; 2],
    boxes: Vec<([i32; 6], u16, Oddity)>,
    rays: Vec<([i32; 6], u16, [u8; 6])>,
    pub is_swept: bool,
}

pub fn seed() -> impl Strategy<Value = Seed> {
    let units = prop_oneof![
        (0..UNITS.len()).prop_map(|unit| [unit; 3]),
        (1..UNITS.len()).prop_map(|unit| [unit, unit - 1, unit]),
        proptest::array::uniform3(0..UNITS.len()),
        (0..UNITS.len()).prop_map(|unit| [unit, 13, 13]),
    ];
    let speeds = prop_oneof![
        Just([4, 4]),
        (0..SPEEDS.len()).prop_map(|speed| [speed; 2]),
        proptest::array::uniform2(0..SPEEDS.len()),
    ];
    let six = || proptest::array::uniform6(-6i32..=6);
    let boxes = vec((six(), any::<u16>(), oddity()), 0..24);
    let rays = vec((six(), any::<u16>(), proptest::array::uniform6(0u8..8)), 1..12);
    (units, speeds, boxes, rays, any::<bool>()).prop_map(|(units, speeds, boxes, rays, is_swept)| Seed {
        units,
        speeds,
        boxes,
        rays,
        is_swept,
    })
}

impl Seed {
    fn unit(&self, choice: usize) -> f64 {
        power(UNITS[self.units[choice % 3]])
    }

    pub fn objects(&self) -> Vec<Aabb> {
        let object = |&(numbers, choices, oddity): &([i32; 6], u16, Oddity)| {
            let mut object = Aabb::point([0.0; 3]);
            for axis in 0..3 {
                let digits = usize::from(choices) / 9usize.pow(axis as u32);
                let bounds = [0, 1].map(|side| {
                    let unit = self.unit(digits / 3usize.pow(side));
                    (f64::from(numbers[axis + 3 * side as usize]) * unit) as f32
                });
                (object.min[axis], object.max[axis]) = (bounds[0].min(bounds[1]), bounds[0].max(bounds[1]));
            }
            match oddity.kind {
                1 => object.max[oddity.axis] = f32::INFINITY,
                2 => object.min[oddity.axis] = f32::NEG_INFINITY,
                3 => {
                    for zero in object
                        .min
                        .iter_mut()
                        .chain(&mut object.max)
                        .filter(|bound| **bound == 0.0)
                    {
                        *zero = -0.0;
                    }
                }
                4 => object.min[oddity.axis] = f32::MIN,
                5 => object.max[oddity.axis] = f32::MAX,
                _ => {}
            }
            object
        };
        self.boxes.iter().map(object).collect()
    }

    pub fn rays(&self) -> Vec<SweptRay> {
        let ray = |&(numbers, choices, more): &([i32; 6], u16, [u8; 6])| {
            let at = |axis: usize| usize::from(choices) / 9usize.pow(axis as u32);
            let origin = [0, 1, 2].map(|axis| (f64::from(numbers[axis]) * self.unit(at(axis))) as f32);
            let direction = [0, 1, 2].map(|axis| {
                let speed = SPEEDS[self.speeds[at(axis) / 3 % 2]];
                (f64::from(numbers[3 + axis]) * power(speed)) as f32
            });
            let t = |number: u8| {
                let unit = self.unit(at(2) / 9) / power(SPEEDS[self.speeds[0]]);
                (f64::from(number) * unit) as f32
            };
            let t_max = match more[0] {
                0..=4 => f32::INFINITY,
                5 => 0.0,
                number => t(number),
            };
            let t_min = if more[1] < 6 { 0.0 } else { t(more[1] - 5) };
            let extents = [2, 3, 4].map(|word| {
                let extent = f64::from(more[word].saturating_sub(4)) * self.unit(at(word));
                if self.is_swept { extent as f32 } else { 0.0 }
            });
            let finite = |value: f32| value.min(f32::MAX);
            SweptRay::new(Ray::new(origin, direction, t_max))
                .with_t_min(if self.is_swept { finite(t_min) } else { 0.0 })
                .with_half_extents(extents.map(finite))
        };
        self.rays.iter().map(ray).collect()
    }
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
pub fn enter(axes: usize, ray: &SweptRay, object: &Aabb) -> (f64, bool, bool) {
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
            let floats = if extent > 0.0 {
                (grown.abs() as f32).min(f32::MAX)
            } else {
                0.0
            };
            let float = f64::from(floats.next_up().min(f32::MAX)) - f64::from(floats);
            (
                way,
                bound.is_infinite() || is_endless,
                first && second,
                GROWN_BY * float,
            )
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
        let ahead = if direction > 0.0 {
            object.min[axis]
        } else {
            -object.max[axis]
        };
        let behind = if direction > 0.0 {
            object.max[axis]
        } else {
            -object.min[axis]
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
    let start = if near.compare(zero) == Ordering::Less {
        zero
    } else {
        near
    };
    surely &= start.compare(far) != Ordering::Greater && near.is_exact && far.is_exact && is_exact;
    // A parameter past the largest float is a miss, and one slightly below may round to it.
    surely &= reached < f64::from(f32::MAX) * (1.0 - power(-22));
    let rounding = 1.0 + power(-50);
    let part = 1.0 + power(-20);
    perhaps &= reached <= (far.value() * part + slack) * rounding + if is_exact { 0.0 } else { slack };
    (reached, surely, perhaps || (!is_exact && far.value() >= 0.0))
}
