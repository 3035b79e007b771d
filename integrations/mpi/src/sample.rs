use crate::communicator::Communicator;

/// Largest number of boxes in a sample.
const LARGEST: u64 = 16_384;

/// Returns a sample of the `f64` boxes of all ranks, the same on all ranks. Collective.
///
/// These are at most 16,384 boxes `[min, max]`, evenly spaced in rank order. With a
/// [`LocalOrigin`](gpu_broad_phase::LocalOrigin) of the sample, all ranks convert coordinates far from zero alike.
///
/// ```
/// use gpu_broad_phase::{Aabb, LocalOrigin};
/// use gpu_broad_phase_mpi::{Communicator as _, Threads, common_sample};
///
/// let converted = Threads::run(2, |ranks| {
///     let x = 500_000.1 + ranks.rank() as f64;
///     let (min, max) = ([x, 4_500_000.2, 0.0], [x + 0.1, 4_500_000.3, 0.0]);
///     let origin = LocalOrigin::for_boxes(common_sample(&ranks, [[min, max]].into_iter()), None);
///     (origin, origin.aabb(min, max))
/// });
/// let [(origin, a), (same, b)] = converted[..] else { unreachable!() };
/// assert_eq!(origin, same);
/// assert!((b.min[0] - a.max[0] - 0.9).abs() < 1e-6);
/// ```
pub fn common_sample<C: Communicator>(
    ranks: &C,
    boxes: impl ExactSizeIterator<Item = [[f64; 3]; 2]>,
) -> Vec<[[f64; 3]; 2]> {
    let counts: Vec<u64> = bytemuck::pod_collect_to_vec(&ranks.gather(&(boxes.len() as u64).to_ne_bytes()));
    let total: u64 = counts.iter().sum();
    let before: u64 = counts[..ranks.rank()].iter().sum();
    let stride = total.div_ceil(LARGEST).max(1);
    let first = before.next_multiple_of(stride) - before;
    let own: Vec<_> = boxes.skip(first as usize).step_by(stride as usize).collect();
    let messages = if own.is_empty() {
        Vec::new()
    } else {
        vec![(0, bytemuck::cast_slice(&own).to_vec())]
    };
    let came = ranks.exchange(messages);
    let mut sample = came.into_iter().flat_map(|(_, message)| message).collect::<Vec<u8>>();
    sample.resize(total.div_ceil(stride) as usize * size_of::<[[f64; 3]; 2]>(), 0);
    ranks.broadcast(0, &mut sample);
    bytemuck::pod_collect_to_vec(&sample)
}
