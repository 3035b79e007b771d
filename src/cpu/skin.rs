//! Chooses by how much boxes grow when their candidate pairs are kept.

use crate::api::types::{Aabb, Pair};
use crate::layout::grid::{Class, Params, Record, classify};
use crate::reference::builder::Inputs;
use crate::shared::runs::map;

/// One object in this many is a sample, at least `MIN_SAMPLES` and at most `MAX_SAMPLES`.
const SAMPLE_STEP: usize = 16;
const MIN_SAMPLES: usize = 32;
const MAX_SAMPLES: usize = 1024;
/// The typical speed is the mean, without one sample in this many, the fastest.
const FEW: usize = 8;
/// Boxes faster than this many typical speeds have the skin of those.
const MOST_SPEEDS: f32 = 4.0;
/// Numbers of steps to choose from.
const STEPS: [u16; 10] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48];
/// Costs in nanoseconds, on two threads of a virtual machine: per object, per pair or candidate, per search of a box that
/// left its skin, and per object of trees and of their new bounds.
const STEP: f32 = 165.0;
const STEP_PAIR: f32 = 30.0;
const FIND: f32 = 200.0;
const FIND_CANDIDATE: f32 = 55.0;
const KEEP: f32 = 40.0;
const KEEP_CANDIDATE: f32 = 4.0;
const SEARCH: f32 = 1600.0;
const TREES: f32 = 300.0;
const REFIT: f32 = 35.0;
/// Candidates pay if they take at most this part of the time of steps without.
const LEAST_GAIN: f32 = 0.8;
/// Pairs per box that a sparse scene is taken to have, since candidates grow from near misses.
const MIN_PAIRS: f32 = 0.25;
/// Most of the memory that candidates may take is used, since their number is an estimate.
const SAFE: f32 = 0.7;

/// Growth of boxes, by their motion since the step before.
#[derive(Debug)]
pub(super) struct Skin<'a> {
    /// Objects of the step before, static ones first.
    before: &'a [Aabb],
    /// Number of steps in which most boxes stay within their skins.
    pub steps: u16,
    /// Typical speed, in units of length per step.
    speed: f32,
}

impl<'a> Skin<'a> {
    /// Chooses a number of steps. `pairs` is the number of pairs of the step before. Returns `None` if it does not pay.
    /// `asks`: the step has rays or queries.
    pub fn choose(inputs: &Inputs, before: &'a [Aabb], pairs: u64, asks: bool) -> Option<Self> {
        let params = &inputs.params[0];
        let first = params.static_count as usize;
        let count = inputs.objects.len().min(before.len()).checked_sub(first)?;
        let samples = (count / SAMPLE_STEP).clamp(MIN_SAMPLES, MAX_SAMPLES).min(count);
        // One at random of each run, since every eighth object may be of another kind.
        let run = count / samples.max(1);
        let sampled = (0..samples).map(|sample| {
            let place = (sample as u32).wrapping_mul(0x9e37_79b1) >> 16;
            first + sample * run + place as usize % run
        });
        let speed_and_sides = |object: usize| {
            let now = &inputs.objects[object];
            speed_of(&before[object], now).map(|speed| (speed, sides_of(now)))
        };
        let mut samples: Vec<_> = sampled.filter_map(speed_and_sides).collect();
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let slow = samples.len() - samples.len() / FEW;
        if slow == 0 {
            return None;
        }
        let mean = |values: &mut dyn Iterator<Item = f32>, count: usize| values.sum::<f32>() / count as f32;
        let speed = mean(&mut samples[..slow].iter().map(|sample| sample.0), slow);
        let (lowest, highest) = (speed, MOST_SPEEDS * speed);
        let fast = samples.iter().filter(|sample| sample.0 > highest).count() as f32 / samples.len() as f32;
        let skins = samples.iter().map(|sample| sample.0).filter(|&speed| speed <= highest);
        let skin = mean(&mut skins.map(|speed| speed.max(lowest)), samples.len());
        let pairs = (pairs as f32 / count as f32).max(MIN_PAIRS);
        let side = |axis: usize| mean(&mut samples.iter().map(|sample| sample.1[axis]), samples.len());
        let sides = [0, 1, 2].map(side).map(|side| side.max(f32::MIN_POSITIVE));
        let candidates = |steps: u16| {
            let growth = |side: &f32| 1.0 + 2.0 * skin * f32::from(steps) / side;
            pairs * sides[..params.dimensions as usize].iter().map(growth).product::<f32>()
        };
        let cost = |steps: u16| {
            let candidates = candidates(steps);
            let [trees, refit] = if asks { [TREES, REFIT] } else { [0.0; 2] };
            let find = (FIND + FIND_CANDIDATE * candidates + trees) / f32::from(steps);
            find + KEEP + KEEP_CANDIDATE * candidates + SEARCH * fast + refit
        };
        let most = SAFE * most_candidates(pairs);
        let fits = STEPS.into_iter().filter(|&steps| candidates(steps) <= most);
        let steps = fits.min_by(|&a, &b| cost(a).total_cmp(&cost(b)))?;
        let pays = cost(steps) < LEAST_GAIN * (STEP + STEP_PAIR * pairs);
        pays.then_some(Self { before, steps, speed })
    }

    /// Returns the objects with their skins. Static ones have none.
    pub fn grown(&self, inputs: &Inputs) -> Vec<Aabb> {
        let params = &inputs.params[0];
        map(inputs.objects.len() as u32, |index| {
            let object = inputs.objects[index as usize];
            match index < params.static_count {
                true => object,
                false => self.grown_box(params, self.before.get(index as usize), object),
            }
        })
    }

    fn grown_box(&self, params: &Params, before: Option<&Aabb>, mut object: Aabb) -> Aabb {
        if classify(&object) != Class::Finite {
            return object;
        }
        let own = before.and_then(|before| speed_of(before, &object));
        let own = own.filter(|&speed| speed <= MOST_SPEEDS * self.speed).unwrap_or(0.0);
        let skin = own.max(self.speed) * f32::from(self.steps);
        for axis in 0..params.dimensions as usize {
            object.min[axis] = (object.min[axis] - skin).max(f32::MIN);
            object.max[axis] = (object.max[axis] + skin).min(f32::MAX);
        }
        object
    }
}

/// Largest motion of a bound. `None` unless both boxes are finite.
fn speed_of(before: &Aabb, now: &Aabb) -> Option<f32> {
    let is_finite = |object| classify(object) == Class::Finite;
    (is_finite(before) && is_finite(now)).then(|| {
        let motion = |axis: usize| {
            let [low, high] = [now.min[axis] - before.min[axis], now.max[axis] - before.max[axis]];
            low.abs().max(high.abs())
        };
        motion(0).max(motion(1)).max(motion(2))
    })
}

fn sides_of(object: &Aabb) -> [f32; 3] {
    [0, 1, 2].map(|axis| object.max[axis] - object.min[axis])
}

/// Returns about how many candidates per object may be kept, by the number of pairs per object.
fn most_candidates(pairs: f32) -> f32 {
    // A record, a key, a value and two cells per object of the table, without what is kept per object.
    let bytes = size_of::<Record>() + 16 - (size_of::<Aabb>() + 4);
    (bytes as f32 + size_of::<Pair>() as f32 * pairs) / 4.0
}
