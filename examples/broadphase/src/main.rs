//! The command line of gpu-broad-phase.

use std::process::ExitCode;

fn main() -> ExitCode {
    broadphase::main()
}
