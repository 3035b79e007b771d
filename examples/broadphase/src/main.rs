//! The command line of gpu-broad-phase; `broadphase --help` tells the rest.

mod args;
mod engine;
mod generate;
mod heatmap;
mod info;
mod input;
mod mesh;
mod neighbors;
mod output;
mod pairs;
mod query;
mod rays;
mod report;
mod stats;
mod verify;

use std::io;
use std::process::ExitCode;

use anyhow::{Error, Result};
use clap::Parser;
use gpu_broad_phase::{Counters, CreateError, HeadlessError};

use args::{Cli, Command};
use report::Reporter;

/// How a command that could run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Done,
    /// The answer is not whole, or a check failed.
    NotWhole,
}

impl Status {
    /// Buffers grow, so that all that can be missing is what a driver cut off.
    fn of(counters: &Counters, reporter: Reporter) -> Self {
        if counters.is_whole() {
            return Self::Done;
        }
        reporter.warn("not whole: the driver ended loops before they were done");
        Self::NotWhole
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return tell_usage(&error),
    };
    let reporter = Reporter { quiet: cli.quiet };
    match run(&cli.command, reporter) {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::NotWhole) => ExitCode::from(1),
        // Whoever reads our output has seen enough of it.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            reporter.warn(format!("{error:#}").replace(['\n', '\r'], " "));
            ExitCode::from(if is_ours(&error) { 1 } else { 2 })
        }
    }
}

/// Help goes out as it is; what is wrong with a command takes one line, as all other errors do.
fn tell_usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    let whole = matches!(
        error.kind(),
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand
    );
    if whole {
        // Whoever reads our output has seen enough of it.
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    let text = error.to_string();
    // What is missing stands in lines of its own, up to the first empty one.
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    eprintln!("broadphase: {} (--help tells more)", line.trim_start_matches("error: "));
    ExitCode::from(2)
}

fn run(command: &Command, reporter: Reporter) -> Result<Status> {
    match command {
        Command::Info(args) => info::run(args, reporter),
        Command::Pairs(args) => pairs::run(args, reporter),
        Command::Rays(args) => rays::run(args, reporter),
        Command::Query(args) => query::run(args, reporter),
        Command::Neighbors(args) => neighbors::run(args, reporter),
        Command::Verify(args) => verify::run(args, reporter),
        Command::Generate(args) => generate::run(args, reporter),
        Command::Stats(args) => stats::run(args, reporter),
        Command::Heatmap(args) => heatmap::run(args, reporter),
    }
}

fn is_broken_pipe(error: &Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Usage and input were good, and still there is no whole answer.
fn is_ours(error: &Error) -> bool {
    match error.downcast_ref::<HeadlessError>() {
        Some(HeadlessError::NoAdapter { .. } | HeadlessError::NoDevice(_)) => false,
        Some(HeadlessError::Create(CreateError::Descriptor(_))) => false,
        Some(_) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_broad_phase::STATUS_CUT;

    #[test]
    fn a_walk_that_was_cut_is_not_whole() {
        let reporter = Reporter { quiet: true };
        let cut = Counters {
            status: STATUS_CUT,
            ..Counters::default()
        };
        assert_eq!(Status::of(&cut, reporter), Status::NotWhole);
        assert_eq!(Status::of(&Counters::default(), reporter), Status::Done);
    }
}
