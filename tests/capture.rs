//! A RenderDoc capture shows every stage under its label. Skipped without RenderDoc, unless
//! `GPU_BROAD_PHASE_CAPTURE=1`.

mod common;

#[path = "../examples/capture/capture.rs"]
mod capture;

use std::process::Command;

use gpu_broad_phase::wgpu;
use tempfile::TempDir;

fn can_capture() -> bool {
    let is_required = std::env::var("GPU_BROAD_PHASE_CAPTURE").is_ok_and(|value| value != "0");
    let lacking = if !cfg!(debug_assertions) {
        "wgpu knows RenderDoc only where debug assertions are on"
    } else if Command::new("renderdoccmd").arg("version").output().is_err() {
        "no renderdoccmd on the PATH"
    } else if !common::adapters()
        .iter()
        .any(|adapter| adapter.backends == wgpu::Backends::VULKAN)
    {
        "no Vulkan adapter"
    } else {
        return true;
    };
    assert!(!is_required, "GPU_BROAD_PHASE_CAPTURE asks for a capture: {lacking}");
    eprintln!("skipped: {lacking}");
    false
}

#[test]
fn every_stage_has_its_label_in_a_capture() {
    if !can_capture() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = capture::launch(folder.path(), &["--exact", "the_step_that_is_captured", "--ignored"]).unwrap();
    let xml = folder.path().join("step.xml");
    let convert = Command::new("renderdoccmd")
        .args(["convert", "--convert-format", "xml", "--filename"])
        .arg(&file)
        .arg("--output")
        .arg(&xml)
        .output()
        .unwrap();
    assert!(xml.is_file(), "{convert:?}");
    let xml = std::fs::read_to_string(xml).unwrap();

    let labels = xml
        .split("name=\"vkCmdBeginDebugUtilsLabelEXT\"")
        .skip(1)
        .map(|command| {
            let (_, name) = command.split_once("name=\"pLabelName\"").unwrap();
            let (_, text) = name.split_once('>').unwrap();
            text.split_once('<').unwrap().0
        });
    // wgpu adds debug groups of its own.
    let labels = labels.filter(|label| label.starts_with(capture::LABEL));
    let shown: Vec<_> = labels.filter_map(|label| label.rsplit('/').next()).collect();

    let timings = capture::step().unwrap().timings;
    let stages: Vec<_> = timings.iter().map(|time| time.stage).collect();
    assert!(stages.len() > 20, "{stages:?}");
    assert_eq!(shown, stages);
    println!("{} stages", stages.len());
}

#[test]
#[ignore = "runs under RenderDoc, which the other test starts"]
fn the_step_that_is_captured() {
    capture::step().unwrap();
}
