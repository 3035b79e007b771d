//! The program `broadphase-mpi`; `broadphase-mpi --help` tells the rest. A library, so that tests can run it over
//! ranks that are stopped.

#![forbid(unsafe_code)]

mod args;
mod read;
mod report;
mod run;
mod write;

use std::panic;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Parser as _;
use gpu_broad_phase_mpi::{Communicator, Processes};
use mpi::Threading;
use mpi::traits::Communicator as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use args::Cli;
use run::run;

/// Bad usage or input.
const BAD: u8 = 2;

/// Whether the run is over.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Runs the command that the process was given, over the ranks that `wrap` makes of those of MPI.
pub fn main_over<C: Communicator>(wrap: impl FnOnce(Processes) -> C) -> ExitCode {
    // Drivers of GPUs have threads of their own, which leave MPI alone.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("broadphase-mpi: MPI does not start");
        return ExitCode::from(BAD);
    };
    let world = universe.world();
    let is_first = world.rank() == 0;
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // All ranks have the same arguments. One tells.
        Err(error) => {
            if is_first {
                let _ = error.print();
            }
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    clean_up_when_stopped();
    let rank = world.rank();
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        told(panicked);
        eprintln!("broadphase-mpi: rank {rank} panicked");
        write::remove_part();
        // The others would wait for this rank.
        mpi::topology::SimpleCommunicator::world().abort(101);
    }));
    let result = run(&cli, wrap(Processes::new(&world)));
    ENDS.store(true, Ordering::Relaxed);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            write::remove_part();
            if is_first {
                eprintln!("broadphase-mpi: {error}");
            }
            ExitCode::from(BAD)
        }
    }
}

/// Removes a file that is not whole when the process is told to end, as all are when one of them dies.
fn clean_up_when_stopped() {
    // Where signals cannot be taken, the file stays.
    let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGHUP]) else {
        return;
    };
    thread::spawn(move || {
        for signal in signals.forever() {
            // The first rank that ends in error has the others told to end, which are about to, and with its status.
            if !ENDS.load(Ordering::Relaxed) {
                write::remove_part();
                std::process::exit(128 + signal);
            }
        }
    });
}
