//! Stages of a step: `cargo bench -p broadphase [-- OPTIONS]` is `broadphase bench` with these scenes and the options.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let fixed = [
        "broadphase",
        "bench",
        "uniform,power-law",
        "--engines",
        "gpu-broad-phase",
    ];
    // Cargo adds one of its own.
    let given = std::env::args_os().skip(1).filter(|argument| argument != "--bench");
    broadphase::main_with(fixed.into_iter().map(OsString::from).chain(given))
}
