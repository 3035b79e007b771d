/// Messages, each with its receiver or sender.
pub type Messages = Vec<(usize, Vec<u8>)>;

/// The ranks that work on one world, seen from one of them: [`Processes`](crate::Processes) of MPI, or
/// [`Threads`](crate::Threads).
///
/// All methods except `rank`, `size` and `rank_on_machine` are collective: each rank calls them, in the same order.
pub trait Communicator: Sized {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Number of this rank on its machine, from 0.
    fn rank_on_machine(&self) -> usize;

    /// Replaces each of `words` by its sum over all ranks, modulo 2^64.
    fn sum(&self, words: &mut [u64]);

    /// Replaces each of `words` by its maximum over all ranks.
    fn largest(&self, words: &mut [u64]);

    /// Returns the rows of all ranks, in rank order. All rows have the same length.
    fn gather(&self, row: &[u8]) -> Vec<u8>;

    /// Replaces `bytes` by those of rank `root`. All lengths are equal.
    fn broadcast(&self, root: usize, bytes: &mut [u8]);

    /// Delivers messages, at most one per receiver. Returns the messages to this rank, by ascending sender. Receivers
    /// need not know their senders. Ranks without messages for each other exchange nothing.
    fn exchange(&self, messages: Messages) -> Messages;

    /// Splits the ranks. Those that pass the same `part` form a communicator, in their old order.
    fn split(&self, part: usize) -> Self;
}
