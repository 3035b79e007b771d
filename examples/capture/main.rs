//! For profiling: a RenderDoc capture of one step. In the event browser, stages are labelled groups, buffers named.
//!
//! ```sh
//! cargo run --example capture -- [--output DIR]
//! ```
//!
//! RenderDoc must be loaded before the device, so the example restarts itself with `renderdoccmd capture` (package
//! `renderdoccmd` of Debian and Ubuntu; on Windows, put RenderDoc's folder on the PATH). wgpu looks for RenderDoc only
//! without `--release`. `--step` only runs the step, for RenderDoc's window.
//!
//! To capture a frame of your renderer, use the two capture calls in `step` of `capture.rs`.

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
