//! Checks of the native tests, in a browser. Everything is awaited, and nothing blocks.

#[path = "../../common/golden.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod golden;
mod gpu;
mod modules;
mod scenes;
mod times;
mod troubles;

use gpu::{Gpu, Kind};
use gpu_broad_phase::RayMode;
use wild::answers::RAY_MODES;

pub type Say<'s> = &'s dyn Fn(&str);

pub async fn run(say: Say<'_>) {
    let plain = Gpu::open(Kind::Plain).await;
    // A browser's adapter has no name here; the page reports it.
    if !plain.info.name.is_empty() {
        say(&format!("adapter: {} ({})", plain.info.name, plain.info.backend));
    }
    modules::compile(&plain, say).await;
    scenes::fixed(&plain, &RAY_MODES, say).await;
    scenes::events(&plain, say).await;
    scenes::queries(&plain, say).await;
    scenes::statics(&plain, say).await;
    scenes::strided(&plain, say).await;
    scenes::parted(&plain, say).await;
    scenes::culling(&plain, say).await;
    scenes::own_shader(&plain, say).await;
    scenes::later(&plain, say).await;
    troubles::too_large(&plain, say).await;
    plain.check();
    let rich = Gpu::open(Kind::Rich).await;
    say(&format!("features: {}", rich.device.features()));
    scenes::fixed(&rich, &[RayMode::Closest], say).await;
    rich.check();
    scenes::headless(say).await;
    troubles::lost(say).await;
}

pub async fn golden(say: Say<'_>) {
    let plain = Gpu::open(Kind::Plain).await;
    scenes::fixed(&plain, &RAY_MODES, say).await;
    scenes::events(&plain, say).await;
    plain.check();
}

pub async fn time(counts: &[u32], say: Say<'_>) {
    let gpu = Gpu::open(Kind::Rich).await;
    for &count in counts {
        times::step(&gpu, count, say).await;
    }
    gpu.check();
}

#[cfg(target_arch = "wasm32")]
mod page {
    use wasm_bindgen::prelude::*;

    fn speaker(function: &js_sys::Function) -> impl Fn(&str) {
        move |line| {
            let told = function.call1(&JsValue::NULL, &line.into());
            told.expect("the page takes lines");
        }
    }

    #[wasm_bindgen(start)]
    fn start() {
        console_error_panic_hook::set_once();
    }

    #[wasm_bindgen]
    pub async fn run(say: js_sys::Function) {
        super::run(&speaker(&say)).await;
    }

    #[wasm_bindgen]
    pub async fn time(counts: Vec<u32>, say: js_sys::Function) {
        super::time(&counts, &speaker(&say)).await;
    }
}
