use std::process::ExitCode;

fn main() -> ExitCode {
    broadphase_mpi::main_over(|world| world)
}
