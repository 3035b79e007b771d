//! The command line of gpu-broad-phase.

use std::env;
use std::process::ExitCode;

#[allow(unsafe_code, reason = "the environment is the only switch that the layer has")]
fn main() -> ExitCode {
    // A Vulkan layer of Mesa's asks the Wayland display for its GPU, and complains on standard error if there is no
    // folder to look for the display in. The library ranks adapters itself.
    if cfg!(target_os = "linux") && env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: no other thread runs yet.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
    broadphase::main()
}
