//! A device buffer that mirrors boxes on the host. Writes are recorded in the encoder, so each step sees the boxes as
//! they were when it was recorded.

use std::sync::Arc;

use encase::UniformBuffer;

use crate::api::error::InputError;
use crate::api::input::count;
use crate::api::types::Aabb;
use crate::gpu::bindings::{Bindings, Range, RangeRef};
use crate::gpu::device_context::DeviceContext;
use crate::gpu::passes::WORKGROUP;
use crate::gpu::pipelines::{Groups, Pipelines};
use crate::gpu::preparation::Preparation;
use crate::gpu::scope::Scopes;
use crate::gpu::shader::passes;
use crate::gpu::staging::{self, Staging};
use crate::gpu::work_log::{self, Work, create_buffer};
use crate::layout::blocks::ScatterParams;
use crate::shared::bounds::binding_limit;
use crate::shared::recording::Recording;

passes! {
    "table" {
        SCATTER = "scatter";
    }
}

const LABEL: &str = "gpu_broad_phase";
const BOX_BYTES: u64 = size_of::<Aabb>() as u64;

#[derive(Default)]
pub(crate) struct Mirror {
    resident: Option<DeviceBoxes>,
    pub uploaded: u64,
}

/// Once all recordings have run, `buffer` contains the boxes of the last update.
struct DeviceBoxes {
    device: wgpu::Device,
    written: Option<Recording>,
    pipelines: Arc<Pipelines>,
    bindings: Bindings,
    uploads: Staging,
    changes: Staging,
    marks: Staging,
    buffer: wgpu::Buffer,
}

impl Mirror {
    /// Records the upload of changes. `changed` lists each new or changed slot once; the number of slots never falls.
    pub fn update(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        boxes: &[Aabb],
        changed: &[u32],
    ) -> Result<(&wgpu::Buffer, Option<&Recording>), InputError> {
        self.uploaded = 0;
        // Hides the invalid buffer of a lost device: the step that binds it fails.
        let scopes = Scopes::begin(device);
        let updated = self.update_buffer(device, encoder, boxes, changed);
        drop(scopes.end());
        updated
    }

    fn update_buffer(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        boxes: &[Aabb],
        changed: &[u32],
    ) -> Result<(&wgpu::Buffer, Option<&Recording>), InputError> {
        let limit = binding_limit(&device.limits());
        check_count(device, boxes.len())?;
        self.resident.take_if(|resident| resident.device != *device);
        // The buffer's content is unknown if an update never ran.
        let is_known = |resident: &DeviceBoxes| resident.written.as_ref().is_some_and(|written| !written.is_dropped());
        let is_new = !self.resident.as_ref().is_some_and(is_known);
        let resident = self
            .resident
            .get_or_insert_with(|| DeviceBoxes::new(device, boxes.len() as u64));
        resident.begin();
        let outgrown = resident.fit(boxes.len() as u64, limit);
        // A box costs about twice as much in an upload of changes as in a full upload.
        let is_whole = is_new || changed.len() > boxes.len() / 2;
        self.uploaded = if is_whole {
            resident.upload_all(encoder, boxes)
        } else {
            if let Some(old) = outgrown {
                let bytes = old.size();
                work_log::log(|| Work::Copy {
                    to: "object_set",
                    bytes,
                });
                encoder.copy_buffer_to_buffer(&old, 0, &resident.buffer, 0, bytes);
            }
            resident.upload_changes(encoder, boxes, changed)
        };
        if self.uploaded > 0 {
            let (written, mark) = Recording::begin();
            let before = resident.written.take().filter(|_| !is_whole);
            resident.written = Some(written.reading(before.as_ref()));
            resident.marks.mark_end(device, encoder, mark);
        }
        Ok((&resident.buffer, resident.written.as_ref()))
    }

    pub fn prepare(&mut self, context: &Arc<DeviceContext>) -> Preparation {
        let device = context.device();
        self.resident.take_if(|resident| resident.device != *device);
        let resident = self.resident.get_or_insert_with(|| DeviceBoxes::new(device, 0));
        let variants = PASSES.iter().flat_map(|pass| pass.variants());
        Preparation::new(context, &resident.pipelines, variants.collect())
    }

    pub fn bytes(&self) -> u64 {
        let resident = self.resident.iter();
        resident.map(|of| of.buffer.size() + of.changes.free_bytes()).sum()
    }

    pub fn invalidate(&mut self) {
        self.resident = None;
    }
}

impl DeviceBoxes {
    fn new(device: &wgpu::Device, capacity: u64) -> Self {
        Self {
            pipelines: Arc::new(Pipelines::new(LABEL, PASSES.iter().copied(), &[], None, None)),
            bindings: Bindings::default(),
            uploads: Staging::uploads(),
            changes: Staging::new(
                wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            ),
            marks: Staging::readings(),
            buffer: create(device, capacity),
            written: None,
            device: device.clone(),
        }
    }

    fn begin(&mut self) {
        self.bindings.begin();
        self.uploads.begin();
        self.changes.begin();
        self.marks.begin();
    }

    /// Replaces a buffer too small for `count` boxes. Returns the old one.
    fn fit(&mut self, count: u64, limit: u64) -> Option<wgpu::Buffer> {
        let held = self.buffer.size() / BOX_BYTES;
        if count <= held {
            return None;
        }
        self.bindings.forget(std::slice::from_ref(&self.buffer));
        let larger = create(&self.device, count.max(2 * held).min(limit / BOX_BYTES));
        Some(std::mem::replace(&mut self.buffer, larger))
    }

    fn upload_all(&self, encoder: &mut wgpu::CommandEncoder, boxes: &[Aabb]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(boxes);
        self.uploads.upload(&self.device, encoder, LABEL, bytes, &self.buffer);
        bytes.len() as u64
    }

    fn upload_changes(&mut self, encoder: &mut wgpu::CommandEncoder, boxes: &[Aabb], changed: &[u32]) -> u64 {
        if changed.is_empty() {
            return 0;
        }
        let changed_boxes: Vec<_> = changed.iter().map(|&slot| boxes[slot as usize]).collect();
        let (slots, values): (&[u8], &[u8]) = (bytemuck::cast_slice(changed), bytemuck::cast_slice(&changed_boxes));
        let params = block(&ScatterParams {
            change_count: changed.len() as u32,
            object_count: boxes.len() as u32,
        });
        let uploads = [
            ("scatter", &params[..]),
            ("changed_slots", slots),
            ("changed_boxes", values),
        ];
        let staged = uploads.map(|(name, bytes)| self.upload(encoder, name, bytes));
        let uploaded = params.len() + slots.len() + values.len();
        let name = label("scatter");
        work_log::log(|| Work::Stage(name.clone()));
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(&name),
            timestamp_writes: None,
        });
        let groups = (changed.len() as u32).div_ceil(WORKGROUP);
        let bound = |name| {
            let place = uploads.iter().position(|(upload, _)| *upload == name);
            Range::from(RangeRef::from(
                place.map_or(&self.buffer, |place| &staged[place].buffer),
            ))
        };
        self.pipelines.dispatch(
            &self.device,
            &mut self.bindings,
            &mut compute,
            (&SCATTER).into(),
            Groups::Count(groups),
            bound,
        );
        // The buffers are reusable at once, since later updates are submitted after this one.
        staged.into_iter().for_each(|buffer| self.changes.pool().put(buffer));
        uploaded as u64
    }

    fn upload(&self, encoder: &mut wgpu::CommandEncoder, name: &str, bytes: &[u8]) -> staging::Buffer {
        let to = self.changes.take(&self.device, &label(name), bytes.len() as u64);
        self.uploads.upload(&self.device, encoder, LABEL, bytes, &to.buffer);
        to
    }
}

fn block(params: &ScatterParams) -> Vec<u8> {
    let mut block = UniformBuffer::new([0; 16]);
    // Cannot fail: the parameters have 16 bytes.
    let written = block.write(params);
    debug_assert!(written.is_ok());
    block.into_inner().to_vec()
}

fn label(name: &str) -> String {
    format!("{LABEL}/{name}")
}

fn create(device: &wgpu::Device, capacity: u64) -> wgpu::Buffer {
    create_buffer(
        device,
        &wgpu::BufferDescriptor {
            label: Some(&label("object_set")),
            // Bound buffers cannot be empty.
            size: BOX_BYTES * capacity.max(1),
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        },
    )
}

pub(crate) fn check_count(device: &wgpu::Device, boxes: usize) -> Result<(), InputError> {
    let limit = binding_limit(&device.limits());
    let what = "objects";
    let needed = BOX_BYTES * u64::from(count(what, boxes as u64)?);
    if needed > limit {
        return Err(InputError::BufferTooLarge { what, needed, limit });
    }
    Ok(())
}
