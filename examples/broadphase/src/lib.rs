//! The command line tool; see `broadphase --help`. It is a library for the fuzzer and the example `swept`.

pub mod args;
mod bench;
mod distance;
mod engine;
mod generate;
mod heatmap;
mod info;
pub mod input;
pub mod mesh;
mod nearest;
mod neighbors;
mod output;
mod pairs;
pub mod picture;
mod pipeline_cache;
mod query;
mod rays;
mod replay;
pub mod report;
mod stats;
mod step;
mod verify;
mod why;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Error, Result};
use gpu_broad_phase::{BroadPhaseError, Counters, DescriptorError, InputError};

use args::{Cli, Command};
use output::Unwritten;
use report::Reporter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Done,
    /// The answer is incomplete, or a check failed.
    NotWhole,
}

impl Status {
    /// `NotWhole` if rows are missing, which only an explicit capacity causes: outputs grow by default.
    fn of(counters: &Counters, reporter: Reporter) -> Self {
        if counters.is_complete() {
            return Self::Done;
        }
        reporter.warn("incomplete: results exceed the output capacity");
        Self::NotWhole
    }
}

pub fn main() -> ExitCode {
    let cli = match Cli::parse_from_arguments(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return print_usage_error(&error),
    };
    let reporter = Reporter { quiet: cli.quiet };
    let done = run(&cli.command, reporter);
    if done.is_ok() {
        for warning in input::take_warnings() {
            reporter.warn(warning);
        }
    }
    match done {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::NotWhole) => ExitCode::from(1),
        Err(error) => {
            let advice = advice(&cli.command, &error);
            reporter.warn(format!("{error:#}{advice}").replace(['\n', '\r'], " "));
            ExitCode::from(if is_runtime_failure(&error) { 1 } else { 2 })
        }
    }
}

fn print_usage_error(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    let whole = matches!(
        error.kind(),
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand
    );
    let reporter = Reporter { quiet: false };
    if whole && error.use_stderr() {
        reporter.say(error.to_string());
        return ExitCode::from(2);
    }
    if whole {
        return match output::print(|out| write!(out, "{error}")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                reporter.warn(format!("{error:#}"));
                ExitCode::from(1)
            }
        };
    }
    let text = error.to_string();
    // clap lists missing arguments on separate lines, up to the first empty one.
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // Drops clap's advice to pass a mistyped option as a file name.
    let tips = tips.filter(|tip| !tip.starts_with("to pass "));
    let tips: String = tips.map(|tip| format!("; {tip}")).collect();
    let line = without_middle(line.trim_start_matches("error: "));
    reporter.warn(format!("{line}{tips} (see --help)"));
    ExitCode::from(2)
}

/// Keeps both ends of a line that echoes long input: what is wrong, and why.
fn without_middle(line: &str) -> String {
    const KEPT: usize = 250;
    let count = line.chars().count();
    if count <= 2 * KEPT {
        return line.to_owned();
    }
    let start = line.chars().take(KEPT);
    start.chain(['…']).chain(line.chars().skip(count - KEPT)).collect()
}

fn run(command: &Command, reporter: Reporter) -> Result<Status> {
    match command {
        Command::Info(args) => info::run(args, reporter),
        Command::Pairs(args) => pairs::run(args, reporter),
        Command::Rays(args) => rays::run(args, reporter),
        Command::Query(args) => query::run(args, reporter),
        Command::Neighbors(args) => neighbors::run(args, reporter),
        Command::Verify(args) => verify::run(args, reporter),
        Command::Why(args) => why::run(args, reporter),
        Command::Replay(args) => replay::run(args, reporter),
        Command::Generate(args) => generate::run(args, reporter),
        Command::Stats(args) => stats::run(args, reporter),
        Command::Heatmap(args) => heatmap::run(args, reporter),
        Command::Bench(args) => bench::run(args, reporter),
    }
}

fn advice(command: &Command, error: &Error) -> &'static str {
    let is_too_large = match error.downcast_ref() {
        Some(BroadPhaseError::NoAdapter { .. }) => return "; see `broadphase info`",
        Some(BroadPhaseError::Input(error) | BroadPhaseError::Descriptor(DescriptorError::NoStepFits(error))) => {
            match error {
                InputError::BufferTooLarge { .. } | InputError::MemoryLimit { .. } => true,
                _ => return "",
            }
        }
        Some(
            BroadPhaseError::NoDevice(_)
            | BroadPhaseError::Create(_)
            | BroadPhaseError::Step(_)
            | BroadPhaseError::ReadBack(_)
            | BroadPhaseError::DeviceLost
            | BroadPhaseError::LoopsCut,
        ) => false,
        _ => return "",
    };
    match (command, is_too_large) {
        (Command::Verify(_), true) => ": verify a smaller scene",
        (Command::Verify(_), false) => "",
        (_, true) => ": use --backend cpu, or omit --backend and --adapter, and the CPU engine takes over",
        (_, false) => ": use --backend cpu",
    }
}

/// Returns true if usage and input were valid: exit status 1.
fn is_runtime_failure(error: &Error) -> bool {
    if error.is::<Unwritten>() {
        return true;
    }
    let of_input = |error: &InputError| matches!(error, InputError::BufferTooLarge { .. } | InputError::TooMany { .. });
    // All others are caused by a number that the user passed.
    let of_descriptor = |error: &DescriptorError| match error {
        DescriptorError::TooMany { .. } => true,
        DescriptorError::NoStepFits(error) => of_input(error),
        _ => false,
    };
    match error.downcast_ref() {
        None | Some(BroadPhaseError::NoAdapter { .. } | BroadPhaseError::NoDevice(_)) => false,
        Some(BroadPhaseError::Descriptor(error)) => of_descriptor(error),
        Some(BroadPhaseError::Input(error)) => of_input(error),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_broad_phase::Status as StepStatus;

    #[test]
    fn bad_sizes_are_the_callers_and_limits_are_ours() {
        let of_engine = |error: BroadPhaseError| Error::from(error).context("some adapter");
        for bad in [
            DescriptorError::CellSize(0.0),
            DescriptorError::MinScale(1e30),
            DescriptorError::ZeroCapacity { what: "pairs" },
        ] {
            assert!(!is_runtime_failure(&of_engine(bad.into())));
        }
        assert!(!is_runtime_failure(&of_engine(InputError::Radius(-1.0).into())));
        let (count, limit) = (1 << 33, 1 << 32);
        let too_many = DescriptorError::TooMany {
            what: "worlds",
            count,
            limit,
        };
        assert!(is_runtime_failure(&of_engine(too_many.into())));
        let what = "pairs";
        let too_large = InputError::TooMany { what, count, limit };
        assert!(is_runtime_failure(&of_engine(
            DescriptorError::NoStepFits(too_large.clone()).into()
        )));
        assert!(is_runtime_failure(&of_engine(too_large.into())));
        assert!(is_runtime_failure(
            &Error::msg("full").context(Unwritten("a.csv".to_owned()))
        ));
        assert!(!is_runtime_failure(&Error::msg("a.csv: line 1")));
    }

    #[test]
    fn errors_of_the_device_give_advice_for_this_command() {
        let advice = |arguments: &[&str], error: BroadPhaseError| {
            let cli = Cli::parse_from_arguments(arguments.iter().map(Into::into)).unwrap_or_else(|_| panic!());
            advice(&cli.command, &Error::from(error).context("some adapter"))
        };
        let too_large = || InputError::BufferTooLarge {
            what: "objects",
            needed: 2,
            limit: 1,
        };
        let (needed, limit) = (2, 1);
        let [pairs, verify] = [["broadphase", "pairs", "a.csv"], ["broadphase", "verify", "a.csv"]];
        for too_large in [
            too_large().into(),
            DescriptorError::NoStepFits(too_large()).into(),
            InputError::MemoryLimit { needed, limit }.into(),
        ] {
            assert!(advice(&pairs, too_large).starts_with(": use --backend cpu, or omit --backend"));
        }
        assert_eq!(advice(&verify, too_large().into()), ": verify a smaller scene");
        assert_eq!(advice(&pairs, BroadPhaseError::DeviceLost), ": use --backend cpu");
        assert_eq!(advice(&verify, BroadPhaseError::DeviceLost), "");
        let wanted = String::new();
        assert!(advice(&verify, BroadPhaseError::NoAdapter { wanted }).contains("broadphase info"));
        assert_eq!(advice(&pairs, InputError::Radius(-1.0).into()), "");
    }

    #[test]
    fn a_walk_without_enough_rounds_is_not_whole() {
        let reporter = Reporter { quiet: true };
        let cut = Counters {
            status: StepStatus::ROUNDS,
            ..Counters::default()
        };
        assert_eq!(Status::of(&cut, reporter), Status::NotWhole);
        assert_eq!(Status::of(&Counters::default(), reporter), Status::Done);
    }
}
