//! Internal interface for the TypeScript code of the npm package.
//!
//! TypeScript writes inputs to device buffers and reads outputs from them. Data never passes through this module's
//! memory. Pending futures do not borrow the broad phase.
#![cfg(target_arch = "wasm32")]

mod answer;
mod buffer;
mod cpu;
mod culling;
mod failure;
mod gpu;
mod input;
mod settings;
mod table_text;

#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}
