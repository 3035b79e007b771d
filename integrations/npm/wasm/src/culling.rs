//! Culling on the GPU, and rows of views.

use bytemuck::pod_collect_to_vec;
use gpu_broad_phase::{CullDraw, CullOptions, CullOutput, Culling, Frustum, Source, StepError, Visible};
use js_sys::Uint32Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::buffer::{Buffer, JsBuffer, js_buffer};
use crate::failure::Failure;
use crate::gpu::{Gpu, reading_encoder};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "Promise<VisibleAnswer>")]
    pub type PromisedVisible;
}

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum CullBuffer {
    Visible,
    Lists,
    Offsets,
    Draws,
    Counters,
}

/// Returns the planes of a camera, four floats each.
#[wasm_bindgen]
pub fn planes_of(view_projection: &[f32]) -> Vec<f32> {
    let matrix = std::array::from_fn(|column| std::array::from_fn(|row| view_projection[4 * column + row]));
    let view = Frustum::from_view_projection(matrix);
    view.planes[..view.plane_count as usize].concat()
}

pub fn views_of(words: &[u32]) -> Vec<Frustum> {
    pod_collect_to_vec(words)
}

#[wasm_bindgen]
pub struct VisibleAnswer(Visible);

impl From<Visible> for VisibleAnswer {
    fn from(visible: Visible) -> Self {
        Self(visible)
    }
}

#[wasm_bindgen]
impl VisibleAnswer {
    pub fn objects(&self) -> Uint32Array {
        self.0.objects.concat().as_slice().into()
    }

    pub fn offsets(&self) -> Uint32Array {
        let mut end = 0;
        let ends = self.0.objects.iter().map(|view| {
            end += view.len() as u32;
            end
        });
        let offsets: Vec<_> = std::iter::once(0).chain(ends).collect();
        offsets.as_slice().into()
    }

    pub fn invalid(&self) -> u32 {
        self.0.invalid
    }
}

#[wasm_bindgen]
pub struct Culler {
    culling: Culling,
    options: CullOptions,
    output: Option<CullOutput>,
}

#[wasm_bindgen]
impl Culler {
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "TypeScript calls it")]
    pub fn new() -> Self {
        Self {
            culling: Culling::new(None),
            options: CullOptions::default(),
            output: None,
        }
    }

    /// Options of later calls. Draws have `draw_count` vertices, or indices.
    pub fn set_options(&mut self, list_capacity: Option<u32>, draw_count: Option<u32>, is_indexed: bool) {
        let draw = if is_indexed {
            CullDraw::Indices
        } else {
            CullDraw::Vertices
        };
        self.options = CullOptions {
            list_capacity,
            draw: draw_count.map(draw),
        };
    }

    pub fn cull(&mut self, gpu: &Gpu, views: &[u32]) -> Result<(), JsValue> {
        self.submitted(gpu, Source::Host(&views_of(views)))
    }

    pub fn cull_rows(&mut self, gpu: &Gpu, views: &Buffer, count: u32, offset: f64) -> Result<(), JsValue> {
        self.submitted(gpu, Source::device(views.buffer(), count).at(offset as u64))
    }

    fn submitted(&mut self, gpu: &Gpu, views: Source<'_, Frustum>) -> Result<(), JsValue> {
        let (device, queue) = gpu.device_and_queue();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("gpu_broad_phase/cull"),
        });
        let step = gpu.last().map_err(Failure::from)?;
        let made = self.culling.record(&mut encoder, step, views, self.options);
        self.output = Some(made.map_err(Failure::from)?);
        queue.submit([encoder.finish()]);
        Ok(())
    }

    pub fn output(&self, which: CullBuffer) -> Result<Option<JsBuffer>, JsValue> {
        let found = self.output.as_ref().and_then(|output| match which {
            CullBuffer::Visible => Some(&output.visible),
            CullBuffer::Lists => Some(&output.lists.as_ref()?.buffer),
            CullBuffer::Offsets => Some(&output.lists.as_ref()?.offsets),
            CullBuffer::Draws => output.draws.as_ref(),
            CullBuffer::Counters => Some(&output.counters),
        });
        Ok(found.map(js_buffer).transpose()?)
    }

    pub fn words(&self) -> u32 {
        self.output.as_ref().map_or(0, |output| output.words)
    }

    pub fn capacity(&self) -> u32 {
        let lists = self.output.as_ref().and_then(|output| output.lists.as_ref());
        lists.map_or(0, |lists| lists.capacity)
    }

    pub fn read(&self, gpu: &Gpu) -> Result<PromisedVisible, JsValue> {
        let (device, queue) = gpu.device_and_queue();
        let mut encoder = reading_encoder(device);
        let later: Result<_, StepError> = self.culling.record_read_back(&mut encoder);
        let later = later.map_err(Failure::from)?;
        queue.submit([encoder.finish()]);
        let promise = future_to_promise(async move {
            let found = later.await.map_err(Failure::from)?;
            Ok(VisibleAnswer::from(found).into())
        });
        Ok(promise.unchecked_into())
    }
}
