//! The program `broadphase-mpi` as a library, so that tests can wrap its communicator.

#![forbid(unsafe_code)]

mod args;
mod neighbors;
mod read;
mod report;
mod route;
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

/// Exit status for bad usage or input.
const BAD: u8 = 2;

static HAS_RETURNED: AtomicBool = AtomicBool::new(false);

pub fn main_over<C: Communicator>(wrap: impl FnOnce(Processes) -> C) -> ExitCode {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("broadphase-mpi: MPI does not start");
        return ExitCode::from(BAD);
    };
    let world = universe.world();
    let is_first = world.rank() == 0;
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
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
        // Otherwise the other ranks would wait for this one.
        mpi::topology::SimpleCommunicator::world().abort(101);
    }));
    let result = run(&cli, wrap(Processes::new(&world)));
    HAS_RETURNED.store(true, Ordering::Relaxed);
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

/// Removes the incomplete output on a signal. mpirun signals all ranks if one dies.
fn clean_up_when_stopped() {
    let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGHUP]) else {
        return;
    };
    thread::spawn(move || {
        for signal in signals.forever() {
            // Ignores the signal after `run`: after an error, mpirun also signals ranks that already exit.
            if !HAS_RETURNED.load(Ordering::Relaxed) {
                write::remove_part();
                std::process::exit(128 + signal);
            }
        }
    });
}
