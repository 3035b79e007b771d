use std::env;
use std::process::ExitCode;

#[allow(unsafe_code, reason = "the layer can only be switched by the environment")]
fn main() -> ExitCode {
    // Switches off Mesa's device-select layer, which prints an error without `XDG_RUNTIME_DIR`.
    if cfg!(target_os = "linux") && env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: no other thread runs yet.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
    broadphase::main()
}
