use std::cell::Cell;
use std::thread;

use mpi::collective::SystemOperation;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{
    Communicator as OfMpi, CommunicatorCollectives as _, Destination as _, Equivalence as _, Root as _, Source as _,
};

use crate::communicator::{Communicator, Messages};

/// Ends the job (`MPI_Abort`) if a panic drops this value.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            let world = SimpleCommunicator::world();
            eprintln!("rank {} panicked and ends the job", world.rank());
            world.abort(101);
        }
    }
}

/// The ranks of an MPI communicator, one process each.
///
/// Messages use a duplicate of the communicator, apart from the program's own messages.
///
/// A panic that drops this value ends the job, because other ranks would wait. A program that starts MPI itself must
/// call `MPI_Abort` before one rank leaves alone; [`run`](crate::run) does so.
pub struct Processes {
    _guard: AbortOnPanic,
    ranks: SimpleCommunicator,
    rank_on_machine: usize,
    /// Tag of the next exchange. Tags alternate, because other ranks may still be in the last exchange.
    tag: Cell<mpi::Tag>,
}

/// Bytes per piece of a message. MPI counts bytes with an `i32`.
const LARGEST_PIECE: usize = 1 << 30;

impl Processes {
    /// Duplicates the communicator `ranks`. Collective.
    pub fn new(ranks: &impl OfMpi) -> Self {
        let ranks = ranks.duplicate();
        let rank_on_machine = ranks.split_shared(ranks.rank()).rank() as usize;
        Self {
            _guard: AbortOnPanic,
            ranks,
            rank_on_machine,
            tag: Cell::new(0),
        }
    }

    fn receive(&self, tag: mpi::Tag, came: &mut Messages) {
        while let Some((message, status)) = self.ranks.any_process().immediate_matched_probe_with_tag(tag) {
            let mut piece = vec![0; status.count(u8::equivalent_datatype()) as usize];
            message.matched_receive_into(&mut piece[..]);
            let from = status.source_rank() as usize;
            // MPI delivers pieces in order.
            match came.iter_mut().find(|(sender, _)| *sender == from) {
                Some((_, message)) => message.append(&mut piece),
                None => came.push((from, piece)),
            }
        }
    }
}

impl Communicator for Processes {
    fn rank(&self) -> usize {
        self.ranks.rank() as usize
    }

    fn size(&self) -> usize {
        self.ranks.size() as usize
    }

    fn rank_on_machine(&self) -> usize {
        self.rank_on_machine
    }

    fn sum(&self, words: &mut [u64]) {
        let own = words.to_vec();
        self.ranks.all_reduce_into(&own[..], words, SystemOperation::sum());
    }

    fn largest(&self, words: &mut [u64]) {
        let own = words.to_vec();
        self.ranks.all_reduce_into(&own[..], words, SystemOperation::max());
    }

    fn gather(&self, row: &[u8]) -> Vec<u8> {
        let mut rows = vec![0; row.len() * self.size()];
        self.ranks.all_gather_into(row, &mut rows[..]);
        rows
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        self.ranks.process_at_rank(root as i32).broadcast_into(bytes);
    }

    /// Source: Hoefler, Siebert and Lumsdaine, "Scalable communication protocols for dynamic sparse data exchange",
    /// 2010. Once a rank's synchronous sends were received, it enters a nonblocking barrier and continues to receive.
    /// When all ranks have entered, no message is in transit.
    fn exchange(&self, messages: Messages) -> Messages {
        let tag = self.tag.get();
        self.tag.set(1 - tag);
        let (own, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(|&(to, _)| to == self.rank());
        let mut came = own;
        mpi::request::scope(|scope| {
            let mut sends = Vec::new();
            for (to, message) in &others {
                let to = self.ranks.process_at_rank(*to as i32);
                let pieces = message.len().div_ceil(LARGEST_PIECE).max(1);
                for piece in 0..pieces {
                    let end = message.len().min((piece + 1) * LARGEST_PIECE);
                    let piece = &message[piece * LARGEST_PIECE..end];
                    sends.push(to.immediate_synchronous_send_with_tag(scope, piece, tag));
                }
            }
            while !sends.is_empty() {
                self.receive(tag, &mut came);
                sends = sends.into_iter().filter_map(|send| send.test().err()).collect();
                std::thread::yield_now();
            }
            let mut barrier = self.ranks.immediate_barrier();
            loop {
                self.receive(tag, &mut came);
                match barrier.test() {
                    Ok(_) => break,
                    Err(waiting) => barrier = waiting,
                }
                std::thread::yield_now();
            }
        });
        came.sort_by_key(|(from, _)| *from);
        came
    }

    fn split(&self, part: usize) -> Self {
        let color = Color::with_value(part as i32);
        let part = self.ranks.split_by_color(color).expect("a color was named");
        Self::new(&part)
    }
}
