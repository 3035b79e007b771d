use std::cell::Cell;
use std::ops::{AddAssign, Sub};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::communicator::{Communicator, Messages};

/// Data sent by a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages to single ranks.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Number of collective calls: sums, maxima, gathers, broadcasts, and ends of exchanges.
    pub collectives: u64,
    /// Bytes passed to collective calls.
    pub collective_bytes: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.collectives += other.collectives;
        self.collective_bytes += other.collective_bytes;
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            messages: self.messages - before.messages,
            bytes: self.bytes - before.bytes,
            collectives: self.collectives - before.collectives,
            collective_bytes: self.collective_bytes - before.collective_bytes,
        }
    }
}

/// A stage of a call on this rank.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Name of the stage:
    /// - `cut` and `hand over` of [`balance`](crate::Ranks::balance)
    /// - `ghosts`, `step` and `agree` of [`step`](crate::Ranks::step)
    /// - `route`, `ask`, `answer` and `reply` of rays and queries
    /// - `route`, `ghosts`, `step` and `agree` of [`neighbors`](crate::Ranks::neighbors)
    pub name: &'static str,
    /// Duration, including waits for other ranks.
    pub time: Duration,
    /// Data that this rank sent.
    pub traffic: Traffic,
}

pub(crate) struct Clock {
    stages: Vec<Stage>,
    since: Instant,
    before: Traffic,
}

pub(crate) struct Counted<C> {
    ranks: C,
    traffic: Rc<Cell<Traffic>>,
}

impl<C: Communicator> Counted<C> {
    pub fn new(ranks: C) -> Self {
        Self {
            ranks,
            traffic: Rc::default(),
        }
    }

    pub const fn ranks(&self) -> &C {
        &self.ranks
    }

    fn count(&self, more: Traffic) {
        let mut traffic = self.traffic.get();
        traffic += more;
        self.traffic.set(traffic);
    }

    fn count_collective(&self, bytes: usize) {
        self.count(Traffic {
            collectives: 1,
            collective_bytes: bytes as u64,
            ..Traffic::default()
        });
    }
}

impl Clock {
    pub fn new() -> Self {
        Self {
            stages: Vec::new(),
            since: Instant::now(),
            before: Traffic::default(),
        }
    }

    pub fn start<C>(&mut self, ranks: &Counted<C>) {
        self.stages.clear();
        (self.since, self.before) = (Instant::now(), ranks.traffic.get());
    }

    pub fn end<C>(&mut self, ranks: &Counted<C>, name: &'static str) {
        let (now, traffic) = (Instant::now(), ranks.traffic.get());
        self.stages.push(Stage {
            name,
            time: now - self.since,
            traffic: traffic - self.before,
        });
        (self.since, self.before) = (now, traffic);
    }

    pub fn stages(&self) -> Vec<Stage> {
        self.stages.clone()
    }
}

impl<C: Communicator> Communicator for Counted<C> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn size(&self) -> usize {
        self.ranks.size()
    }

    fn rank_on_machine(&self) -> usize {
        self.ranks.rank_on_machine()
    }

    fn sum(&self, words: &mut [u64]) {
        self.count_collective(size_of_val(words));
        self.ranks.sum(words);
    }

    fn largest(&self, words: &mut [u64]) {
        self.count_collective(size_of_val(words));
        self.ranks.largest(words);
    }

    fn gather(&self, row: &[u8]) -> Vec<u8> {
        self.count_collective(row.len());
        self.ranks.gather(row)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        self.count_collective(bytes.len());
        self.ranks.broadcast(root, bytes);
    }

    fn exchange(&self, messages: Messages) -> Messages {
        let others = || messages.iter().filter(|(to, _)| *to != self.rank());
        self.count(Traffic {
            messages: others().count() as u64,
            bytes: others().map(|(_, message)| message.len() as u64).sum(),
            collectives: 1,
            collective_bytes: 0,
        });
        self.ranks.exchange(messages)
    }

    fn split(&self, part: usize) -> Self {
        Self {
            ranks: self.ranks.split(part),
            traffic: Rc::clone(&self.traffic),
        }
    }
}
