use crate::communicator::Communicator;

/// The error of one rank, returned by all ranks so that none waits for another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}: {what}")]
pub struct RankError {
    /// Lowest rank that failed.
    pub rank: usize,
    /// Error message of that rank.
    pub what: String,
}

/// Shares this rank's result with all ranks, so that all fail if one does. Collective.
///
/// # Errors
/// The error of the lowest rank that passes one.
pub fn agreed<C: Communicator, T>(ranks: &C, own: Result<T, String>) -> Result<T, RankError> {
    agree(ranks, own, &mut [])
}

/// Like [`agreed`], and sums `sums` over all ranks.
pub(crate) fn agree<C: Communicator, T>(ranks: &C, own: Result<T, String>, sums: &mut [u64]) -> Result<T, RankError> {
    let mut words = [&[own.is_err().into()], &*sums].concat();
    ranks.sum(&mut words);
    sums.copy_from_slice(&words[1..]);
    if words[0] == 0 {
        return own.map_err(|_| unreachable!("no rank failed"));
    }
    let mut lowest = [if own.is_err() { ranks.size() - ranks.rank() } else { 0 } as u64];
    ranks.largest(&mut lowest);
    let rank = ranks.size() - lowest[0] as usize;
    let mut what = own.err().unwrap_or_default().into_bytes();
    let mut length = (what.len() as u64).to_le_bytes();
    ranks.broadcast(rank, &mut length);
    what.resize(u64::from_le_bytes(length) as usize, 0);
    ranks.broadcast(rank, &mut what);
    Err(RankError {
        rank,
        what: String::from_utf8_lossy(&what).into_owned(),
    })
}
