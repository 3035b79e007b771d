//! What ranks say to one another.

/// Messages and the ranks that they go to or come from.
pub type Messages = Vec<(usize, Vec<u8>)>;

/// The ranks that work on one world, as one of them sees them.
///
/// [`Processes`](crate::Processes) is MPI. [`Threads`](crate::Threads) has the ranks as threads of one process, for
/// tests and for more ranks than a machine has room for. All methods but the first two are collective: each rank calls
/// them, in the same order.
pub trait Communicator: Sized {
    /// Which of the ranks this is, from 0 on.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Which of the ranks of its machine this is.
    fn rank_on_machine(&self) -> usize;

    /// Makes each word the sum of what all ranks have there, modulo 2^64.
    fn sum(&self, words: &mut [u64]);

    /// Makes each word the largest that any rank has there.
    fn largest(&self, words: &mut [u64]);

    /// The rows of all ranks, one behind the other by rank. All rows are of the same length.
    fn gather(&self, row: &[u8]) -> Vec<u8>;

    /// Makes `bytes` those of the rank `root`, which all have the same number of.
    fn broadcast(&self, root: usize, bytes: &mut [u8]);

    /// Delivers messages, at most one per receiver, and returns those to this rank with their senders, which ascend.
    /// Nobody has to know who sends to it, and ranks that have nothing to say to one another exchange nothing.
    fn exchange(&self, messages: Messages) -> Messages;

    /// The ranks that name the same `part`, in their order, as a communicator of their own.
    fn split(&self, part: usize) -> Self;
}
