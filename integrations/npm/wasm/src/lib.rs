//! What the TypeScript of the npm package calls. Nothing here is for callers of the package.
//!
//! Inputs of the GPU lie in buffers of the device, which TypeScript fills, and TypeScript reads the outputs from
//! theirs. So neither passes through the memory of this module, and a step can be repeated with larger outputs. Nothing
//! that is awaited here keeps hold of the broad phase.
#![cfg(target_arch = "wasm32")]

mod answer;
mod buffer;
mod cpu;
mod failure;
mod gpu;
mod input;
mod settings;

#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}
