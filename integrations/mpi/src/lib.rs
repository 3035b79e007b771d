//! A broad phase for a world spread over MPI ranks, a GPU each: overlapping pairs, rays, queries and neighbours.
//!
//! Each rank holds some boxes ([`Owned`]) and owns a region of space. [`Ranks::balance`] moves borders and sends boxes
//! to their new ranks. [`Ranks::step`] sends boxes to the ranks whose regions they overlap, and finds the pairs on each
//! rank's device. Together, results equal those of the undivided world, each pair on one rank. [`Ranks::closest_hits`],
//! [`Ranks::query`], [`Ranks::nearest`] and [`Ranks::neighbors`] search all ranks.
//!
//! Boxes are `f32`. For `f64` coordinates far from zero, all ranks measure from one
//! [`LocalOrigin`](gpu_broad_phase::LocalOrigin), which they choose from a [`common_sample`].
//!
//! [`Processes`] are the ranks of an MPI communicator, and [`run`] starts MPI. [`Threads`] are ranks in one process,
//! for tests and to count the traffic of a thousand ranks.
//!
//! ```
//! use gpu_broad_phase::Aabb;
//! use gpu_broad_phase_mpi::{Communicator, Device, Owned, Ranks, RanksDescriptor, Threads};
//!
//! let found = Threads::run(3, |threads| {
//!     let rank = threads.rank();
//!     // Boxes in a row, each touching the next. Every third one begins on this rank.
//!     let mut owned = Owned::default();
//!     owned.moving.ids = (0..30).filter(|id| id % 3 == rank as u64).collect();
//!     let boxed = |&id: &u64| Aabb::new([id as f32, 0.0, 0.0], [id as f32 + 1.0, 1.0, 1.0]);
//!     owned.moving.boxes = owned.moving.ids.iter().map(boxed).collect();
//!
//!     let descriptor = RanksDescriptor { device: Device::Cpu, ..RanksDescriptor::default() };
//!     let mut ranks = Ranks::new(threads, &descriptor)?;
//!     ranks.balance(&mut owned)?;
//!     assert_eq!(owned.moving.len(), 10);
//!     ranks.step(&owned)
//! });
//! let mut pairs: Vec<_> = found.into_iter().flat_map(|step| step.unwrap().pairs).collect();
//! pairs.sort();
//! let expected: Vec<_> = (0..29).map(|id| [id, id + 1]).collect();
//! assert_eq!(pairs, expected);
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod agreement;
mod asking;
mod balance;
mod bisection;
mod communicator;
mod engine;
mod job;
mod local;
mod owned;
mod partition;
mod processes;
mod queries;
mod ranks;
mod rays;
mod sample;
mod step;
mod threads;
mod traffic;

pub use agreement::{RankError, agreed};
pub use asking::Rows;
pub use balance::Balance;
pub use communicator::{Communicator, Messages};
pub use engine::Device;
pub use job::run;
pub use owned::{Objects, Owned};
pub use processes::Processes;
pub use queries::Near;
pub use ranks::{Ranks, RanksDescriptor};
pub use rays::{Cast, Hit};
pub use sample::common_sample;
pub use step::StepPairs;
pub use threads::Threads;
pub use traffic::{Stage, Traffic};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
