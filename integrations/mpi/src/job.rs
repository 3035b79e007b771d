//! A program that all ranks run, and that ends on all of them when it fails on one.

use std::fmt::Display;

use mpi::Threading;
use mpi::traits::Communicator as _;

use crate::processes::{AbortOnPanic, Processes};

/// Starts MPI and runs a program on this rank, with the ranks of all processes. Call it in `main`.
///
/// If the program returns an error or panics on any rank, the job ends (`MPI_Abort`) with status 1 or 101, and the rank
/// prints its number and the error. Without that, the others would wait for the rank until the job's time is up.
///
/// # Panics
/// If MPI was started before.
pub fn run<E: Display>(program: impl FnOnce(Processes) -> Result<(), E>) {
    // Drivers of GPUs have threads of their own, which leave MPI alone.
    let started = mpi::initialize_with_threading(Threading::Funneled);
    let (universe, _) = started.expect("MPI is started once, and by nobody else");
    let world = universe.world();
    let guard = AbortOnPanic;
    if let Err(error) = program(Processes::new(&world)) {
        eprintln!("rank {} ends the job: {error}", world.rank());
        world.abort(1);
    }
    drop(guard);
}
