use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::communicator::{Communicator, Messages};

/// Ranks as threads of one process, for tests and for more ranks than a machine can hold.
///
/// ```
/// use gpu_broad_phase_mpi::{Communicator, Threads};
///
/// let sums = Threads::run(4, |ranks| {
///     let mut words = [ranks.rank() as u64];
///     ranks.sum(&mut words);
///     words[0]
/// });
/// assert_eq!(sums, [6; 4]);
/// ```
pub struct Threads {
    rank: usize,
    shared: Arc<Shared>,
}

struct Shared {
    size: usize,
    meeting: Mutex<Meeting>,
    all_came: Condvar,
    words: Mutex<Vec<u64>>,
    rows: Mutex<Vec<u8>>,
    inboxes: Vec<Mutex<Messages>>,
    parts: Mutex<HashMap<usize, Part>>,
    /// This communicator and those split from it.
    family: Family,
}

#[derive(Default)]
struct Part {
    ranks: Vec<usize>,
    shared: Option<Arc<Shared>>,
}

type Family = Arc<Mutex<Vec<Weak<Shared>>>>;

#[derive(Default)]
struct Meeting {
    present: usize,
    number: u64,
    is_broken: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(size: usize, family: &Family) -> Arc<Self> {
        let shared = Arc::new(Self {
            size,
            meeting: Mutex::default(),
            all_came: Condvar::new(),
            words: Mutex::default(),
            rows: Mutex::default(),
            inboxes: (0..size).map(|_| Mutex::default()).collect(),
            parts: Mutex::default(),
            family: Arc::clone(family),
        });
        locked(family).push(Arc::downgrade(&shared));
        shared
    }

    fn meet(&self) {
        self.meet_and(|| ());
    }

    /// Waits for all ranks. The last one to arrive calls `last` first.
    fn meet_and(&self, last: impl FnOnce()) {
        let mut meeting = locked(&self.meeting);
        meeting.present += 1;
        if meeting.present == self.size {
            last();
            meeting.present = 0;
            meeting.number += 1;
            self.all_came.notify_all();
        } else {
            let number = meeting.number;
            while meeting.number == number && !meeting.is_broken {
                meeting = self.all_came.wait(meeting).unwrap_or_else(PoisonError::into_inner);
            }
        }
        assert!(!meeting.is_broken, "another rank has panicked");
    }
}

/// If this rank panics, all waiting ranks panic, too.
struct Guard(Family);

impl Drop for Guard {
    fn drop(&mut self) {
        if thread::panicking() {
            for shared in locked(&self.0).iter().filter_map(Weak::upgrade) {
                locked(&shared.meeting).is_broken = true;
                shared.all_came.notify_all();
            }
        }
    }
}

impl Threads {
    /// Runs `work` on `size` ranks and returns the results, in rank order.
    ///
    /// # Panics
    /// If a rank panics, or the system cannot start a thread for one.
    pub fn run<T: Send>(size: usize, work: impl Fn(Self) -> T + Sync) -> Vec<T> {
        let shared = Shared::new(size, &Family::default());
        thread::scope(|scope| {
            let _guard = Guard(Arc::clone(&shared.family));
            let ranks: Vec<_> = (0..size)
                .map(|rank| {
                    let (shared, work) = (Arc::clone(&shared), &work);
                    let ranks = move || {
                        let _guard = Guard(Arc::clone(&shared.family));
                        work(Self { rank, shared })
                    };
                    let named = thread::Builder::new().name(format!("rank {rank}")).stack_size(1 << 20);
                    named.spawn_scoped(scope, ranks).expect("a thread per rank")
                })
                .collect();
            ranks
                .into_iter()
                .map(|rank| rank.join().expect("no rank panics"))
                .collect()
        })
    }

    fn reduce(&self, words: &mut [u64], join: impl Fn(u64, u64) -> u64) {
        {
            let mut joined = locked(&self.shared.words);
            joined.resize(words.len(), 0);
            for (joined, &own) in joined.iter_mut().zip(&*words) {
                *joined = join(*joined, own);
            }
        }
        self.shared.meet();
        words.copy_from_slice(&locked(&self.shared.words));
        self.shared.meet_and(|| locked(&self.shared.words).clear());
    }

    /// Calls `lay` on shared bytes on each rank, then returns the bytes.
    fn write_shared(&self, lay: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        lay(&mut locked(&self.shared.rows));
        self.shared.meet();
        let rows = locked(&self.shared.rows).clone();
        self.shared.meet_and(|| locked(&self.shared.rows).clear());
        rows
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn rank_on_machine(&self) -> usize {
        self.rank
    }

    fn sum(&self, words: &mut [u64]) {
        self.reduce(words, u64::wrapping_add);
    }

    fn largest(&self, words: &mut [u64]) {
        self.reduce(words, u64::max);
    }

    fn gather(&self, row: &[u8]) -> Vec<u8> {
        self.write_shared(|rows| {
            rows.resize(row.len() * self.size(), 0);
            rows[self.rank * row.len()..][..row.len()].copy_from_slice(row);
        })
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        let from_root = self.write_shared(|rows| {
            if self.rank == root {
                *rows = bytes.to_vec();
            }
        });
        bytes.copy_from_slice(&from_root);
    }

    fn exchange(&self, messages: Messages) -> Messages {
        for (to, message) in messages {
            locked(&self.shared.inboxes[to]).push((self.rank, message));
        }
        self.shared.meet();
        let mut inbox = std::mem::take(&mut *locked(&self.shared.inboxes[self.rank]));
        self.shared.meet();
        inbox.sort_by_key(|(from, _)| *from);
        inbox
    }

    fn split(&self, part: usize) -> Self {
        locked(&self.shared.parts)
            .entry(part)
            .or_default()
            .ranks
            .push(self.rank);
        self.shared.meet();
        let (rank, shared) = {
            let mut parts = locked(&self.shared.parts);
            let Part { ranks, shared } = parts.get_mut(&part).expect("this rank has named it");
            ranks.sort_unstable();
            let size = ranks.len();
            let shared = shared.get_or_insert_with(|| Shared::new(size, &self.shared.family));
            let rank = ranks.binary_search(&self.rank).expect("this rank is among them");
            (rank, Arc::clone(shared))
        };
        self.shared.meet();
        if self.rank == 0 {
            locked(&self.shared.parts).clear();
        }
        self.shared.meet();
        Self { rank, shared }
    }
}
