//! A query and its test of an object: the twin of `shaders/common/query.wgsl` and `shaders/common/query_input.wgsl`.

use crate::grid::{Class, Params, Record, classify, flush, ordered, unordered};
use crate::queries::{Query, asking};
use crate::types::Aabb;

const LARGEST_FLOAT: f32 = f32::MAX;
/// 2^63 and 2^-60. Gaps beyond the one are this, gaps below the other are 0: the sum of three squares is a normal float.
const FARTHEST_GAP: f32 = f32::from_bits((127 + 63) << 23);
const SMALLEST_GAP: f32 = f32::from_bits((127 - 60) << 23);
/// 1.9375 times 2^63: its square is no less than that of three farthest gaps, and finite.
const FARTHEST_LIMIT: f32 = 1.9375 * FARTHEST_GAP;
/// 2^-40 and 2^60: radii whose squares need no scale.
const ORDINARY_RADII: std::ops::RangeInclusive<f32> =
    f32::from_bits((127 - 40) << 23)..=f32::from_bits((127 + 60) << 23);
/// 2^-20.
const SLACK: f32 = 1.0 / (1u32 << 20) as f32;

/// A query as the passes hold it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadedQuery {
    /// Lower corner as ordered integers.
    pub low: [i32; 3],
    /// Upper corner as ordered integers.
    pub high: [i32; 3],
    /// How far from the box objects may be.
    pub radius: f32,
    /// A power of two that brings the squares of extreme radii into the range of floats; else 1.
    pub scale: f32,
    /// As in [`Aabb::layers`].
    pub layers: u32,
    /// As in [`Aabb::owner`].
    pub owner: u32,
    /// Only objects of this world are found.
    pub world: u32,
    /// The object that asks for others.
    pub asker: Option<u32>,
    /// Whether objects are looked for by their lower corners in place of whole boxes.
    pub seeks_corners: bool,
    /// Periods that the asker is moved by.
    pub image: [i32; 3],
    /// Lower corner, moved, and widened by the radius and a bound on all rounding.
    pub search_min: [f32; 3],
    /// Upper corner, moved and widened.
    pub search_max: [f32; 3],
    /// Neither a NaN, nor a lower bound above the upper one, nor a negative radius, nor a world that does not exist.
    pub valid: bool,
    /// Valid and not excluded.
    pub answers: bool,
}

pub(crate) fn periods(params: &Params) -> [f32; 3] {
    [params.period_x, params.period_y, params.period_z]
}

impl LoadedQuery {
    /// The same query, moved by periods.
    pub(crate) fn at_image(mut self, params: &Params, image: [i32; 3]) -> Self {
        self.image = image;
        let periods = periods(params);
        let largest = ordered(LARGEST_FLOAT);
        for axis in 0..3 {
            let moved = image[axis] as f32 * periods[axis];
            let low = flush(unordered(self.low[axis].max(-largest)));
            let high = flush(unordered(self.high[axis].min(largest)));
            let slack = (low.abs().max(high.abs()) * SLACK) + (moved.abs() + self.radius) * SLACK;
            let reach = if self.radius > 0.0 || self.seeks_corners {
                self.radius + slack
            } else {
                0.0
            };
            self.search_min[axis] = (low + moved - reach).max(-LARGEST_FLOAT);
            self.search_max[axis] = (high + moved + reach).min(LARGEST_FLOAT);
        }
        let exponent = (self.radius.to_bits() >> 23).clamp(1, 253);
        let is_ordinary = ORDINARY_RADII.contains(&self.radius) || self.radius == 0.0 || self.radius == LARGEST_FLOAT;
        self.scale = if is_ordinary {
            1.0
        } else {
            f32::from_bits((254 - exponent) << 23)
        };
        self
    }
}

/// A query of the caller's as the passes hold it.
pub fn load_query(params: &Params, query: &Query) -> LoadedQuery {
    let mut bounds = query.bounds;
    if params.dimensions == 2 {
        (bounds.min[2], bounds.max[2]) = (0.0, 0.0);
    }
    let class = classify(&bounds);
    let radius_bits = query.radius.to_bits();
    let no_length = radius_bits > 0x7f80_0000 && radius_bits != 0x8000_0000;
    let valid = class != Class::Invalid && !no_length && query.world < params.world_count;
    LoadedQuery {
        low: bounds.min.map(ordered),
        high: bounds.max.map(ordered),
        radius: flush(query.radius.abs().min(f32::MAX)),
        scale: 1.0,
        layers: bounds.layers,
        owner: bounds.owner,
        world: query.world,
        asker: None,
        seeks_corners: false,
        image: [0; 3],
        search_min: [0.0; 3],
        search_max: [0.0; 3],
        valid,
        answers: valid && class != Class::Excluded,
    }
    .at_image(params, [0; 3])
}

/// An object that asks for others: for those near its lower corner, or for those that its box overlaps.
pub fn asked_by(params: &Params, objects: &[Aabb], record: &Record) -> LoadedQuery {
    let object = &objects[record.object as usize];
    let class = classify(object);
    let seeks_corners = params.asking == asking::NEIGHBORS;
    LoadedQuery {
        low: record.low,
        high: if seeks_corners { record.low } else { record.high },
        radius: if seeks_corners { params.radius } else { 0.0 },
        scale: 1.0,
        layers: object.layers,
        owner: object.owner,
        world: record.world,
        asker: Some(record.object),
        seeks_corners,
        image: [0; 3],
        search_min: [0.0; 3],
        search_max: [0.0; 3],
        valid: true,
        answers: class == Class::Finite || (class == Class::Infinite && !seeks_corners),
    }
    .at_image(params, [0; 3])
}

/// Squared distance of an object in units of the query's scale, if it is one of the query's.
pub fn distance_to(params: &Params, query: &LoadedQuery, record: &Record) -> Option<f32> {
    if record.world != query.world {
        return None;
    }
    let apart = |a: i32, b: i32| flush(unordered(a)) - flush(unordered(b));
    let is_unwanted = |asker| record.object == asker || (params.once != 0 && record.object < asker);
    if query.asker.is_some_and(is_unwanted) {
        return None;
    }
    if query.seeks_corners {
        let infinity = ordered(f32::INFINITY);
        if record.low.contains(&-infinity) || record.high.contains(&infinity) {
            return None;
        }
        if query.radius == 0.0 {
            return (record.low == query.low && query.image == [0; 3]).then_some(0.0);
        }
        let periods = periods(params);
        // Taking the period off the larger of two coordinates is exact, so that what is between them is rounded once.
        let moved = std::array::from_fn(|axis| {
            let (own, other) = (flush(unordered(query.low[axis])), flush(unordered(record.low[axis])));
            match query.image[axis] {
                1 => (other - periods[axis]) - own,
                -1 => other - (own - periods[axis]),
                _ => other - own,
            }
        });
        let apart: [f32; 3] = std::array::from_fn(|axis| apart(record.low[axis], query.low[axis]));
        return within(query, moved).filter(|_| nearest_image(periods, apart) == query.image);
    }
    if query.radius == 0.0 {
        let meets = (0..3).all(|axis| query.low[axis] <= record.high[axis] && record.low[axis] <= query.high[axis]);
        return meets.then_some(0.0);
    }
    let gap = std::array::from_fn(|axis| {
        // Touching and overlapping are told apart from gaps in integers.
        if record.low[axis] > query.high[axis] {
            apart(record.low[axis], query.high[axis])
        } else if query.low[axis] > record.high[axis] {
            apart(query.low[axis], record.high[axis])
        } else {
            0.0
        }
    });
    within(query, gap)
}

/// The image of the asker that is nearest to what lies so far apart: just one, so that an object is found once.
fn nearest_image(periods: [f32; 3], apart: [f32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| {
        let half = 0.5 * periods[axis];
        if half > 0.0 {
            i32::from(apart[axis] > half) - i32::from(apart[axis] < -half)
        } else {
            0
        }
    })
}

fn within(query: &LoadedQuery, gap: [f32; 3]) -> Option<f32> {
    let [x, y, z] = gap.map(|gap| {
        let scaled = (gap.abs() * query.scale).min(FARTHEST_GAP);
        if scaled < SMALLEST_GAP { 0.0 } else { scaled }
    });
    let squared = x * x + y * y + z * z;
    let limit = (query.radius * query.scale).min(FARTHEST_LIMIT);
    (squared <= limit * limit).then_some(squared)
}
