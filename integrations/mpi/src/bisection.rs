//! Recursive bisection of space into regions of equal load.
//!
//! Source: Berger and Bokhari, "A partitioning strategy for nonuniform problems on multiprocessors", 1987. A border is
//! an exact weighted quantile. A radix select over a group's ranks finds it, with four histogram sums of eight bits
//! each.

use bytemuck::{Pod, Zeroable};

use crate::communicator::Communicator;
use crate::partition::{Cut, Partition, Span, middle};

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct WeightedBox {
    pub span: Span,
    pub weight: u32,
}

pub(crate) struct Bisection<C> {
    /// Communicators of this rank's groups, one per halving. The group of all ranks is not stored.
    groups: Vec<C>,
}

#[derive(Clone, Copy)]
struct Quantile {
    axis: usize,
    below: u64,
}

/// The smallest coordinate at which the cumulative weight reaches a quantile.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Coordinate as an unsigned integer of the same order.
    key: u32,
    before: u64,
    at: u64,
}

const DIGIT: u32 = 8;
/// Divisors for a border on a longer axis: it may cross 1/5 more boxes than the best one, plus 1/1000 of all boxes.
const SIMILAR: [u64; 2] = [5, 1000];

const fn key(coordinate: i32) -> u32 {
    coordinate as u32 ^ 1 << 31
}

const fn coordinate(key: u32) -> i32 {
    (key ^ 1 << 31) as i32
}

fn float(key: u32) -> f64 {
    let ordered = coordinate(key);
    let magnitude = f64::from(f32::from_bits(ordered.unsigned_abs()));
    if ordered < 0 { -magnitude } else { magnitude }
}

fn is_upper(dot: &WeightedBox, cut: Cut) -> bool {
    dot.span.first[cut.axis as usize] >= cut.border
}

impl<C: Communicator> Bisection<C> {
    pub const fn new() -> Self {
        Self { groups: Vec::new() }
    }

    /// Cuts space. Returns the partition and this rank's load. Borders keep the axes of the partition `kept`.
    /// Collective.
    pub fn cut(&mut self, ranks: &C, mut dots: Vec<WeightedBox>, kept: Option<&Partition>) -> (Partition, u64) {
        let rank = ranks.rank();
        let (mut first, mut end) = (0, ranks.size());
        let mut own = Partition::undivided(1).cuts[0];
        for depth in 0usize.. {
            if end - first == 1 {
                break;
            }
            let middle = middle(first, end);
            let is_upper = rank >= middle;
            let group = depth.checked_sub(1).map_or(ranks, |depth| &self.groups[depth]);
            let kept = kept.map(|old| old.cuts[middle]);
            let cut = find_cut(group, &dots, [middle - first, end - first], kept);
            dots = swap(group, dots, cut, middle - first);
            if rank == middle {
                own = cut;
            }
            if self.groups.len() == depth {
                let half = group.split(is_upper.into());
                self.groups.push(half);
            }
            (first, end) = if is_upper { (middle, end) } else { (first, middle) };
        }
        let cuts = ranks.gather(bytemuck::bytes_of(&own));
        let partition = Partition {
            cuts: bytemuck::pod_collect_to_vec(&cuts),
        };
        (partition, dots.iter().map(|dot| u64::from(dot.weight)).sum())
    }
}

/// Finds the border with `share[0] / share[1]` of the group's load below it.
fn find_cut<C: Communicator>(group: &C, dots: &[WeightedBox], share: [usize; 2], kept: Option<Cut>) -> Cut {
    let mut loads = [0; 2];
    for dot in dots {
        loads[0] += u64::from(dot.weight);
        if kept.is_some_and(|old| !is_upper(dot, old)) {
            loads[1] += u64::from(dot.weight);
        }
    }
    group.sum(&mut loads);
    let [all, below_old] = loads;
    let part =
        |numerator: usize, denominator: usize| (u128::from(all) * numerator as u128 / denominator as u128) as u64;
    let wanted = part(share[0], share[1]);
    if let Some(old) = kept {
        if below_old == wanted {
            return old;
        }
        let axis = old.axis as usize;
        let quantile = Quantile { axis, below: wanted };
        let (new, uneven) = places(group, dots, &[quantile])[0].border(axis, wanted);
        // A border that moves has static boxes sent again.
        return if below_old.abs_diff(wanted) <= uneven { old } else { new };
    }
    let quantiles: Vec<_> = (0..3)
        .flat_map(|axis| [part(1, 8), wanted, part(7, 8)].map(|below| Quantile { axis, below }))
        .collect();
    let places = places(group, dots, &quantiles);
    let borders = [0, 1, 2].map(|axis| places[3 * axis + 1].border(axis, wanted));
    let mut crossing = borders.map(|(cut, _)| {
        let axis = cut.axis as usize;
        let crosses = |dot: &&WeightedBox| !is_upper(dot, cut) && dot.span.last[axis] >= cut.border;
        dots.iter().filter(crosses).count() as u64
    });
    let mut count = [dots.len() as u64];
    group.sum(&mut crossing);
    group.sum(&mut count);
    // A border cannot separate boxes that begin at the same coordinate.
    let least_uneven = borders.map(|(_, uneven)| uneven).into_iter().min().unwrap_or(0);
    let is_even = |axis: &usize| borders[*axis].1 <= least_uneven + all / 50;
    let fewest = (0..3).filter(is_even).map(|axis| crossing[axis]).min().unwrap_or(0);
    let is_good = |axis: &usize| crossing[*axis] <= fewest + fewest / SIMILAR[0] + count[0] / SIMILAR[1];
    let length = |axis: usize| float(places[3 * axis + 2].key) - float(places[3 * axis].key);
    let best = (0..3).filter(is_even).filter(is_good);
    let longest = best.max_by(|&a, &b| length(a).total_cmp(&length(b)).then(b.cmp(&a)));
    borders[longest.unwrap_or(0)].0
}

impl Place {
    /// Returns the border at this coordinate or directly above, whichever is nearer to weight `wanted`, and the
    /// difference.
    fn border(&self, axis: usize, wanted: u64) -> (Cut, u64) {
        let off = [self.before, self.before + self.at].map(|below| below.abs_diff(wanted));
        let behind = usize::from(off[1] < off[0]);
        let cut = Cut {
            axis: axis as u32,
            border: coordinate(self.key).saturating_add(behind as i32),
        };
        (cut, off[behind])
    }
}

/// Finds quantiles of the group's lower corners.
fn places<C: Communicator>(group: &C, dots: &[WeightedBox], quantiles: &[Quantile]) -> Vec<Place> {
    const DIGITS: usize = 1 << DIGIT;
    let mut places = vec![Place::default(); quantiles.len()];
    for shift in (0..u32::BITS).step_by(DIGIT as usize).rev() {
        let mut histograms = vec![0; DIGITS * quantiles.len()];
        for dot in dots {
            let keys = dot.span.first.map(key);
            for ((quantile, place), histogram) in quantiles.iter().zip(&places).zip(histograms.chunks_mut(DIGITS)) {
                let digits = keys[quantile.axis] >> shift;
                if u64::from(digits) >> DIGIT == u64::from(place.key) >> shift >> DIGIT {
                    histogram[digits as usize % DIGITS] += u64::from(dot.weight);
                }
            }
        }
        group.sum(&mut histograms);
        for ((quantile, place), histogram) in quantiles.iter().zip(&mut places).zip(histograms.chunks(DIGITS)) {
            // Rounded sums may not reach the quantile. The loop then ends at the largest digit.
            for (digit, &weight) in (0..).zip(histogram) {
                place.at = weight;
                place.key = place.key & (u64::MAX << (shift + DIGIT)) as u32 | digit << shift;
                if place.before + weight >= quantile.below.max(1) {
                    break;
                }
                place.before += weight;
            }
        }
    }
    places
}

/// Each rank sends to one rank of the other half.
fn swap<C: Communicator>(group: &C, dots: Vec<WeightedBox>, cut: Cut, lower_ranks: usize) -> Vec<WeightedBox> {
    let rank = group.rank();
    let in_upper = rank >= lower_ranks;
    let partner = if in_upper {
        (rank - lower_ranks).min(lower_ranks - 1)
    } else {
        rank + lower_ranks
    };
    let (mut own, others): (Vec<_>, Vec<_>) = dots.into_iter().partition(|dot| is_upper(dot, cut) == in_upper);
    let message = (!others.is_empty()).then(|| (partner, bytemuck::cast_slice(&others).to_vec()));
    for (_, message) in group.exchange(message.into_iter().collect()) {
        own.extend(bytemuck::pod_collect_to_vec::<u8, WeightedBox>(&message));
    }
    own
}
