//! Reference passes of `shaders/queries/query.wgsl` and `shaders/queries/query_input.wgsl`.

use crate::api::queries::{Query, self_query};
use crate::api::types::Aabb;
use crate::layout::blocks::QueryBlocks;
use crate::layout::grid::{Class, Params, Record, classify, flush, ordered, unordered, worlds_meet};

pub(crate) const LARGEST_FLOAT: f32 = f32::MAX;
pub(crate) const NEAREST_IMAGE: i32 = 2;
const FAR_BITS: u32 = (127 + 60) << 23;
const NEAR_BITS: u32 = (127 - 40) << 23;
const SMALLER: f32 = f32::from_bits((127 - 66) << 23);
const LARGER: f32 = f32::from_bits((127 + 66) << 23);
pub(crate) const DISTANCE_BIAS: u32 = 126;
const SMALLEST_GAP: f32 = f32::from_bits((127 - 60) << 23);
pub(crate) const SLACK: f32 = 1.0 / (1u32 << 20) as f32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadedQuery {
    /// Lower corner, as integers in the order of the floats.
    pub low: [i32; 3],
    /// Upper corner, likewise.
    pub high: [i32; 3],
    pub radius: f32,
    pub layers: u32,
    pub group: u32,
    pub world: u32,
    /// Querying object of a self-query.
    pub querier: Option<u32>,
    /// True to compare lower corners instead of boxes.
    pub seeks_corners: bool,
    /// Number of periods by which the querier is moved on each axis; 2 for the image nearest to each object.
    pub image: [i32; 3],
    /// Lower corner of the image, moved outward by the radius and a bound on all rounding.
    pub search_min: [f32; 3],
    /// Upper corner of the image, moved outward likewise.
    pub search_max: [f32; 3],
    /// False if a number is NaN, bounds are inverted, the radius is negative, or the world does not exist. True for
    /// excluded queries.
    pub valid: bool,
    /// False if the query is invalid or excluded, or seeks corners from infinite bounds.
    pub answers: bool,
}

pub(crate) fn periods(params: &Params) -> [f32; 3] {
    [params.period_x, params.period_y, params.period_z]
}

impl LoadedQuery {
    pub(crate) fn corners(&self, axis: usize) -> [f32; 2] {
        let largest = ordered(LARGEST_FLOAT);
        let [low, high] = [self.low[axis].max(-largest), self.high[axis].min(largest)];
        [flush(unordered(low)), flush(unordered(high))]
    }

    fn reach(&self, params: &QueryBlocks, axis: usize) -> f32 {
        let [low, high] = self.corners(axis);
        let moved = if self.seeks_corners { periods(params)[axis] } else { 0.0 };
        let slack = low.abs().max(high.abs()) * SLACK + (moved + self.radius) * SLACK;
        if self.radius > 0.0 || self.seeks_corners {
            self.radius + slack
        } else {
            0.0
        }
    }

    pub(super) fn with_search_bounds(mut self, params: &QueryBlocks) -> Self {
        for axis in 0..3 {
            let moved = self.image[axis] as f32 * periods(params)[axis];
            let [low, high] = self.corners(axis);
            let reach = self.reach(params, axis);
            [self.search_min[axis], self.search_max[axis]] = if self.image[axis] == NEAREST_IMAGE {
                [-LARGEST_FLOAT, LARGEST_FLOAT]
            } else {
                let bounds = [low + moved - reach, high + moved + reach];
                [bounds[0].max(-LARGEST_FLOAT), bounds[1].min(LARGEST_FLOAT)]
            };
        }
        self
    }

    pub(crate) fn within(self, params: &QueryBlocks, radius: f32) -> Self {
        Self { radius, ..self }.with_search_bounds(params)
    }

    pub(super) fn is_periodic(&self, params: &QueryBlocks) -> bool {
        (0..3).any(|axis| self.has_period(params, axis))
    }

    fn has_period(&self, params: &QueryBlocks, axis: usize) -> bool {
        self.seeks_corners && periods(params)[axis] > 0.0
    }

    fn spans_period(&self, params: &QueryBlocks, axis: usize) -> bool {
        self.has_period(params, axis) && 2.0 * self.reach(params, axis) >= periods(params)[axis]
    }

    pub(crate) fn second_images(&self, params: &QueryBlocks) -> u32 {
        let has_second = |axis: &usize| {
            let ([own, _], reach) = (self.corners(*axis), self.reach(params, *axis));
            let is_near_end = own <= reach || own + reach >= periods(params)[*axis];
            self.has_period(params, *axis) && !self.spans_period(params, *axis) && is_near_end
        };
        (0..3).filter(has_second).map(|axis| 1 << axis).sum()
    }

    /// True for the querier itself, and in half lists for objects before it.
    pub(crate) fn is_unwanted(&self, params: &QueryBlocks, object: u32) -> bool {
        let is_unwanted = |querier| object == querier || (params.queries.half != 0 && object < querier);
        self.querier.is_some_and(is_unwanted)
    }

    pub(crate) fn image_of(self, params: &QueryBlocks, second: u32) -> Self {
        self.at_image(params, second).with_search_bounds(params)
    }

    pub(crate) fn at_image(mut self, params: &QueryBlocks, second: u32) -> Self {
        self.image = std::array::from_fn(|axis| {
            let is_early = self.corners(axis)[0] < 0.5 * periods(params)[axis];
            match second & (1 << axis) {
                _ if self.spans_period(params, axis) => NEAREST_IMAGE,
                0 => 0,
                _ if is_early => 1,
                _ => -1,
            }
        });
        self
    }

    pub(crate) fn nearest_of_all(mut self, params: &QueryBlocks) -> Self {
        self.image = std::array::from_fn(|axis| {
            if self.has_period(params, axis) {
                NEAREST_IMAGE
            } else {
                0
            }
        });
        self
    }
}

pub fn load_query(params: &QueryBlocks, query: &Query) -> LoadedQuery {
    let mut bounds = query.bounds;
    if params.dimensions == 2 {
        (bounds.min[2], bounds.max[2]) = (0.0, 0.0);
    }
    let class = classify(&bounds);
    let radius_bits = query.radius.to_bits();
    let no_length = radius_bits > 0x7f80_0000 && radius_bits != 0x8000_0000;
    let is_excluded = class == Class::Excluded;
    let valid = is_excluded || (class != Class::Invalid && !no_length && query.world < params.world_count);
    LoadedQuery {
        low: bounds.min.map(ordered),
        high: bounds.max.map(ordered),
        radius: flush(query.radius.abs().min(f32::MAX)),
        layers: bounds.layers,
        group: bounds.group,
        world: query.world,
        querier: None,
        seeks_corners: false,
        image: [0; 3],
        search_min: [0.0; 3],
        search_max: [0.0; 3],
        valid,
        answers: valid && !is_excluded,
    }
    .with_search_bounds(params)
}

/// Query of an object for neighbours of its lower corner, or for overlapping objects. Without search bounds.
pub fn self_query_of(params: &QueryBlocks, object: &Aabb, record: &Record) -> LoadedQuery {
    let class = classify(object);
    let seeks_corners = params.queries.self_query == self_query::NEIGHBORS;
    LoadedQuery {
        low: record.low,
        high: if seeks_corners { record.low } else { record.high },
        radius: if seeks_corners { params.queries.radius } else { 0.0 },
        layers: object.layers,
        group: object.group,
        world: record.world,
        querier: Some(record.object),
        seeks_corners,
        image: [0; 3],
        search_min: [0.0; 3],
        search_max: [0.0; 3],
        valid: true,
        answers: class == Class::Finite || (class == Class::Infinite && !seeks_corners),
    }
}

/// Squared distance of an object as an integer (see [`distance_key`]), or `None` if it is no result.
pub fn distance_to(params: &QueryBlocks, query: &LoadedQuery, record: &Record) -> Option<u32> {
    if !worlds_meet(record.world, query.world) {
        return None;
    }
    let apart = |a: i32, b: i32| flush(unordered(a)) - flush(unordered(b));
    if query.is_unwanted(params, record.object) {
        return None;
    }
    if query.seeks_corners {
        let infinity = ordered(f32::INFINITY);
        if record.low.contains(&-infinity) || record.high.contains(&infinity) {
            return None;
        }
        let image = std::array::from_fn(|axis| match query.image[axis] {
            NEAREST_IMAGE => nearest_image(periods(params)[axis], apart(record.low[axis], query.low[axis])),
            image => image,
        });
        if query.radius == 0.0 {
            return (record.low == query.low && image == [0; 3]).then_some(0);
        }
        let gap = std::array::from_fn(|axis| {
            let (own, other) = (flush(unordered(query.low[axis])), flush(unordered(record.low[axis])));
            match image[axis] {
                1 => (other - periods(params)[axis]) - own,
                -1 => other - (own - periods(params)[axis]),
                _ => other - own,
            }
        });
        return within(query, gap);
    }
    if query.radius == 0.0 {
        let meets = (0..3).all(|axis| query.low[axis] <= record.high[axis] && record.low[axis] <= query.high[axis]);
        return meets.then_some(0);
    }
    let gap = std::array::from_fn(|axis| {
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

fn nearest_image(period: f32, apart: f32) -> i32 {
    let half = 0.5 * period;
    if half > 0.0 {
        i32::from(apart > half) - i32::from(apart < -half)
    } else {
        0
    }
}

fn within(query: &LoadedQuery, gap: [f32; 3]) -> Option<u32> {
    let distance = distance_key(gap);
    let is_endless = query.radius >= LARGEST_FLOAT;
    (is_endless || distance <= distance_key([query.radius, 0.0, 0.0])).then_some(distance)
}

/// Squared length of `gap` as an integer of the same order: float bits with a nine-bit exponent.
pub fn distance_key(gap: [f32; 3]) -> u32 {
    let bits = gap.map(|gap| match gap.to_bits() & 0x7fff_ffff {
        ..0x0080_0000 => 0,
        bits => bits.min(0x7f7f_ffff),
    });
    let largest = bits.into_iter().fold(0, u32::max);
    let (scale, exponents) = if largest >= FAR_BITS {
        (SMALLER, DISTANCE_BIAS + 132)
    } else if largest < NEAR_BITS {
        (LARGER, DISTANCE_BIAS.wrapping_sub(132))
    } else {
        (1.0, DISTANCE_BIAS)
    };
    let [x, y, z] = bits.map(|bits| {
        let scaled = f32::from_bits(bits) * scale;
        if scaled < SMALLEST_GAP { 0.0 } else { scaled }
    });
    match (x * x + y * y + z * z).to_bits() {
        0 => 0,
        sum => sum.wrapping_add(exponents << 23),
    }
}

/// Float of a squared distance: infinity above the largest float, 0 below the smallest normal one.
pub fn squared_float(distance: u32) -> f32 {
    const LARGE: u32 = DISTANCE_BIAS + 255;
    f32::from_bits(match distance >> 23 {
        ..=DISTANCE_BIAS => 0,
        LARGE.. => 0x7f80_0000,
        _ => distance - (DISTANCE_BIAS << 23),
    })
}
