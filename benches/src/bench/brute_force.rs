//! A kernel that tests every box against all later ones and counts the overlaps.

use std::time::Instant;

use anyhow::Result;
use gpu_broad_phase::wgpu::{
    self, BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, Device, MapMode, ShaderModuleDescriptor, ShaderSource,
    util::{BufferInitDescriptor, DeviceExt},
};

use super::answer::Answer;
use super::gpu::{OnDevice, note_work, upload, warm_up};
use super::measure::{Contestant, Question, TOTAL};

pub const NAME: &str = "brute-force";
const GROUP: u32 = 64;
/// Boxes per dispatch. More would take long, and exceed llvmpipe's limit of loop iterations.
const TILE: u32 = 16_384;

pub struct BruteForce<'a> {
    scene: &'a OnDevice<'a>,
    pipeline: ComputePipeline,
    found: Buffer,
    tiles: Vec<(u32, BindGroup)>,
}

impl<'a> BruteForce<'a> {
    pub fn new(scene: &'a OnDevice<'a>) -> Self {
        let device = scene.device();
        let module = device.create_shader_module(ShaderModuleDescriptor {
            label: Some(NAME),
            source: ShaderSource::Wgsl(include_str!("brute_force.wgsl").into()),
        });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(NAME),
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        let count = scene.boxes.len() as u32;
        let corners: Vec<_> = scene
            .boxes
            .iter()
            .flat_map(|aabb| [corner(aabb.min), corner(aabb.max)])
            .collect();
        let corners = upload(device, &corners);
        let found = device.create_buffer(&BufferDescriptor {
            label: Some(NAME),
            size: 4 * u64::from(count),
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let tiles = (0..count).step_by(TILE as usize).map(|first| {
            let last = count.min(first.saturating_add(TILE));
            let tile = device.create_buffer_init(&BufferInitDescriptor {
                label: Some(NAME),
                contents: bytemuck::cast_slice(&[count, first, last, 0]),
                usage: BufferUsages::UNIFORM,
            });
            let buffers = [&corners, &found, &tile];
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(|(binding, buffer)| BindGroupEntry {
                    binding,
                    resource: buffer.as_entire_binding(),
                })
                .collect();
            let group = device.create_bind_group(&BindGroupDescriptor {
                label: Some(NAME),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            });
            // Boxes past the tile's end need no invocation: no box of the tile comes later.
            (last.div_ceil(GROUP), group)
        });
        let tiles = tiles.collect();
        Self {
            scene,
            pipeline,
            found,
            tiles,
        }
    }

    fn time(&self) -> Result<f64> {
        let start = Instant::now();
        let mut encoder = self.scene.device().create_command_encoder(&Default::default());
        encoder.clear_buffer(&self.found, 0, None);
        for (groups, bindings) in &self.tiles {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, bindings, &[]);
            pass.dispatch_workgroups(*groups, 1, 1);
        }
        self.scene.queue().submit([encoder.finish()]);
        self.scene.wait()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

/// Integers in the order of the coordinates, then an unused word.
fn corner([x, y, z]: [f32; 3]) -> [i32; 4] {
    let key = |value: f32| {
        let bits = (value + 0.0).to_bits() as i32;
        if bits < 0 { bits ^ i32::MAX } else { bits }
    };
    [key(x), key(y), key(z), 0]
}

pub fn download(device: &Device, queue: &wgpu::Queue, buffer: &Buffer) -> Result<Vec<u32>> {
    let staging = device.create_buffer(&BufferDescriptor {
        label: Some("download"),
        size: buffer.size(),
        usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    queue.submit([encoder.finish()]);
    let (sender, receiver) = std::sync::mpsc::channel();
    staging.map_async(MapMode::Read, .., move |mapped| {
        let _ = sender.send(mapped);
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    receiver.recv()??;
    let words = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..)?);
    Ok(words)
}

impl Contestant for BruteForce<'_> {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn threads(&self) -> usize {
        0
    }

    fn question(&self) -> Question {
        Question::Pairs
    }

    fn prepare(&mut self) -> Result<Answer> {
        self.time()?;
        let counts = download(self.scene.device(), self.scene.queue(), &self.found)?;
        Ok(Answer {
            results: counts.into_iter().map(u64::from).sum(),
            hash: None,
        })
    }

    fn run(&mut self) -> Result<Vec<(&'static str, f64)>> {
        warm_up(self.scene.gpu.info.device_type, || self.time().map(drop))?;
        let time = self.time()?;
        note_work();
        Ok(vec![(TOTAL, time)])
    }
}
