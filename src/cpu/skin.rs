//! Chooses by how much boxes grow when their candidate pairs are kept.

use super::boxes::sides_of;
use crate::api::types::{Aabb, Pair};
use crate::layout::grid::{Class, Params, classify};
use crate::reference::builder::Inputs;
use crate::shared::runs::map;

/// Objects per sample, and limits of the number of samples.
const OBJECTS_PER_SAMPLE: usize = 16;
const MIN_SAMPLES: usize = 32;
const MAX_SAMPLES: usize = 1024;
/// The typical speed is the mean of 7/8 of the samples, without the fastest.
const FASTEST: usize = 8;
/// Boxes faster than this many typical speeds have a typical skin.
const MAX_SPEEDS: f32 = 4.0;
/// A side counts as at least this share of the longest.
const MIN_SIDE: f32 = 0.25;
/// Numbers of steps to choose from.
const STEPS: [u16; 9] = [3, 4, 6, 8, 12, 16, 24, 32, 48];
/// Costs in nanoseconds on two threads of a virtual machine, per object and per pair or candidate: of a step that
/// refits trees, of finding candidates, and of a step with candidates.
const PLAIN: [f32; 2] = [80.0, 17.0];
const FIND: [f32; 2] = [90.0, 20.0];
const CACHED: [f32; 2] = [30.0, 4.0];
/// The same per search of a box outside of its grown box, and per object of refitted trees for queries.
const SEARCH: f32 = 400.0;
const REFIT: f32 = 40.0;
/// Candidates pay if steps take at most this share of the time of plain ones.
const MAX_SHARE: f32 = 0.8;
/// Pairs per box that a sparse scene is taken to have, since candidates are near misses, too.
const MIN_PAIRS: f32 = 0.25;
/// Share of the memory for candidates that their estimated number may take.
const MEMORY_SHARE: f32 = 0.7;
/// Bytes of trees per object.
const TREE_BYTES: usize = 36;

/// Growth of boxes by their motion since the step before.
#[derive(Debug)]
pub(super) struct Skin<'a> {
    /// Objects of the step before, static ones first.
    before: &'a [Aabb],
    /// Number of steps in which most boxes stay within their grown boxes.
    steps: u16,
    /// Number of steps after which the candidates have paid.
    pub pays_after: u32,
    /// Typical speed, in units of length per step.
    speed: f32,
}

/// Returns the number of candidates that take the memory of a step's trees and `pairs`, apart from boxes.
pub(super) fn most_candidates(objects: usize, tree_bytes: usize, pairs: u64) -> u64 {
    let bytes = tree_bytes as u64 + pairs * size_of::<Pair>() as u64;
    (bytes / size_of::<u32>() as u64).saturating_sub(objects as u64)
}

impl<'a> Skin<'a> {
    /// Chooses a number of steps. `pairs` is the number of pairs of the step before. Returns `None` if candidates would
    /// not pay.
    pub fn choose(inputs: &Inputs, before: &'a [Aabb], pairs: u64, has_queries: bool) -> Option<Self> {
        let params = &inputs.params[0];
        let first = params.static_count as usize;
        let count = inputs.objects.len().min(before.len()).checked_sub(first)?;
        let samples = (count / OBJECTS_PER_SAMPLE).clamp(MIN_SAMPLES, MAX_SAMPLES).min(count);
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
        if samples.is_empty() {
            return None;
        }
        let middle = samples.len() / 2;
        let mut sides = [0, 1, 2].map(|axis| {
            let (_, median, _) = samples.select_nth_unstable_by(middle, |a, b| a.1[axis].total_cmp(&b.1[axis]));
            median.1[axis]
        });
        // The fastest come last.
        let typical = samples.len() - samples.len() / FASTEST;
        samples.select_nth_unstable_by(typical - 1, |a, b| a.0.total_cmp(&b.0));
        let speed = samples[..typical].iter().map(|sample| sample.0).sum::<f32>() / typical as f32;
        let is_fast = |sample: &&(f32, [f32; 3])| sample.0 > MAX_SPEEDS * speed;
        let all = samples.len() as f32;
        let fast = samples.iter().filter(is_fast).count() as f32 / all;
        let skins = samples.iter().map(|sample| skin_speed(Some(sample.0), speed));
        let skin = skins.sum::<f32>() / all;
        let longest = sides[..params.dimensions as usize]
            .iter()
            .copied()
            .fold(f32::MIN_POSITIVE, f32::max);
        sides = sides.map(|side| side.max(MIN_SIDE * longest));
        let pairs_per_object = (pairs as f32 / count as f32).max(MIN_PAIRS);
        let candidates = |steps: u16| {
            let growth = |side: &f32| 1.0 + 2.0 * skin * f32::from(steps) / side;
            pairs_per_object * sides[..params.dimensions as usize].iter().map(growth).product::<f32>()
        };
        let cost = |[object, row]: [f32; 2], rows: f32| object + row * rows;
        let refit = if has_queries { REFIT } else { 0.0 };
        let plain = cost(PLAIN, pairs_per_object);
        let find = |steps: u16| cost(FIND, candidates(steps));
        let cached = |steps: u16| cost(CACHED, candidates(steps)) + SEARCH * fast + refit;
        let mean = |steps: u16| find(steps) / f32::from(steps) + cached(steps);
        let most = most_candidates(count, count * TREE_BYTES, pairs) as f32 * MEMORY_SHARE;
        let fits = STEPS
            .into_iter()
            .filter(|&steps| candidates(steps) * count as f32 <= most);
        let steps = fits.min_by(|&a, &b| mean(a).total_cmp(&mean(b)))?;
        let pays_after = find(steps) / (plain - cached(steps));
        (mean(steps) < MAX_SHARE * plain).then_some(Self {
            before,
            steps,
            pays_after: pays_after.ceil() as u32,
            speed,
        })
    }

    /// Returns the grown boxes. Static ones do not grow.
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
        let skin = skin_speed(own, self.speed) * f32::from(self.steps);
        for axis in 0..params.dimensions as usize {
            object.min[axis] = (object.min[axis] - skin).max(f32::MIN);
            object.max[axis] = (object.max[axis] + skin).min(f32::MAX);
        }
        object
    }
}

/// Speed for the skin of a box: its own, but at least the typical one, which fast boxes have, too.
fn skin_speed(own: Option<f32>, typical: f32) -> f32 {
    let own = own.filter(|&own| own <= MAX_SPEEDS * typical);
    own.map_or(typical, |own| own.max(typical))
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
