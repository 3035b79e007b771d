//! Takes a RenderDoc capture of one step, to look into in RenderDoc's own window: each stage is a group of the event
//! browser, under its label, and each buffer has its name.
//!
//! ```sh
//! cargo run --example capture -- [--output DIR]
//! ```
//!
//! RenderDoc has to be there before a device is made, so the example starts itself once more with `renderdoccmd
//! capture`. Debian and Ubuntu have that in the package `renderdoccmd`; RenderDoc for Windows brings it, in a folder
//! that the PATH has to name. A screen is not needed. Not with `--release`: wgpu looks for RenderDoc only where debug
//! assertions are on. `--step` makes the step alone, for those who launch the program from RenderDoc's window.
//!
//! A renderer puts the same two calls around a frame of its own, as `step` in `capture.rs` does.

mod capture;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let output = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--step"] => return print_stages(),
        [] => std::env::temp_dir().join("gpu_broad_phase"),
        ["--output", directory] => Path::new(directory).to_owned(),
        _ => return Err("usage: capture [--output DIR]".into()),
    };
    let file = capture::launch(&output, &["--step"])?;
    println!("wrote {0}; to look at it: qrenderdoc {0}", file.display());
    Ok(())
}

fn print_stages() -> Result<(), Box<dyn Error>> {
    let result = capture::step()?;
    println!("{} pairs; the stages, which end the labels:", result.pairs.len());
    for time in &result.timings {
        println!("  {}", time.stage);
    }
    Ok(())
}
