//! Compiles a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) alone. Then errors have its own line numbers,
//! and it cannot use names of the shaders.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::api::error::PairFilterError;
use crate::gpu::scope::Scopes;

pub(crate) const REPLACED: &str = "pairs/admits_pair";

/// WGSL appended to the filter: functions that it may call, as in `shaders/pairs/pair_excludes.wgsl`, and an entry
/// point that calls it.
const FRAME: &str = "
fn pair_data(index: u32) -> u32 { return index; }
fn pair_data_count() -> u32 { return 0u; }
fn pair_layers(object: u32) -> u32 { return object; }
fn pair_group(object: u32) -> u32 { return object; }

var<workgroup> admitted: u32;

@compute @workgroup_size(1)
fn main(@builtin(local_invocation_index) a: u32) {
    let admits: bool = admits_pair(a, a + 1u);
    admitted = u32(admits);
}
";

/// Fails if the device rejects the filter. Browsers report a rejection later, with the pipelines.
pub(crate) fn check(device: &wgpu::Device, label: &str, text: &str) -> Result<(), PairFilterError> {
    let scopes = Scopes::begin(device);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&format!("{label}/pair_filter")),
        source: wgpu::ShaderSource::Wgsl(format!("{text}{FRAME}").into()),
    });
    let Some(message) = scopes.end().now() else {
        return Ok(());
    };
    let info = pin!(module.get_compilation_info());
    let place = match info.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(info) => info.messages.into_iter().find_map(|message| message.location),
        Poll::Pending => None,
    };
    let lines = text.split('\n').count() as u32;
    Err(match place {
        Some(place) if place.line_number <= lines => PairFilterError::Compile {
            line: match place.length > longest_line(text) {
                true => marked_line(&message).unwrap_or(place.line_number),
                false => place.line_number,
            },
            message,
        },
        // The error is in `FRAME`, where the filter is called.
        _ => PairFilterError::Signature { message },
    })
}

fn longest_line(text: &str) -> u32 {
    text.lines().map(str::len).max().unwrap_or(0) as u32
}

/// First line that a wgpu message underlines. The message may show the whole function before it.
fn marked_line(message: &str) -> Option<u32> {
    let mut number = None;
    for line in message.lines() {
        let Some((before, marks)) = line.split_once('│') else {
            continue;
        };
        match before.trim().parse() {
            Ok(shown) => number = Some(shown),
            Err(_) if marks.trim_start_matches([' ', '│']).starts_with('^') => return number,
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::wgsl::FILES;

    #[test]
    fn the_functions_that_a_text_may_call_are_those_of_the_passes() {
        let (_, text) = FILES.iter().find(|(path, _)| *path == "pairs/pair_excludes").unwrap();
        let declared = |text: &'static str| -> Vec<_> {
            let lines = text.lines().filter(|line| line.starts_with("fn pair_"));
            lines
                .filter_map(|line| line.split_once(" {"))
                .map(|(line, _)| line)
                .collect()
        };
        assert_eq!(declared(FRAME), declared(text));
        assert_eq!(declared(FRAME).len(), 4);
    }

    #[test]
    fn the_marked_line_is_that_above_the_signs() {
        let message = "
Shader validation error: Function [0] 'admits_pair' is invalid
  ┌─ gpu_broad_phase/pair_filter:1:1
  │
1 │ ╭ fn admits_pair(a: u32, b: u32) -> bool {
2 │ │ // 3 │ ^
3 │ │ return a + b; }
  │ │        ^^^^^ naga::ir::Expression [2]
  │ ╰───────────────^ naga::ir::Function [0]";
        assert_eq!(marked_line(message), Some(3));
        assert_eq!(marked_line(&message.replace("        ^^^^^ naga", "")), None);
    }

    #[test]
    fn no_file_but_one_declares_names_that_begin_as_those_of_a_text() {
        for (path, text) in FILES.iter().filter(|(path, _)| *path != REPLACED) {
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let taken: Vec<_> = words.filter(|word| word.starts_with("admits_")).collect();
            let may_call = *path == "pairs/pair_excludes";
            assert!(
                taken.iter().all(|&word| may_call && word == "admits_pair"),
                "{path}: {taken:?}"
            );
        }
    }
}
