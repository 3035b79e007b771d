use crate::api::types::{Aabb, Ray, SweptRay};

/// Largest relative error of rounding to `f32`.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;
/// An axis is moved if its coordinates become smaller by this factor: two bits of precision.
const LEAST_GAIN: f64 = 4.0;
/// An origin serves while coordinates are at most this much larger than from a new one.
const LARGEST_LOSS: f64 = 8.0;
/// A step of coordinates above this part of the median side is coarse.
const COARSE: f64 = 0.01;

/// A point near the boxes from which `f64` coordinates are measured, before they are rounded to `f32`.
///
/// Coordinates of `f32` are coarse far from zero: their step is 0.5 at 4,500,000. Choose an origin for the scene,
/// convert boxes, rays and queries by it, and add it to positions that come back.
///
/// Differences are rounded outward from their exact value. A pair, hit or result of the `f64` input is therefore never
/// lost; objects that miss each other by less than the rounding may be found, too.
///
/// ```
/// use gpu_broad_phase::{LocalOrigin, Pair, cpu};
///
/// // 0.1 apart. As `f32`, both would be the point (500000.1, 4500000).
/// let [a, b] = [[500_000.1, 4_500_000.0, 0.0], [500_000.1, 4_500_000.1, 0.0]];
/// let origin = LocalOrigin::for_boxes([[a, a], [b, b]], None);
/// let boxes = [origin.aabb(a, a), origin.aabb(b, b)];
/// assert_eq!(cpu::step(&Default::default(), &boxes, &[])?.pairs, []);
/// # Ok::<(), gpu_broad_phase::BroadPhaseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LocalOrigin {
    /// Coordinates of the origin. With zeros, numbers that `f32` holds keep their bits.
    pub position: [f64; 3],
}

impl LocalOrigin {
    /// Chooses an origin for boxes `[min, max]`: on each axis about the median of their middles, so that stray boxes do
    /// not decide it. A [`sample`](Self::sample) of the scene is enough.
    ///
    /// The origin is 0 on axes where the middle half of the boxes would not come at least four times closer to it. With
    /// a `cell`, it is a multiple of that length: pass the cell size of [`Scheme::Uniform`](crate::Scheme::Uniform), or
    /// the smallest scale of [`Scheme::Adaptive`](crate::Scheme::Adaptive) rounded up to a power of two. Boxes that are
    /// infinite or invalid on an axis do not count there.
    pub fn for_boxes(boxes: impl IntoIterator<Item = [[f64; 3]; 2]>, cell: Option<f64>) -> Self {
        let boxes: Vec<_> = boxes.into_iter().collect();
        Self::of_extents(&std::array::from_fn(|axis| Extent::new(&boxes, axis)), cell)
    }

    fn of_extents(extents: &[Option<Extent>; 3], cell: Option<f64>) -> Self {
        let origin = |extent: &Option<Extent>| extent.as_ref().map_or(0.0, |extent| extent.origin(cell));
        Self {
            position: extents.each_ref().map(origin),
        }
    }

    /// Returns this origin while it serves the boxes about as well as a new one of [`for_boxes`](Self::for_boxes), else
    /// the new one. Call it for each frame of a moving scene.
    #[must_use]
    pub fn updated(self, boxes: impl IntoIterator<Item = [[f64; 3]; 2]>, cell: Option<f64>) -> Self {
        let boxes: Vec<_> = boxes.into_iter().collect();
        let extents: [_; 3] = std::array::from_fn(|axis| Extent::new(&boxes, axis));
        let fresh = Self::of_extents(&extents, cell);
        let serves = |axis: usize| {
            extents[axis].as_ref().is_none_or(|extent| {
                let [own, new] = [self, fresh].map(|origin| origin.position[axis]);
                // 0 is the choice for axes that no origin helps.
                own == new || (own != 0.0 && extent.reach(own) <= LARGEST_LOSS * extent.reach(new))
            })
        };
        if (0..3).all(serves) { self } else { fresh }
    }

    /// Returns indices of some boxes that stand for all `count` boxes: scattered, so that they follow no pattern of the
    /// rows, and at most 16,384.
    pub fn sample(count: usize) -> impl Iterator<Item = usize> {
        const MOST: usize = 1 << 14;
        /// 2^64 over the golden ratio: its multiples are spread evenly (Knuth, volume 3, section 6.4).
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let scattered =
            move |index: usize| ((u128::from(GOLDEN.wrapping_mul(index as u64)) * count as u128) >> 64) as usize;
        (0..count.min(MOST)).map(move |index| if count <= MOST { index } else { scattered(index) })
    }

    /// Returns true for a number that `f32` holds, and for NaN. Input of such numbers needs no origin.
    pub fn is_exact(number: f64) -> bool {
        f64::from(number as f32) == number || number.is_nan()
    }

    /// Returns the largest step of `f32` coordinates at the boxes and the median of their longest sides, if the step is
    /// above a hundredth of that median. Results are then coarse beside the boxes. Returns `None` for points.
    pub fn coarse_step(self, boxes: impl IntoIterator<Item = [[f64; 3]; 2]>) -> Option<[f64; 2]> {
        let (mut largest, mut sides) = (0.0_f64, Vec::new());
        for [min, max] in boxes {
            let is_valid = (0..3).all(|axis| min[axis] <= max[axis] && (max[axis] - min[axis]).is_finite());
            if is_valid {
                let far = |axis: usize| {
                    let [low, high] = [min, max].map(|corner| corner[axis] - self.position[axis]);
                    low.abs().max(high.abs())
                };
                let farthest = (0..3).map(far).fold(0.0, f64::max) as f32;
                largest = largest.max(match farthest.is_finite() {
                    true => f64::from(farthest.next_up()) - f64::from(farthest),
                    false => f64::INFINITY,
                });
                sides.push((0..3).map(|axis| max[axis] - min[axis]).fold(0.0, f64::max));
            }
        }
        let side = ranked(&mut sides, |last| last / 2)?;
        (side > 0.0 && largest > COARSE * side).then_some([largest, side])
    }

    /// Creates the smallest box of `f32` that contains the one from `min` to `max`, measured from the origin. With
    /// `min = max`, it contains a point.
    ///
    /// The box is on all layers and has no group. Infinite bounds stay infinite. On an axis with a NaN or with
    /// `min > max`, the box stays invalid.
    #[inline]
    pub fn aabb(self, min: [f64; 3], max: [f64; 3]) -> Aabb {
        let mut bounds = Aabb::new([0.0; 3], [0.0; 3]);
        for axis in 0..3 {
            let (low, high) = (self.below(min[axis], axis), self.above(max[axis], axis));
            let is_valid = min[axis] <= max[axis];
            // Rounding must not make an invalid box valid.
            bounds.min[axis] = if !is_valid & (low <= high) { f32::NAN } else { low };
            bounds.max[axis] = high;
        }
        bounds
    }

    /// Creates a ray, measured from the origin, that hits every box that the ray of `f64` hits. It is on all layers and
    /// in world 0.
    ///
    /// Half extents of the [`SweptRay`] cover the rounding of start and direction; they are 0 on an axis without any.
    /// `t_max` is rounded up. As for [`Ray`], a direction's component below 2^-126 counts as 0, and one beyond 2^126 is
    /// invalid.
    pub fn swept_ray(self, origin: [f64; 3], direction: [f64; 3], t_max: f64) -> SweptRay {
        let mut start = [0.0; 3];
        let mut half_extents = [0.0; 3];
        for axis in 0..3 {
            let (low, high) = (self.below(origin[axis], axis), self.above(origin[axis], axis));
            start[axis] = (origin[axis] - self.position[axis]) as f32;
            if !start[axis].is_finite() {
                continue;
            }
            let mut extent = f64::from((high - start[axis]).max(start[axis] - low));
            if !Self::is_exact(direction[axis]) {
                // At a box, a relative error of the direction is at most `UNIT * (|bound| + |start|)`. A sweep moves
                // each bound outward by another float, which covers the first term.
                let covered = 2.0 * UNIT * f64::from(start[axis].abs()) + f64::from(f32::MIN_POSITIVE);
                extent = (extent + covered) * (1.0 + UNIT);
            }
            // Denormal extents would count as 0.
            half_extents[axis] = if extent > 0.0 {
                round_up(extent).max(f32::MIN_POSITIVE)
            } else {
                0.0
            };
        }
        let direction = direction.map(|component| component as f32);
        SweptRay::new(Ray::new(start, direction, round_up(t_max))).with_half_extents(half_extents)
    }

    /// Returns `local + position`: coordinates of the `f64` scene.
    pub fn world(self, local: [f32; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| f64::from(local[axis]) + self.position[axis])
    }

    /// Largest `f32` up to the exact difference.
    #[inline]
    fn below(self, number: f64, axis: usize) -> f32 {
        rounded::<false>(number, self.position[axis])
    }

    /// Smallest `f32` from the exact difference on.
    #[inline]
    fn above(self, number: f64, axis: usize) -> f32 {
        rounded::<true>(number, self.position[axis])
    }
}

/// Smallest `f32` that is not below `number`.
fn round_up(number: f64) -> f32 {
    rounded::<true>(number, 0.0)
}

/// Rounds the exact `number - origin` up or down to a float. Branches on digits would be mispredicted, so there are
/// none.
#[inline]
fn rounded<const UP: bool>(number: f64, origin: f64) -> f32 {
    let difference = number - origin;
    // The rounding error of the difference, exactly (Knuth's two-sum). NaN for infinite numbers, which compare false.
    let part = number - difference;
    let error = (number - (difference + part)) + (part - origin);
    let nearest = difference as f32;
    // The first term is exact and, unless it is 0, larger than the second.
    let rest = (difference - f64::from(nearest)) + error;
    // Only an infinite number has an infinite bound inward.
    let endless = if UP { f64::NEG_INFINITY } else { f64::INFINITY };
    let has_overflowed = (difference == endless) & (number != endless);
    let is_inside = (if UP { rest > 0.0 } else { rest < 0.0 }) | has_overflowed;
    // The next float outward. It never crosses 0, since rounding keeps the sign. Bits of negative floats ascend as the
    // floats descend.
    let bits = nearest.to_bits() as i32;
    let step = i32::from(is_inside) * (1 | (bits >> 31));
    f32::from_bits((if UP { bits + step } else { bits - step }) as u32)
}

/// Range of the middle half of the boxes along an axis.
struct Extent {
    low: f64,
    middle: f64,
    high: f64,
}

impl Extent {
    fn new(boxes: &[[[f64; 3]; 2]], axis: usize) -> Option<Self> {
        let sides = boxes.iter().map(|[min, max]| [min[axis], max[axis]]);
        let finite = sides.filter(|[min, max]| min <= max && min.is_finite() && max.is_finite());
        let (mut low, mut high): (Vec<_>, Vec<_>) = finite.map(|[min, max]| (min, max)).unzip();
        let mut middle: Vec<_> = low
            .iter()
            .zip(&high)
            .map(|(low, high)| low / 2.0 + high / 2.0)
            .collect();
        // Quartiles, which one of three boxes does not move.
        let quarter = |last: usize| (last + 2) / 4;
        Some(Self {
            low: ranked(&mut low, quarter)?,
            middle: ranked(&mut middle, |last| last / 2)?,
            high: ranked(&mut high, |last| last - quarter(last))?,
        })
    }

    fn reach(&self, origin: f64) -> f64 {
        (self.low - origin).abs().max((self.high - origin).abs())
    }

    fn origin(&self, cell: Option<f64>) -> f64 {
        let reach = self.reach(self.middle);
        if LEAST_GAIN * reach > self.reach(0.0) {
            return 0.0;
        }
        // A round number, which leaves more differences exact.
        let unit = cell.unwrap_or_else(|| (reach / 8.0).log2().floor().exp2());
        let origin = (self.middle / unit).round() * unit;
        if origin.is_finite() { origin } else { self.middle }
    }
}

/// The number at the rank that `rank` chooses from the last one.
fn ranked(numbers: &mut [f64], rank: impl Fn(usize) -> usize) -> Option<f64> {
    let last = numbers.len().checked_sub(1)?;
    Some(*numbers.select_nth_unstable_by(rank(last), f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::descriptor::{BroadPhaseDescriptor, OutputOptions, RayMode};
    use crate::api::input::{Rays, Source};
    use crate::api::scene::{QueryInput, Scene};
    use crate::cpu;
    use crate::shared::murmur::hash;

    /// Random integers of `bits` bits and a sign.
    struct Integers(u32);

    impl Integers {
        fn next(&mut self, bits: u32) -> i64 {
            self.0 += 1;
            let word = u64::from(hash(&[self.0, 0])) << 32 | u64::from(hash(&[self.0, 1]));
            let magnitude = (word >> 1 >> (63 - bits)) as i64;
            if word & 1 == 0 { magnitude } else { -magnitude }
        }

        fn vector(&mut self, bits: u32) -> [i64; 3] {
            std::array::from_fn(|_| self.next(bits))
        }
    }

    /// Compares `float / unit` with an integer.
    fn against(float: f32, unit: f64, integer: i128) -> std::cmp::Ordering {
        let scaled = f64::from(float) / unit;
        (scaled.floor() as i128).cmp(&integer).then(if scaled.fract() == 0.0 {
            std::cmp::Ordering::Equal
        } else {
            std::cmp::Ordering::Greater
        })
    }

    #[test]
    fn bounds_are_the_floats_next_to_the_exact_difference() {
        let mut random = Integers(0);
        let unit = (-30f64).exp2();
        let mut inexact = 0;
        for round in 0..300_000u32 {
            let (bits, coarser) = (1 + round % 52, round / 52 % 40);
            let number = random.next(bits);
            let shift = random.next(1 + round % 52);
            let place = f64::from(coarser).exp2() * unit * shift as f64;
            let origin = LocalOrigin { position: [place; 3] };
            let at = number as f64 * unit;
            let exact = i128::from(number) - (i128::from(shift) << coarser);
            let boxed = origin.aabb([at; 3], [at; 3]);
            let (low, high) = (boxed.min[0], boxed.max[0]);
            assert!(
                against(low, unit, exact).is_le() && against(high, unit, exact).is_ge(),
                "{at} - {place}"
            );
            match against(low, unit, exact).is_eq() {
                true => assert_eq!(low, high),
                false => assert_eq!(low.next_up(), high, "{at} - {place}"),
            }
            inexact += u32::from((at - place) as i128 as f64 != at - place);
        }
        assert!(inexact > 10_000, "{inexact}");
    }

    #[test]
    fn numbers_beyond_floats_and_invalid_boxes_stay_what_they_are() {
        let origin = LocalOrigin {
            position: [-1e308, 0.0, 1.0],
        };
        let far = origin.aabb([1e308, -1e300, f64::NEG_INFINITY], [1e308, 1e300, f64::INFINITY]);
        assert_eq!(
            far,
            Aabb::new([f32::MAX, f32::NEG_INFINITY, f32::NEG_INFINITY], [f32::INFINITY; 3])
        );
        let zero = LocalOrigin::default();
        assert!(zero.aabb([f64::NAN; 3], [1.0; 3]).min[2].is_nan());
        let bits = |aabb: Aabb| [aabb.min, aabb.max].map(|corner| corner.map(f32::to_bits));
        let exact = [[-0.0, 1e-45, 0.0], [0.0, f32::MAX, -0.0]];
        let [min, max] = exact.map(|corner| corner.map(f64::from));
        assert_eq!(bits(zero.aabb(min, max)), exact.map(|corner| corner.map(f32::to_bits)));
        // Rounding must not order the bounds.
        let crossed = zero.aabb([0.1 + 1e-12, 2.0, 0.0], [0.1, 1.0, 0.0]);
        assert!(crossed.min[0].is_nan() && crossed.max[0] == 0.1 && (crossed.min[1], crossed.max[1]) == (2.0, 1.0));
        assert_eq!(zero.world(origin.aabb([0.0, 0.0, 3.0], [0.0, 0.0, 3.0]).min)[2], 2.0);
    }

    #[test]
    fn rays_that_graze_corners_hit() {
        // Coordinates are integers of 2^-20, directions of 2^-32. Each ray passes a corner of its box exactly.
        let unit = (-20f64).exp2();
        let mut random = Integers(7);
        let center = [500_000.0, 4_500_000.0, -7.0e6];
        let origin = LocalOrigin { position: center };
        let place = |at: [i64; 3]| std::array::from_fn(|axis| center[axis] + at[axis] as f64 * unit);
        let (mut boxes, mut rays) = (Vec::new(), Vec::new());
        for _ in 0..4000 {
            let low = random.vector(26);
            let high: [i64; 3] = std::array::from_fn(|axis| low[axis] + random.next(16).abs());
            boxes.push(origin.aabb(place(low), place(high)));
            let corner: [i64; 3] = std::array::from_fn(|axis| if random.next(1) == 0 { low[axis] } else { high[axis] });
            let way = random.vector(30);
            let length = 1 + random.next(2).abs();
            let start: [f64; 3] = std::array::from_fn(|axis| {
                let from = (corner[axis] << 12) - length * way[axis];
                center[axis] + from as f64 * unit / 4096.0
            });
            rays.push((start, way.map(|part| part as f64 * unit / 4096.0), length as f64));
        }
        // All numbers above are exact in f64, so that the rays meet their corners.
        let exact = rays
            .iter()
            .zip(&boxes)
            .filter(|((start, way, _), _)| start.iter().chain(way).all(|&number| LocalOrigin::is_exact(number)));
        assert_eq!(exact.count(), 0);
        let swept: Vec<_> = rays
            .iter()
            .map(|&(start, way, length)| origin.swept_ray(start, way, length))
            .collect();
        let descriptor = BroadPhaseDescriptor {
            outputs: OutputOptions {
                ray_mode: RayMode::All,
                ..Default::default()
            },
            ..Default::default()
        };
        let scene = Scene {
            objects: Source::Host(&boxes),
            query: QueryInput {
                rays: Rays::Swept(Source::Host(&swept)),
                ..QueryInput::default()
            },
            ..Scene::default()
        };
        let found = cpu::step_scene(&descriptor, &scene).unwrap();
        for (ray, (ends, given)) in found.ray_offsets.windows(2).zip(&rays).enumerate() {
            let hits = &found.ray_hits[ends[0] as usize..ends[1] as usize];
            assert!(hits.iter().any(|hit| hit.object == ray as u32), "{ray}: {given:?}");
        }
        // Rounding finds few more: rays are a few units of 2^-18 wide in a space of 2^26.
        assert!(
            found.ray_hits.len() < swept.len() + swept.len() / 10,
            "{}",
            found.ray_hits.len()
        );
    }

    #[test]
    fn exact_rays_are_plain_rays() {
        let ray = LocalOrigin::default().swept_ray([0.5, -0.0, 1e30f32.into()], [0.0, 3.0, -1.0], f64::INFINITY);
        assert_eq!(
            ray,
            SweptRay::new(Ray::new([0.5, -0.0, 1e30], [0.0, 3.0, -1.0], f32::INFINITY))
        );
        let invalid = LocalOrigin::default().swept_ray([f64::NAN, 1e300, 0.1], [1e300, 0.1, 0.0], 0.1);
        assert!(invalid.ray.origin[0].is_nan() && invalid.ray.origin[1].is_infinite());
        assert!(invalid.half_extents.iter().all(|extent| extent.is_finite()));
        assert!(f64::from(invalid.ray.t_max) >= 0.1);
    }

    fn cloud(center: [f64; 3], size: f64, count: usize) -> Vec<[[f64; 3]; 2]> {
        let mut random = Integers(3);
        let part = (-40f64).exp2() * size;
        let middles = (0..count).map(|_| random.vector(40).map(|part_of| part_of as f64 * part));
        let around = |middle: [f64; 3], by: f64| std::array::from_fn(|axis| center[axis] + middle[axis] + by);
        middles
            .map(|middle| [around(middle, -0.05), around(middle, 0.05)])
            .collect()
    }

    #[test]
    fn the_origin_is_near_most_boxes_and_zero_where_it_would_not_help() {
        let center = [500_000.1, -4_500_000.2, 3.3];
        let mut boxes = cloud(center, 100.0, 1001);
        let origin = LocalOrigin::for_boxes(boxes.iter().copied(), None);
        assert!((origin.position[0] - center[0]).abs() < 20.0 && (origin.position[1] - center[1]).abs() < 20.0);
        assert_eq!((origin.position[0].fract(), origin.position[2]), (0.0, 0.0));
        assert_eq!(origin.coarse_step(boxes.iter().copied()), None);
        let [step, side] = LocalOrigin::default().coarse_step(boxes.iter().copied()).unwrap();
        assert!(step == 0.5 && (side - 0.1).abs() < 1e-9);
        let with_stray = |far: f64| origin.coarse_step(boxes.iter().copied().chain([[[far; 3]; 2]]));
        assert_eq!(with_stray(1e10).unwrap()[0], 1024.0);
        assert_eq!(with_stray(1e300).unwrap()[0], f64::INFINITY);
        // Strays, infinite and invalid boxes do not count.
        boxes.extend([
            [[1e10; 3]; 2],
            [[f64::NEG_INFINITY; 3], [f64::INFINITY; 3]],
            [[f64::NAN; 3]; 2],
            [[9e9; 3], [0.0; 3]],
        ]);
        let with_strays = LocalOrigin::for_boxes(boxes.iter().copied(), None);
        assert!((0..3).all(|axis| (with_strays.position[axis] - origin.position[axis]).abs() < 20.0));
        for count in [3, 4, 9, 10] {
            let few = boxes[..count - 1].iter().copied().chain([[[0.0; 3]; 2]]);
            assert!(LocalOrigin::for_boxes(few, None).position[1] < -4e6, "{count}");
        }
        let on_cells = LocalOrigin::for_boxes(boxes.iter().copied(), Some(0.3));
        assert!((on_cells.position[1] / 0.3).fract().abs() < 1e-6 && on_cells.position[1] < -4e6);
        assert_eq!(
            LocalOrigin::for_boxes(cloud([0.0; 3], 100.0, 100), None),
            LocalOrigin::default()
        );
        assert_eq!(LocalOrigin::for_boxes([], None), LocalOrigin::default());
        let point = [0.1, 1e15 + 1.0, -1e300];
        assert_eq!(LocalOrigin::for_boxes([[point; 2]], None).position, point);
    }

    #[test]
    fn samples_follow_no_pattern() {
        assert!(LocalOrigin::sample(5).eq(0..5));
        for period in 2..9 {
            let rows: Vec<_> = LocalOrigin::sample(40_000).collect();
            assert!(rows.len() == 1 << 14 && rows.iter().all(|&row| row < 40_000));
            let share = rows.iter().filter(|&row| row % period == 0).count() * period;
            assert!(share.abs_diff(rows.len()) < rows.len() / 10, "{period}: {share}");
        }
    }

    #[test]
    fn an_origin_stays_until_the_scene_has_moved_away() {
        let at = |x: f64| cloud([x, 0.0, 0.0], 10.0, 100);
        let first = LocalOrigin::default().updated(at(1e6), None);
        assert!((first.position[0] - 1e6).abs() < 5.0);
        assert_eq!(first.updated(at(1e6 + 20.0), None), first);
        let moved = first.updated(at(1e6 + 200.0), None);
        assert!((moved.position[0] - 1e6 - 200.0).abs() < 5.0);
        assert_eq!(moved.updated(at(0.0), None), LocalOrigin::default());
        let few = [1.0, 1.2].map(|x| [[x, 0.0, 0.0], [x + 0.1, 1.0, 1.0]]);
        assert_eq!(
            LocalOrigin::default().updated(few, None),
            LocalOrigin::for_boxes(few, None)
        );
        assert!(LocalOrigin::for_boxes(few, None).position[0] > 1.0);
    }
}
