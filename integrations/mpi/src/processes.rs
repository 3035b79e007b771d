//! Ranks as processes of MPI.

use std::cell::Cell;
use std::thread;

use mpi::collective::SystemOperation;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{
    Communicator as OfMpi, CommunicatorCollectives as _, Destination as _, Equivalence as _, Root as _, Source as _,
};

use crate::communicator::{Communicator, Messages};

/// Ends the job (`MPI_Abort`) if a panic drops it. The other ranks would wait for this one until the job's time is up.
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

/// The ranks of a communicator of MPI, a process each.
///
/// Messages take a duplicate of the communicator, so that they do not meet those of the program.
///
/// A panic that drops them ends the job, since the other ranks would wait. So does [`run`](crate::run) with an error. A
/// program that starts MPI itself calls `MPI_Abort` before one rank alone leaves it.
pub struct Processes {
    _guard: AbortOnPanic,
    ranks: SimpleCommunicator,
    rank_on_machine: usize,
    /// Of the next exchange: one that is over for a rank may still go on for another.
    tag: Cell<mpi::Tag>,
}

/// Bytes of a message that travel together: MPI counts them by an `i32`.
const LARGEST_PIECE: usize = 1 << 30;

impl Processes {
    /// The ranks of a communicator. Collective: each rank makes its own.
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

    /// Takes what has come by now.
    fn receive(&self, tag: mpi::Tag, came: &mut Messages) {
        while let Some((message, status)) = self.ranks.any_process().immediate_matched_probe_with_tag(tag) {
            let mut piece = vec![0; status.count(u8::equivalent_datatype()) as usize];
            message.matched_receive_into(&mut piece[..]);
            let from = status.source_rank() as usize;
            // Pieces of a message come in their order.
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
    /// 2010. Sends are synchronous. A rank whose sends have all been received enters a barrier without waiting at it,
    /// and goes on to receive until all have entered it: then nothing is under way.
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
