//! The definition of an answer, and the compute passes in plain Rust.
//!
//! [`brute_force`] tests every box against every other. [`cull()`] lists what views see. [`why()`] gives the reasons
//! why two objects are a pair or not. [`cpu`](crate::cpu) has the answers of a step on the CPU.
//!
//! `pairs::pair_count` in `pairs/pair_count.rs` is the reference pass of `shaders/pairs/pair_count.wgsl`, and so on in
//! the folder of each stage. It returns or fills what the pass writes, with the same bytes. The CPU engine builds its
//! table with these passes and finds its answers by their walks. A trace runs all of them and keeps every buffer; tests
//! run each pass on the output of the reference passes before it and compare buffers. Four things are not compared byte
//! for byte: box tests of rays, the order of a ray's hits under [`Scheme::Uniform`](crate::Scheme::Uniform), the cells
//! of rays, which are chosen in floating point with a margin, and words that a pass leaves unwritten.

pub mod brute_force;
pub(crate) mod cull;
pub(crate) mod dispatch;
pub(crate) mod draw;
pub(crate) mod events;
pub(crate) mod given;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod look;
pub(crate) mod order;
pub(crate) mod pairs;
pub(crate) mod params;
pub(crate) mod queries;
pub(crate) mod rays;
pub(crate) mod reads;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod table;
pub(crate) mod trace;
pub mod why;

pub use cull::visible::cull;
pub use why::why;
