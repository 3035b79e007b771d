//! Device buffers with their TypeScript type.

use wasm_bindgen::prelude::*;

use crate::failure::Failure;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "GPUBuffer")]
    pub type JsBuffer;
}

#[wasm_bindgen]
pub struct Buffer {
    buffer: wgpu::Buffer,
}

#[wasm_bindgen]
impl Buffer {
    pub fn js(&self) -> Result<JsBuffer, JsValue> {
        Ok(js_buffer(&self.buffer)?)
    }
}

impl Buffer {
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl From<wgpu::Buffer> for Buffer {
    fn from(buffer: wgpu::Buffer) -> Self {
        Self { buffer }
    }
}

pub fn not_webgpu() -> Failure {
    Failure::new(Failure::OTHER, "this is no object of WebGPU")
}

pub fn js_buffer(buffer: &wgpu::Buffer) -> Result<JsBuffer, Failure> {
    let buffer = buffer.as_webgpu().ok_or_else(not_webgpu)?;
    Ok(JsValue::from(buffer.clone()).unchecked_into())
}
