use std::fmt::Display;

use mpi::Threading;
use mpi::traits::Communicator as _;

use crate::processes::{AbortOnPanic, Processes};

/// Starts MPI and runs `program` on this rank. Call it in `main`.
///
/// If `program` returns an error or panics, the rank prints it and ends the job (`MPI_Abort`) with status 1 or 101.
/// Otherwise the other ranks would wait for it.
///
/// # Panics
/// If MPI was started before.
pub fn run<E: Display>(program: impl FnOnce(Processes) -> Result<(), E>) {
    // GPU drivers start threads, but these never call MPI.
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
