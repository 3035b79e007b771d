//! Boxes that move on the GPU, coloured by their overlaps, with cells and a ray, in a browser. `build.sh` builds it.

mod app;
mod camera;
mod demo;
mod draw;
mod failure;
mod finder;
#[path = "../../gallery/src/frame_readback.rs"]
mod frame_readback;
mod gpu;
mod input;
mod page;
mod params;
mod settings;
mod swarm;
mod verify;
mod world;

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        page::say_broken(&panic.to_string());
    }));
    app::start();
}
