use gpu_broad_phase::LocalOrigin;

use crate::communicator::Communicator;

/// Returns a sample of the `f64` boxes of all ranks: at most 16,384, scattered over all ranks. It is the same on all
/// ranks, and so is its [`LocalOrigin`](gpu_broad_phase::LocalOrigin). Collective.
///
/// ```
/// use gpu_broad_phase::LocalOrigin;
/// use gpu_broad_phase_mpi::{Communicator as _, Threads, common_sample};
///
/// let origins = Threads::run(2, |ranks| {
///     let at = [500_000.1 + ranks.rank() as f64, 4_500_000.2, 0.0];
///     LocalOrigin::for_boxes(common_sample(&ranks, [[at, at]].into_iter()), None)
/// });
/// assert_eq!(origins[0], origins[1]);
/// ```
pub fn common_sample<C: Communicator>(
    ranks: &C,
    boxes: impl ExactSizeIterator<Item = [[f64; 3]; 2]>,
) -> Vec<[[f64; 3]; 2]> {
    let counts: Vec<u64> = bytemuck::pod_collect_to_vec(&ranks.gather(&(boxes.len() as u64).to_ne_bytes()));
    let total: u64 = counts.iter().sum();
    let before: u64 = counts[..ranks.rank()].iter().sum();
    let mut rows: Vec<u64> = LocalOrigin::sample(total as usize).map(|row| row as u64).collect();
    rows.sort_unstable();
    rows.dedup();
    let end = before + counts[ranks.rank()];
    let mut wanted = rows.iter().filter(|row| (before..end).contains(row)).peekable();
    let mut is_wanted = |row: u64| wanted.next_if(|&&wanted| wanted == row).is_some();
    let own = (before..).zip(boxes).filter(|&(row, _)| is_wanted(row));
    let own: Vec<_> = own.map(|(_, aabb)| aabb).collect();
    let messages = if own.is_empty() {
        Vec::new()
    } else {
        vec![(0, bytemuck::cast_slice(&own).to_vec())]
    };
    let came = ranks.exchange(messages);
    let mut sample = came.into_iter().flat_map(|(_, message)| message).collect::<Vec<u8>>();
    sample.resize(rows.len() * size_of::<[[f64; 3]; 2]>(), 0);
    ranks.broadcast(0, &mut sample);
    bytemuck::pod_collect_to_vec(&sample)
}
