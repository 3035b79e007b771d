//! WGSL that searches the table, and its bindings.

use gpu_broad_phase::TableShader;
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::prelude::*;

use crate::buffer::js_buffer;
use crate::failure::Failure;
use crate::gpu::Gpu;
use crate::settings::Settings;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "GPUBindGroupLayoutEntry[]")]
    pub type JsLayoutEntries;
    #[wasm_bindgen(typescript_type = "GPUBindGroupEntry[]")]
    pub type JsEntries;
}

#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Casts {
    Nothing,
    Plain,
    Swept,
}

#[wasm_bindgen]
pub struct TableText(TableShader);

#[wasm_bindgen]
impl TableText {
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &Settings, prefix: &str, group: u32, casts: Casts) -> Result<Self, JsValue> {
        let make = match casts {
            Casts::Nothing => TableShader::new,
            Casts::Plain => TableShader::with_rays,
            Casts::Swept => TableShader::with_swept_rays,
        };
        let made = make(&settings.descriptor(), prefix, group);
        Ok(Self(made.map_err(Failure::from)?))
    }

    pub fn second(&self, prefix: &str, group: u32) -> Result<Self, JsValue> {
        Ok(Self(self.0.second_table(prefix, group).map_err(Failure::from)?))
    }

    pub fn source(&self) -> String {
        self.0.source().to_owned()
    }

    pub fn layout_entries(&self, visibility: u32) -> JsLayoutEntries {
        let entries = self.0.layout_entries(wgpu::ShaderStages::empty()).into_iter();
        let entry = |entry: wgpu::BindGroupLayoutEntry| {
            let is_uniform = matches!(
                entry.ty,
                wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    ..
                }
            );
            let kind = if is_uniform { "uniform" } else { "read-only-storage" };
            object(&[
                ("binding", entry.binding.into()),
                ("visibility", visibility.into()),
                ("buffer", object(&[("type", kind.into())])),
            ])
        };
        JsValue::from(entries.map(entry).collect::<Array>()).unchecked_into()
    }

    /// Bindings of the last step's table, or of its table of static objects.
    pub fn entries(&self, gpu: &Gpu, of_statics: bool) -> Result<JsEntries, JsValue> {
        let step = gpu.last().map_err(Failure::from)?;
        let table = if of_statics {
            let table = step.static_table.as_ref();
            table.ok_or_else(|| Failure::new(Failure::NO_RESULT, "the step has no static objects"))?
        } else {
            &step.table
        };
        let entries = Array::new();
        for entry in self.0.entries(table).map_err(Failure::from)? {
            if let wgpu::BindingResource::Buffer(range) = entry.resource {
                let size = range.size.map_or(JsValue::UNDEFINED, |size| (size.get() as f64).into());
                let resource = object(&[
                    ("buffer", js_buffer(range.buffer)?.into()),
                    ("offset", (range.offset as f64).into()),
                    ("size", size),
                ]);
                entries.push(&object(&[("binding", entry.binding.into()), ("resource", resource)]));
            }
        }
        Ok(JsValue::from(entries).unchecked_into())
    }
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}
